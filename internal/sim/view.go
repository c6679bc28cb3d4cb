package sim

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// view is the cluster as the core sees it.
type view struct {
	base      cluster.Objects // what does not change
	pods      map[string]*pod
	nodes     map[string]*node
	claims    map[string]*claim
	workloads []*workload // those shown to the core
}

func newView(cfg Config) *view {
	return &view{
		base: cluster.Objects{Pools: cfg.Pools, Classes: cfg.Classes, DaemonSets: cfg.DaemonSets},
		pods: map[string]*pod{}, nodes: map[string]*node{}, claims: map[string]*claim{},
	}
}

func (v *view) pod(p *pod)         { v.pods[p.ID()] = p }
func (v *view) podGone(p *pod)     { delete(v.pods, p.ID()) }
func (v *view) node(n *node)       { v.nodes[n.Name] = n }
func (v *view) nodeGone(n *node)   { delete(v.nodes, n.Name) }
func (v *view) claim(c *claim)     { v.claims[c.Name] = c }
func (v *view) claimGone(c *claim) { delete(v.claims, c.Name) }

func (v *view) snapshot() cluster.Snapshot {
	o := v.base
	for _, p := range v.pods {
		o.Pods = append(o.Pods, p.Pod)
	}
	for _, n := range v.nodes {
		o.Nodes = append(o.Nodes, n.Node)
	}
	for _, c := range v.claims {
		o.Claims = append(o.Claims, c.Claim)
	}
	for _, w := range v.workloads {
		if w.declared && w.missing > 0 {
			o.Workloads = append(o.Workloads, cluster.Workload{
				UID: "uid-" + w.Name, Kind: "ReplicaSet", Namespace: w.Namespace, Name: w.Name, Missing: w.missing, Labels: w.Labels, Shape: w.Shape,
			})
		}
	}
	s, err := cluster.New(o)
	if err != nil {
		panic("sim: " + err.Error()) //nolint:forbidigo // the model contradicts itself
	}
	return s
}
