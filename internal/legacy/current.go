package legacy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

// An object of v1 stays as it is in manifests. It is read for what refers to it, and for the
// resource that HCL makes of it.

// keep notes an object of v1.
func (c *converter) keep(d document) {
	c.current = append(c.current, d)
	switch d.text("kind") {
	case wire.KindEC2NodeClass:
		c.keepClass(d)
	case wire.KindNodePool:
		c.keepPool(d)
	case wire.KindNodeClaim:
		c.addClaim(&claim{subject: d.subject(), copies: d.copies}, d.name())
		c.forHCL(d.subject(), "", "is left out, as the provider has no resource for NodeClaims", "let the node pool launch nodes")
	}
}

// forHCL warns of what only the Terraform configuration has not.
func (c *converter) forHCL(s subject, field, what, remedy string) {
	c.lacks = append(c.lacks, Problem{Source: s.source, Object: s.object, Field: field, What: what, Remedy: remedy, Lost: true})
}

func (c *converter) keepClass(d document) {
	s := d.subject()
	in, ok := strictly[classInput](withExtra(d), strict{report: &c.report, lacks: &c.lacks})
	if !ok || !c.named(s, in.Metadata) {
		return
	}
	for i, t := range in.Spec.AMISelectorTerms {
		if err := checkAlias(t.Alias); err != nil {
			c.fail(s, fmt.Sprintf("spec.amiSelectorTerms[%d].alias", i), err.Error(), "")
		}
	}
	if k := in.Spec.Kubelet; k != nil && k.ContainerRuntime != "" {
		c.forHCL(s, "spec.kubelet.containerRuntime", "is left out, as v1 has no such field", "remove it")
		k.ContainerRuntime = ""
	}
	singleIDs(c, s, "spec.subnetSelectorTerms", in.Spec.SubnetSelectorTerms, func(t subnetInput) string { return t.ID })
	singleIDs(c, s, "spec.securityGroupSelectorTerms", in.Spec.SecurityGroupSelectorTerms, func(t groupInput) string { return t.ID })
	singleIDs(c, s, "spec.amiSelectorTerms", in.Spec.AMISelectorTerms, func(t imageInput) string { return t.ID })
	c.profileName(s, "spec.instanceProfile", in.Spec.InstanceProfile)
	c.addClass(&class{subject: s, current: &in.Spec, out: nodeClass{Metadata: c.keptMeta(in.Metadata)}})
}

// withExtra puts the settings of the kubelet that have no attribute of their own where the
// resource has them.
func withExtra(d document) document {
	spec, _ := d.body["spec"].(map[string]any)
	kubelet, is := spec["kubelet"].(map[string]any)
	if !is {
		return d
	}
	known, extra := fieldsOf(reflect.TypeFor[kubeletInput]()), map[string]any{}
	kubelet = maps.Clone(kubelet)
	for name, value := range kubelet {
		if _, there := known[name]; !there || name == "extra" {
			extra[name] = value
			delete(kubelet, name)
		}
	}
	if len(extra) == 0 {
		return d
	}
	kubelet["extra"] = extra
	d.body, spec = maps.Clone(d.body), maps.Clone(spec)
	d.body["spec"], spec["kubelet"] = spec, kubelet
	return d
}

func (c *converter) keepPool(d document) {
	s := d.subject()
	in, ok := strictly[poolInput](d, strict{report: &c.report, lacks: &c.lacks})
	if !ok || !c.named(s, in.Metadata) {
		return
	}
	template := &in.Spec.Template.Spec
	if template.Resources != nil {
		c.forHCL(s, "spec.template.spec.resources", "is left out, as only NodeClaims have resources", "remove it")
	}
	if b := &in.Spec.Disruption.Budgets; *b != nil && len(*b) == 0 { // not the default ones
		*b = []wire.Budget{{Nodes: "100%"}}
		c.forHCL(s, "spec.disruption.budgets", "an empty list bounds nothing, and is written as nodes: 100%", "")
	}
	if p := &in.Spec.Disruption.ConsolidationPolicy; *p == betaUnderutilized {
		c.forHCL(s, "spec.disruption.consolidationPolicy", betaUnderutilized+" is a value of v1beta1, and "+whenUnderutilized+" is written", "write "+whenUnderutilized)
		*p = whenUnderutilized
	}
	c.withoutAge(s, "spec.template.spec.taints", template.Taints)
	c.withoutAge(s, "spec.template.spec.startupTaints", template.StartupTaints)
	c.addPool(&pool{subject: s, current: true, out: nodePool{Metadata: c.keptMeta(in.Metadata), Spec: in.Spec}})
}

// withoutAge leaves out when taints came.
func (c *converter) withoutAge(s subject, field string, taints []wire.Taint) {
	for i := range taints {
		if taints[i].TimeAdded != nil {
			c.forHCL(s, fmt.Sprintf("%s[%d].timeAdded", field, i), "is left out, as a taint is as old as its node", "")
			taints[i].TimeAdded = nil
		}
	}
}

// checkAlias returns an error if the alias of an image is none that the daemon reads, which says
// so itself of those of Windows.
func checkAlias(text string) error {
	if text == "" || templated(text) || wholly(text) || strings.HasPrefix(text, "windows") {
		return nil
	}
	_, err := family.ParseAlias(text)
	return err //nolint:wrapcheck // it names the alias
}

// keptMeta is what of the metadata somebody has written.
func (c *converter) keptMeta(old wire.ObjectMeta) meta {
	out := meta{Name: old.Name, Labels: old.Labels, Annotations: map[string]string{}}
	for key, value := range old.Annotations {
		if !Bookkeeping(key) {
			out.Annotations[key] = value
		}
	}
	return out
}

// noResource says why no resource can be made of a pool of v1; "" if one can.
func (p *pool) noResource() (field, what, remedy string) {
	ref := p.out.Spec.Template.Spec.NodeClassRef
	switch {
	case !p.current:
	case ref == nodeClassRef{}:
		return "spec.template.spec.nodeClassRef", "missing, as in a patch, so that no resource is written", "convert the whole object, such as the output of kustomize build"
	case ref.Group != "" && ref.Group != wire.AWSGroup || ref.Kind != "" && ref.Kind != wire.KindEC2NodeClass:
		return "spec.template.spec.nodeClassRef", fmt.Sprintf("%s of %s is not of the provider's, so that no resource is written", ref.Kind, ref.Group), "leave the object to its controller, such as EKS Auto Mode"
	}
	return "", "", ""
}

// noResource says why no resource can be made of a class of v1.
func (c *class) noResource() (field, what, remedy string) {
	if c.current == nil {
		return "", "", ""
	}
	var missing []string
	for name, has := range map[string]bool{
		"amiSelectorTerms": len(c.current.AMISelectorTerms) > 0, "subnetSelectorTerms": len(c.current.SubnetSelectorTerms) > 0, "securityGroupSelectorTerms": len(c.current.SecurityGroupSelectorTerms) > 0,
		"role": c.current.Role+c.current.InstanceProfile != "",
	} {
		if !has {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return "", "", ""
	}
	slices.Sort(missing)
	return "spec", strings.Join(missing, ", ") + " missing, as in a patch, so that no resource is written", "convert the whole object, such as the output of kustomize build"
}
