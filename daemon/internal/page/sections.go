package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	budgets "github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// look is one look at what is known.
type look struct {
	source    Source
	since     time.Time
	input     engine.Input
	outcomes  []plan.Outcome
	decisions []numbered
	points    []dated
	saved     savings
	empty     savings
	standings plan.Standings
}

// take takes what is known now; false where nothing is.
func (p *Page) take() (look, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := look{
		source: p.source, since: p.since, input: p.input, outcomes: p.outcomes,
		decisions: slices.Clone(p.decisions), points: slices.Clone(p.points), saved: p.saved, empty: p.empty,
	}
	return l, !p.since.IsZero() && p.source.World != nil
}

// sections works the snapshot out.
func (l *look) sections() map[string]map[string]any {
	l.standings = engine.Standings(l.input)
	out := map[string]map[string]any{sectionDecisions: {}, sectionPoints: {}, sectionMoves: {}}
	out[sectionNodes] = l.nodes()
	out[sectionPools] = l.pools()
	out[sectionWaiting] = l.waiting()
	for i := range l.standings.Moves {
		m := &l.standings.Moves[i]
		out[sectionMoves][m.ID] = move{Reason: string(m.Reason), Replaces: m.Sources, By: m.Replacements, Saves: known(m.Saves(), !m.Unpriced)}
	}
	for _, d := range l.decisions {
		out[sectionDecisions][d.key] = d.text
	}
	for _, x := range l.points {
		out[sectionPoints][x.key] = x.text
	}
	out[sectionMeta] = map[string]any{metaKey: l.meta()}
	return out
}

func (l *look) meta() meta {
	m := meta{
		Version: l.source.Version, Cluster: l.source.Cluster, Since: unix(l.since),
		Saving: dollars(l.saved.rate), Removals: l.saved.removals, Empty: l.empty.removals, Emptied: dollars(l.empty.rate),
		Paused: l.input.Policy.PauseDisruption, CloudOut: l.input.Policy.CloudAway,
		Target: len(l.standings.Target.Claims), Frees: dollars(l.standings.Target.Frees),
	}
	for s := range l.input.Snapshot.States() {
		m.Pods += s.Count()
	}
	if l.source.Audit != nil {
		if a, audited := l.source.Audit(); audited {
			m.Unpriced = len(a.Unpriced)
			m.Audited, m.Cost, m.Bound, m.Homeless = true, dollars(a.Total()), dollars(a.Proof.Bound), a.Homeless
		}
	}
	return m
}

// nodes are the nodes, and the NodeClaims that have none yet.
func (l *look) nodes() map[string]any {
	out := map[string]any{}
	s, why := l.input.Snapshot, map[string]*plan.Standing{}
	for i := range l.standings.Nodes {
		x := &l.standings.Nodes[i]
		why[x.Claim] = x
	}
	prices := view.View{Snapshot: s, Policy: l.input.Policy.WithDefaults(), Now: l.input.Now}
	for state := range s.States() {
		claim, ours := state.Claim()
		n := nodeOf(state)
		key := n.Node
		if ours {
			key = claim.Name
			n.of(&claim, why[claim.Name])
			n.Price = known(prices.PriceOf(claim))
		}
		out[key] = n
	}
	for c := range s.EachClaim() {
		if _, there := s.State(c.Node); c.Node != "" && there {
			continue
		}
		n := node{State: stateComing, Created: unix(c.Created)}
		n.of(c, why[c.Name])
		n.Price = known(prices.PriceOf(*c))
		out[c.Name] = n
	}
	return out
}

func nodeOf(s *cluster.NodeState) node {
	at := func(key string) string { value, _ := s.Node.Labels.Get(key); return value }
	n := node{
		Node: s.Node.Name, Type: at(label.InstanceType), Zone: at(label.Zone), Created: unix(s.Node.Created), Pods: s.Count(),
		CPU: percent(s.Used.MilliCPU, s.Node.Allocatable.MilliCPU), Memory: percent(s.Used.MemoryBytes, s.Node.Allocatable.MemoryBytes),
	}
	switch {
	case s.Node.Deleting || s.Node.Disrupted:
		n.State = stateGoing
	case !s.Node.Ready:
		n.State = stateNotReady
	}
	return n
}

// of adds what the NodeClaim knows, and why the node stays or is deleted.
func (n *node) of(c *cluster.Claim, why *plan.Standing) {
	n.Claim, n.Pool, n.Buy = c.Name, c.Pool, c.CapacityType
	if n.Type == "" {
		n.Type, n.Zone = c.InstanceType, c.Zone
	}
	switch {
	case c.Deleting || c.Interruption != nil || c.Disrupting != nil:
		n.State = stateGoing
	case !c.Initialized:
		n.State = stateComing
	}
	if why == nil {
		return
	}
	if n.Stays, n.Goes = string(why.Stay.Reason), string(why.DeletedFor); n.Goes != "" {
		n.State = stateGoing
	}
}

// percent is used of all, rounded up, so that 0 is nothing.
func percent(used, all int64) int64 {
	if all <= 0 || used <= 0 {
		return 0
	}
	return (used*100 + all - 1) / all
}

func (l *look) pools() map[string]any {
	standings := map[string]*plan.PoolStanding{}
	for i := range l.standings.Pools {
		standings[l.standings.Pools[i].Pool] = &l.standings.Pools[i]
	}
	out := map[string]any{}
	for _, p := range l.input.Snapshot.Pools() {
		out[p.Name] = l.pool(&p, standings[p.Name])
	}
	return out
}

func (l *look) pool(p *cluster.Pool, s *plan.PoolStanding) pool {
	x := pool{
		Name: p.Name, Class: p.Class, Weight: p.Weight, Static: p.Static, Replicas: p.Replicas,
		Policy: string(p.Disruption.Policy), After: quantity.SpellDuration(p.Disruption.After), Ready: p.Ready, NotReady: p.NotReady,
		Paused: p.Disruption.Paused, Deleting: p.Deleting, Limits: l.limits(p),
	}
	if p.Disruption.Never {
		x.After = "Never"
	}
	for i := range p.Disruption.Budgets {
		b := &p.Disruption.Budgets[i]
		holds, until := budgets.Window(b, l.input.Now)
		text := strings.Replace(plan.DescribeBudget(b), b.Duration.String(), quantity.SpellDuration(b.Duration), 1)
		if s := b.Schedule; s != nil && s.Zone != nil && !strings.Contains(s.Text, "TZ=") {
			text = strings.Replace(text, s.Text, s.Text+" ("+s.Zone.String()+")", 1)
		}
		x.Budgets = append(x.Budgets, budget{text, holds, unix(until)})
	}
	if s != nil {
		x.Standing, x.Why = string(s.Reason), s.Explain()
		for _, b := range s.Budgets {
			if b.Bounded {
				x.Allowed = append(x.Allowed, allowed{string(b.Reason), b.Most, b.Used})
			}
		}
	}
	if object, there := l.source.World.NodePool(p.Name); there {
		for _, c := range object.Status.Conditions {
			x.Conditions = append(x.Conditions, condition{c.Type, string(c.Status), c.Reason, c.Message, unix(c.LastTransitionTime.Time)})
		}
		for _, f := range translate.UnsupportedOf(object) {
			x.Unsupported = append(x.Unsupported, fault{f.Path, f.Effect, f.Remedy})
		}
	}
	return x
}

func (l *look) limits(p *cluster.Pool) (out []limit) {
	if len(p.Limits) == 0 {
		return nil
	}
	used, nodes := offer.Used(l.input.Snapshot, *p)
	for _, x := range p.Limits {
		have := used.Get(x.Name)
		if x.Name == offer.LimitNodes {
			have = nodes
		}
		full := percent(have, x.Count)
		if x.Count == 0 {
			full = 100
		}
		out = append(out, limit{x.Name, amount(x.Name, x.Count), amount(x.Name, have), full})
	}
	return out
}

// amount writes an amount as people read it: cores and GiB.
func amount(resource string, n int64) string {
	short := func(x float64) string {
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", x), "0"), ".")
	}
	switch resource {
	case quantity.CPU:
		return short(float64(n) / 1000)
	case quantity.Memory, quantity.EphemeralStorage:
		return short(float64(n)/(1<<30)) + " GiB"
	}
	return fmt.Sprint(n)
}

// waiting are the pods that need room, in rows of equal pods with the same fate.
func (l *look) waiting() map[string]any {
	out := map[string]any{}
	for _, o := range l.outcomes {
		if len(o.Pods) == 0 || o.Verdict == plan.OnNode {
			continue // the scheduler binds them in a moment
		}
		w := waiting{Pods: o.Pods[:min(len(o.Pods), mostPods)], Count: len(o.Pods), Verdict: string(o.Verdict), On: o.On}
		for _, pod := range o.Pods {
			if since, seen := l.source.World.WaitingSince(pod); seen && (w.Since == 0 || since.Unix() < w.Since) {
				w.Since = since.Unix()
			}
		}
		for _, r := range slices.SortedStableFunc(slices.Values(o.Reasons), func(a, b plan.Refusal) int { return nearness(a) - nearness(b) }) {
			w.Hurdles = append(w.Hurdles, hurdle{r.Pool, r.Hurdle(), r.Remedy()})
		}
		out[o.Pods[0]+" "+string(o.Verdict)+" "+o.On] = w
	}
	return out
}

// nearness orders hurdles: first those that are nearest to a place, where the pod and the pool fit
// each other, and last those of pools that are for other pods.
func nearness(r plan.Refusal) int {
	switch r.Cause {
	case plan.NoPool, plan.NotSupported, plan.GangIncomplete, plan.LimitReached, plan.NoCapacity, plan.InBackoff, plan.PlanUnfinished, plan.LaunchesFirst:
		return 0
	case plan.MinValuesUnmet, plan.Topology, plan.HostPorts, plan.Volumes:
		return 1
	case plan.TooLarge:
		if r.Shortage != nil && r.Shortage.Free == 0 {
			return 4 // the pool has nothing of it, such as GPUs
		}
		return 2
	case plan.PoolNotReady:
		return 3
	case plan.NoType, plan.Requirements, plan.UntoleratedTaint, plan.IsStatic:
	}
	return 4
}
