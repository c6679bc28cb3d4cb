package v1

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate checks what the definition's schema cannot check: the syntax of
// labels and taints, taints that are given twice, the number of capacity types
// against minValues, the schedules of budgets, and labels that the schema takes because
// Karpenter's does, but that no node of the pool could rightly have. The result names every
// field at fault; nil means valid.
func (p *NodePool) Validate() field.ErrorList {
	var errs field.ErrorList
	for i, b := range p.Spec.Disruption.Budgets {
		if b.Schedule == nil {
			continue
		}
		if _, err := ParseSchedule(*b.Schedule); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("spec", "disruption", "budgets").Index(i).Child("schedule"), *b.Schedule, err.Error()))
		}
	}
	labels := field.NewPath("spec", "template", "metadata", "labels")
	for key, value := range p.Spec.Template.ObjectMeta.Labels {
		errs = append(errs, syntax(labels.Key(key), key, validation.IsQualifiedName(key))...)
		errs = append(errs, syntax(labels.Key(key), value, validation.IsValidLabelValue(value))...)
		switch {
		case strings.HasPrefix(key, awsDomain+"/capacity-reservation-"):
			errs = append(errs, field.Forbidden(labels.Key(key), "nodes outside a capacity reservation would have the label, too: write a requirement on it"))
		case strings.HasPrefix(key, awsDomain+"/placement-group-"):
			errs = append(errs, field.Forbidden(labels.Key(key), noPlacementGroups))
		}
	}
	errs = append(errs, validateAnnotations(field.NewPath("spec", "template", "metadata", "annotations"), p.Spec.Template.ObjectMeta.Annotations)...)
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	spec := field.NewPath("spec", "template", "spec")
	errs = append(errs, validateTaints(spec, p.Spec.Template.Spec.Taints, p.Spec.Template.Spec.StartupTaints)...)
	for i, r := range p.Spec.Template.Spec.Requirements {
		errs = append(errs, r.validate(spec.Child("requirements").Index(i))...)
	}
	return errs
}

const (
	awsDomain         = "karpenter.k8s.aws"
	noPlacementGroups = "nodes are in no placement group: remove it"
)

// mostAnnotations is how many bytes the annotations of a template have at most, keys and
// values. The API server lets a NodeClaim have 256 KiB, of which its launch request needs a
// part.
const mostAnnotations = 96 << 10

// validateAnnotations checks what the API server would refuse on the NodeClaim.
func validateAnnotations(path *field.Path, annotations map[string]string) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for key, value := range annotations {
		size += len(key) + len(value)
		errs = append(errs, syntax(path.Key(key), key, validation.IsQualifiedName(strings.ToLower(key)))...)
	}
	if size > mostAnnotations {
		errs = append(errs, field.Invalid(path, fmt.Sprintf("%d bytes", size), fmt.Sprintf("nodes can get %d bytes of annotations: remove some", mostAnnotations)))
	}
	return errs
}

// validateTaints checks the syntax of taints. It also checks that no key has one
// effect twice, since a node has a key and effect only once.
func validateTaints(path *field.Path, taints, startup []Taint) field.ErrorList {
	var errs field.ErrorList
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]bool{}
	check := func(path *field.Path, t Taint) {
		errs = append(errs, syntax(path.Child("key"), t.Key, validation.IsQualifiedName(t.Key))...)
		errs = append(errs, syntax(path.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
		id := identity{t.Key, t.Effect}
		if seen[id] {
			errs = append(errs, field.Duplicate(path, t.Key+":"+string(t.Effect)))
		}
		seen[id] = true
	}
	for i, t := range taints {
		check(path.Child("taints").Index(i), t)
	}
	for i, t := range startup {
		check(path.Child("startupTaints").Index(i), t)
	}
	return errs
}

func (r Requirement) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, value := range r.Values {
		errs = append(errs, syntax(path.Child("values").Index(i), value, validation.IsValidLabelValue(value))...)
	}
	if strings.HasPrefix(r.Key, awsDomain+"/placement-group-") {
		errs = append(errs, field.Forbidden(path.Child("key"), noPlacementGroups))
	}
	known := []string{CapacityTypeOnDemand, CapacityTypeSpot, CapacityTypeReserved}
	if r.Key != LabelCapacityType || r.Operator != corev1.NodeSelectorOpIn {
		return errs
	}
	launched := map[string]bool{}
	for _, value := range r.Values {
		if slices.Contains(known, value) {
			launched[value] = true
		}
	}
	if len(launched) == 0 {
		errs = append(errs, field.NotSupported(path.Child("values"), strings.Join(r.Values, ","), known))
	} else if r.MinValues != nil && *r.MinValues > len(launched) {
		errs = append(errs, field.Invalid(path.Child("minValues"), *r.MinValues,
			"more than the capacity types among the values that nodes can have: lower minValues"))
	}
	return errs
}

func syntax(path *field.Path, value string, faults []string) field.ErrorList {
	var errs field.ErrorList
	for _, fault := range faults {
		errs = append(errs, field.Invalid(path, value, fault))
	}
	return errs
}
