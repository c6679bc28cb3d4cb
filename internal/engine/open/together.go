package open

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
)

// Pods of a zone spread may run on a node only once nodes of the other zones are up,
// and pods that must be near others only once these run. If their node opens before,
// the scheduler refuses them, clears their nominations and gives the room to other
// pods. Their own room is then missing, and a further node would be launched for
// them. So such a node waits for the other nodes, for Policy.ReleaseWait.

// content is what a kept node is to run: how many pods of each class.
type content struct {
	host *room.Host
	pods []int64 // by class
}

// findTogether returns the kept hosts whose pods the scheduler would place there if
// exactly these hosts opened now.
func (o *opener) findTogether(hosts []*room.Host) map[*room.Host]bool {
	out := make(map[*room.Host]bool, len(hosts))
	classes, contents := o.contents(hosts)
	if table := o.rules.Build(o.Snapshot, classes, o.Policy.ExactNamespaces); !table.Empty() {
		for more := true; more && len(contents) > 0; {
			before := len(contents)
			contents = allowed(table, contents)
			more = len(contents) < before
		}
	}
	for _, c := range contents {
		out[c.host] = true
	}
	return out
}

// contents returns the classes of the pods that are planned on the hosts, in the
// order in which the scheduler tries them, and the content of each host.
func (o *opener) contents(hosts []*room.Host) (classes []topology.Class, out []content) {
	var pods []demand.PodRef
	for _, h := range hosts {
		pods = append(pods, h.Pods...)
	}
	slices.SortStableFunc(pods, func(a, b demand.PodRef) int {
		return cmp.Or(cmp.Compare(b.Shape.Priority, a.Shape.Priority), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	index := map[*cluster.Group]int{}
	for _, p := range pods {
		if g, _ := o.Snapshot.GroupOf(p.ID); g != nil {
			if _, known := index[g]; !known {
				index[g] = len(classes)
				classes = append(classes, topology.Class{Namespace: p.Namespace, Labels: p.Labels, Shape: p.Shape})
			}
		}
	}
	for _, h := range hosts {
		c := content{h, make([]int64, len(classes))}
		for _, p := range h.Pods {
			if g, _ := o.Snapshot.GroupOf(p.ID); g != nil {
				c.pods[index[g]]++
			}
		}
		out = append(out, c)
	}
	return classes, out
}

// allowed returns the contents of which all pods may run if all contents are placed.
// It leaves the table as it was.
func allowed(table *topology.Table, contents []content) []content {
	left := make([][]int64, len(contents))
	for i, c := range contents {
		left[i] = slices.Clone(c.pods)
	}
	for moved := true; moved; { // a placed pod may open places for others
		moved = false
		for class := range left[0] {
			for i, c := range contents {
				if left[i][class] == 0 {
					continue
				}
				n := min(left[i][class], table.Room(class, c.host.Place()))
				table.Add(class, c.host.Place(), n)
				left[i][class] -= n
				moved = moved || n > 0
			}
		}
	}
	var out []content
	for i, c := range contents {
		for class, n := range c.pods {
			table.Add(class, c.host.Place(), left[i][class]-n)
		}
		if !slices.ContainsFunc(left[i], func(n int64) bool { return n > 0 }) {
			out = append(out, c)
		}
	}
	return out
}

// needsOthers says whether pods of the kept host may run there only after other nodes
// have opened, and such nodes may be on their way.
func (o *opener) needsOthers(h *room.Host) bool {
	return o.together != nil && !o.together[h] && slices.ContainsFunc(o.room.Coming, func(x *room.Host) bool {
		return x != h && x.Demand() > 0 && !o.together[x]
	})
}
