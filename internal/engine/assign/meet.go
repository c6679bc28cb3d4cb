package assign

import (
	"maps"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
)

// Meet lets the first pod of pods that must all run in one domain choose only among the
// domains where each of them can run: on room that exists or is on its way, or on a new
// node. A volume, a selector, or an instance type that is sold in one zone may leave some
// of them less choice than others. Pods that can run in none of the domains that the
// ones before them can, do not count: they wait wherever the others run.
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
	there := domains{Assigner: a, market: m, by: map[string]map[string]*inDomain{}}
	for _, meeting := range table.Meetings(rules) {
		if len(meeting.Classes) < 2 {
			continue
		}
		classes := make([]*demand.Class, len(meeting.Classes))
		for i, rule := range meeting.Classes {
			classes[i] = byRule[rule]
		}
		common := there.common(classes, meeting.Keys)
		if len(common) == 0 {
			continue
		}
		admits := func(p topology.Place) bool {
			name, ok := topology.DomainOf(p, meeting.Keys)
			return ok && common[name]
		}
		for _, rule := range meeting.Begin {
			for _, level := range byRule[rule].Rules {
				table.MeetIn(level, admits)
			}
		}
	}
}

// domains is the room by domain, for all meetings of one plan.
type domains struct {
	*Assigner
	market *offer.Market
	by     map[string]map[string]*inDomain // by keys, then by domain
}

// common returns the domains in which all classes can run. It leaves out a class that can
// run in none of the domains of those before.
func (d *domains) common(classes []*demand.Class, keys []string) (in map[string]bool) {
	there := d.hostsBy(keys)
	for _, c := range classes {
		l := &c.Levels[c.Last()]
		can := d.market.Domains(l, keys)
		for name, hosts := range there {
			if !can[name] && hosts.take(d.Room, l) {
				can[name] = true
			}
		}
		maps.DeleteFunc(can, func(name string, _ bool) bool { return in != nil && !in[name] })
		if len(can) > 0 {
			in = can
		}
	}
	return in
}

// inDomain is the room of one domain that exists or is on its way.
type inDomain struct {
	nodes  []*cluster.NodeState
	coming []*room.Host
}

// hostsBy lists the room by domain.
func (d *domains) hostsBy(keys []string) map[string]*inDomain {
	id := strings.Join(keys, " ")
	out, known := d.by[id]
	if known {
		return out
	}
	out = map[string]*inDomain{}
	d.by[id] = out
	of := func(p topology.Place) *inDomain {
		name, ok := topology.DomainOf(p, keys)
		if ok && out[name] == nil {
			out[name] = &inDomain{}
		}
		return out[name]
	}
	for state := range d.Snapshot.States() {
		d.Trace.Objects++
		if x := of(topology.Place{Labels: state.Node.Labels}); x != nil {
			x.nodes = append(x.nodes, state)
		}
	}
	for _, h := range d.Room.Coming {
		if len(h.Labels) > 0 {
			if x := of(h.Place()); x != nil {
				x.coming = append(x.coming, h)
			}
		}
	}
	return out
}

// take says whether a pod of the level finds room in the domain.
func (d *inDomain) take(r *room.Room, l *demand.Level) bool {
	need, levels := demand.WithoutAttach(l.Shape.Requests), []*demand.Level{l}
	takes := func(h *room.Host) bool { return h != nil && l.Shape.Requests.Fits(h.Free) && h.Accepts(l) }
	for _, h := range d.coming {
		if takes(h) {
			return true
		}
	}
	for _, state := range d.nodes {
		if !need.Fits(state.Free) {
			continue
		}
		if r.NodeFor(state, levels); takes(r.Nodes[state.Node.Name]) {
			return true
		}
	}
	return false
}
