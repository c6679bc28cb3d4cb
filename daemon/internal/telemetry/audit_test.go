package telemetry

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// value reads a metric from the page that Prometheus reads.
func value(t *testing.T, m *Metrics, name string) float64 {
	t.Helper()
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// fleetOf has n nodes at two dollars an hour, each with a pod that fills it.
func fleetOf(t *testing.T, n int) engine.Input {
	t.Helper()
	size := quantity.Resources{MilliCPU: 2000, MemoryBytes: 4 << 30, PodSlots: 10}
	o := cluster.Objects{
		Classes: []cluster.Class{{Name: "c", Ready: true, Types: []catalog.InstanceType{{
			Name: "m5.large", Capacity: size, Allocatable: size,
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: label.OnDemand, Price: 2 * quantity.NanoDollars, Available: true}},
		}}}},
		Pools: []cluster.Pool{{Name: "p", Class: "c", Ready: true}},
	}
	for i := range n {
		name := string(rune('a' + i))
		o.Nodes = append(o.Nodes, cluster.Node{Name: name, Ready: true, Claim: name, Allocatable: size})
		o.Claims = append(o.Claims, cluster.Claim{
			Name: name, Pool: "p", Class: "c", InstanceType: "m5.large", Zone: "a", CapacityType: label.OnDemand, Node: name,
			Launched: true, Registered: true, Initialized: true, Allocatable: size,
		})
		o.Pods = append(o.Pods, cluster.Pod{
			UID: name, Namespace: "default", Name: name, Node: name, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web", UID: "r"},
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 2000, PodSlots: 1}},
		})
	}
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Input{Snapshot: s, Now: time.Unix(1_000_000, 0)}
}

func TestAudits_AuditsTheNewestInputOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics("test")
		want := func(cost float64) {
			t.Helper()
			synctest.Wait()
			if got := value(t, m, `karpenterd_fleet_cost_dollars_per_hour{kind="instances"}`); got != cost {
				t.Errorf("cost %v, want %v", got, cost)
			}
			if got := value(t, m, "karpenterd_fleet_bound_dollars_per_hour"); got > cost || got < cost-0.01 {
				t.Errorf("bound %v, want %v", got, cost)
			}
		}
		look := func(nodes int) {
			m.fleet.look(fleetOf(t, nodes), func(in engine.Input) { m.fleet.publish(engine.Audit(in), hclog.NewNullLogger()) })
			time.Sleep(time.Second)
		}
		look(1)
		want(2)
		look(2)
		look(3)
		want(2)
		time.Sleep(auditEvery)
		want(6)
		look(1)
		want(6)
		time.Sleep(auditEvery)
		want(2)
	})
}

func TestAudits_LogsOnceAnHourOrWhenAConstraintsPriceHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a, logger := newAudits(), hclog.New(&hclog.LoggerOptions{Output: &out})
		of := func(price quantity.Money) plan.Audit {
			bound := 100 * quantity.Money(quantity.NanoDollars)
			return plan.Audit{Claims: 1, Cost: bound, Proof: plan.Certificate{Scratch: true, Bound: bound}, Constraints: []plan.ConstraintPrice{
				{Constraint: plan.PoolRequirement, Pool: "p", Rule: "r", With: bound, Without: bound - price},
			}}
		}
		for i, step := range []struct {
			audit plan.Audit
			after time.Duration
			lines int
		}{
			{of(quantity.NanoDollars), 0, 1},
			{of(quantity.NanoDollars), time.Minute, 1},
			{of(quantity.NanoDollars * 104 / 100), time.Minute, 1},
			{of(quantity.NanoDollars * 12 / 10), time.Minute, 2},
			{plan.Audit{Claims: 1}, time.Minute, 3}, // without the rule
			{plan.Audit{Claims: 1}, time.Hour, 4},
			{plan.Audit{}, 2 * time.Hour, 4}, // no fleet, nothing to say
		} {
			time.Sleep(step.after)
			a.publish(step.audit, logger)
			if got := strings.Count(out.String(), "fleet audit"); got != step.lines {
				t.Errorf("step %d: %d lines, want %d:\n%s", i, got, step.lines, out.String())
			}
		}
		if want := `NodePool "p": r costs about $1.0000 an hour`; !strings.Contains(strings.ReplaceAll(out.String(), `\"`, `"`), want) {
			t.Errorf("the log does not say %s:\n%s", want, out.String())
		}
	})
}
