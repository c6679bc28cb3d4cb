package simulate

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// unclaimed goes through the nodes that have an instance type and no NodeClaim, by name.
func (c *Cluster) unclaimed() iter.Seq[*corev1.Node] {
	has := map[string]bool{}
	for _, claim := range c.claims {
		if id := claim.Status.ProviderID; id != "" {
			has[id] = true
		}
	}
	return func(yield func(*corev1.Node) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
			n := c.nodes[name]
			if (n.Spec.ProviderID == "" || !has[n.Spec.ProviderID]) && n.Labels[label.InstanceType] != "" && !yield(n) {
				return
			}
		}
	}
}

// homes are the NodePools that nodes of none count as launched by: for each node the first by weight
// and name of those that could have launched it. For nodes that none could have launched, the pool
// that stands in is one that launches nothing more: the NodePools of the cluster alone decide what
// takes the place of such nodes.
func (c *Cluster) homes(which Nodes, facts []catalog.Fact) map[string]string {
	out := map[string]string{}
	if which != AllNodes {
		return out
	}
	byName := map[string]catalog.Fact{}
	for _, f := range facts {
		byName[f.Name] = f
	}
	pools := c.launching()
	strange := 0
	for n := range c.unclaimed() {
		if c.pools[n.Labels[v1.LabelNodePool]] != nil || staysFor(n) != "" {
			continue
		}
		i := slices.IndexFunc(pools, func(p cluster.Pool) bool { return couldLaunch(p, n, byName) })
		switch {
		case i >= 0:
			out[n.Name] = pools[i].Name
		case c.pools[standInName] != nil && c.pools[standInName].UID != standInUID: // the user's own
			out[n.Name] = pools[0].Name
		default:
			out[n.Name] = standInName
			strange++
		}
	}
	if strange > 0 && c.pools[standInName] == nil {
		c.pools[standInName] = standInPool()
		c.pools[standInName].Spec.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0")}
		c.Note("%s of no NodePool, and none of the NodePools could have launched them by its requirements and taints: %q stands in for these, which launches nothing", quantity.Count(int64(strange), "node"), standInName)
	}
	return out
}

// closed says whether the pool stands in for nodes alone, and launches nothing.
func closed(p *v1.NodePool) bool { return p.UID == standInUID && p.Spec.Limits != nil }

// launching are the NodePools that launch nodes for pods, the first by weight and name first.
func (c *Cluster) launching() (out []cluster.Pool) {
	for _, p := range c.pools {
		if p.Spec.Replicas == nil && p.DeletionTimestamp == nil && p.Spec.Template.Spec.NodeClassRef.Group == awsv1.Group {
			out = append(out, translate.Pool(p))
		}
	}
	slices.SortFunc(out, func(a, b cluster.Pool) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(a.Name, b.Name))
	})
	return out
}

// couldLaunch says whether the node is as the pool launches nodes: of what instances decide it has
// what the pool requires, and it has the taints of the pool. What nobody says of the node counts as
// what the pool requires. Labels of users do not count: node groups have others.
func couldLaunch(p cluster.Pool, n *corev1.Node, facts map[string]catalog.Fact) bool {
	fact, known := facts[n.Labels[label.InstanceType]]
	has := label.FromMap(n.Labels).With(label.CapacityType, capacityType(n))
	if known {
		has = fact.Labels(n.Labels[label.Region]).Merge(has)
	}
	for _, r := range p.Requirements {
		_, said := has.Get(r.Key())
		ofType := known && label.OfInstance(r.Key()) && !label.OfOffering(r.Key()) && r.Key() != label.Tenancy
		if !r.MetBy(has) && label.OfInstance(r.Key()) && (said || ofType) {
			return false
		}
	}
	taints := translate.Taints(n.Spec.Taints)
	return !slices.ContainsFunc(p.Taints, func(t cluster.Taint) bool { return !slices.Contains(taints, t) })
}
