package legacy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// class is an EC2NodeClass under conversion.
type class struct {
	subject
	copies  *copies
	out     nodeClass
	copied  bool            // a copy of the class with other settings of the kubelet
	current *classInputSpec // the input has it in v1 already, and it stays as it is
}

func (c *class) in() (subject, []string) { return c.subject, c.copies.others() }

// addTemplate converts an AWSNodeTemplate, or the inline provider of a Provisioner, whose
// fields are under base.
func (c *converter) addTemplate(s subject, base string, m meta, spec wire.AWSNodeTemplateSpec) {
	if spec.LaunchTemplate != "" {
		c.fail(s, base+".launchTemplate", "v1 takes no launch template", "read the launch template, write its image as amiSelector with amiFamily: Custom, its user data, security groups, instance profile and volumes as userData, securityGroupSelector, instanceProfile and blockDeviceMappings, and remove this field")
		return
	}
	out := nodeClassSpec{
		SubnetSelectorTerms:        c.terms(s, base+".subnetSelector", spec.SubnetSelector, "subnet"),
		SecurityGroupSelectorTerms: c.terms(s, base+".securityGroupSelector", spec.SecurityGroupSelector, "sg"),
		UserData:                   spec.UserData,
		DetailedMonitoring:         spec.DetailedMonitoring,
		Context:                    spec.Context,
		BlockDeviceMappings:        c.volumes(s, base+".blockDeviceMappings", spec.BlockDeviceMappings),
		Tags:                       c.tags(s, base+".tags", spec.Tags, true),
	}
	c.images(s, base, spec, &out)
	c.identity(s, base, spec.InstanceProfile, &out)
	c.profileName(s, base+".instanceProfile", out.InstanceProfile)
	out.MetadataOptions = c.templateMetadata(s, base+".metadataOptions", spec.MetadataOptions)
	c.warn(s, base, "v1alpha1 gave no public address where all subnets are private, and v1 leaves that to the subnets", "set associatePublicIPAddress: false, if a policy requires it")
	c.addClass(&class{subject: s, out: nodeClass{APIVersion: currentClass, Kind: wire.KindEC2NodeClass, Metadata: m, Spec: out}})
}

// addClass notes a class, whose name must be its own.
func (c *converter) addClass(added *class) {
	name := added.out.Metadata.Name
	other, at, is := rival(added.subject, c.classes[name])
	switch {
	case name == "" || !is || added.copied == other.copied && c.severalFiles(added.subject, at, wire.KindEC2NodeClass, name):
	case added.current != nil && other.current != nil:
		c.sameName(added.subject, at)
		return
	default:
		c.fail(added.subject, "metadata.name", fmt.Sprintf("%s would become an EC2NodeClass of the same name", at.where()), "rename one of the two and what refers to it"+orApart(added.subject, at))
		return
	}
	c.classes[name] = append(c.classes[name], added)
	c.order = append(c.order, added)
}

// identity sets the instance profile or the role.
func (c *converter) identity(s subject, base, profile string, out *nodeClassSpec) {
	switch {
	case profile != "":
		out.InstanceProfile = profile
	case c.options.Role != "":
		out.Role = c.options.Role
	case c.options.InstanceProfile != "":
		out.InstanceProfile = c.options.InstanceProfile
	case c.profile != "":
		out.InstanceProfile = c.profile
		c.warn(s, base+".instanceProfile", "absent, so aws.defaultInstanceProfile of karpenter-global-settings, "+c.profile+", is written out, as v1 has no default", "")
	default:
		c.fail(s, base+".instanceProfile", "missing, and v1 has no default", c.remedy("write the name of the instance profile, give --instance-profile or --role to karpenterd convert, or convert the ConfigMap karpenter-global-settings, which has the default, together with it",
			"write the name of the instance profile, or set aws.defaultInstanceProfile in the ConfigMap karpenter-global-settings in the daemon's namespace and restart the daemon"))
	}
}

// tags removes the tags that the daemon sets, and adds those of the settings.
func (c *converter) tags(s subject, field string, old map[string]string, global bool) map[string]string {
	all := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		switch {
		case key == "":
			c.fail(s, field, "a tag without key", "write its key, or remove it")
		case strings.HasPrefix(key, "kubernetes.io/cluster") || slices.Contains([]string{keyProvisioner, "karpenter.sh/managed-by", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "eks:eks-cluster-name"}, key):
			c.warn(s, fmt.Sprintf("%s[%s]", field, key), "is dropped, as the controller sets this tag itself", "")
		default:
			all[key] = old[key]
		}
	}
	if !global {
		return all
	}
	if whollyOf(all) && len(c.globalTags) > 0 {
		c.fail(s, field, "a template for all of it, to which the tags of karpenter-global-settings cannot be added", "write each tag with a template of its own")
		return all
	}
	var added []string
	for _, key := range slices.Sorted(maps.Keys(c.globalTags)) {
		if _, own := all[key]; !own {
			all[key] = c.globalTags[key]
			added = append(added, key)
		}
	}
	if len(added) > 0 {
		c.warn(s, field, "aws.tags of karpenter-global-settings are added, as v1 has no tags for all classes: "+strings.Join(added, ", "), "")
	}
	return all
}

// templateMetadata writes out what v1alpha1 did where options are absent.
func (c *converter) templateMetadata(s subject, field string, old *wire.MetadataOptions) *wire.MetadataOptions {
	if old == nil {
		c.warn(s, field, "absent, so the hop limit of v1alpha1, 2, is written out, as the default of v1 is 1, at which pods without host networking do not reach the metadata service", "write httpPutResponseHopLimit: 1, if no pod needs the metadata service; in an IPv6 cluster, write httpProtocolIPv6: enabled")
		return &wire.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPPutResponseHopLimit: "2", HTTPTokens: "required"}
	}
	return c.filledMetadata(s, field, *old, wire.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPPutResponseHopLimit: "1", HTTPTokens: "optional"}, "EC2")
}

// oneOf reports a text that is none of those that v1 takes.
func (c *converter) oneOf(s subject, field, value string, known ...string) {
	if value != "" && !templated(value) && !slices.Contains(known, value) {
		c.fail(s, field, fmt.Sprintf("%q is no value of this field", value), "write "+strings.Join(known, " or "))
	}
}

// filledMetadata writes out the options that are absent.
func (c *converter) filledMetadata(s subject, field string, out, defaults wire.MetadataOptions, whose string) *wire.MetadataOptions {
	c.oneOf(s, field+".httpEndpoint", out.HTTPEndpoint, "enabled", "disabled")
	c.oneOf(s, field+".httpProtocolIPv6", out.HTTPProtocolIPv6, "enabled", "disabled")
	c.oneOf(s, field+".httpTokens", out.HTTPTokens, "required", "optional")
	if n, known := out.HTTPPutResponseHopLimit.Value(); known && (n < 1 || n > 64) {
		c.fail(s, field+".httpPutResponseHopLimit", fmt.Sprintf("%d is not from 1 to 64", n), "write a number from 1 to 64")
	}
	var added []string
	fill := func(to *string, value, name string) {
		if *to == "" {
			*to = value
			added = append(added, name+": "+value)
		}
	}
	fill(&out.HTTPEndpoint, defaults.HTTPEndpoint, "httpEndpoint")
	fill(&out.HTTPProtocolIPv6, defaults.HTTPProtocolIPv6, "httpProtocolIPv6")
	hops := string(out.HTTPPutResponseHopLimit)
	fill(&hops, string(defaults.HTTPPutResponseHopLimit), "httpPutResponseHopLimit")
	out.HTTPPutResponseHopLimit = wire.Number(hops)
	fill(&out.HTTPTokens, defaults.HTTPTokens, "httpTokens")
	remedy := ""
	if slices.Contains(added, "httpTokens: optional") {
		remedy = "write httpTokens: required, unless something on the nodes needs IMDSv1"
	}
	if len(added) > 0 {
		c.warn(s, field, "incomplete, so the defaults of "+whose+" that counted are written out: "+strings.Join(added, ", "), remedy)
	}
	return &out
}

// sizeForm is that of a volume size in v1.
var sizeForm = regexp.MustCompile(`^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$`)

// volumes converts block device mappings.
func (c *converter) volumes(s subject, field string, old []wire.BlockDeviceMapping) []wire.BlockDeviceMapping {
	for i := range old {
		m := &old[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		if wholly(m.DeviceName) {
			continue
		}
		if m.DeviceName == "" {
			c.fail(s, at+".deviceName", "missing", "write the name of the device, such as /dev/xvda")
		}
		if m.EBS == nil {
			c.fail(s, at+".ebs", "missing", "write the volume with its volumeSize")
			continue
		}
		ebs := *m.EBS
		m.EBS = &ebs
		if ebs.VolumeSize == "" && ebs.SnapshotID == "" {
			c.fail(s, at+".ebs.volumeSize", "missing, and snapshotID, too", "write a size such as 50Gi")
		}
		c.oneOf(s, at+".ebs.volumeType", ebs.VolumeType, "gp3", "gp2", "io1", "io2", "st1", "sc1", "standard")
		m.EBS.VolumeSize = c.size(s, at+".ebs.volumeSize", ebs.VolumeSize)
	}
	return old
}

// size gives a size the form that v1 takes: whole Gi, G, Ti or T.
func (c *converter) size(s subject, field string, old wire.Quantity) wire.Quantity {
	text := string(old)
	if text == "" || templated(text) || sizeForm.MatchString(text) {
		return old
	}
	const gibibyte, gigabyte = 1 << 30, 1_000_000_000
	q, ok := parseQuantity(text)
	bytes := q.Value()
	switch {
	case !ok || bytes <= 0:
		c.fail(s, field, fmt.Sprintf("%q is no size", text), "write one such as 50Gi")
		return old
	case bytes < gigabyte:
		c.fail(s, field, text+" is less than 1G", "write the unit, too, as in "+strings.TrimRight(text, "kKMi")+"Gi")
		return old
	}
	whole := (bytes + gibibyte - 1) / gibibyte
	now := fmt.Sprintf("%dGi", whole)
	if !sizeForm.MatchString(now) {
		c.fail(s, field, text+" is more than v1 takes", "write at most 59000Gi or 64T")
		return old
	}
	if whole*gibibyte != bytes {
		c.warn(s, field, text+" is rounded up to "+now+", as v1 takes whole Gi, G, Ti and T only", "")
	}
	return wire.Quantity(now)
}
