package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// desk is a recorder whose log, Events and metrics can be read.
type desk struct {
	t        *testing.T
	recorder *telemetry.Recorder
	log      bytes.Buffer
	events   *record.FakeRecorder
	snapshot cluster.Snapshot
}

// newDesk has the pods web-0 to web-2 of one ReplicaSet in its snapshot.
func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, events: record.NewFakeRecorder(100)}
	d.recorder = &telemetry.Recorder{
		Logger: hclog.New(&hclog.LoggerOptions{Output: &d.log, JSONFormat: true}), Events: d.events, Metrics: telemetry.NewMetrics("test"),
		Waiting: func(string) (time.Time, bool) { return time.Unix(1, 0), true },
	}
	var objects cluster.Objects
	for i := range 3 {
		objects.Pods = append(objects.Pods, cluster.Pod{
			Namespace: "default", Name: fmt.Sprint("web-", i), UID: fmt.Sprint("u", i), Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web"},
		})
	}
	var err error
	if d.snapshot, err = cluster.New(objects); err != nil {
		t.Fatal(err)
	}
	return d
}

// record reports a Step with the complete plan.
func (d *desk) record(p plan.Plan) {
	trace := engine.Trace{Complete: true}
	for _, a := range p.Actions {
		if _, ok := a.(plan.Launch); ok {
			trace.Launches++
		}
	}
	d.recordAs(p, trace)
}

func (d *desk) recordAs(p plan.Plan, trace engine.Trace) {
	d.recorder.Record(engine.Input{Snapshot: d.snapshot, Now: time.Unix(2, 0)}, engine.Output{Plan: p, Trace: trace}, time.Millisecond)
}

// lines returns what was logged with the message since the last call.
func (d *desk) lines(message string) []map[string]any {
	d.t.Helper()
	var out []map[string]any
	for line := range strings.Lines(d.log.String()) {
		var x map[string]any
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			d.t.Fatalf("line %q: %v", line, err)
		}
		if x["@message"] == message {
			out = append(out, x)
		}
	}
	d.log.Reset()
	return out
}

func refused(limit int64, pods ...string) plan.Outcome {
	return plan.Outcome{Group: "g", Pods: pods, Verdict: plan.Unplaceable, Reasons: []plan.Refusal{
		{Pool: "gpu", Cause: plan.LimitReached, Limit: &plan.Limit{Name: "nodes", Max: limit, Used: limit}},
	}}
}

func launch() plan.Plan {
	l := plan.Launch{
		Name: "spot-a", Pool: "spot", CapacityType: "spot", Zones: []string{"us-west-2b"}, Price: 410_000_000,
		Types: []plan.Choice{{Type: "m7a.4xlarge", Price: 410_000_000}}, Pods: []string{"default/web-0", "default/web-1"},
		Why: plan.LaunchReason{
			Pods: 2, Considered: 605, Best: plan.Choice{Type: "m7a.4xlarge", Price: 410_000_000}, Passed: plan.Choice{Type: "c7a.8xlarge", Price: 380_000_000},
			Lacks: &quantity.Shortage{Resource: quantity.Memory, Need: 61 << 30, Free: 58 << 30},
		},
	}
	return plan.Plan{
		Actions: []plan.Action{l}, Cost: l.Price, Proofs: []plan.Certificate{{Scratch: true, Bound: 1}, {Bound: 400_000_000}},
		Outcomes: []plan.Outcome{{Pods: l.Pods, Verdict: plan.OnLaunch, On: l.Name}, refused(4, "default/web-2")},
	}
}

func TestRecorder_ReportsARefusedPodOnceAndAgainWhenTheReasonChanges(t *testing.T) {
	d := newDesk(t)
	pods := []string{"default/web-0", "default/web-1"}
	for _, limit := range []int64{4, 5} {
		for range 3 {
			d.record(plan.Plan{Outcomes: []plan.Outcome{refused(limit, pods...), {Pods: []string{"default/web-2"}, Verdict: plan.OnNode, On: "n"}}})
		}
		want := fmt.Sprintf(`cannot be placed: NodePool "gpu": the limit is %d nodes, and the pool has %d with the launches of this plan`, limit, limit)
		told := d.lines("workload planned for")
		if len(told) != 1 || !strings.Contains(fmt.Sprint(told[0]["why"]), want) || told[0]["workload"] != "ReplicaSet default/web" {
			t.Errorf("limit %d: told %v, want once %q", limit, told, want)
		}
		for range pods {
			want := fmt.Sprintf(`Warning FailedScheduling Failed to schedule pod, NodePool "gpu": the limit is %d nodes, and the pool has %d with the launches of this plan`, limit, limit)
			if got := d.event(); got != want {
				t.Errorf("limit %d: event %q, want %q", limit, got, want)
			}
		}
		if got := d.event(); got != "" {
			t.Errorf("limit %d: one more event %q", limit, got)
		}
	}
}

func TestRecorder_ReportsANodeThatIsLeftOutOnce(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		d.record(plan.Plan{LeftOut: []plan.LeftOut{{Pod: "default/web-0", Node: "n", Times: 3, Until: time.Unix(600, 0)}}})
	}
	const want = "Warning NominationRefused The kube-scheduler has refused node n 3 times, although the pod was nominated for it; " +
		"pods of its kind are planned elsewhere until 1970-01-01T00:10:00Z"
	if got := d.event(); got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	if got := d.event(); got != "" {
		t.Errorf("one more event %q", got)
	}
	if told := d.lines("node left out"); len(told) != 1 || told[0]["node"] != "n" {
		t.Errorf("told %v, want once", told)
	}
}

func TestRecorder_SaysOnceWhatAStaticPoolLacks(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		d.record(plan.Plan{Lacking: []plan.Lacking{{
			Pool: "fixed", PoolUID: "u", Replicas: 5, Nodes: 3, Why: plan.Refusal{Pool: "fixed", Cause: plan.LimitReached, Limit: &plan.Limit{Name: "nodes", Max: 3, Used: 3}},
		}}})
	}
	const want = `Warning StaticNodesMissing spec.replicas of static NodePool "fixed" is 5, and it has 3 nodes: ` +
		"the limit is 3 nodes, and the pool has 3 with the launches of this plan"
	if got := d.event(); got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	if got := d.event(); got != "" {
		t.Errorf("one more event %q", got)
	}
	if told := d.lines("static nodepool lacks nodes"); len(told) != 1 || told[0]["nodepool"] != "fixed" {
		t.Errorf("told %v, want once", told)
	}
}

// event returns the next Event that was sent; "" is none.
func (d *desk) event() string {
	select {
	case e := <-d.events.Events:
		return e
	default:
		return ""
	}
}

func TestRecorder_LogsWhatIsLaunchedForAWorkloadAndWhy(t *testing.T) {
	d := newDesk(t)
	for range 2 { // a launch is logged each time
		d.record(launch())
		told := d.lines("workload planned for")
		want := `ReplicaSet default/web, 3 pods: 2 get a new node: m7a.4xlarge spot in us-west-2b from NodePool "spot" at $0.4100 an hour, because c7a.8xlarge at $0.3800 ` +
			`lacks memory (61Gi needed, 58Gi left after DaemonSets). 1 cannot be placed: NodePool "gpu": the limit is 4 nodes, and the pool has 4 with the launches of this plan.`
		if len(told) != 1 || told[0]["why"] != want || told[0]["launched_for"] != 2.0 || told[0]["refused"] != 1.0 {
			t.Errorf("told %v, want %q", told, want)
		}
	}
	d.record(plan.Plan{Outcomes: []plan.Outcome{refused(4, "default/web-2")}})
	if again := d.lines("workload planned for"); len(again) != 0 {
		t.Errorf("the refusal is logged again: %v", again)
	}
}

func TestRecorder_KeepsTheKeysOfALaunch(t *testing.T) {
	d := newDesk(t)
	d.record(launch())
	told := d.lines("launch nodeclaim")
	if len(told) != 1 {
		t.Fatalf("told %v", told)
	}
	for key, want := range map[string]any{
		"nodeclaim": "spot-a", "nodepool": "spot", "capacity_type": "spot", "instance_types": "m7a.4xlarge", "zones": "us-west-2b",
		"price": "$0.4100", "pods": 2.0, "declared": 0.0, "replaces": "", "decided_in": "1ms", "compared": 0.0,
	} {
		if told[0][key] != want {
			t.Errorf("%s is %v, want %v", key, told[0][key], want)
		}
	}
	if seen, ok := told[0]["seen_unix_nano"].([]any); !ok || len(seen) != 2 {
		t.Errorf("seen_unix_nano is %v, want a time for each pod", told[0]["seen_unix_nano"])
	}
}

func TestRecorder_LogsThePiecesOfAPlanOnce(t *testing.T) {
	d := newDesk(t)
	first, last := launch(), launch()
	first.Proofs = nil
	d.recordAs(first, engine.Trace{Launches: 1})
	if told := len(d.lines("workload planned for")); told != 1 {
		t.Errorf("the launch of an incomplete plan is logged %d times", told)
	}
	last.Actions = nil
	d.recordAs(last, engine.Trace{Launches: 1, Complete: true})
	log := d.log.String()
	if told := len(d.lines("workload planned for")); told != 0 {
		t.Errorf("the launch is logged %d more times", told)
	}
	if !strings.Contains(log, "plan costs") {
		t.Errorf("the cost of the complete plan is not logged:\n%s", log)
	}
}

func TestRecorder_SaysHowFarAPlanIsFromTheBound(t *testing.T) {
	d := newDesk(t)
	p := launch()
	p.Extra = plan.Extra{Volumes: 2_000_000, Addresses: 5_000_000, Nodes: 3_000_000}
	d.record(p)
	told := d.lines("plan costs")
	want := "new nodes for these pods cannot cost less than $0.4000 an hour; " +
		"the cost is $0.4200 (instances $0.4100, volumes $0.0020, public addresses $0.0050, node cost $0.0030), 5 % above that"
	if len(told) != 1 || told[0]["why"] != want || told[0]["gap_percent"] != 5.0 || told[0]["cost"] != "$0.4100" || told[0]["bound"] != "$0.4000" ||
		told[0]["volumes"] != "$0.0020" || told[0]["addresses"] != "$0.0050" || told[0]["node_cost"] != "$0.0030" {
		t.Errorf("told %v, want %q", told, want)
	}
	d.record(plan.Plan{Outcomes: []plan.Outcome{{Pods: []string{"default/web-2"}, Verdict: plan.OnNode, On: "n"}}})
	if again := d.log.String(); again != "" {
		t.Errorf("a plan without launches is logged: %s", again)
	}
	answer := httptest.NewRecorder()
	d.recorder.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		"\nkarpenterd_plan_cost_dollars_per_hour{kind=\"instances\"} 0.41\n", "\nkarpenterd_plan_cost_dollars_per_hour{kind=\"volumes\"} 0.002\n",
		"\nkarpenterd_plan_cost_dollars_per_hour{kind=\"addresses\"} 0.005\n", "\nkarpenterd_plan_cost_dollars_per_hour{kind=\"nodes\"} 0.003\n",
		"\nkarpenterd_plan_bound_dollars_per_hour 0.4\n",
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
}

func TestRecorder_CountsDriftedNodeClaimsByPoolAndReasonUntilTheyGo(t *testing.T) {
	d := newDesk(t)
	drifted := func(name, reason string) *v1.NodeClaim {
		c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelNodePool: "web"}}}
		c.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, reason, "", time.Unix(1, 0))
		return c
	}
	going := drifted("c", "AMIDrift")
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(2, 0)}
	metrics := func() string {
		answer := httptest.NewRecorder()
		d.recorder.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return answer.Body.String()
	}
	d.recorder.DriftCounted([]*v1.NodeClaim{drifted("a", "AMIDrift"), drifted("b", "AMIDrift"), going, {}})
	if want := `karpenterd_nodeclaims_drifted{nodepool="web",reason="AMIDrift"} 2`; !strings.Contains(metrics(), want) {
		t.Errorf("the metrics lack %s", want)
	}
	d.recorder.DriftCounted(nil)
	if strings.Contains(metrics(), "karpenterd_nodeclaims_drifted{") {
		t.Error("a NodeClaim that is gone is still counted")
	}
}

func TestRecorder_AnEventSaysInWhatANodeClaimHasDrifted(t *testing.T) {
	d := newDesk(t)
	d.recorder.Drifted(&v1.NodeClaim{}, "AMIDrift", "the instance runs image a, EC2NodeClass default selects b")
	if got, want := <-d.events.Events, "Normal Drifted AMIDrift: the instance runs image a, EC2NodeClass default selects b"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	d.recorder.AnotherController(&v1.NodePool{}, "v3")
	if got := <-d.events.Events; !strings.HasPrefix(got, "Warning AnotherController ") || !strings.Contains(got, "(version v3)") || !strings.Contains(got, "scale its Deployment to 0") {
		t.Errorf("event %q", got)
	}
	d.recorder.StaleDriftMark(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	if got := <-d.events.Events; !strings.HasPrefix(got, "Warning StaleDriftMark The annotation karpenter.sh/voluntary-disruption") || !strings.Contains(got, "remove it from the node") {
		t.Errorf("event %q", got)
	}
}

func TestRecorder_APodThatTheDaemonBindsHasTheEventOfABoundPod(t *testing.T) {
	d := newDesk(t)
	b := plan.Bind{Pod: "default/p", PodUID: "u", Node: "n"}
	d.record(plan.Plan{Actions: []plan.Action{b}})
	if got := d.event(); got != "" {
		t.Errorf("the plan alone sends %q", got)
	}
	d.recorder.Bound(b)
	if got := d.event(); got != "Normal Scheduled Successfully assigned default/p to n, where consolidation has planned its place" {
		t.Errorf("sent %q", got)
	}
}

func TestRecorder_APodThatTheDaemonMayNotNominateSaysSoOnce(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		d.recorder.NominationForbidden(plan.Nominate{Pod: "default/p", PodUID: "u", Node: "n"}, "not allowed")
	}
	if got := d.event(); got != "Warning NominationForbidden The pod was to be nominated for node n, which has room for it; the kube-scheduler may put it elsewhere: not allowed" {
		t.Errorf("sent %q", got)
	}
	if got := d.event(); got != "" {
		t.Errorf("sent again: %q", got)
	}
}

// The same deletion is planned again where the last look declined it or it met a conflict.
func TestRecorder_CountsDisruptionsThatAreCarriedOutAndNotPlans(t *testing.T) {
	d := newDesk(t)
	remove := plan.Delete{Claim: "c", ClaimUID: "u", Node: "n", Why: plan.Drifted}
	taint := plan.Disrupt{Claim: "c", ClaimUID: "u", Node: "n", Why: plan.Drifted}
	metrics := func() string {
		answer := httptest.NewRecorder()
		d.recorder.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return answer.Body.String()
	}
	for range 2 {
		d.record(plan.Plan{Actions: []plan.Action{taint, remove}})
		d.recorder.Kept(remove, "the node has the annotation x")
	}
	if got := d.event(); got != "" || strings.Contains(metrics(), "karpenter_nodeclaims_disrupted_total{") {
		t.Errorf("plans alone are counted, or send the event %q", got)
	}
	if told := d.lines("nodeclaim stays for now"); len(told) != 1 || told[0]["why"] != "the node has the annotation x" {
		t.Errorf("told %v, want once why it stays", told)
	}
	d.recorder.Disrupted(taint)
	d.recorder.Deleted(&v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.LabelNodePool: "p", v1.LabelCapacityType: "spot"}}}, remove)
	for range 2 { // the NodeClaim and its node
		if got := d.event(); got != "Normal DisruptionTerminating Disrupting Node: Drifted" {
			t.Errorf("event %q", got)
		}
	}
	if want := "\nkarpenter_nodeclaims_disrupted_total{capacity_type=\"spot\",nodepool=\"p\",reason=\"drifted\"} 1\n"; !strings.Contains(metrics(), want) {
		t.Errorf("the metrics lack %q", want)
	}
}

// A text that names each NodePool of a large cluster is whole; one without end is not.
func TestRecorder_EventsAreWholeAndBounded(t *testing.T) {
	d := newDesk(t)
	d.recorder.LaunchFailed(&v1.NodeClaim{}, errors.New(strings.Repeat("long ", 5000)))
	if got := <-d.events.Events; len(got) < 25_000 || strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %.50s", len(got), got)
	}
	d.recorder.LaunchFailed(&v1.NodeClaim{}, errors.New(strings.Repeat("long ", 10_000)))
	if got := strings.TrimPrefix(<-d.events.Events, "Warning LaunchFailed "); len(got) != v1.MostMessage || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %.50s", len(got), got)
	}
}
