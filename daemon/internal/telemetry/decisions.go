package telemetry

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// standingsEvery is the shortest time between two looks at why nodes stay.
const standingsEvery = 30 * time.Second

// Decisions answers what the last plan decided about each node and each waiting pod.
type Decisions struct {
	nodes *prometheus.GaugeVec
	newest

	mu       sync.Mutex
	input    engine.Input
	outcomes []plan.Outcome
	known    bool

	told map[string]plan.StayReason // by NodeClaim, of the last Event; only standings uses it
}

func newDecisions() *Decisions {
	return &Decisions{
		newest: newest{every: standingsEvery},
		nodes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "karpenterd_nodes", Help: "Nodes by NodePool, by whether they stay or go, and by the reason.",
		}, []string{"nodepool", "standing", "reason"}),
	}
}

// NodeDecision says why a node stays or goes. Exactly one of Goes and Stays is set.
type NodeDecision struct {
	NodeClaim    string `json:"nodeclaim"`
	Node         string `json:"node,omitempty"`
	NodePool     string `json:"nodepool"`
	PricePerHour string `json:"pricePerHour"`
	Goes         string `json:"goes,omitempty"`
	Move         string `json:"move,omitempty"`
	Stays        string `json:"stays,omitempty"`
	Why          string `json:"why"`
}

// PodDecision says what the last plan has for a pod that needs a node.
type PodDecision struct {
	Pod     string `json:"pod"`
	Verdict string `json:"verdict"`
	On      string `json:"on,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Report is what Decisions serves.
type Report struct {
	At    time.Time      `json:"at"`
	Nodes []NodeDecision `json:"nodes"`
	Pods  []PodDecision  `json:"pods"`
}

// note keeps what the Step knew and decided.
func (d *Decisions) note(after engine.Input, outcomes []plan.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.input, d.outcomes, d.known = after, outcomes, true
}

// Report returns the decisions of the last plan, and whether there has been one.
func (d *Decisions) Report() (out Report, known bool) {
	d.mu.Lock()
	in, outcomes, known := d.input, d.outcomes, d.known
	d.mu.Unlock()
	if !known {
		return Report{}, false
	}
	out = Report{At: in.Now, Nodes: []NodeDecision{}, Pods: []PodDecision{}}
	for _, s := range engine.Standings(in) {
		out.Nodes = append(out.Nodes, NodeDecision{
			NodeClaim: s.Claim, Node: s.Node, NodePool: s.Pool, PricePerHour: s.Price.Dollars(),
			Goes: string(s.Goes), Move: s.Move, Stays: string(s.Stay.Reason), Why: s.Explain(),
		})
	}
	for _, o := range outcomes {
		x := PodDecision{Verdict: string(o.Verdict), On: o.On}
		if len(o.Reasons) > 0 {
			x.Why = plan.ExplainRefusals(o.Reasons)
		}
		for _, x.Pod = range o.Pods {
			out.Pods = append(out.Pods, x)
		}
	}
	return out, true
}

// Handler serves the Report as JSON.
func (d *Decisions) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		report, known := d.Report()
		if !known {
			http.Error(w, "this replica decides nothing: the one that holds the Lease "+install.LeaseName+" does", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report) // who asked may be gone
	})
}

// eventsAtOnce is how many nodes get an Event that says why they stay, at most at one look.
const eventsAtOnce = 50

// standings sets the gauge of nodes, and sends nodes that stay an Event when the reason is
// another than the last one sent.
func (r *Recorder) standings(list []plan.Standing) {
	nodes := r.Metrics.Decisions.nodes
	nodes.Reset()
	before, told, sent := r.Metrics.Decisions.told, map[string]plan.StayReason{}, 0
	defer func() { r.Metrics.Decisions.told = told }()
	for _, s := range list {
		if s.Goes != "" {
			nodes.WithLabelValues(s.Pool, "goes", string(s.Goes)).Inc()
			continue
		}
		nodes.WithLabelValues(s.Pool, "stays", string(s.Stay.Reason)).Inc()
		if last, ever := before[s.Claim]; ever {
			told[s.Claim] = last
		}
		reason := staysEvent(s.Stay.Reason)
		if reason == "" || s.Node == "" || sent == eventsAtOnce || told[s.Claim] == s.Stay.Reason {
			continue
		}
		sent++
		told[s.Claim] = s.Stay.Reason
		r.both(s.Claim, s.ClaimUID, s.Node, reason, "The node stays: "+s.Stay.Explain())
	}
}

// staysEvent returns the reason of Karpenter's Event with the same meaning; "" for what
// soon changes by itself.
func staysEvent(why plan.StayReason) string {
	switch why {
	case plan.PoolUnready, plan.PoolPaused, plan.DaemonPaused, plan.NodeProtected, plan.PodExpected, plan.PodProtected, plan.PodOfGang, plan.PodBudget, plan.PodBudgets, plan.NoPlace, plan.BudgetUsed, plan.LimitFull, plan.PoolHeldBack:
		return "DisruptionBlocked"
	case plan.NodeStays, plan.NoSaving, plan.NoPrice, plan.PolicyForbids, plan.StaticPool:
		return "Unconsolidatable"
	case plan.NotInitialized, plan.IsLeaving, plan.NotQuiet, plan.NotSearched, plan.NextToGo, plan.Replaces, plan.PodSettles, plan.NotDrifted, plan.OutOfTime, plan.CloudAway:
	}
	return ""
}
