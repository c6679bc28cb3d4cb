package scalein

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWorkload_HasThePodsThatTheFiguresAreAbout(t *testing.T) {
	apps, err := readApps(workload)
	if err != nil {
		t.Fatal(err)
	}
	if len(apps) != 299 || count(apps, 1) != 1009 || count(apps, 0.2) != 383 {
		t.Errorf("%d Deployments, %d pods, %d after the scale-down; want 299, 1009, 383", len(apps), count(apps, 1), count(apps, 0.2))
	}
	for _, wrong := range []string{"a,1,1\n", "a,1,1,0\n", "a,x,1,1\n", "a,1,1,99999999999\n"} {
		if got, err := readApps([]byte(wrong)); err == nil {
			t.Errorf("%q is read as %+v", wrong, got)
		}
	}
}

func fleet(began time.Time, costs ...float64) *findings {
	f := &findings{Bound: 100}
	for i, cost := range costs {
		f.Samples = append(f.Samples, sample{at: began.Add(time.Duration(i-1) * 10 * time.Second), Cost: cost - 1, Volumes: 1})
	}
	return f
}

// The fleet must stay within the fraction, and volumes count as in the bound.
func TestJudge_CountsUntilTheFleetIsWithinTheBoundForGood(t *testing.T) {
	began := time.Now()
	f := fleet(began, 300, 200, 103, 120, 103.5, 103.5)
	f.judge(began)
	if got := f.Within["0.04"]; got == nil || *got != 30 {
		t.Errorf("within 4 %% after %v, want 30 s", got)
	}
	if got := f.Within["0.02"]; got != nil {
		t.Errorf("within 2 %% after %v s, want never", *got)
	}
	if f.Start.Cost != 199 || f.PeakCost != 199 || f.End.Seconds != 40 || f.EndOver != 0.035 {
		t.Errorf("start %+v, peak %g, end %+v, over %g", f.Start, f.PeakCost, f.End, f.EndOver)
	}
	f = fleet(began, 300, 200)
	f.Bound = 0
	if f.until(1000) != nil {
		t.Error("a fleet is within a bound that nobody proved")
	}
}

func TestJudge_SaysWhichRequirementsAreMet(t *testing.T) {
	began := time.Now()
	f := fleet(began, 300, 103)
	f.Samples = append(f.Samples, sample{at: began.Add(400 * time.Second), Cost: 102, Volumes: 1})
	f.LastMove, f.Again = 80, 1
	f.judge(began)
	want := map[string]bool{
		"within 4 % of the bound in 1m30s": true, "goal: within 2 % of the bound in 1m0s": false, "quiet for the last 5m0s": true,
		"no pod is evicted twice": false, "observed for the 6m30s that this takes": true,
	}
	for what, met := range want {
		if got, said := f.Required[what]; !said || got != met {
			t.Errorf("%s: %t, said %t; want %t", what, got, said, met)
		}
	}
	var out bytes.Buffer
	if err := f.print(&out); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%s, %v", out.String(), err)
	}
}

func TestObserver_TellsEvictedPodsFromThoseThatTheScaleDownEnds(t *testing.T) {
	o := &observer{pods: map[types.UID]bool{}}
	began := time.Now()
	o.record()
	pod := func(uid string, created time.Time, conditions ...corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), CreationTimestamp: metav1.NewTime(created)},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: conditions},
		}
	}
	evicted := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: evictedReason}
	old, later := began.Add(-time.Minute), began.Add(time.Minute)
	o.podGone(pod("scaled", old))
	ended := o.ended()
	for _, p := range []*corev1.Pod{pod("first", old, evicted), pod("successor", later, evicted), pod("lost", later)} {
		o.pod(p)
		o.podGone(p)
	}
	if o.evictions != 2 || o.again != 1 || !o.ended().Equal(ended) || ended.IsZero() || len(o.pods) != 0 {
		t.Errorf("%d evictions, %d of successors, scale-down ended at %v and %v, %d pods left", o.evictions, o.again, ended, o.ended(), len(o.pods))
	}
}

func TestDraw_TheSameSeedGivesTheSamePods(t *testing.T) {
	rows, err := readApps(workload)
	if err != nil {
		t.Fatal(err)
	}
	one, again, other := draw(rows, 400, 7), draw(rows, 400, 7), draw(rows, 400, 8)
	if count(one, 1) != 400 || !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("%d pods; the same again: %t; with another seed: %t", count(one, 1), slices.Equal(one, again), slices.Equal(one, other))
	}
	names := map[string]bool{}
	for _, a := range one {
		names[a.name] = true
	}
	if len(names) != len(one) {
		t.Errorf("%d Deployments have %d names", len(one), len(names))
	}
}

// A forecast is held to the fleet that came of it, and one of another controller's fleet to what the
// daemon made of the same pods.
func TestHoldForecast_JudgesTheDifference(t *testing.T) {
	text := []byte(`{"now":{"costPerHour":40},"then":{"costPerHour":102.5,"boundPerHour":100,"nodes":9},"wouldRemove":{"evictedPods":7,"list":[{"seconds":20},{"seconds":41},{"seconds":30}]}}`)
	const ours, elsewhere = "what karpenterd simulate foretold is within 2 % of the cost", "what karpenterd simulate foretold of this fleet is within 5 % of what the daemon made of its own"
	for _, c := range []struct {
		end       float64
		unplaced  int
		elsewhere *Outcome
		what      string
		met       bool
		off       float64
	}{
		{102, 0, nil, ours, true, 0.0049},
		{100, 0, nil, ours, false, 0.025},
		{105, 0, nil, ours, false, -0.0238},
		{102, 1, nil, ours, false, 0.0049},
		{1, 0, &Outcome{Cost: 98, Instances: 8}, elsewhere, true, 0.0459},
		{102, 0, &Outcome{Cost: 97, Instances: 8}, elsewhere, false, 0.0567},
	} {
		f := fleet(time.Now(), 300, c.end)
		f.judge(time.Now())
		var err error
		if f.Forecast, err = readReport(text); err != nil {
			t.Fatal(err)
		}
		f.Forecast.Unplaced = c.unplaced
		f.holdForecast(c.elsewhere)
		if met, said := f.Required[c.what]; !said || met != c.met || f.Forecast.Difference != c.off || f.Forecast.LastRemoval != 41 {
			t.Errorf("%+v: %t, said %t, difference %g; %+v", c, met, said, f.Forecast.Difference, f.Forecast)
		}
	}
	for _, wrong := range []string{"", "{}", `{"then":{"costPerHour":"x"}}`} {
		if got, err := readReport([]byte(wrong)); err == nil {
			t.Errorf("%q is read as %+v", wrong, got)
		}
	}
}
