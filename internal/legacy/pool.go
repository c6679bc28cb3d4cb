package legacy

import (
	"fmt"
	"slices"
	"strings"

	awsv1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Consolidation policies and texts of v1.
const (
	whenEmpty         = "WhenEmpty"
	whenUnderutilized = "WhenEmptyOrUnderutilized"
	betaUnderutilized = "WhenUnderutilized" // the same in v1beta1
	never             = "Never"
	currentPool       = wire.CoreGroup + "/v1"
	currentClass      = wire.AWSGroup + "/v1"
)

// pool is a NodePool under conversion, with the kubelet settings that its class is to get.
type pool struct {
	subject
	copies       *copies
	out          nodePool
	kubelet      *wire.Kubelet
	kubeletField string
	refField     string
	class        *class // nil if the input has none of its name
	current      bool   // the input has it in v1 already, and it stays as it is
}

func (p *pool) in() (subject, []string) { return p.subject, p.copies.others() }

// provisioner converts a Provisioner, and its inline provider to a class.
func (c *converter) provisioner(d document, p wire.Provisioner) {
	s := d.subject()
	spec := p.Spec
	out := nodePool{APIVersion: currentPool, Kind: wire.KindNodePool, Metadata: c.metadata(s, p.Metadata)}
	out.Spec.Template.Metadata = templateMeta(c.labels(s, "spec.labels", spec.Labels), spec.Annotations)
	node := &out.Spec.Template.Spec
	node.Taints = c.taints(s, "spec.taints", spec.Taints)
	node.StartupTaints = c.taints(s, "spec.startupTaints", spec.StartupTaints)
	if slices.ContainsFunc(spec.Requirements, func(q wire.Requirement) bool { return wholly(q.Key) }) {
		c.fail(s, "spec.requirements", "a template for all of it, and which defaults v1alpha5 adds depends on its keys", "write the list, each requirement with templates of its own, such as values: ${jsonencode(var.values)}")
	}
	node.Requirements = c.defaulted(s, c.requirements(s, "spec.requirements", spec.Requirements))
	node.NodeClassRef = nodeClassRef{Group: wire.AWSGroup, Kind: wire.KindEC2NodeClass, Name: c.classOf(s, p)}
	node.ExpireAfter = c.expiry(s, spec.TTLSecondsUntilExpired)
	out.Spec.Disruption = c.consolidation(s, spec)
	out.Spec.Weight = c.weight(s, spec.Weight)
	if spec.Limits != nil {
		out.Spec.Limits = spec.Limits.Resources
	}
	field := "spec.providerRef.name"
	if spec.Provider != nil {
		field = "spec.provider"
	}
	c.addPool(&pool{subject: s, out: out, kubelet: c.kubelet(s, "spec.kubeletConfiguration", spec.KubeletConfiguration), kubeletField: "spec.kubeletConfiguration", refField: field})
}

// addPool notes a pool, whose name must be its own.
func (c *converter) addPool(p *pool) {
	name := p.out.Metadata.Name
	other, at, is := rival(p.subject, c.poolsNamed(name))
	switch {
	case name == "" || !is || c.severalFiles(p.subject, at, wire.KindNodePool, name):
	case p.current && other.current:
		c.sameName(p.subject, at)
		return
	default:
		c.fail(p.subject, "metadata.name", fmt.Sprintf("%s would become a NodePool of the same name", at.where()), "rename one of the two"+orApart(p.subject, at))
		return
	}
	c.pools = append(c.pools, p)
}

// poolsNamed are the pools of this name.
func (c *converter) poolsNamed(name string) []*pool {
	return slices.DeleteFunc(slices.Clone(c.pools), func(p *pool) bool { return p.out.Metadata.Name != name })
}

// where names a subject with its source.
func (s subject) where() string {
	if s.source == "" {
		return s.object
	}
	return s.object + " of " + s.source
}

func templateMeta(labels, annotations map[string]string) *wire.TemplateMeta {
	kept := map[string]string{}
	for key, value := range annotations {
		if !Bookkeeping(key) {
			kept[key] = value
		}
	}
	if len(labels)+len(kept) == 0 {
		return nil
	}
	return &wire.TemplateMeta{Labels: labels, Annotations: kept}
}

// defaulted adds the requirements that the webhook of v1alpha5 added.
func (c *converter) defaulted(s subject, all []wire.Requirement) []wire.Requirement {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(all, func(q wire.Requirement) bool { return slices.Contains(keys, q.Key) })
	}
	var added []wire.Requirement
	add := func(key, operator string, values ...string) {
		added = append(added, wire.Requirement{Key: key, Operator: operator, Values: values})
	}
	if !has(label.OS) {
		add(label.OS, "In", "linux")
	}
	if !has(label.Arch) {
		add(label.Arch, "In", "amd64")
	}
	if !has(label.CapacityType) {
		add(label.CapacityType, "In", label.OnDemand)
	}
	if !has(label.InstanceType, awsv1.LabelInstanceFamily, awsv1.LabelInstanceCategory, awsv1.LabelInstanceGeneration) {
		add(awsv1.LabelInstanceCategory, "In", "c", "m", "r")
		add(awsv1.LabelInstanceGeneration, "Gt", "2")
	}
	if len(added) > 0 {
		var texts []string
		for _, q := range added {
			texts = append(texts, fmt.Sprintf("%s %s %s", q.Key, q.Operator, strings.Join(q.Values, "/")))
		}
		c.warn(s, "spec.requirements", "v1 has no default requirements, so those of v1alpha5 are written out: "+strings.Join(texts, ", "), "remove those that are not wanted")
	}
	return append(all, added...)
}

// classOf returns the name of the class: that of the node template, or of the
// Provisioner itself, whose inline provider becomes a class.
func (c *converter) classOf(s subject, p wire.Provisioner) string {
	ref := p.Spec.ProviderRef
	switch {
	case ref != nil && p.Spec.Provider != nil:
		c.fail(s, "spec.provider", "set together with spec.providerRef", "remove one of the two")
	case p.Spec.Provider != nil:
		if v := p.Spec.Provider.APIVersion; v != "" && v != "extensions.karpenter.sh/v1alpha1" {
			c.fail(s, "spec.provider.apiVersion", fmt.Sprintf("%q is not the version of an inline provider", v), "write extensions.karpenter.sh/v1alpha1, or remove it")
		}
		c.addTemplate(s, "spec.provider", meta{Name: p.Metadata.Name}, wire.AWSNodeTemplateSpec{AWS: *p.Spec.Provider})
		return p.Metadata.Name
	case ref == nil:
		c.fail(s, "spec.providerRef", "missing, and spec.provider, too", "name an AWSNodeTemplate in spec.providerRef.name")
	case ref.Name == "":
		c.fail(s, "spec.providerRef.name", "missing", "write the name of the AWSNodeTemplate")
	case ref.Kind != "" && ref.Kind != wire.KindAWSNodeTemplate:
		c.fail(s, "spec.providerRef.kind", fmt.Sprintf("%q is no kind that a Provisioner refers to", ref.Kind), "write AWSNodeTemplate, or remove it")
	case ref.APIVersion != "" && ref.APIVersion != wire.VersionAWSNodeTemplate:
		c.fail(s, "spec.providerRef.apiVersion", fmt.Sprintf("%q is not the version of AWSNodeTemplate", ref.APIVersion), "write karpenter.k8s.aws/v1alpha1, or remove it")
	case c.live:
		return p.Metadata.Name
	default:
		return ref.Name
	}
	return ""
}

// expiry converts ttlSecondsUntilExpired.
func (c *converter) expiry(s subject, ttl wire.Number) string {
	const field = "spec.ttlSecondsUntilExpired"
	v, known := ttl.Value()
	switch {
	case ttl == "":
		c.warn(s, field, "absent, so nodes do not expire and expireAfter: Never is written out, as the default of v1 is 720h", "write 720h, if nodes may be replaced once a month")
		return never
	case known && v <= 0:
		c.fail(s, field, fmt.Sprintf("%d would expire each node at once", v), "write the seconds that a node may live, such as 2592000, or remove the field")
	}
	return string(ttl) + "s"
}

// consolidation converts ttlSecondsAfterEmpty and consolidation, and writes out what v1
// would do by default.
func (c *converter) consolidation(s subject, spec wire.ProvisionerSpec) disruption {
	ttl := spec.TTLSecondsAfterEmpty
	enabled := wire.Bool("")
	if spec.Consolidation != nil {
		enabled = spec.Consolidation.Enabled
	}
	out := disruption{ConsolidationPolicy: whenEmpty, ConsolidateAfter: string(ttl) + "s", Budgets: c.budgets(s, nil, true, !c.drift)}
	v, known := ttl.Value()
	switch {
	case templated(string(enabled)):
		c.fail(s, "spec.consolidation.enabled", "a template, whose value decides what the NodePool is", "write true or false")
	case enabled == "true" && ttl != "":
		c.fail(s, "spec.ttlSecondsAfterEmpty", "set together with spec.consolidation.enabled", "remove one of the two, as consolidation removes empty nodes, too")
	case known && v < 0:
		c.fail(s, "spec.ttlSecondsAfterEmpty", fmt.Sprintf("%d is less than 0", v), "write the seconds that a node may be empty")
	case enabled == "true":
		out.ConsolidationPolicy, out.ConsolidateAfter = whenUnderutilized, "0s"
		c.warn(s, "spec.consolidation", "v1alpha5 waited until pods had been calm for 15 seconds, and consolidateAfter: 0s does not wait", "write a time such as 30s for disruption.consolidateAfter")
	case ttl == "":
		out.ConsolidateAfter = never
		c.warn(s, "spec.consolidation", "absent, and spec.ttlSecondsAfterEmpty, too, so no node is removed to save money and WhenEmpty with consolidateAfter: Never is written out, as v1 consolidates by default", "write WhenEmptyOrUnderutilized and a time such as 30s, if nodes may go to save money")
	}
	return out
}

// budgets gives the budgets of a pool: its own or the default, and one that holds drift
// where it was off.
func (c *converter) budgets(s subject, own []wire.Budget, alpha, driftOff bool) []wire.Budget {
	all := slices.Clone(own)
	if len(all) == 0 {
		all = []wire.Budget{{Nodes: "10%"}}
		if alpha {
			c.warn(s, "", "v1alpha5 had no budgets, and the default of v1, nodes: 10%, is written out", "write 100%, if all nodes may go at once")
		}
	}
	if driftOff && len(all) == 1 && wholly(string(all[0].Nodes)) {
		c.fail(s, "spec.disruption.budgets", "a template for all of it, beside which there is no room for the budget that keeps drift off", "write the list, each budget with templates of its own")
		return all
	}
	if driftOff {
		all = append(all, wire.Budget{Nodes: "0", Reasons: []string{"Drifted"}})
		c.warn(s, "", "drift is always on in v1 and was off without featureGates.driftEnabled: true in karpenter-global-settings, so a budget of 0 nodes for the reason Drifted keeps it off", "remove this budget, so that nodes follow changes of the NodePool and the image")
	}
	return all
}

func (c *converter) weight(s subject, weight wire.Number) wire.Number {
	if v, known := weight.Value(); known && (v < 1 || v > 100) {
		c.fail(s, "spec.weight", fmt.Sprintf("%d is not from 1 to 100", v), "write a weight from 1 to 100, or remove the field")
	}
	return weight
}
