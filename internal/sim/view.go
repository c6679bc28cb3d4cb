package sim

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// view is the cluster as the core sees it: a snapshot, and the changes since the
// snapshot.
type view struct {
	base      cluster.Snapshot
	pods      map[*pod]bool // true where it is removed
	nodes     map[*node]bool
	claims    map[*claim]bool
	workloads map[*workload]bool // false throughout
	budgets   map[*podBudget]bool
	pools     map[string]cluster.Pool // that changed
	classes   []cluster.Class         // that changed
}

func newView(cfg Config) *view {
	v := &view{pods: map[*pod]bool{}, nodes: map[*node]bool{}, claims: map[*claim]bool{}, workloads: map[*workload]bool{}, budgets: map[*podBudget]bool{}, pools: map[string]cluster.Pool{}}
	v.apply(cluster.Delta{Put: cluster.Objects{Pools: cfg.Pools, Classes: cfg.Classes, DaemonSets: cfg.DaemonSets}})
	return v
}

func (v *view) pod(p *pod)           { v.pods[p] = false }
func (v *view) podGone(p *pod)       { v.pods[p] = true }
func (v *view) node(n *node)         { v.nodes[n] = false }
func (v *view) nodeGone(n *node)     { v.nodes[n] = true }
func (v *view) claim(c *claim)       { v.claims[c] = false }
func (v *view) claimGone(c *claim)   { v.claims[c] = true }
func (v *view) workload(w *workload) { v.workloads[w] = false }
func (v *view) budget(b *podBudget)  { v.budgets[b] = false }
func (v *view) pool(p cluster.Pool)  { v.pools[p.Name] = p }

// snapshot is the cluster as it is now.
func (v *view) snapshot() cluster.Snapshot {
	var d cluster.Delta
	for p, gone := range v.pods {
		if gone {
			d.Removed.Pods = append(d.Removed.Pods, p.ID())
		} else {
			d.Put.Pods = append(d.Put.Pods, p.Pod)
		}
	}
	for n, gone := range v.nodes {
		if gone {
			d.Removed.Nodes = append(d.Removed.Nodes, n.Name)
		} else {
			d.Put.Nodes = append(d.Put.Nodes, n.Node)
		}
	}
	for c, gone := range v.claims {
		if gone {
			d.Removed.Claims = append(d.Removed.Claims, c.Name)
		} else {
			d.Put.Claims = append(d.Put.Claims, c.Claim)
		}
	}
	for w := range v.workloads {
		x := cluster.Workload{
			UID: "uid-" + w.Name, Kind: "ReplicaSet", Namespace: w.Namespace, Name: w.Name, Missing: w.missing, Labels: w.Labels, Shape: w.Shape,
		}
		switch {
		case !w.declared:
		case w.missing <= 0:
			d.Removed.Workloads = append(d.Removed.Workloads, x.ID())
		default:
			d.Put.Workloads = append(d.Put.Workloads, x)
		}
	}
	for b := range v.budgets {
		d.Put.PodBudgets = append(d.Put.PodBudgets, b.object)
	}
	for _, p := range v.pools {
		d.Put.Pools = append(d.Put.Pools, p)
	}
	d.Put.Classes, v.classes = v.classes, nil
	clear(v.pools)
	clear(v.budgets)
	clear(v.pods)
	clear(v.nodes)
	clear(v.claims)
	clear(v.workloads)
	v.apply(d)
	return v.base
}

func (v *view) apply(d cluster.Delta) {
	// The pods come in the order in which they were created, so that a run repeats
	// itself to the last detail.
	slices.SortFunc(d.Put.Pods, func(a, b cluster.Pod) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
	var err error
	if v.base, err = v.base.Apply(d); err != nil {
		panic("sim: " + err.Error()) //nolint:forbidigo // the model contradicts itself
	}
}
