package assign

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
)

// Meet lets the first pod of pods that must all go to one domain choose only among the
// domains where each of them can run: on room that exists or is on its way, or on a new
// node. A volume, a selector, or an instance type that is sold in one zone may leave some
// of them less choice than others. Pods that can run in none of the domains that the
// ones before them can, do not count: they wait wherever the others go.
func Meet(a *Assigner, m *offer.Market) {
	var rules []int
	var table *topology.Table
	byRule := map[int]*demand.Class{}
	for _, c := range a.Demand.Classes {
		if c.Table != nil && c.Count() > 0 {
			table, rules, byRule[c.Hard()] = c.Table, append(rules, c.Hard()), c
		}
	}
	if table == nil {
		return
	}
	for _, meeting := range table.Meetings(rules) {
		if len(meeting.Classes) < 2 {
			continue
		}
		classes := make([]*demand.Class, len(meeting.Classes))
		for i, rule := range meeting.Classes {
			classes[i] = byRule[rule]
		}
		domains, all := common(a, m, classes, meeting.Keys)
		admits := func(p topology.Place) bool {
			name, ok := topology.DomainOf(p, meeting.Keys)
			return ok && (len(domains) == 0 || domains[name]) && (!meeting.Hosts || p.Name == "" || takesAll(p, all))
		}
		for _, rule := range meeting.Begin {
			for _, level := range byRule[rule].Rules {
				table.MeetIn(level, admits)
			}
		}
	}
}

// takesAll says whether pods of all the shapes may run at the place, as far as its labels
// and taints decide it.
func takesAll(p topology.Place, shapes []cluster.Shape) bool {
	for _, s := range shapes {
		if !fit.Node(s, p.Labels, p.Taints) {
			return false
		}
	}
	return true
}

// common returns the domains in which all classes can run, and the shapes of these
// classes. It leaves out a class that can run in none of the domains of those before.
func common(a *Assigner, m *offer.Market, classes []*demand.Class, keys []string) (domains map[string]bool, shapes []cluster.Shape) {
	there := hostsBy(a, keys)
	for _, c := range classes {
		l := &c.Levels[c.Last()]
		can := m.Domains(l, keys)
		for name, hosts := range there {
			if !can[name] && hosts.take(a, l) {
				can[name] = true
			}
		}
		both := can
		if domains != nil {
			both = map[string]bool{}
			for name := range can {
				if domains[name] {
					both[name] = true
				}
			}
		}
		if len(both) > 0 {
			domains, shapes = both, append(shapes, l.Shape)
		}
	}
	return domains, shapes
}

// inDomain is the room of one domain that exists or is on its way.
type inDomain struct {
	nodes  []*cluster.NodeState
	coming []*room.Host
}

// hostsBy lists the room by domain.
func hostsBy(a *Assigner, keys []string) map[string]*inDomain {
	out := map[string]*inDomain{}
	of := func(p topology.Place) *inDomain {
		name, ok := topology.DomainOf(p, keys)
		if ok && out[name] == nil {
			out[name] = &inDomain{}
		}
		return out[name]
	}
	for state := range a.Snapshot.States() {
		a.Trace.Objects++
		if d := of(topology.Place{Labels: state.Node.Labels}); d != nil {
			d.nodes = append(d.nodes, state)
		}
	}
	for _, h := range a.Room.Coming {
		if len(h.Labels) > 0 {
			if d := of(h.Place()); d != nil {
				d.coming = append(d.coming, h)
			}
		}
	}
	return out
}

// take says whether a pod of the level finds room in the domain.
func (d *inDomain) take(a *Assigner, l *demand.Level) bool {
	takes := func(h *room.Host) bool { return h != nil && l.Shape.Requests.Fits(h.Free) && h.Accepts(l) }
	for _, h := range d.coming {
		if takes(h) {
			return true
		}
	}
	for _, state := range d.nodes {
		if demand.WithoutAttach(l.Shape.Requests).Fits(state.Free) && takes(a.Room.Node(state)) {
			return true
		}
	}
	return false
}
