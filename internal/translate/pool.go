package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Pool reads a NodePool. An invalid NodePool is not ready, and NotReady says
// why.
func Pool(p *v1.NodePool) cluster.Pool {
	t := p.Spec.Template
	out := cluster.Pool{
		Name: p.Name, UID: string(p.UID), Generation: p.Generation, Class: t.Spec.NodeClassRef.Name,
		Labels: label.FromMap(usersKeys(t.ObjectMeta.Labels)), Taints: Taints(usersTaints(t.Spec.Taints)), StartupTaints: Taints(usersTaints(t.Spec.StartupTaints)),
		Limits: Limits(p.Spec.Limits), Deleting: p.DeletionTimestamp != nil,
		Terminate: p.Annotations[v1.AnnotationTerminate] == v1.LabelTrue,
	}
	out.Disruption = disruption(p)
	if p.Spec.Replicas != nil {
		out.Static, out.Replicas = true, *p.Spec.Replicas
	}
	if p.Spec.Weight != nil {
		out.Weight = *p.Spec.Weight
	}
	if why := refusedPool(p); why != "" {
		out.NotReady = why
		return out
	}
	users := usersRequirements(t.Spec.Requirements)
	reqs, err := requirements("nodepool "+p.Name, users)
	if err != nil {
		out.NotReady = err.Error()
		return out
	}
	out.Requirements, out.MinValues = reqs.And(ofInstances(out.Labels)), minValues(users)
	tenancy, refused := tenancyOfPool(reqs, out.Labels)
	if refused != "" {
		out.NotReady = refused
		return out
	}
	out.Labels = out.Labels.With(label.Tenancy, tenancy)
	if errs := p.Validate(); len(errs) > 0 {
		out.NotReady = errs.ToAggregate().Error()
		return out
	}
	for i, b := range out.Disruption.Budgets {
		if b.Invalid != "" {
			out.NotReady = fmt.Sprintf("spec.disruption.budgets[%d]: %s", i, b.Invalid)
			return out
		}
	}
	out.Ready = true
	return out
}

// ofInstances returns the labels that instances have by themselves as requirements. As with
// Karpenter, a pool whose template has such a label launches only instances that have it.
func ofInstances(labels label.Labels) label.Requirements {
	var out []label.Requirement
	for _, x := range labels {
		switch key := label.Canonical(x.Key); {
		case key == label.Tenancy, key == label.Hostname, !label.OfInstance(key): // the first is read apart
		case strings.HasPrefix(key, awsv1.Group+"/") && !strings.HasPrefix(key, awsv1.Group+"/instance-"):
		default:
			out = append(out, label.Is(key, x.Value))
		}
	}
	return label.All(out...)
}

// minValues reads how many values of a label the types of a launch must have.
func minValues(in []v1.Requirement) []cluster.MinValues {
	most := map[string]int{}
	for _, r := range in {
		if r.MinValues != nil {
			key := label.Canonical(r.Key)
			most[key] = max(most[key], *r.MinValues)
		}
	}
	var out []cluster.MinValues
	for _, key := range slices.Sorted(maps.Keys(most)) {
		out = append(out, cluster.MinValues{Key: key, Count: most[key]})
	}
	return out
}

// efa is the resource of elastic fabric adapters.
const efa = "vpc.amazonaws.com/efa"

// Room is what EC2 says is left in a capacity reservation. The status of an
// EC2NodeClass does not say this.
type Room struct {
	Left    int64
	Counted time.Time // an instance that is launched later takes from Left; see catalog.Offering
}

// Class applies an EC2NodeClass to the catalogue: the zones of its subnets, the
// architectures of its images, its disk and kubelet settings, what its volumes and
// addresses cost, and its capacity reservations with the room left in each. A reservation without an entry in
// rooms counts as full. The overhead is that of the daemon's options.
func Class(c *awsv1.EC2NodeClass, facts []catalog.Fact, market catalog.Market, rooms map[string]Room, overhead catalog.Overhead) cluster.Class {
	out := cluster.Class{Name: c.Name, Generation: c.Generation, Ready: c.Conditions().IsReady() && c.DeletionTimestamp == nil}
	if why := RefusedClass(c); why != "" { // its conditions may be of a version that could be read
		out.Ready, out.NotReady = false, why
		return out
	}
	if !out.Ready {
		out.NotReady = c.Conditions().Get(v1.ConditionReady).Message
		return out
	}
	images := family.Of(c)
	s := kubeletSettings(c, overhead)
	s.RootVolumeBytes = podVolume(c, images)
	s.Zones = zonesOf(c)
	for _, r := range c.Status.CapacityReservations {
		if r.ReservationType == awsv1.ReservationDefault && !r.Interruptible && r.State == awsv1.ReservationActive {
			s.Reservations = append(s.Reservations, catalog.Reservation{
				ID: r.ID, InstanceType: r.InstanceType, Zone: r.AvailabilityZone, Left: rooms[r.ID].Left, Counted: rooms[r.ID].Counted,
			})
		}
	}
	s.InstanceStore = c.Spec.InstanceStorePolicy != nil // RAID0 is the only one
	volumes := launchVolumes(c, images)
	s.Volumes = len(volumes)
	for _, v := range volumes {
		out.Volumes = out.Volumes.Add(market.Volumes.Hourly(v))
	}
	if getsPublicIP(c) {
		out.Address = catalog.PublicIPv4
	}
	types, err := typesOf(c, facts, market, s)
	if err != nil {
		out.Ready, out.NotReady = false, err.Error()
		return out
	}
	for _, t := range types {
		if _, ok := ImageFor(c, t.Labels); ok {
			// Launch templates attach no EFA interfaces, so nodes have none to offer.
			t.Capacity, t.Allocatable = t.Capacity.Extend(efa, 0), t.Allocatable.Extend(efa, 0)
			t.Allocatable = t.Allocatable.Extend(cluster.AttachSlots(EBSDriver), t.EBSVolumes)
			out.Types = append(out.Types, t)
		}
	}
	return out
}

// zonesOf are the zones of the class's subnets.
func zonesOf(c *awsv1.EC2NodeClass) (out []catalog.Zone) {
	for _, n := range c.Status.Subnets {
		zone := catalog.Zone{Name: n.Zone, ID: n.ZoneID}
		if !slices.Contains(out, zone) {
			out = append(out, zone)
		}
	}
	return out
}

// kubeletSettings are those that follow from the daemon's options, the family of images and its
// kubelet, where no expression makes others for an instance type.
func kubeletSettings(c *awsv1.EC2NodeClass, overhead catalog.Overhead) catalog.Settings {
	s := catalog.Settings{Kept: reserved(c.Spec.Kubelet), MemoryOverheadPerMillion: overhead.MemoryPerMillion, ReservedENIs: overhead.ReservedENIs}
	if n, ok := podLimit(c.Spec.Kubelet); ok {
		s.MaxPods = n
	}
	if k := c.Spec.Kubelet; k != nil && k.PodsPerCore != nil {
		s.PodsPerCore = int(*k.PodsPerCore)
	}
	family.Of(c).Adapt(&s)
	return s
}

// podLimit is maxPods where that is a number.
func podLimit(k *awsv1.KubeletConfiguration) (n int, ok bool) {
	if k == nil || k.MaxPods == nil || k.MaxPods.Type != intstr.Int {
		return 0, false
	}
	return int(k.MaxPods.IntVal), true
}

// ImageFor returns the class's first image that runs on a node with these
// labels. A label that is not among them counts as absent. An image of which nobody can say
// for what machines it is, is passed by.
func ImageFor(c *awsv1.EC2NodeClass, labels label.Labels) (string, bool) {
	for _, image := range c.Status.AMIs {
		if fits, _ := Suits(image, labels, true); fits {
			return image.ID, true
		}
	}
	return "", false
}

// Suits says whether the image is for machines with these labels. Where they are not all the
// labels of the machine, the absence of one says nothing. Nor does a requirement that cannot
// be read: the daemon has not written it.
func Suits(image awsv1.AMI, labels label.Labels, all bool) (fits, known bool) {
	known = true
	for _, r := range image.Requirements {
		req, err := label.NewRequirement(r.Key, label.Operator(r.Operator), r.Values...)
		if err != nil {
			known = false
			continue
		}
		if _, there := labels.Get(req.Key()); !there && !all {
			known = false
		} else if !req.MetBy(labels) {
			return false, true
		}
	}
	return known, known
}

// podVolume is the size in bytes of the volume with the files of pods: that of the mapping
// that is marked as such, or of the family's device. Of an image that nobody knows it is
// the last one mapped.
func podVolume(c *awsv1.EC2NodeClass, images family.Family) int64 {
	size := catalog.DefaultRootVolumeBytes
	for _, m := range c.Spec.BlockDeviceMappings {
		switch {
		case m.EBS == nil, m.EBS.VolumeSize.IsZero(): // as large as a snapshot that nobody asks about
		case m.RootVolume:
			return m.EBS.VolumeSize.Value()
		case images.PodVolume() == "" || m.DeviceName != nil && *m.DeviceName == images.PodVolume():
			size = m.EBS.VolumeSize.Value()
		}
	}
	return size
}

// getsPublicIP says whether every new node gets a public IPv4 address. Where the class
// leaves that to its subnets, all of them must give one.
func getsPublicIP(c *awsv1.EC2NodeClass) bool {
	if asked := c.Spec.AssociatePublicIPAddress; asked != nil {
		return *asked
	}
	without := func(n awsv1.Subnet) bool { return !n.PublicIPs }
	return len(c.Status.Subnets) > 0 && !slices.ContainsFunc(c.Status.Subnets, without)
}

// launchVolumes are the EBS volumes of a new node, with the types that EC2 gives to
// volumes without one. Those of the image that no mapping names are among them.
func launchVolumes(c *awsv1.EC2NodeClass, images family.Family) (out []catalog.Volume) {
	own, mapped := images.Volumes(), family.BlockDevices(c)
	for i, m := range c.Spec.BlockDeviceMappings {
		if m.EBS == nil {
			continue
		}
		v := catalog.Volume{Type: catalog.GP2, GiB: mapped[i].SizeGiB}
		of := slices.IndexFunc(own, func(d awsspec.BlockDevice) bool {
			return m.DeviceName != nil && *m.DeviceName == d.DeviceName || m.RootVolume && d.DeviceName == images.PodVolume()
		})
		if of >= 0 {
			v.Type = own[of].Type
			own = slices.Delete(own, of, of+1)
		}
		if m.EBS.VolumeType != nil {
			v.Type = *m.EBS.VolumeType
		}
		if m.EBS.IOPS != nil {
			v.IOPS = *m.EBS.IOPS
		}
		if m.EBS.Throughput != nil {
			v.Throughput = *m.EBS.Throughput
		}
		out = append(out, v)
	}
	for _, d := range own {
		out = append(out, catalog.Volume{Type: d.Type, GiB: d.SizeGiB})
	}
	if len(out) == 0 {
		out = append(out, catalog.Volume{Type: catalog.GP3, GiB: catalog.DefaultRootVolumeBytes >> 30}) // a guess
	}
	return out
}
