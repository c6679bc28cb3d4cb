package legacy

import (
	"fmt"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// betaPool converts a NodePool of v1beta1.
func (c *converter) betaPool(d document, p wire.NodePool) {
	s := d.subject()
	template := p.Spec.Template
	const at = "spec.template.spec"
	if ref := template.Spec.NodeClassRef; ref != nil && foreignClass(ref.Kind) {
		c.lose(s, at+".nodeClassRef.kind", ref.Kind+" is not of this provider, and the NodePool is left out", "leave the object to its controller")
		return
	}
	out := nodePool{APIVersion: currentPool, Kind: wire.KindNodePool, Metadata: c.metadata(s, p.Metadata)}
	out.Spec.Template.Metadata = templateMeta(c.labels(s, "spec.template.metadata.labels", template.Metadata.Labels), template.Metadata.Annotations)
	out.Spec.Template.Spec = c.betaNode(s, at, template.Spec)
	if template.Spec.Resources != nil {
		c.lose(s, at+".resources", "is dropped, as only NodeClaims have resources", "")
	}
	old := wire.Disruption{}
	if p.Spec.Disruption != nil {
		old = *p.Spec.Disruption
	}
	out.Spec.Disruption = c.betaDisruption(s, old)
	out.Spec.Template.Spec.ExpireAfter = old.ExpireAfter
	if old.ExpireAfter == "" {
		out.Spec.Template.Spec.ExpireAfter = "720h"
		c.warn(s, "spec.disruption.expireAfter", "absent, so the default, 720h, is written out", "")
	}
	out.Spec.Limits = p.Spec.Limits
	out.Spec.Weight = c.weight(s, p.Spec.Weight)
	c.addPool(&pool{subject: s, out: out, kubelet: c.kubelet(s, at+".kubelet", template.Spec.Kubelet), kubeletField: at + ".kubelet", refField: at + ".nodeClassRef.name"})
}

// foreignClass says whether a kind of node classes is that of another provider, and not EC2NodeClass
// with a typo.
func foreignClass(kind string) bool {
	if slices.Contains([]string{"ECSNodeClass", "GCENodeClass"}, kind) { // they are no typos, near as they are
		return true
	}
	const own = wire.KindEC2NodeClass
	return strings.HasSuffix(kind, "NodeClass") && !strings.EqualFold(kind, own) && distance(kind, own) > 2
}

// betaNode converts what NodePools and NodeClaims have in common.
func (c *converter) betaNode(s subject, at string, old wire.NodeClaimSpec) nodeSpec {
	return nodeSpec{
		Taints:        c.taints(s, at+".taints", old.Taints),
		StartupTaints: c.taints(s, at+".startupTaints", old.StartupTaints),
		Requirements:  c.requirements(s, at+".requirements", old.Requirements),
		NodeClassRef:  nodeClassRef{Group: wire.AWSGroup, Kind: wire.KindEC2NodeClass, Name: c.betaRef(s, at+".nodeClassRef", old.NodeClassRef)},
	}
}

func (c *converter) betaRef(s subject, at string, ref *wire.ProviderRef) string {
	switch {
	case ref == nil || ref.Name == "":
		c.fail(s, at+".name", "missing", "write the name of the EC2NodeClass")
		return ""
	case ref.Kind != "" && ref.Kind != wire.KindEC2NodeClass:
		c.fail(s, at+".kind", fmt.Sprintf("%q is no kind that a NodePool refers to", ref.Kind), "write EC2NodeClass")
	case ref.APIVersion != "" && ref.APIVersion != wire.VersionEC2NodeClass && ref.APIVersion != currentClass:
		c.fail(s, at+".apiVersion", fmt.Sprintf("%q is not the version of EC2NodeClass", ref.APIVersion), "write karpenter.k8s.aws/v1beta1")
	}
	return ref.Name
}

// betaDisruption writes out the defaults of v1beta1.
func (c *converter) betaDisruption(s subject, old wire.Disruption) disruption {
	const at = "spec.disruption"
	out := disruption{ConsolidationPolicy: old.ConsolidationPolicy, ConsolidateAfter: old.ConsolidateAfter, Budgets: c.budgets(s, old.Budgets, false, c.driftOff)}
	switch old.ConsolidationPolicy {
	case whenEmpty:
		if old.ConsolidateAfter == "" {
			c.fail(s, at+".consolidateAfter", "missing, and consolidationPolicy WhenEmpty needs it", "write how long a node may be empty, such as 30s")
		}
	case "", betaUnderutilized, whenUnderutilized:
		out.ConsolidationPolicy = whenUnderutilized
		if old.ConsolidateAfter != "" && old.ConsolidateAfter != never && old.ConsolidationPolicy != whenUnderutilized {
			c.fail(s, at+".consolidateAfter", "set together with consolidationPolicy WhenUnderutilized", "remove it, or write WhenEmpty")
		}
		if old.ConsolidateAfter == "" {
			out.ConsolidateAfter = "0s"
			c.warn(s, at+".consolidationPolicy", "v1beta1 waited until pods had been calm for 15 seconds, and consolidateAfter: 0s does not wait", "write a time such as 30s for disruption.consolidateAfter")
		}
	default:
		c.fail(s, at+".consolidationPolicy", fmt.Sprintf("%q is no policy", old.ConsolidationPolicy), "write WhenEmpty or WhenUnderutilized")
	}
	return out
}

// claim is a NodeClaim under conversion.
type claim struct {
	subject
	copies *copies
	out    nodeClaim
}

func (n *claim) in() (subject, []string) { return n.subject, n.copies.others() }

// betaClaim converts a NodeClaim of v1beta1, once all pools are known.
func (c *converter) betaClaim(d document, old wire.NodeClaim) {
	s := d.subject()
	out := nodeClaim{APIVersion: currentPool, Kind: wire.KindNodeClaim, Metadata: c.metadata(s, old.Metadata), Spec: c.betaNode(s, "spec", old.Spec)}
	out.Spec.Resources = old.Spec.Resources
	out.Spec.ExpireAfter = never
	if p := nearest(s.source, c.poolsNamed(old.Metadata.Labels[label.NodePool])); p != nil {
		out.Spec.ExpireAfter = p.out.Spec.Template.Spec.ExpireAfter
	} else {
		c.warn(s, "spec", "its NodePool is not in the input, so expireAfter: Never is written out, as v1 has the time on the NodeClaim and its default is 720h", "convert the NodePool together with it")
	}
	if old.Spec.Kubelet != nil {
		c.lose(s, "spec.kubelet", "is dropped, as the EC2NodeClass has it in v1", "convert the NodePool and the EC2NodeClass together with it")
	}
	c.warn(s, "", "a NodeClaim that is applied launches an instance and does not take over the one that it had", "apply the NodePool, which launches what pods need")
	added := &claim{subject: s, copies: d.copies, out: out}
	if c.addClaim(added, old.Metadata.Name) {
		c.claims = append(c.claims, added)
	}
}

// addClaim notes a NodeClaim, whose name must be its own; false if an error says that it is not.
func (c *converter) addClaim(added *claim, name string) bool {
	if _, at, is := rival(added.subject, c.claimed[name]); is && name != "" && !c.severalFiles(added.subject, at, wire.KindNodeClaim, name) {
		c.sameName(added.subject, at)
		return false
	}
	c.claimed[name] = append(c.claimed[name], added)
	return true
}

// betaClass converts an EC2NodeClass of v1beta1.
func (c *converter) betaClass(d document, old wire.EC2NodeClass) {
	s := d.subject()
	spec := old.Spec
	out := nodeClassSpec{
		SubnetSelectorTerms:        c.betaTerms(s, "spec.subnetSelectorTerms", spec.SubnetSelectorTerms, false),
		SecurityGroupSelectorTerms: c.betaTerms(s, "spec.securityGroupSelectorTerms", spec.SecurityGroupSelectorTerms, true),
		Role:                       spec.Role,
		InstanceProfile:            spec.InstanceProfile,
		AssociatePublicIPAddress:   spec.AssociatePublicIPAddress,
		UserData:                   spec.UserData,
		BlockDeviceMappings:        c.volumes(s, "spec.blockDeviceMappings", spec.BlockDeviceMappings),
		InstanceStorePolicy:        spec.InstanceStorePolicy,
		DetailedMonitoring:         spec.DetailedMonitoring,
		Context:                    spec.Context,
		Tags:                       c.tags(s, "spec.tags", spec.Tags, false),
	}
	defaults := wire.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPPutResponseHopLimit: "2", HTTPTokens: "required"}
	if spec.MetadataOptions == nil {
		c.warn(s, "spec.metadataOptions", "absent, so the defaults of v1beta1 are written out, as the hop limit of v1 is 1, at which pods without host networking do not reach the metadata service", "write httpPutResponseHopLimit: 1, if no pod needs the metadata service")
		out.MetadataOptions = &defaults
	} else {
		out.MetadataOptions = c.filledMetadata(s, "spec.metadataOptions", *spec.MetadataOptions, defaults, "v1beta1")
	}
	switch {
	case spec.Role != "" && spec.InstanceProfile != "":
		c.fail(s, "spec.role", "set together with spec.instanceProfile", "remove one of the two")
	case spec.Role+spec.InstanceProfile+c.options.Role+c.options.InstanceProfile == "":
		c.fail(s, "spec.role", "missing, and spec.instanceProfile, too", "write the name of the role or of the instance profile")
	case spec.Role == "":
		c.identity(s, "spec", spec.InstanceProfile, &out)
	}
	c.betaImages(s, spec, &out)
	id := func(t wire.SelectorTerm) string { return t.ID }
	singleIDs(c, s, "spec.subnetSelectorTerms", out.SubnetSelectorTerms, id)
	singleIDs(c, s, "spec.securityGroupSelectorTerms", out.SecurityGroupSelectorTerms, id)
	singleIDs(c, s, "spec.amiSelectorTerms", out.AMISelectorTerms, func(t imageTerm) string { return t.ID })
	c.profileName(s, "spec.instanceProfile", out.InstanceProfile)
	c.addClass(&class{subject: s, out: nodeClass{APIVersion: currentClass, Kind: wire.KindEC2NodeClass, Metadata: c.metadata(s, old.Metadata), Spec: out}})
}

// betaTerms checks the terms of subnets or security groups.
func (c *converter) betaTerms(s subject, field string, terms []wire.SelectorTerm, names bool) []wire.SelectorTerm {
	if len(terms) == 0 {
		c.fail(s, field, "missing", "write a term with tags or an id")
	}
	c.fits(s, field, len(terms))
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", field, i)
		if wholly(t.ID) {
			continue
		}
		set := 0
		for _, has := range []bool{len(t.Tags) > 0, t.ID != "", t.Name != ""} {
			if has {
				set++
			}
		}
		switch {
		case t.Owner != "":
			c.fail(s, at+".owner", "no such field here", "remove it")
		case t.Name != "" && !names:
			c.fail(s, at+".name", "no such field here", "write tags: {Name: "+t.Name+"}")
		case set != 1:
			ways := "tags and id"
			if names {
				ways = "tags, id and name"
			}
			c.fail(s, at, "a term selects by one of "+ways, "write a term for each")
		}
		c.betaTags(s, at, t.Tags)
	}
	return terms
}

func (c *converter) betaTags(s subject, at string, tags map[string]string) {
	if len(tags) > maxTags {
		c.fail(s, at+".tags", fmt.Sprintf("%d tags, and a term of v1 has at most %d", len(tags), maxTags), "select by fewer tags")
	}
	for key, value := range tags {
		if key == "" || value == "" {
			c.fail(s, at+".tags", "an empty key or value selects nothing", "write a value, or * for any")
			return
		}
	}
}

// betaImages converts amiFamily and amiSelectorTerms.
func (c *converter) betaImages(s subject, spec wire.EC2NodeClassSpec, out *nodeClassSpec) {
	family := spec.AMIFamily
	switch {
	case !slices.Contains([]string{"", familyAL2, "AL2023", "Bottlerocket", familyUbuntu, "Windows2019", "Windows2022", familyCustom}, family):
		c.fail(s, "spec.amiFamily", fmt.Sprintf("%q is no family that can be converted", family), "write AL2023, AL2, Bottlerocket, Ubuntu, Windows2019, Windows2022 or Custom")
		return
	case family == "" && len(spec.AMISelectorTerms) == 0:
		c.fail(s, "spec.amiFamily", "missing, and spec.amiSelectorTerms, too", "write the family, such as AL2023")
		return
	case len(spec.AMISelectorTerms) == 0:
		c.alias(s, "spec", "amiSelectorTerms", family, out)
		return
	case family == "":
		family = familyCustom
		c.warn(s, "spec.amiFamily", "absent, so amiFamily: Custom is written out, as without an alias v1 needs a family", "write the family whose user data the images take")
	}
	out.AMIFamily = family
	c.fits(s, "spec.amiSelectorTerms", len(spec.AMISelectorTerms))
	for i, t := range spec.AMISelectorTerms {
		at := fmt.Sprintf("spec.amiSelectorTerms[%d]", i)
		switch {
		case wholly(t.ID):
		case t.ID != "" && (t.Name != "" || t.Owner != "" || len(t.Tags) > 0):
			c.fail(s, at, "a term with an id has nothing else", "write a term for each")
		case t.ID == "" && t.Name == "" && len(t.Tags) == 0:
			c.fail(s, at, "a term selects by tags, id or name", "write one of them")
		}
		c.betaTags(s, at, t.Tags)
		out.AMISelectorTerms = append(out.AMISelectorTerms, imageTerm{ID: t.ID, Name: t.Name, Owner: t.Owner, Tags: t.Tags})
	}
	if family == familyUbuntu {
		c.ubuntu(s, "spec", out)
	}
	c.custom(s, "spec", family, out)
}
