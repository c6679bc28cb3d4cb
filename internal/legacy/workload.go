package legacy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// workload looks through an object that is not of Karpenter for keys that v1 does not
// have. It is for pods, and for what makes pods.
func (c *converter) workload(d document) {
	changed := maps.Clone(c.renamed)
	changed[keyDoNotEvict], changed[keyDoNotMove] = keyDoNotDisrupt, keyDoNotDisrupt
	changed[keyOldTaint] = keyTaint
	changed[keyProvisioner], changed[keyOldCapacityType] = label.NodePool, label.CapacityType
	c.search(d.subject(), "", d.body, changed, 0)
}

// maxDepth is deeper than a pod template in any kind.
const maxDepth = 64

// search finds keys of maps, and texts under key and topologyKey.
func (c *converter) search(s subject, path string, value any, changed map[string]string, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if now, ok := changed[key]; ok {
				c.warn(s, path, key+" means nothing in v1", "write "+now)
			}
			if key == keyDisruption {
				c.warn(s, path, key+" means nothing in v1", "delete the NodeClaim, if the node is to go")
			}
			if text, _ := v[key].(string); key == "key" || key == "topologyKey" {
				if now, ok := changed[text]; ok {
					c.warn(s, join(path, key), text+" means nothing in v1", "write "+now)
				}
			}
			c.search(s, join(path, key), v[key], changed, depth+1)
		}
	case []any:
		for i, item := range v {
			c.search(s, fmt.Sprintf("%s[%d]", path, i), item, changed, depth+1)
		}
	}
}
