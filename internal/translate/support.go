package translate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

// Support says what becomes of a field of the API.
type Support int

// What becomes of a field.
const (
	CarriedOut  Support = iota + 1
	Unsupported         // the object works without it, and its condition Unsupported names it
	Refused             // the object is not ready: ignoring the field would weaken protection, or no correct node could be launched
)

// Field says what becomes of a field, and of all that is below it.
type Field struct {
	Path    string // "[]" is any element of a list
	Support Support
	Effect  string // what happens instead
	Remedy  string
	// Concerns says for which values this holds. All others are carried out. Without it
	// it holds for every value.
	Concerns func(value any) bool
}

// FieldsOf is the table of the kind: every path of its schema is in a row, or below one.
func FieldsOf(kind string) []Field {
	switch kind {
	case v1.NodePoolKind:
		return append(poolFields(), statusFields(poolStatus())...)
	case v1.NodeClaimKind:
		return append(nodeFields("spec."), append([]Field{carriedOut("spec.resources.requests")}, statusFields(claimStatus())...)...)
	case awsv1.EC2NodeClassKind:
		return slices.Concat(classFields(), classAMIFields(), classVolumeFields(), statusFields(classStatus()))
	}
	return nil
}

func carriedOut(path string) Field { return Field{Path: path, Support: CarriedOut} }

// statusFields are written by the daemon, and read by it where they are inputs.
func statusFields(names []string) []Field {
	var out []Field
	for _, name := range append(names, "conditions") {
		out = append(out, carriedOut("status."+name))
	}
	return out
}

func poolStatus() []string { return []string{"resources", "nodes", "nodeClassObservedGeneration"} }

func claimStatus() []string {
	return []string{"nodeName", "providerID", "imageID", "capacity", "allocatable", "lastPodEventTime"}
}

func classStatus() []string {
	return []string{"subnets", "securityGroups", "capacityReservations", "amis", "instanceProfile"}
}

func poolFields() []Field {
	out := []Field{
		carriedOut("spec.template.metadata.labels"),
		carriedOut("spec.template.metadata.annotations"),
		carriedOut("spec.disruption.consolidationPolicy"),
		carriedOut("spec.disruption.consolidateAfter"),
		carriedOut("spec.disruption.budgets"), // but for the reason that UnsupportedOf names
		carriedOut("spec.limits"),
		carriedOut("spec.weight"),
		carriedOut("spec.replicas"),
	}
	return append(out, nodeFields("spec.template.spec.")...)
}

// nodeFields are those that the template of a NodePool and a NodeClaim have in common.
func nodeFields(at string) []Field {
	out := []Field{
		carriedOut(at + "requirements"),
		carriedOut(at + "nodeClassRef"),
		carriedOut(at + "terminationGracePeriod"),
		carriedOut(at + "expireAfter"),
	}
	for _, list := range []string{"taints", "startupTaints"} {
		for _, name := range []string{"key", "value", "effect"} {
			out = append(out, carriedOut(at+list+"[]."+name))
		}
		out = append(out, Field{
			Path: at + list + "[].timeAdded", Support: Unsupported,
			Effect: "the taint is as old as its node", Remedy: "remove the field",
		})
	}
	return out
}

// Fault is a field of an object that is not carried out.
type Fault struct{ Path, Effect, Remedy string }

// Sentences says what the faults are, for a condition.
func Sentences(faults []Fault) string {
	out := make([]string, len(faults))
	for i, f := range faults {
		out[i] = f.Path + ": " + f.Effect + ": " + f.Remedy
	}
	return strings.Join(out, "; ")
}

// UnsupportedOf says which fields of the NodePool are not carried out. Values of the
// operators Exists and DoesNotExist are among them: Karpenter takes them, and does not look
// at them.
func UnsupportedOf(p *v1.NodePool) []Fault {
	out := faults(p, FieldsOf(v1.NodePoolKind), Unsupported)
	for i, r := range p.Spec.Template.Spec.Requirements {
		if takesNoValues(r) && len(r.Values) > 0 {
			out = append(out, Fault{
				fmt.Sprintf("spec.template.spec.requirements[%d].values", i),
				"operators Exists and DoesNotExist take no values", "remove them, or write the operator In or NotIn",
			})
		}
	}
	for i, b := range p.Spec.Disruption.Budgets {
		if slices.Contains(b.Reasons, v1.ReasonUnhealthy) {
			out = append(out, Fault{fmt.Sprintf("spec.disruption.budgets[%d].reasons", i), "no node is disrupted because it is unhealthy", "remove the reason " + string(v1.ReasonUnhealthy)})
		}
	}
	return out
}

// UnsupportedOfClass says the same of the EC2NodeClass.
func UnsupportedOfClass(c *awsv1.EC2NodeClass) []Fault {
	out := append(faults(c, FieldsOf(awsv1.EC2NodeClassKind), Unsupported), ignoredTerms(c)...)
	return append(out, ignoredKubelet(c, false)...)
}

// ignoredKubelet names the settings of the kubelet that the family of images does not carry
// out: those that keep the class from being ready, or the others.
func ignoredKubelet(c *awsv1.EC2NodeClass, refused bool) (out []Fault) {
	if c.Spec.Kubelet == nil {
		return nil
	}
	for _, x := range family.Of(c).Ignores(*c.Spec.Kubelet) {
		if x.Refused == refused {
			out = append(out, Fault{"spec.kubelet." + x.Field, x.Effect, x.Remedy})
		}
	}
	return out
}

// RefusedOfClass says which fields keep the EC2NodeClass from being ready.
func RefusedOfClass(c *awsv1.EC2NodeClass) []Fault {
	return append(faults(c, FieldsOf(awsv1.EC2NodeClassKind), Refused), kubeletFaults(c)...)
}

// faults names each field of the object whose row has the given support.
func faults(object any, fields []Field, support Support) []Fault {
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Errorf("object encode: %w", err)) //nolint:forbidigo // API types always convert
	}
	var out []Fault
	for _, f := range fields {
		if f.Support != support {
			continue
		}
		for _, found := range valuesAt(plain, "", strings.Split(f.Path, ".")) {
			if f.Concerns == nil || f.Concerns(found.value) {
				out = append(out, Fault{found.path, f.Effect, f.Remedy})
			}
		}
	}
	return out
}

// valueAt is a value in an object, with its path.
type valueAt struct {
	path  string
	value any
}

// valuesAt finds what is at the path, which has several places below a list.
func valuesAt(value any, at string, path []string) []valueAt {
	if len(path) == 0 {
		return []valueAt{{at, value}}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	name, list := strings.CutSuffix(path[0], "[]")
	inner, there := object[name]
	if !there {
		return nil
	}
	at = strings.TrimPrefix(at+"."+name, ".")
	if !list {
		return valuesAt(inner, at, path[1:])
	}
	var out []valueAt
	elements, _ := inner.([]any)
	for i, element := range elements {
		out = append(out, valuesAt(element, fmt.Sprintf("%s[%d]", at, i), path[1:])...)
	}
	return out
}

// ignoredTerms names what selector terms have beside an id or a name. Karpenter's rules
// refuse such a term only in a list where each one is such a term; it then selects by the
// id or the name alone.
func ignoredTerms(c *awsv1.EC2NodeClass) []Fault {
	var out []Fault
	ignored := func(list string, i int, name string, present bool, by string) {
		if present {
			out = append(out, Fault{fmt.Sprintf("spec.%s[%d].%s", list, i, name), "the term selects by its " + by + " alone", "remove the field, or write two terms"})
		}
	}
	for i, t := range c.Spec.SubnetSelectorTerms {
		ignored("subnetSelectorTerms", i, "tags", t.ID != "" && len(t.Tags) > 0, "id")
	}
	for i, t := range c.Spec.SecurityGroupSelectorTerms {
		ignored("securityGroupSelectorTerms", i, "name", t.ID != "" && t.Name != "", "id")
		ignored("securityGroupSelectorTerms", i, "tags", t.ID != "" && len(t.Tags) > 0, "id")
		ignored("securityGroupSelectorTerms", i, "tags", t.ID == "" && t.Name != "" && len(t.Tags) > 0, "name")
	}
	for i, t := range c.Spec.AMISelectorTerms {
		by := t.SSMParameter != ""
		ignored("amiSelectorTerms", i, "id", by && t.ID != "", "ssmParameter")
		ignored("amiSelectorTerms", i, "name", by && t.Name != "", "ssmParameter")
		ignored("amiSelectorTerms", i, "owner", by && t.Owner != "", "ssmParameter")
		ignored("amiSelectorTerms", i, "tags", by && len(t.Tags) > 0, "ssmParameter")
	}
	for i, t := range c.Spec.CapacityReservationSelectorTerms {
		ignored("capacityReservationSelectorTerms", i, "tags", t.ID != "" && len(t.Tags) > 0, "id")
		ignored("capacityReservationSelectorTerms", i, "ownerID", t.ID != "" && t.OwnerID != "", "id")
		ignored("capacityReservationSelectorTerms", i, "instanceMatchCriteria", t.ID != "" && t.InstanceMatchCriteria != "", "id")
	}
	return out
}
