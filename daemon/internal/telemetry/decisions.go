package telemetry

import (
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// standingsEvery is the shortest time between two looks at why nodes stay.
const standingsEvery = 30 * time.Second

// podQuery is the parameter of the request that asks about one pod, namespace/name.
const podQuery = "pod"

// Decisions answers what the last plan decided about each node, each NodePool and each
// waiting pod, and about one pod that runs.
type Decisions struct {
	newest
	fleet func() (plan.Audit, bool) // the last audit; nil for none

	answers answers

	mu       sync.Mutex
	input    engine.Input
	outcomes []plan.Outcome
	known    bool
}

func newDecisions() *Decisions {
	d := &Decisions{newest: newest{every: standingsEvery}}
	d.answers.turn = make(chan struct{}, 1)
	d.answers.find = func(pod string) (Report, bool) {
		if pod != "" {
			return d.ReportOf(pod)
		}
		return d.Report()
	}
	return d
}

// NodeDecision says why a node stays or is deleted. Exactly one of Goes and Stays is set.
type NodeDecision struct {
	NodeClaim    string     `json:"nodeclaim"`
	Node         string     `json:"node,omitempty"`
	NodePool     string     `json:"nodepool"`
	PricePerHour string     `json:"pricePerHour"`
	Goes         string     `json:"goes,omitempty"`
	Move         string     `json:"move,omitempty"`
	Stays        string     `json:"stays,omitempty"`
	For          string     `json:"for,omitempty"` // what a node that stays would be deleted for
	Until        *time.Time `json:"until,omitempty"`
	Why          string     `json:"why"`
	Remedy       string     `json:"remedy,omitempty"`
	Lost         []string   `json:"podsWithoutController,omitempty"`
}

// PoolDecision says why no more nodes of a NodePool are deleted, or which are.
type PoolDecision struct {
	NodePool string           `json:"nodepool"`
	Standing string           `json:"standing"`
	Until    *time.Time       `json:"until,omitempty"`
	Why      string           `json:"why"`
	Nodes    int64            `json:"nodes"`
	Allowed  map[string]int64 `json:"allowedDisruptions,omitempty"` // by reason; none where no budget bounds it
	Used     int64            `json:"nodesConsumingBudgets"`
	Landing  string           `json:"landing"` // how pods come to their places that are evicted to save money
}

// MoveDecision is a move that has begun. Prices include volumes and the like.
type MoveDecision struct {
	ID            string   `json:"id"`
	Reason        string   `json:"reason"`
	Replaces      []string `json:"replaces"` // NodeClaims
	By            []string `json:"by"`
	FreesPerHour  string   `json:"freesPerHour,omitempty"` // nothing where a price is not known
	CostsPerHour  string   `json:"costsPerHour,omitempty"`
	SavingPerHour string   `json:"savingPerHour,omitempty"`
}

// TargetDecision is the nodes with pods that are to be deleted to save money and whose
// removal has not begun.
type TargetDecision struct {
	NodeClaims    []string `json:"nodeclaims"`
	SavingPerHour string   `json:"savingPerHourAtMost"`
}

// FleetDecision is what the fleet cost at the last audit, and the least that any fleet for
// the same pods would cost.
type FleetDecision struct {
	CostPerHour  string `json:"costPerHour"`
	BoundPerHour string `json:"boundPerHour"`
}

// PodDecision says what the last plan has for a pod that needs a node or, where the
// request asks for one pod that runs, whether the pod keeps its node.
type PodDecision struct {
	Pod     string `json:"pod"`
	Verdict string `json:"verdict"`
	On      string `json:"on,omitempty"`
	Keeps   string `json:"keepsNode,omitempty"` // the reason
	Why     string `json:"why,omitempty"`
}

// running is the verdict on a pod that runs.
const running = "running"

// Report is what Decisions serves.
type Report struct {
	At     time.Time       `json:"at"`
	Nodes  []NodeDecision  `json:"nodes"`
	Pools  []PoolDecision  `json:"nodepools"`
	Pods   []PodDecision   `json:"pods"`
	Moves  []MoveDecision  `json:"moves"`
	Target *TargetDecision `json:"target,omitempty"`
	Fleet  *FleetDecision  `json:"fleet,omitempty"`
}

// note keeps what the Step knew and decided.
func (d *Decisions) note(after engine.Input, outcomes []plan.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.input, d.outcomes, d.known = after, outcomes, true
}

func (d *Decisions) noted() (engine.Input, []plan.Outcome, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.input, d.outcomes, d.known
}

// Report returns the decisions of the last plan, and whether there has been one.
func (d *Decisions) Report() (out Report, known bool) {
	in, outcomes, known := d.noted()
	if !known {
		return Report{}, false
	}
	out = Report{At: in.Now, Nodes: []NodeDecision{}, Pools: []PoolDecision{}, Pods: []PodDecision{}, Moves: []MoveDecision{}}
	all := engine.Standings(in)
	for i := range all.Nodes {
		out.Nodes = append(out.Nodes, nodeDecision(&all.Nodes[i]))
	}
	for i := range all.Pools {
		out.Pools = append(out.Pools, poolDecision(&all.Pools[i], all.Landing))
	}
	for i := range all.Moves {
		out.Moves = append(out.Moves, moveDecision(&all.Moves[i]))
	}
	if len(all.Target.Claims) > 0 {
		out.Target = &TargetDecision{NodeClaims: all.Target.Claims, SavingPerHour: all.Target.Frees.Dollars()}
	}
	if d.fleet != nil {
		if a, audited := d.fleet(); audited {
			out.Fleet = &FleetDecision{CostPerHour: a.Cost.Add(a.Extra.Total()).Dollars(), BoundPerHour: a.Proof.Bound.Dollars()}
		}
	}
	out.Pods = podDecisions(outcomes)
	return out, true
}

// ReportOf returns what is known of one pod, and whether there has been a plan. Its node is
// in the report if the pod runs.
func (d *Decisions) ReportOf(pod string) (out Report, known bool) {
	in, outcomes, known := d.noted()
	if !known {
		return Report{}, false
	}
	out = Report{At: in.Now, Nodes: []NodeDecision{}, Pools: []PoolDecision{}, Pods: []PodDecision{}, Moves: []MoveDecision{}}
	if p, runs := engine.StandingOfPod(in, pod); runs {
		out.Pods = append(out.Pods, PodDecision{Pod: pod, Verdict: running, On: p.Node.Node, Keeps: string(p.Hold.Reason), Why: p.Explain()})
		if p.Node.Claim != "" {
			out.Nodes = append(out.Nodes, nodeDecision(&p.Node))
		}
		return out, true
	}
	for _, x := range podDecisions(outcomes) {
		if x.Pod == pod {
			out.Pods = append(out.Pods, x)
		}
	}
	return out, true
}

func nodeDecision(s *plan.Standing) NodeDecision {
	return NodeDecision{
		NodeClaim: s.Claim, Node: s.Node, NodePool: s.Pool, PricePerHour: s.Price.Dollars(),
		Goes: string(s.DeletedFor), Move: s.Move, Stays: string(s.Stay.Reason), For: string(s.For), Until: given(s.Stay.Until), Why: s.Explain(), Remedy: s.Stay.Remedy(), Lost: s.Lost,
	}
}

func poolDecision(p *plan.PoolStanding, l plan.Landing) PoolDecision {
	x := PoolDecision{NodePool: p.Pool, Standing: string(p.Reason), Until: given(p.Until), Why: p.Explain(), Nodes: p.Nodes, Landing: l.Explain()}
	for _, b := range p.Budgets {
		x.Used = b.Used
		if b.Bounded {
			if x.Allowed == nil {
				x.Allowed = map[string]int64{}
			}
			x.Allowed[string(b.Reason)] = b.Most
		}
	}
	return x
}

func moveDecision(m *plan.MoveStanding) MoveDecision {
	x := MoveDecision{ID: m.ID, Reason: string(m.Reason), Replaces: m.Sources, By: m.Replacements}
	if !m.Unpriced {
		x.FreesPerHour, x.CostsPerHour, x.SavingPerHour = m.Frees.Dollars(), m.Costs.Dollars(), m.Saves().Dollars()
	}
	return x
}

func podDecisions(outcomes []plan.Outcome) []PodDecision {
	out := []PodDecision{}
	for _, o := range outcomes {
		x := PodDecision{Verdict: string(o.Verdict), On: o.On}
		if len(o.Reasons) > 0 {
			x.Why = plan.ExplainRefusals(o.Reasons)
		}
		for _, x.Pod = range o.Pods {
			out = append(out, x)
		}
	}
	return out
}

// given is the time; nil for the zero time.
func given(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}
