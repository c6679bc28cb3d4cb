package telemetry

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/tools/record"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

func TestExplain_PrintsWhyANodeStaysAndWhatAPodGets(t *testing.T) {
	m := NewMetrics("test")
	server := httptest.NewServer(m.Decisions.Handler())
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	explain := func(what, name string) string {
		var out bytes.Buffer
		if err := Explain(t.Context(), &out, address, what, name); err != nil {
			return "error: " + err.Error()
		}
		return out.String()
	}
	if got := explain("node", "a"); !strings.Contains(got, "holds the Lease "+install.LeaseName) {
		t.Errorf("before the first plan: %q", got)
	}
	m.Decisions.note(fleetOf(t, 1), []plan.Outcome{{Verdict: plan.Waiting, Pods: []string{"default/web"}}})
	for _, c := range []struct{ what, name, want string }{
		{"node", "a", "node a (nodeclaim a, nodepool p, $2.0000 an hour) stays: the NodePool's consolidationPolicy or consolidateAfter keeps the node; " +
			"what to do: set consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized, and consolidateAfter to a time\n"},
		{"node", "b", "error: node b: the last plan does not know it"},
		{"pod", "default/web", "pod default/web: " + string(plan.Waiting) + "\n"},
		{"pod", "web", "pod default/web: " + string(plan.Waiting) + "\n"},
		{"pod", "other/web", "error: pod other/web: the last plan does not know it"},
		{"claim", "a", "error: say what to explain"},
		{"node", "", "error: say what to explain"},
	} {
		if got := explain(c.what, c.name); !strings.HasPrefix(got, c.want) {
			t.Errorf("explain %s %s: %q, want %q", c.what, c.name, got, c.want)
		}
	}
}

func TestRecorder_SaysOnceForEachReasonWhyANodeStays(t *testing.T) {
	events := record.NewFakeRecorder(100)
	r := &Recorder{Logger: hclog.NewNullLogger(), Events: events, Metrics: NewMetrics("test")}
	look := func(change func(*cluster.Objects)) (got []string) {
		o := fleetOf(t, 1).Snapshot.Objects()
		change(&o)
		s, err := cluster.New(o)
		if err != nil {
			t.Fatal(err)
		}
		r.standings(engine.Input{Snapshot: s, Now: time.Unix(1_000_000, 0)})
		for len(events.Events) > 0 {
			got = append(got, <-events.Events)
		}
		return got
	}
	protect := func(o *cluster.Objects) { o.Nodes[0].DoNotDisrupt = true }
	going := func(o *cluster.Objects) { o.Claims[0].Disrupting = &cluster.Disrupting{Reason: "Drifted"} }
	const forbids, blocked = "Normal Unconsolidatable The node stays: the NodePool's", "Normal DisruptionBlocked The node stays: the node has"
	for i, c := range []struct {
		change func(*cluster.Objects)
		want   string
		gauge  string
	}{
		{func(*cluster.Objects) {}, forbids, `{nodepool="p",reason="ConsolidationPolicy",standing="stays"}`},
		{func(*cluster.Objects) {}, "", `{nodepool="p",reason="ConsolidationPolicy",standing="stays"}`},
		{protect, blocked, `{nodepool="p",reason="NodeDoNotDisrupt",standing="stays"}`},
		{going, "", `{nodepool="p",reason="Drifted",standing="leaves"}`},
		{protect, blocked, `{nodepool="p",reason="NodeDoNotDisrupt",standing="stays"}`},
		{func(*cluster.Objects) {}, forbids, `{nodepool="p",reason="ConsolidationPolicy",standing="stays"}`},
	} {
		got := look(c.change)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 2 || !strings.HasPrefix(got[0], c.want) || !strings.HasPrefix(got[1], c.want)) {
			t.Errorf("look %d: %q, want %q to the NodeClaim and its node", i, got, c.want)
		}
		if n := value(t, r.Metrics, "karpenterd_nodes"+c.gauge); n != 1 {
			t.Errorf("look %d: %s is %v", i, c.gauge, n)
		}
	}
}
