package legacy

import (
	"fmt"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// suspects warns of texts that an API server takes and AWS does not know.
func (c *converter) suspects(s subject, base string, spec nodeClassSpec, images ...string) {
	c.oneIDs(s, base+".subnetSelectorTerms", spec.SubnetSelectorTerms)
	c.oneIDs(s, base+".securityGroupSelectorTerms", spec.SecurityGroupSelectorTerms)
	for i, id := range images {
		c.oneID(s, fmt.Sprintf("%s.amiSelectorTerms[%d].id", base, i), id)
	}
	if name := spec.InstanceProfile; strings.HasPrefix(name, "arn:") && !templated(name) {
		c.lose(s, base+".instanceProfile", name+" is an ARN, and EC2 is told a name: nothing can be launched", "write "+name[strings.LastIndex(name, "/")+1:])
	}
}

func (c *converter) oneIDs(s subject, at string, terms []wire.SelectorTerm) {
	for i, t := range terms {
		c.oneID(s, fmt.Sprintf("%s[%d].id", at, i), t.ID)
	}
}

// oneID warns of several ids in one text.
func (c *converter) oneID(s subject, at, id string) {
	if !templated(id) && strings.ContainsAny(id, ", ") {
		c.lose(s, at, fmt.Sprintf("%q is no id and selects nothing", id), "write one id, and a term for each")
	}
}
