package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Names of the storage API that the rules depend on.
const (
	// AnnotationDefaultClass is "true" on the StorageClass of claims that name none.
	AnnotationDefaultClass = "storageclass.kubernetes.io/is-default-class"
	EBSDriver              = "ebs.csi.aws.com"
	ebsInTree              = "kubernetes.io/aws-ebs" // the EBS CSI driver serves its volumes since Kubernetes 1.27
	noProvisioner          = "kubernetes.io/no-provisioner"
	selectedNode           = "volume.kubernetes.io/selected-node"
	zonesSeparator         = "__" // of a PersistentVolume's zone label
	podKind                = "Pod"
)

// Lookups finds the objects that decide what a pod means, beside the pod itself.
// A function that is nil finds nothing.
type Lookups struct {
	VolumeClaim func(namespace, name string) (*corev1.PersistentVolumeClaim, bool)
	Volume      func(name string) (*corev1.PersistentVolume, bool)
	// FreeVolumes finds the volumes of the storage class that are Free; nil if there are none.
	FreeVolumes func(class string) *FreeVolumes
	// ClaimUser finds a pod that runs, stays, and uses the claim, if it is another than self.
	ClaimUser    func(namespace, claim string, self types.UID) (name string, used bool)
	StorageClass func(name string) (*storagev1.StorageClass, bool) // "" is the default class
	// Limited says whether some node can attach only a limited number of the
	// driver's volumes.
	Limited     func(driver string) bool
	LimitRanges func(namespace string) []*corev1.LimitRange
	// PriorityClass finds the class of pods that name none under "".
	PriorityClass func(name string) (*schedulingv1.PriorityClass, bool)
	RuntimeClass  func(name string) (*nodev1.RuntimeClass, bool)
	StatefulSet   func(namespace, name string) (*appsv1.StatefulSet, bool)
	// ControllerSince says when the controller was created; zero if that is not known, as
	// of the Deployment of a ReplicaSet that is not its first.
	ControllerSince func(controller types.UID) time.Time
	// Spread holds the constraints of pods that declare none. Their selectors come
	// from Services and from the pod's controller.
	Spread   []cluster.Spread
	Services func(namespace string) []*corev1.Service
	Selector func(namespace string, controller metav1.OwnerReference) (*metav1.LabelSelector, bool)
}

// volumeNeed is a volume that a pod needs: a claim by name, or the claim that a
// controller will make from the template. forPod says that the claim must have
// been made for the pod.
type volumeNeed struct {
	claim    string
	template *corev1.PersistentVolumeClaimSpec
	forPod   bool
}

// needs lists the volumes that a live pod needs.
func needs(p *corev1.Pod) []volumeNeed {
	var out []volumeNeed
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, volumeNeed{claim: v.PersistentVolumeClaim.ClaimName})
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
			n := volumeNeed{template: &v.Ephemeral.VolumeClaimTemplate.Spec, forPod: true}
			if p.Name != "" {
				n.claim = p.Name + "-" + v.Name
			}
			out = append(out, n)
		}
	}
	return out
}

// volumes adds where the pod's volumes let it run, and the attach slots that the
// volumes take.
func (s *shaper) volumes(claims []volumeNeed, l Lookups) {
	slots := map[string]int64{}
	for _, v := range s.pod.Spec.Volumes {
		if v.AWSElasticBlockStore != nil {
			slots[EBSDriver]++
		}
	}
	seen, late := map[string]bool{}, map[string]*lateClaims{}
	for _, n := range claims {
		if n.claim != "" && seen[n.claim] {
			continue
		}
		seen[n.claim] = true
		s.oneUser(n, l)
		if claim, class := s.late(n, l); class != nil {
			if late[class.Name] == nil {
				late[class.Name] = &lateClaims{class: class, namespace: s.pod.Namespace}
			}
			late[class.Name].claims = append(late[class.Name].claims, claim)
			continue
		}
		places, driver, err := s.volume(n, l)
		s.place(places, err)
		if err == nil {
			slots[driver]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(late)) {
		places, driver, err := late[name].volumes(l)
		s.place(places, err)
		slots[driver] += int64(len(late[name].claims))
	}
	for driver, n := range slots {
		if driver != "" && l.Limited != nil && l.Limited(driver) {
			s.shape.Requests = s.shape.Requests.Extend(cluster.AttachSlots(driver), n)
		}
	}
}

// oneUser refuses a pod, while it waits, whose claim is for one pod at a time and has one. No
// node can take it before that one has left. A user that terminates does not count: the pod in
// its place needs a node soon.
func (s *shaper) oneUser(n volumeNeed, l Lookups) {
	claim, found := lookup(l.VolumeClaim, s.pod.Namespace, n.claim)
	if !found || s.pod.Spec.NodeName != "" || l.ClaimUser == nil || !slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
		return
	}
	if user, used := l.ClaimUser(s.pod.Namespace, n.claim, s.pod.UID); used {
		s.refuse(fmt.Sprintf("%s is for one pod at a time (ReadWriteOncePod), and pod %s has it: delete that pod, or use another claim", claimID(s.pod.Namespace, n.claim), user), nil)
	}
}

// place adds that the node must meet one of the places, if there are any.
func (s *shaper) place(places []label.Requirements, err error) {
	switch {
	case err != nil:
		s.refuse(err.Error(), nil)
	case len(places) > 0:
		s.shape.Volumes = append(s.shape.Volumes, places)
	}
}

// volume returns the alternatives of which the node must meet one, and the
// driver that attaches the volume. No alternatives mean any node.
func (s *shaper) volume(n volumeNeed, l Lookups) ([]label.Requirements, string, error) {
	id := claimID(s.pod.Namespace, n.claim)
	claim, found := lookup(l.VolumeClaim, s.pod.Namespace, n.claim)
	runs := s.pod.Spec.NodeName != ""
	switch {
	case !found && n.template == nil:
		return nil, "", fmt.Errorf("%s does not exist: create it", id)
	case !found || n.forPod && !runs && deletedFirst(claim, s.pod):
		return s.unbound(claimID(s.pod.Namespace, ""), n.template.StorageClassName, true, l)
	case runs && deletedWith(claim, s.pod):
		return s.madeAnew(id, claim, n, l)
	}
	return s.claimed(id, claim, n, l)
}

// claimID names a claim in a message. One that does not exist yet has no name there.
func claimID(namespace, name string) string {
	if name == "" {
		return "persistent volume claim of the template"
	}
	return "persistent volume claim " + namespace + "/" + name
}

// deletedFirst says whether the claim is deleted before the pod, which waits, gets one of
// its own: it is being deleted, or was made for a pod of the same name that is deleted.
func deletedFirst(claim *corev1.PersistentVolumeClaim, p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(claim)
	return claim.DeletionTimestamp != nil || owner != nil && owner.Kind == podKind && owner.Name == p.Name && owner.UID != p.UID
}

// deletedWith says whether the claim is deleted together with the pod, as that of an
// ephemeral volume does.
func deletedWith(claim *corev1.PersistentVolumeClaim, p *corev1.Pod) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == podKind && o.UID == p.UID })
}

// madeAnew reads a volume that is deleted with its pod, which runs. Where the pod is next,
// a new volume is made, so the zone of this one says nothing. If its class makes no
// volumes, the next one is most likely where this one is.
func (s *shaper) madeAnew(id string, claim *corev1.PersistentVolumeClaim, n volumeNeed, l Lookups) ([]label.Requirements, string, error) {
	name := claim.Spec.StorageClassName
	if n.template != nil {
		name = n.template.StorageClassName
	}
	places, driver, err := s.claimed(id, claim, n, l)
	if class, found := l.classOf(name); found && class.Provisioner != noProvisioner {
		places, err = allowed(class)
		driver = cmp.Or(driver, driverName(class.Provisioner))
	}
	return places, driver, err
}

// claimed reads a claim that exists.
func (s *shaper) claimed(id string, claim *corev1.PersistentVolumeClaim, n volumeNeed, l Lookups) ([]label.Requirements, string, error) {
	switch {
	case claim.DeletionTimestamp != nil:
		return nil, "", fmt.Errorf("%s is being deleted: delete the pods that hold it", id)
	case claim.Status.Phase == corev1.ClaimLost:
		return nil, "", fmt.Errorf("%s has lost its volume %s: restore the volume or delete the claim", id, claim.Spec.VolumeName)
	case n.forPod && !metav1.IsControlledBy(claim, s.pod):
		return nil, "", fmt.Errorf("%s was not made for the pod: delete the claim", id)
	case claim.Spec.VolumeName != "":
		return s.bound(id, claim.Spec.VolumeName, l)
	}
	places, driver, err := s.unbound(id, claim.Spec.StorageClassName, false, l)
	if node := claim.Annotations[selectedNode]; node != "" && err == nil {
		// A volume is being made for that node, where the class allows it.
		there := label.All(label.Is(label.NodeName, node))
		if len(places) == 0 {
			places = []label.Requirements{nil}
		}
		for i := range places {
			places[i] = places[i].And(there)
		}
	}
	return places, driver, err
}

// classOf finds the storage class that a claim of a template gets, which is the default
// class if it names none.
func (l Lookups) classOf(name *string) (*storagev1.StorageClass, bool) {
	switch {
	case l.StorageClass == nil, name != nil && *name == "":
		return nil, false
	case name == nil:
		return l.StorageClass("")
	}
	return l.StorageClass(*name)
}

// unbound reads a claim that has no volume yet by its storage class. A future
// claim that names no class will get the default class.
func (s *shaper) unbound(id string, name *string, future bool, l Lookups) ([]label.Requirements, string, error) {
	if name == nil && !future || name != nil && *name == "" {
		return nil, "", fmt.Errorf("%s is unbound and has no storage class: bind it to a volume", id)
	}
	class, found := l.classOf(name)
	switch {
	case !found && name == nil:
		return nil, "", fmt.Errorf("%s: the cluster has no default storage class: name one", id)
	case !found:
		return nil, "", fmt.Errorf("%s: storage class %s does not exist: create it", id, *name)
	case !waits(class):
		return nil, "", fmt.Errorf("%s is unbound, and storage class %s binds immediately: find out why its volume is not made", id, class.Name)
	case class.Provisioner == noProvisioner:
		return nil, "", fmt.Errorf("%s is unbound, and storage class %s makes no volumes: create one that matches the claim", id, class.Name)
	}
	places, err := allowed(class)
	return places, driverName(class.Provisioner), err
}

// allowed reads a class's allowedTopologies. A node must meet any one of the
// terms. As in the kube-scheduler, no node meets an empty term or one that cannot be read.
func allowed(class *storagev1.StorageClass) ([]label.Requirements, error) {
	var out []label.Requirements
	fault := fmt.Errorf("storage class %s has only empty allowedTopologies, which select no node", class.Name)
	for _, term := range class.AllowedTopologies {
		reqs, err := topologyTerm(term)
		switch {
		case err != nil:
			fault = fmt.Errorf("storage class %s allowedTopologies: %w", class.Name, err)
		case len(reqs) > 0:
			out = append(out, reqs)
		}
	}
	if len(out) == 0 && len(class.AllowedTopologies) > 0 {
		return nil, fault
	}
	return out, nil
}

func topologyTerm(term corev1.TopologySelectorTerm) (label.Requirements, error) {
	var reqs []label.Requirement
	for _, e := range term.MatchLabelExpressions {
		r, err := requirement(e.Key, string(label.In), e.Values)
		if err != nil {
			return nil, err
		}
		reqs = append(reqs, r)
	}
	return label.All(reqs...), nil
}

// bound reads a claim by its volume.
func (s *shaper) bound(id, name string, l Lookups) ([]label.Requirements, string, error) {
	var volume *corev1.PersistentVolume
	var found bool
	if l.Volume != nil {
		volume, found = l.Volume(name)
	}
	if !found {
		return nil, "", fmt.Errorf("%s: persistent volume %s does not exist: restore it or delete the claim", id, name)
	}
	driver := driverOf(volume)
	// When a running pod moves, it leaves a volume of its node behind. So only a
	// waiting pod is tied to the node of such a volume.
	leaves := s.pod.Spec.NodeName != "" && (volume.Spec.Local != nil || volume.Spec.HostPath != nil)
	places, err := placesOf(volume, leaves)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", id, err)
	}
	return places, driver, nil
}

// driverOf returns the driver that attaches the volume; empty if none does.
func driverOf(volume *corev1.PersistentVolume) string {
	switch {
	case volume.Spec.CSI != nil:
		return driverName(volume.Spec.CSI.Driver)
	case volume.Spec.AWSElasticBlockStore != nil:
		return EBSDriver
	}
	return ""
}

// placesOf returns the alternatives of which a node must meet one to have the volume. No
// alternatives mean any node. leaves leaves out what names a single node.
func placesOf(volume *corev1.PersistentVolume, leaves bool) ([]label.Requirements, error) {
	zones := zoneLabels(volume.Labels)
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		if len(zones) == 0 {
			return nil, nil
		}
		return []label.Requirements{zones}, nil
	}
	var places []label.Requirements
	fault := fmt.Errorf("persistent volume %s has only empty nodeAffinity terms, which select no node", volume.Name)
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if leaves {
			term = withoutHost(term)
		}
		reqs, ok, err := nodeTerm(term)
		switch {
		case err != nil: // no node meets it, and one may meet another
			fault = fmt.Errorf("persistent volume %s nodeAffinity: %w", volume.Name, err)
		case ok:
			places = append(places, reqs.And(zones))
		case leaves:
			return nil, nil // its node was its only requirement
		}
	}
	if len(places) == 0 {
		return nil, fault
	}
	return places, nil
}

// withoutHost returns the term without what names a single node.
func withoutHost(term corev1.NodeSelectorTerm) corev1.NodeSelectorTerm {
	out := corev1.NodeSelectorTerm{MatchFields: term.MatchFields}
	for _, e := range term.MatchExpressions {
		if e.Key != label.Hostname {
			out.MatchExpressions = append(out.MatchExpressions, e)
		}
	}
	return out
}

// zoneLabels reads the labels that say where a volume is if it is older than
// node affinity of volumes (the kube-scheduler's plugin VolumeZone).
func zoneLabels(m map[string]string) label.Requirements {
	var out []label.Requirement
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if c := label.Canonical(key); c == label.Zone || c == label.Region {
			if r, err := label.NewRequirement(c, label.In, strings.Split(m[key], zonesSeparator)...); err == nil {
				out = append(out, r)
			}
		}
	}
	return label.All(out...)
}

// attachSlots adds the limits that the node's drivers report.
func attachSlots(r quantity.Resources, csi *storagev1.CSINode, drivers []string) quantity.Resources {
	for _, driver := range drivers {
		limit := int64(cluster.UnlimitedSlots)
		if n, ok := AttachLimits(csi)[driver]; ok {
			limit = n
		}
		r = r.Extend(cluster.AttachSlots(driver), limit)
	}
	return r
}

// AttachLimits returns how many volumes of each driver the node can attach. A
// driver that reports no limit has no entry.
func AttachLimits(csi *storagev1.CSINode) map[string]int64 {
	if csi == nil {
		return nil
	}
	out := map[string]int64{}
	for _, d := range csi.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			out[driverName(d.Name)] = max(0, int64(*d.Allocatable.Count))
		}
	}
	return out
}

func driverName(name string) string {
	if name == ebsInTree {
		return EBSDriver
	}
	return name
}

func lookup[T any](find func(namespace, name string) (T, bool), namespace, name string) (T, bool) {
	if find == nil || name == "" {
		var none T
		return none, false
	}
	return find(namespace, name)
}
