package legacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Image families.
const (
	familyAL2    = "AL2"
	familyUbuntu = "Ubuntu"
	familyCustom = "Custom"
)

// images converts amiFamily and amiSelector of a node template.
func (c *converter) images(s subject, base string, spec wire.AWSNodeTemplateSpec, out *nodeClassSpec) {
	family := spec.AMIFamily
	if family == "" {
		family = familyAL2
	}
	if !slices.Contains([]string{familyAL2, "Bottlerocket", familyUbuntu, "Windows2019", "Windows2022", familyCustom}, family) {
		c.fail(s, base+".amiFamily", fmt.Sprintf("%q is no family that can be converted", family), "write AL2, Bottlerocket, Ubuntu, Windows2019, Windows2022 or Custom")
		return
	}
	if len(spec.AMISelector) == 0 {
		c.alias(s, base, "amiSelector", family, out)
		return
	}
	out.AMIFamily = family
	out.AMISelectorTerms = c.imageTerms(s, base+".amiSelector", spec.AMISelector)
	if family == familyUbuntu {
		c.ubuntu(s, base, out)
	}
	c.custom(s, base, family, out)
}

// alias selects the images of a family.
func (c *converter) alias(s subject, base, selectorField, family string, out *nodeClassSpec) {
	field := base + ".amiFamily"
	switch family {
	case familyUbuntu, familyCustom:
		c.fail(s, base+"."+selectorField, "missing, and v1 does not know images of the family "+family, "select the images by id, name or tags")
		return
	}
	if family == familyAL2 && c.options.Kubernetes >= minorWithoutAL2 {
		c.withoutAL2(s, base, out)
		return
	}
	alias := strings.ToLower(family) + "@latest"
	out.AMISelectorTerms = []imageTerm{{Alias: alias}}
	remedy := "name a release in place of latest"
	if strings.HasPrefix(alias, "windows") {
		remedy = "bound disruption by a budget, as a Windows alias has no releases to name"
	}
	c.warn(s, field, alias+" replaces all nodes whenever AWS releases an image", remedy)
	if family == familyAL2 {
		c.warn(s, field, "the alias al2 has no images from Kubernetes 1.33 on", "write al2023@latest there, and rewrite userData for nodeadm")
	}
}

// ubuntu keeps the images of a selector under the family whose user data they take.
func (c *converter) ubuntu(s subject, base string, out *nodeClassSpec) {
	out.AMIFamily = familyAL2
	c.warn(s, base+".amiFamily", "v1 has no family Ubuntu, so amiFamily: AL2 is written, whose user data Ubuntu images take", "try it on one node")
	if len(out.BlockDeviceMappings) == 0 {
		out.BlockDeviceMappings = []wire.BlockDeviceMapping{{DeviceName: "/dev/sda1", RootVolume: "true", EBS: &wire.EBS{VolumeSize: "20Gi", VolumeType: "gp3", Encrypted: "true"}}}
		c.warn(s, base+".blockDeviceMappings", "absent, so the volume that the family Ubuntu had is written out: /dev/sda1, 20Gi, gp3, encrypted", "")
	}
}

// custom says what the family Custom leaves to the user.
func (c *converter) custom(s subject, base, family string, out *nodeClassSpec) {
	if family != familyCustom {
		return
	}
	if !strings.Contains(out.UserData, "karpenter.sh/unregistered") {
		c.warn(s, base+".userData", "nodes of the family Custom have to register with the taint karpenter.sh/unregistered:NoExecute", "add --register-with-taints=karpenter.sh/unregistered:NoExecute to the arguments of the kubelet")
	}
	volumes := out.BlockDeviceMappings
	if slices.ContainsFunc(volumes, func(m wire.BlockDeviceMapping) bool { return m.RootVolume != "" || wholly(m.DeviceName) }) {
		return
	}
	switch len(volumes) {
	case 0:
	case 1:
		volumes[0].RootVolume = "true"
	default:
		c.warn(s, base+".blockDeviceMappings", "v1 does not know which volume of the family Custom holds the kubelet's storage", "set rootVolume: true in one of them")
	}
}

// imageTerms converts an amiSelector.
func (c *converter) imageTerms(s subject, field string, old map[string]string) []imageTerm {
	before := len(c.errors)
	parts := c.takeApart(s, field, old, true)
	for _, key := range slices.Sorted(maps.Keys(parts.tags)) {
		if label.OfInstance(label.Canonical(key)) {
			c.lose(s, fmt.Sprintf("%s[%s]", field, key), "v1alpha1 took this tag of an image as a requirement on nodes, too, and v1 does not", "write an EC2NodeClass for each kind of image, and the requirement in its NodePools")
		}
	}
	c.checkIDs(s, field, "ami", parts.ids)
	if len(parts.ids) > 0 {
		if len(parts.names)+len(parts.owners)+len(parts.tags) > 0 {
			c.lose(s, field, "all but the ids is dropped, as a term of v1 with an id has nothing else", "see that the ids alone select what is meant")
		}
		if !c.fits(s, field, len(parts.ids)) {
			return nil
		}
		var all []imageTerm
		for _, id := range parts.ids {
			all = append(all, imageTerm{ID: id})
		}
		return all
	}
	if len(parts.owners) == 0 && len(parts.names) == 0 {
		parts.owners = []string{"self", "amazon"}
		c.warn(s, field, "v1 selects images by tags whoever owns them, so the owners of v1alpha1, self and amazon, are written out", "remove the owners that are not meant")
	}
	names, owners := orNone(parts.names), orNone(parts.owners)
	if !c.fits(s, field, parts.combinations()*len(names)*len(owners)) || len(c.errors) > before {
		return nil
	}
	var all []imageTerm
	for _, name := range names {
		for _, owner := range owners {
			for _, tags := range parts.products() {
				all = append(all, imageTerm{Name: name, Owner: owner, Tags: tags})
			}
		}
	}
	if len(parts.names)+len(parts.tags) == 0 {
		c.fail(s, field, "owners alone select nothing in v1", "add aws::name or tags")
	}
	return all
}

// orNone gives one empty alternative where there is none.
func orNone(values []string) []string {
	if len(values) == 0 {
		return []string{""}
	}
	return values
}
