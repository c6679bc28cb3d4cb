package claim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// templates makes the launch templates of an order. There is one, but where the kubelet is told
// other settings on each instance type, by expressions of the class or as network interfaces are
// reserved: then there is one for all instance types that are told the same.
type templates struct {
	class *awsv1.EC2NodeClass
	node  family.Node
	base  awsspec.LaunchTemplate // without user data
	made  map[told]launchTemplate
}

// told is what a kubelet is told because of its instance type.
type told struct {
	settings string // see catalog.InstanceType.Kubelet
	pods     int64  // see catalog.InstanceType.MaxPods
}

// told is what a kubelet on the type is told: of an image of one's own, nothing.
func (t templates) told(instance catalog.InstanceType) told {
	if !family.TellsKubelets(t.class) {
		return told{}
	}
	return told{instance.Kubelet, instance.MaxPods}
}

// named finds the launch template of the name among those that were made.
func (t templates) named(name string) (awsspec.LaunchTemplate, bool) {
	for _, made := range t.made {
		if made.name == name {
			return made.LaunchTemplate, true
		}
	}
	return awsspec.LaunchTemplate{}, false
}

// launchTemplate is one with its name, which takes its whole content to make.
type launchTemplate struct {
	awsspec.LaunchTemplate

	name string
}

// of is the launch template for instances of the type.
func (t templates) of(instance catalog.InstanceType) (launchTemplate, error) {
	key := t.told(instance)
	if made, is := t.made[key]; is {
		return made, nil
	}
	settings, err := translate.KubeletOf(t.class, instance)
	if err != nil {
		return launchTemplate{}, err
	}
	node, out := t.node, t.base
	node.Kubelet = settings
	if out.UserData, err = family.Of(t.class).UserData(node); err != nil {
		return launchTemplate{}, fmt.Errorf("ec2nodeclass %s: %w", t.class.Name, err)
	}
	made := launchTemplate{out, out.Name()}
	t.made[key] = made
	return made, nil
}

// impliedLabels are those that a NodeClaim by hand may lack, and its node has, as with Karpenter:
// its class, and labels of the user's own that its requirements ask for with values. A label that
// the NodeClaim has comes before.
func impliedLabels(claim *v1.NodeClaim) map[string]string {
	labels := map[string]string{label.NodeClass: claim.Spec.NodeClassRef.Name}
	for _, r := range claim.Spec.Requirements {
		domain, _, _ := strings.Cut(r.Key, "/")
		if label.OfInstance(label.Canonical(r.Key)) || domain == v1.Group || strings.HasSuffix(domain, "."+v1.Group) || r.Operator != corev1.NodeSelectorOpIn || len(r.Values) == 0 {
			continue
		}
		labels[r.Key] = r.Values[0]
	}
	return labels
}

// templatesOf prepares the launch templates for the NodeClaim.
func templatesOf(claim *v1.NodeClaim, class *awsv1.EC2NodeClass, facts family.Cluster, capacityType string, owner awsspec.Owner,
	types map[string]catalog.InstanceType,
) templates {
	labels := impliedLabels(claim)
	maps.Copy(labels, claim.Labels)
	// A launch writes the labels of its instance on the NodeClaim, and registration copies
	// them to the Node. In the template they would turn a retry into another request.
	for _, key := range []string{label.ZoneID, label.Tenancy, label.Reservation, label.ReservationType, label.ReservationInterruptible} {
		delete(labels, key)
	}
	for _, t := range types {
		for _, x := range t.Labels {
			delete(labels, x.Key)
		}
	}
	labels[v1.LabelCapacityType] = capacityType
	node := family.Node{Cluster: facts, Labels: labels, Class: class}
	for _, t := range slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints) {
		node.Taints = append(node.Taints, family.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	base := family.LaunchTemplate(class, owner)
	base.Spot = capacityType == label.Spot
	return templates{class: class, node: node, base: base, made: map[told]launchTemplate{}}
}

// name gives each override of the request its launch template. That of the request is the one
// of the first override in an order that does not follow from prices; see makeOrder.
func (o *order) name(first aws.Override) error {
	main, err := o.by.of(o.types[first.InstanceType])
	if err != nil {
		return err
	}
	o.request.LaunchTemplate = main.name
	named := slices.Clone(o.request.Overrides)
	for i, x := range named {
		t, err := o.by.of(o.types[x.InstanceType])
		if err != nil {
			return err
		}
		if t.name != main.name {
			named[i].LaunchTemplate = t.name
		}
	}
	o.request.Overrides = named
	return nil
}

// of returns the overrides of the types among all, with their launch templates.
func (o order) of(types map[string]bool) []aws.Override {
	out := pick.Those(o.every, func(x aws.Override) bool { return types[x.InstanceType] })
	for i, x := range out {
		if t, err := o.by.of(o.types[x.InstanceType]); err == nil && t.name != o.request.LaunchTemplate {
			out[i].LaunchTemplate = t.name
		}
	}
	return out
}

// named says whether the override has the launch template of its instance type.
func (o *order) named(types []catalog.InstanceType, x aws.Override) bool {
	i := slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == x.InstanceType })
	if i < 0 {
		return false
	}
	t, err := o.by.of(types[i])
	return err == nil && cmp.Or(x.LaunchTemplate, o.request.LaunchTemplate) == t.name
}
