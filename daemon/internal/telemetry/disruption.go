package telemetry

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// disruptions measures which nodes are deleted, may be deleted, and stay. One goroutine
// counts, another one sets the gauges.
type disruptions struct {
	claims                      *prometheus.CounterVec // deleted
	decisions, byPool, failures *prometheus.CounterVec
	freed, replaced             *prometheus.CounterVec // dollars an hour
	eligible                    *prometheus.GaugeVec
	allowed, consuming          *prometheus.GaugeVec
	nodes, pools                *prometheus.GaugeVec // standings
	targetNodes, targetFrees    prometheus.Gauge
	landing                     *prometheus.GaugeVec

	announced map[string]string // NodeClaims of which the decision is counted: their UIDs by name
}

func newDisruptions() *disruptions {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	return &disruptions{
		claims: counter("karpenter_nodeclaims_disrupted_total", "NodeClaims that the daemon has deleted, by reason, NodePool and capacity type.",
			"reason", "nodepool", "capacity_type"),
		decisions: counter("karpenter_voluntary_disruption_decisions_total",
			"Decisions to disrupt nodes: delete if other nodes have room for the pods, replace if nodes are launched.", "decision", "reason", "consolidation_type"),
		byPool: counter("karpenter_voluntary_disruption_decisions_by_nodepool_total", "The same decisions, for each NodePool whose nodes are disrupted.",
			"nodepool", "decision", "reason", "consolidation_type"),
		failures: counter("karpenter_voluntary_disruption_queue_failures_total", "Replacements of moves that were given up before the replaced nodes were deleted.",
			"decision", "reason", "consolidation_type"),
		freed: counter("karpenterd_disrupted_dollars_per_hour_total", "What the instances cost an hour that the daemon decided to end.", "reason", "nodepool"),
		replaced: counter("karpenterd_replacements_dollars_per_hour_total",
			"What the instances cost an hour that the daemon launched in place of others, by the reason and the NodePool of the launch.", "reason", "nodepool"),
		eligible: gauges("karpenter_voluntary_disruption_eligible_nodes",
			"Nodes that nothing of their own and of their pods keeps from being disrupted, by the reason for which they would be.", "reason"),
		allowed: gauges("karpenter_nodepools_allowed_disruptions",
			"Nodes of the NodePool that may be disrupted at the same time, those included that are; 2147483647 if no budget bounds it.", "nodepool", "reason"),
		consuming: gauges("karpenter_nodepools_nodes_consuming_budgets", "Nodes of the NodePool that use its budgets up: disrupted or not ready.", "nodepool", "reason"),
		nodes:     gauges("karpenterd_nodes", "Nodes by NodePool, by whether they stay or leave, and by the reason.", "nodepool", "standing", "reason"),
		pools:     gauges("karpenterd_nodepool_standing", "1 for the reason why no more nodes of the NodePool are deleted now, or that some are.", "nodepool", "reason"),
		targetNodes: gauge("karpenterd_consolidation_target_nodes",
			"Nodes with pods that the last search of the fleet found to be worth deleting and that are not disrupted yet."),
		targetFrees: gauge("karpenterd_consolidation_target_dollars_per_hour", "What these nodes cost an hour."),
		landing:     gauges("karpenterd_landing", "1 for the way in which pods come to their places that are evicted to save money (bind or prefer), and the reason for it.", "way", "reason"),
		announced:   map[string]string{},
	}
}

func (d *disruptions) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		d.claims, d.decisions, d.byPool, d.failures, d.freed, d.replaced, d.eligible, d.allowed, d.consuming, d.nodes, d.pools, d.targetNodes, d.targetFrees, d.landing,
	}
}

// deleted counts a NodeClaim that is deleted. Karpenter names an interruption by its kind.
func (d *disruptions) deleted(claim *v1.NodeClaim, x plan.Delete) {
	pool := claim.Labels[v1.LabelNodePool]
	why := snake(string(x.Why))
	if x.Why.Traits().Notice && x.Detail != "" {
		why = x.Detail
	}
	d.claims.WithLabelValues(why, pool, claim.Labels[v1.LabelCapacityType]).Inc()
	d.freed.WithLabelValues(why, pool).Add(dollars(max(0, x.Saves)))
}

// snake writes the reason as Karpenter's metrics do.
func snake(reason string) string {
	var out strings.Builder
	for i, r := range reason {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// Karpenter's values of the label decision.
const decisionDelete, decisionReplace = "delete", "replace"

// decision is what a Step decided about nodes that are deleted for the same reason.
type decision struct {
	kind   string // decisionDelete or decisionReplace
	reason string
	claims []string // that are deleted
}

// consolidation is Karpenter's consolidation_type: how the decision saves money.
func (x decision) consolidation() string {
	switch traits := plan.DeleteReason(x.reason).Traits(); {
	case !traits.Saves:
		return ""
	case traits.Empty:
		return "empty"
	case len(x.claims) > 1:
		return "multi"
	}
	return "single"
}

// count counts what the Step decided: the moves that begin, the nodes that are announced
// without a move, and the replacements of moves that are given up.
func (d *disruptions) count(s cluster.Snapshot, actions []plan.Action) {
	for name, uid := range d.announced {
		if c, there := s.Claim(name); !there || c.UID != uid || c.Leaving() {
			delete(d.announced, name)
		}
	}
	var list []decision
	deletes := map[plan.DeleteReason]int{} // where in the list
	begun := map[string]bool{}             // ids of moves
	for _, a := range actions {
		switch x := a.(type) {
		case plan.Launch:
			if x.Move == nil {
				continue
			}
			d.replaced.WithLabelValues(snake(x.Move.Reason), x.Pool).Add(dollars(x.Price))
			if !begun[x.Move.ID] {
				begun[x.Move.ID] = true
				list = append(list, replacement(x.Move))
			}
		case plan.Disrupt:
			if !d.announces(s, x) {
				continue
			}
			i, known := deletes[x.Why]
			if !known {
				i, list = len(list), append(list, decision{kind: decisionDelete, reason: string(x.Why)})
				deletes[x.Why] = i
			}
			list[i].claims = append(list[i].claims, x.Claim)
		case plan.Restore:
			delete(d.announced, x.Claim)
			d.givenUp(s, x.Claim)
		case plan.Delete:
			d.givenUp(s, x.Claim)
		case plan.Nominate, plan.Bind, plan.Release, plan.Close, plan.Wait:
		}
	}
	for _, x := range list {
		d.decided(s, x)
	}
}

func replacement(m *cluster.Move) decision {
	x := decision{kind: decisionReplace, reason: m.Reason}
	for _, source := range m.Sources {
		x.claims = append(x.claims, source.Claim)
	}
	return x
}

// announces says whether the decision is that other nodes have room for the node's pods,
// and is not counted yet. The sources of moves were counted when the move began.
func (d *disruptions) announces(s cluster.Snapshot, x plan.Disrupt) bool {
	if !x.Why.Traits().Voluntary || d.announced[x.Claim] == x.ClaimUID && x.ClaimUID != "" {
		return false
	}
	if c, _ := s.Claim(x.Claim); c.Disrupting != nil { // its condition was written before
		return false
	}
	for _, c := range s.InTransition() {
		if replaces(s, c) && slices.ContainsFunc(c.Move.Sources, func(y cluster.Source) bool { return y.Claim == x.Claim && y.UID == x.ClaimUID }) {
			return false
		}
	}
	d.announced[x.Claim] = x.ClaimUID
	return true
}

// givenUp counts the NodeClaim if it replaces others that are still there.
func (d *disruptions) givenUp(s cluster.Snapshot, claim string) {
	if c, there := s.Claim(claim); there && replaces(s, &c) {
		x := replacement(c.Move)
		d.failures.WithLabelValues(x.kind, snake(x.reason), x.consolidation()).Inc()
	}
}

func (d *disruptions) decided(s cluster.Snapshot, x decision) {
	d.decisions.WithLabelValues(x.kind, snake(x.reason), x.consolidation()).Inc()
	pools := map[string]bool{}
	for _, name := range x.claims {
		if c, there := s.Claim(name); there {
			pools[c.Pool] = true
		}
	}
	for p := range pools {
		d.byPool.WithLabelValues(p, x.kind, snake(x.reason), x.consolidation()).Inc()
	}
}

// publish sets the gauges.
func (d *disruptions) publish(all plan.Standings) {
	for _, g := range []*prometheus.GaugeVec{d.eligible, d.allowed, d.consuming, d.nodes, d.pools, d.landing} {
		g.Reset()
	}
	for _, why := range plan.Reasons() {
		if why.Traits().InBudgets {
			d.eligible.WithLabelValues(snake(string(why))) // no such node is zero
		}
	}
	for i := range all.Nodes {
		s := &all.Nodes[i]
		if s.Eligible() {
			d.eligible.WithLabelValues(snake(string(s.For))).Inc()
		}
		if s.DeletedFor != "" {
			d.nodes.WithLabelValues(s.Pool, "leaves", string(s.DeletedFor)).Inc()
			continue
		}
		d.nodes.WithLabelValues(s.Pool, "stays", string(s.Stay.Reason)).Inc()
	}
	for i := range all.Pools {
		p := &all.Pools[i]
		d.pools.WithLabelValues(p.Pool, string(p.Reason)).Set(1)
		for _, b := range p.Budgets { // Karpenter writes the reason as budgets do
			d.allowed.WithLabelValues(p.Pool, string(b.Reason)).Set(float64(math.MaxInt32))
			if b.Bounded {
				d.allowed.WithLabelValues(p.Pool, string(b.Reason)).Set(float64(b.Most))
			}
			d.consuming.WithLabelValues(p.Pool, string(b.Reason)).Set(float64(b.Used))
		}
	}
	d.landing.WithLabelValues(string(all.Landing.Way()), string(all.Landing.Reason)).Set(1)
	d.targetNodes.Set(float64(len(all.Target.Claims)))
	d.targetFrees.Set(dollars(all.Target.Frees))
}

// standings publishes why nodes and NodePools stay as they are.
func (r *Recorder) standings(in engine.Input) {
	all := engine.Standings(in)
	r.Metrics.disruption.publish(all)
	r.tellStandings(all)
}
