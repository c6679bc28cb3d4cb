package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// changedFleet is fleetOf with its objects changed.
func changedFleet(t *testing.T, n int, change func(*cluster.Objects)) engine.Input {
	t.Helper()
	in := fleetOf(t, n)
	o := in.Snapshot.Objects()
	for i := range o.Claims {
		o.Claims[i].UID = "uid-" + o.Claims[i].Name
	}
	change(&o)
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	in.Snapshot = s
	return in
}

// observer is a Recorder of which the Events can be read.
func observer() (*Recorder, func() []string) {
	events := record.NewFakeRecorder(1000)
	r := &Recorder{Logger: hclog.NewNullLogger(), Events: events, Metrics: NewMetrics("test"), Waiting: func(string) (time.Time, bool) { return time.Time{}, false }}
	return r, func() (got []string) {
		for len(events.Events) > 0 {
			got = append(got, <-events.Events)
		}
		return got
	}
}

// about returns the Events with the reason.
func about(events []string, reason disruptionEvent) []string {
	return slices.DeleteFunc(events, func(e string) bool { return !strings.Contains(e, " "+string(reason)+" ") })
}

func step(actions ...plan.Action) engine.Output {
	return engine.Output{Plan: plan.Plan{Actions: actions}, Trace: engine.Trace{Complete: true}}
}

func TestRecorder_CountsDisruptedNodeClaimsWithKarpentersLabels(t *testing.T) {
	r, _ := observer()
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.LabelNodePool: "p", v1.LabelCapacityType: "on-demand"}}}
	for _, x := range []plan.Delete{
		{Claim: "a", Why: plan.Underutilized, Saves: 2 * quantity.NanoDollars},
		{Claim: "a", Why: plan.Interrupted, Detail: "spot_interrupted"},
		{Claim: "a", Why: plan.RegistrationTimeout},
	} {
		r.Deleted(claim, x)
	}
	for _, reason := range []string{"underutilized", "spot_interrupted", "registration_timeout"} {
		if n := value(t, r.Metrics, `karpenter_nodeclaims_disrupted_total{capacity_type="on-demand",nodepool="p",reason="`+reason+`"}`); n != 1 {
			t.Errorf("%s: %v", reason, n)
		}
	}
	if n := value(t, r.Metrics, `karpenterd_disrupted_dollars_per_hour_total{nodepool="p",reason="underutilized"}`); n != 2 {
		t.Errorf("freed %v dollars an hour", n)
	}
}

func move(id string, sources ...string) *cluster.Move {
	m := &cluster.Move{ID: id, Count: 1, Reason: "Underutilized"}
	for _, s := range sources {
		m.Sources = append(m.Sources, cluster.Source{Claim: s, UID: "uid-" + s})
	}
	return m
}

func TestDisruptions_CountADecisionOnceWhereItIsMade(t *testing.T) {
	r, _ := observer()
	idle := changedFleet(t, 4, func(*cluster.Objects) {})
	moving := changedFleet(t, 4, func(o *cluster.Objects) { o.Claims[3].Move, o.Claims[3].Initialized = move("m", "a", "b"), false })
	announce := func(name string) plan.Disrupt {
		return plan.Disrupt{Claim: name, ClaimUID: "uid-" + name, Node: name, Why: plan.Underutilized}
	}
	launch := func(name string) plan.Launch {
		return plan.Launch{Name: name, Pool: "p", Price: quantity.NanoDollars, Move: move("m", "a", "b")}
	}
	decisions := func(kind, how string) float64 {
		n := value(t, r.Metrics, `karpenter_voluntary_disruption_decisions_total{consolidation_type="`+how+`",decision="`+kind+`",reason="underutilized"}`)
		by := value(t, r.Metrics, `karpenter_voluntary_disruption_decisions_by_nodepool_total{consolidation_type="`+how+`",decision="`+kind+`",nodepool="p",reason="underutilized"}`)
		if n != by {
			t.Errorf("%v decisions, %v of the only NodePool", n, by)
		}
		return n
	}
	r.Record(idle, step(launch("x"), launch("y")), 0)
	if n := decisions("replace", "multi"); n != 1 {
		t.Errorf("the move counts as %v decisions", n)
	}
	if n := value(t, r.Metrics, `karpenterd_replacements_dollars_per_hour_total{nodepool="p",reason="underutilized"}`); n != 2 {
		t.Errorf("replacements cost %v", n)
	}
	r.Record(moving, step(announce("a"), announce("b")), 0) // decided with the move
	r.Record(moving, step(announce("c")), 0)
	r.Record(moving, step(announce("c")), 0) // the write of the condition failed
	if n := decisions("delete", "single"); n != 1 {
		t.Errorf("the node counts as %v decisions", n)
	}
	r.Record(idle, step(plan.Restore{Claim: "c", ClaimUID: "uid-c"}), 0)
	r.Record(idle, step(announce("b"), announce("c")), 0)
	if n := decisions("delete", "multi"); n != 1 {
		t.Errorf("two nodes at once count as %v decisions", n)
	}
	const failures = `karpenter_voluntary_disruption_queue_failures_total{consolidation_type="multi",decision="replace",reason="underutilized"}`
	r.Record(moving, step(plan.Restore{Claim: "d", ClaimUID: "uid-d"}), 0)
	if n := value(t, r.Metrics, failures); n != 1 {
		t.Errorf("a move that is given up counts as %v failures", n)
	}
	over := changedFleet(t, 4, func(o *cluster.Objects) {
		o.Claims[3].Move, o.Claims[0].Deleting, o.Claims[1].Deleting = move("m", "a", "b"), true, true
	})
	r.Record(over, step(plan.Restore{Claim: "d", ClaimUID: "uid-d"}), 0)
	if n := value(t, r.Metrics, failures); n != 1 {
		t.Errorf("a move that has ended counts as a failure")
	}
}

func TestDisruptions_PublishWhatBudgetsAllowAndWhatMayGo(t *testing.T) {
	m := NewMetrics("test")
	in := changedFleet(t, 4, func(o *cluster.Objects) {
		o.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, Budgets: []cluster.Budget{{Most: 50, Percent: true, Reasons: []string{"Drifted", "Underutilized"}}}}
		o.Nodes[0].Ready, o.Nodes[1].DoNotDisrupt = false, true
		o.Claims[2].Drift = &cluster.Drift{Reason: "AMIDrift"}
	})
	m.disruption.publish(engine.Standings(in))
	for name, want := range map[string]float64{
		`karpenter_nodepools_allowed_disruptions{nodepool="p",reason="Underutilized"}`:     2,
		`karpenter_nodepools_allowed_disruptions{nodepool="p",reason="Empty"}`:             2147483647,
		`karpenter_nodepools_nodes_consuming_budgets{nodepool="p",reason="Underutilized"}`: 1,
		`karpenter_voluntary_disruption_eligible_nodes{reason="drifted"}`:                  1,
		`karpenter_voluntary_disruption_eligible_nodes{reason="empty"}`:                    0,
		`karpenterd_nodepool_standing{nodepool="p",reason="NextToGo"}`:                     1,
	} {
		if got := value(t, m, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestRecorder_APodThatNothingCreatesAnewIsToldOnceWhenItsNodeGoes(t *testing.T) {
	bare := func(o *cluster.Objects) { o.Pods[0].Owner = cluster.Owner{} }
	for name, c := range map[string]struct {
		change func(*cluster.Objects)
		action plan.Action
		want   int
	}{
		"announced":         {bare, plan.Disrupt{Claim: "a", Node: "a", Why: plan.Drifted}, 1},
		"deleted at once":   {bare, plan.Delete{Claim: "a", Node: "a", Why: plan.Interrupted}, 1},
		"deleted by a user": {func(o *cluster.Objects) { bare(o); o.Claims[0].Deleting = true }, plan.Wait{}, 1},
		"another node goes": {bare, plan.Disrupt{Claim: "b", Node: "b", Why: plan.Drifted}, 0},
		"with controller":   {func(*cluster.Objects) {}, plan.Disrupt{Claim: "a", Node: "a", Why: plan.Drifted}, 0},
		"of the node":       {func(o *cluster.Objects) { bare(o); o.Pods[0].Pinned = true }, plan.Disrupt{Claim: "a", Node: "a", Why: plan.Drifted}, 0},
	} {
		r, events := observer()
		in := changedFleet(t, 2, c.change)
		r.Record(in, step(c.action), 0)
		r.Record(in, step(c.action), 0)
		got := about(events(), podWithoutController)
		if len(got) != c.want || c.want > 0 && !strings.HasPrefix(got[0], "Warning PodWithoutController Node a is to be deleted.") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRecorder_AReplacementSaysWhatItIsForAndThatOthersWaitForIt(t *testing.T) {
	r, events := observer()
	look := func(change func(*cluster.Claim)) []string {
		in := changedFleet(t, 3, func(o *cluster.Objects) {
			o.Claims[2].Move, o.Claims[2].Initialized = move("m", "a", "b"), false
			change(&o.Claims[2])
		})
		r.Record(in, step(), 0)
		// Another goroutine tells why nodes stay, whenever it comes to it.
		return slices.DeleteFunc(events(), func(e string) bool { return strings.Contains(e, " "+string(unconsolidatable)+" ") })
	}
	if got := look(func(c *cluster.Claim) { c.Launched = false }); len(got) != 1 || got[0] != "Normal DisruptionLaunching Launching NodeClaim: Underutilized, in place of NodeClaim a, b" {
		t.Errorf("%q", got)
	}
	if got := look(func(*cluster.Claim) {}); len(got) != 1 || got[0] != "Normal DisruptionWaitingReadiness Waiting on readiness to continue disruption of NodeClaim a, b" {
		t.Errorf("%q", got)
	}
	for name, change := range map[string]func(*cluster.Claim){
		"again": func(*cluster.Claim) {}, "ready": func(c *cluster.Claim) { c.Initialized, c.UID = true, "x" },
		"another source": func(c *cluster.Claim) { c.UID, c.Move.Sources = "y", []cluster.Source{{Claim: "a", UID: "old"}} },
	} {
		if got := look(change); len(got) != 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRecorder_APoolThatIsBlockedGetsAnEventOnceForEachReason(t *testing.T) {
	r, events := observer()
	for i, c := range []struct {
		change func(*cluster.Objects)
		want   string
	}{
		{func(o *cluster.Objects) { o.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0}} }, `a disruption budget allows no more nodes now: "p" (nodes: 0)`},
		{func(o *cluster.Objects) { o.Pools[0].Disruption.Budgets = []cluster.Budget{{Most: 0, Percent: true}} }, ""},
		{func(*cluster.Objects) {}, ""},
		{func(o *cluster.Objects) { o.Pools[0].Ready, o.Pools[0].NotReady = false, "NodeClass c is not ready" }, "the NodePool is not ready: NodeClass c is not ready"},
	} {
		r.standings(changedFleet(t, 1, func(o *cluster.Objects) {
			o.Pools[0].Disruption.Policy = cluster.WhenEmptyOrUnderutilized
			c.change(o)
		}))
		got := slices.DeleteFunc(events(), func(e string) bool { return !strings.Contains(e, "No more nodes are disrupted") })
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0] != "Normal DisruptionBlocked No more nodes are disrupted: "+c.want) {
			t.Errorf("look %d: %q, want %q", i, got, c.want)
		}
	}
}

func TestRecorder_ANodeThatStaysPastExpireAfterSaysWhatToDo(t *testing.T) {
	r, events := observer()
	in := changedFleet(t, 1, func(o *cluster.Objects) {
		o.Claims[0].Created, o.Claims[0].ExpiresAt = time.Unix(900_000, 0), time.Unix(999_000, 0)
		o.Pods[0].DoNotDisrupt = true
	})
	r.standings(in)
	got := about(events(), expiredNodeStays)
	if len(got) != 2 {
		t.Fatalf("%q, want one to the NodeClaim and one to its node", got)
	}
	for _, want := range []string{
		"Warning ExpiredNodeStays expireAfter of the node ended at 1970-01-12T13:30:00Z. The node stays: pod default/a has the annotation", "remove the annotation from the pod",
		"terminationGracePeriod", "delete its NodeClaim",
	} {
		if !strings.Contains(got[1], want) {
			t.Errorf("%q lacks %q", got[1], want)
		}
	}
}

func TestRecorder_TellsAgainBeforeTheAPIServerForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, events := observer()
		in := changedFleet(t, 1, func(o *cluster.Objects) { o.Nodes[0].DoNotDisrupt = true })
		sent := 0
		for range 2 * 60 {
			r.standings(in)
			sent += len(events())
			time.Sleep(time.Minute)
		}
		if sent != 3*2 {
			t.Errorf("%d Events in two hours, want three to the NodeClaim and three to its node", sent)
		}
	})
}

func TestExplain_PrintsTheStandingOfAPoolAndWhetherARunningPodKeepsItsNode(t *testing.T) {
	m := NewMetrics("test")
	server := httptest.NewServer(m.Decisions.Handler())
	defer server.Close()
	in := changedFleet(t, 2, func(o *cluster.Objects) {
		o.Pools[0].Disruption = cluster.Disruption{Policy: cluster.WhenEmptyOrUnderutilized, Budgets: []cluster.Budget{{Most: 0}}}
		o.Pods[0].DoNotDisrupt, o.Pods[1].Owner = true, cluster.Owner{}
	})
	m.Decisions.note(in, nil)
	for _, c := range []struct{ what, name, want string }{
		{"pool", "p", `nodepool p (nodes: 2) DisruptionBudget: a disruption budget allows no more nodes now: "p" (nodes: 0); nodes with room are closed for seconds while pods are evicted to save money, and the daemon binds these pods` + "\n"},
		{"pool", "q", "error: nodepool q: the last plan does not know it"},
		{
			"pod", "default/a", "pod default/a runs on node a, the pod keeps the node: pod default/a has the annotation karpenter.sh/do-not-disrupt; remove the annotation from the pod",
		},
		{"pod", "b", "pod default/b runs on node b, the pod does not keep the node; no controller creates the pod anew if the node is deleted; the node stays: a disruption budget of"},
		{"pod", "default/nobody", "error: pod default/nobody: the last plan does not know it"},
	} {
		var out bytes.Buffer
		err := Explain(t.Context(), &out, strings.TrimPrefix(server.URL, "http://"), c.what, c.name)
		got := out.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("explain %s %s: %q, want %q", c.what, c.name, got, c.want)
		}
	}
}

func TestDecisions_HaveMovesWithTheirSavingAndTheFleetWithItsBound(t *testing.T) {
	m := NewMetrics("test")
	m.fleet.publish(plan.Audit{Claims: 3, Cost: 6 * quantity.NanoDollars, Proof: plan.Certificate{Bound: 5 * quantity.NanoDollars}}, hclog.NewNullLogger())
	m.Decisions.note(changedFleet(t, 3, func(o *cluster.Objects) { o.Claims[2].Move, o.Claims[2].Initialized = move("m", "a", "b"), false }), nil)
	report, _ := m.Decisions.Report()
	if len(report.Moves) != 1 || report.Fleet == nil || report.Fleet.BoundPerHour != "$5.0000" || report.Fleet.CostPerHour != "$6.0000" {
		t.Fatalf("%+v", report)
	}
	server := httptest.NewServer(m.Decisions.Handler())
	defer server.Close()
	var out bytes.Buffer
	if err := Explain(t.Context(), &out, strings.TrimPrefix(server.URL, "http://"), "node", "a"); err != nil ||
		!strings.Contains(out.String(), "other nodes replace it in move m; the replaced nodes cost $4.0000 an hour, their replacements $2.0000, so the move saves $2.0000") {
		t.Errorf("%q: %v", out.String(), err)
	}
	text, err := json.Marshal(report.Moves[0])
	if want := `{"id":"m","reason":"Underutilized","replaces":["a","b"],"by":["c"],"freesPerHour":"$4.0000","costsPerHour":"$2.0000","savingPerHour":"$2.0000"}`; err != nil || string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}

func TestRecorder_APodThatIsDeletedAtTheDeadlineIsToldOnce(t *testing.T) {
	r, events := observer()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	r.Evicted(p, "Drifted")
	for left := int64(3); left > 0; left-- {
		r.ForceDeleted(p, time.Unix(1_000_000, 0), left)
	}
	got := events()
	if len(got) != 2 || got[0] != "Normal Evicted Evicted pod: Drifted" ||
		!strings.HasPrefix(got[1], "Warning Disrupted The pod is deleted, whatever protects it, because its node ends at 1970-01-12T13:46:40Z") {
		t.Errorf("%q", got)
	}
}

// Whoever wonders why savings take longer beside a descheduler finds it in the Events of the
// pool, in explain and among the metrics. A way that a user chose is no news.
func TestRecorder_SaysWhyEvictedPodsAreLeftToTheScheduler(t *testing.T) {
	r, events := observer()
	const beside = "descheduler in namespace kube-system acts on the taints of nodes"
	for i, c := range []struct {
		change func(*engine.Policy)
		way    string
		reason plan.LandingReason
		want   string
	}{
		{func(*engine.Policy) {}, "bind", plan.LandsAutomatically, ""},
		{func(p *engine.Policy) { p.TaintReader = "descheduler in namespace kube-system" }, "prefer", plan.LandsBesideReader, beside},
		{func(p *engine.Policy) { p.TaintReader = "descheduler in namespace kube-system" }, "prefer", plan.LandsBesideReader, ""},
		{func(p *engine.Policy) { p.Landing = plan.LandPrefer }, "prefer", plan.LandsAsSet, ""},
		{func(p *engine.Policy) { p.CannotBind = true }, "prefer", plan.LandsWithoutRight, "the daemon may not create pods/binding"},
	} {
		in := changedFleet(t, 1, func(o *cluster.Objects) { o.Pools[0].Disruption.Policy = cluster.WhenEmptyOrUnderutilized })
		in.Policy = engine.DefaultPolicy()
		c.change(&in.Policy)
		r.standings(in)
		got := about(events(), landingLimited)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], "Normal LandingLimited Savings take longer: ") || !strings.Contains(got[0], c.want)) {
			t.Errorf("look %d: %q, want %q", i, got, c.want)
		}
		name := fmt.Sprintf(`karpenterd_landing{reason=%q,way=%q}`, c.reason, c.way)
		if v := value(t, r.Metrics, name); v != 1 {
			t.Errorf("look %d: %s is %v", i, name, v)
		}
	}
}

// Pools whose nodes are never deleted to save money are not told where pods would land.
func TestRecorder_OnlyPoolsThatSaveMoneyAreToldWherePodsLand(t *testing.T) {
	r, events := observer()
	in := changedFleet(t, 1, func(o *cluster.Objects) { o.Pools[0].Disruption.Policy = cluster.WhenEmpty })
	in.Policy = engine.DefaultPolicy()
	in.Policy.TaintReader = "descheduler in namespace kube-system"
	r.standings(in)
	if got := about(events(), landingLimited); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// A node whose reason changes at each look, to and fro, gets no Event at each: the same is said
// again of it every ten minutes at most, and at last what holds.
func TestRecorder_ReasonsThatTakeTurnsAreEachSaidEveryTenMinutesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, events := observer()
		look := func(why plan.StayReason) {
			r.tellStandings(plan.Standings{Nodes: []plan.Standing{{Claim: "c", ClaimUID: "u", Node: "n", Stay: plan.Stay{Reason: why}}}})
			time.Sleep(standingsEvery)
		}
		for range 60 {
			look(plan.PodProtected)
			look(plan.NoSaving)
		}
		all := events()
		for _, reason := range []disruptionEvent{disruptionBlocked, unconsolidatable} {
			if n := len(about(slices.Clone(all), reason)); n > 2*6 || n < 2*5 { // on the NodeClaim and on the node
				t.Errorf("%d Events %s in an hour", n, reason)
			}
		}
		for range 21 {
			look(plan.PodProtected)
		}
		if all = events(); len(all) != 2 || !strings.Contains(all[1], string(disruptionBlocked)) {
			t.Errorf("the last Event is not about what holds: %q", all)
		}
		if n := len(r.told["nodeclaim/c"].said); n > 2 {
			t.Errorf("%d texts are remembered", n)
		}
	})
}
