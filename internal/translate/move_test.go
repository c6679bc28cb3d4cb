package translate_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func aMove() cluster.Move {
	return cluster.Move{
		ID: "m", Index: 1, Count: 2, Reason: "Underutilized", Deadline: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Sources: []cluster.Source{{Claim: "a", UID: "1"}, {Claim: "b", UID: "2"}},
	}
}

func TestNodeClaim_CarriesItsMove(t *testing.T) {
	want := aMove()
	launch := plan.Launch{Name: "n", Pool: "p", Move: &want, CapacityType: "spot", Zones: []string{"a"}, Types: []plan.Choice{{Type: "t"}}}
	claim := translate.NodeClaim(launch, &v1.NodePool{}, v1.AwaitingPodsTaint())
	got, err := translate.Claim(claim)
	if err != nil || got.Move == nil || !reflect.DeepEqual(*got.Move, want) {
		t.Errorf("claim reads move %+v, %v; want %+v", got.Move, err, want)
	}
	launch.Move = nil
	claim = translate.NodeClaim(launch, &v1.NodePool{}, v1.AwaitingPodsTaint())
	if text, there := claim.Annotations[v1.AnnotationMove]; there {
		t.Errorf("a launch that replaces nothing has the annotation %q", text)
	}
}

func TestClaim_AMoveThatCannotBeReadIsLeftOutAndNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":   "unexpected end",
		"{}": "deadline",
		`{"id":"m","index":2,"count":2,"sources":[{"name":"a","uid":"1"}],"deadline":"2026-01-02T03:04:05Z"}`: "index is 2",
		`{"index":0,"count":1,"sources":[{"name":"a","uid":"1"}],"deadline":"2026-01-02T03:04:05Z"}`:          "id is empty",
		`{"id":"m","index":0,"count":1,"deadline":"2026-01-02T03:04:05Z"}`:                                    "sources is empty",
		`{"id":"m","index":0,"count":1,"sources":[{"name":"a"}],"deadline":"2026-01-02T03:04:05Z"}`:           "sources[0] needs",
	} {
		c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{v1.AnnotationMove: text}}}
		if got, err := translate.Claim(c); err != nil || got.Move != nil {
			t.Errorf("%q: claim has move %+v, error %v", text, got.Move, err)
		}
		if _, err := translate.MoveOf(c); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nodeclaim n annotation "+v1.AnnotationMove) {
			t.Errorf("%q: error %v, want one that says %q", text, err, want)
		}
	}
}

// ParseMove never panics, and what it accepts is the same after it is written and
// read again.
func FuzzParseMove(f *testing.F) {
	f.Add(translate.FormatMove(aMove()))
	f.Add("")
	f.Add(`{"id":"m","count":1,"sources":[{"name":"b","uid":"1"},{"name":"a","uid":"1"}],"deadline":"0000-01-01T00:00:00+23:59"}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := translate.ParseMove(text)
		if err != nil {
			if m != nil {
				t.Fatalf("%q: %+v and %v", text, m, err)
			}
			return
		}
		if y := m.Deadline.UTC().Year(); y < 0 || y > 9999 {
			return // RFC 3339 cannot write what a zone's offset has moved out of its years
		}
		again, err := translate.ParseMove(translate.FormatMove(*m))
		if err != nil || !again.Deadline.Equal(m.Deadline) {
			t.Fatalf("%q is %+v, written and read %+v, %v", text, m, again, err)
		}
		again.Deadline = m.Deadline
		if !reflect.DeepEqual(again, m) {
			t.Fatalf("%q is %+v, written and read %+v", text, m, again)
		}
	})
}

func TestClaim_ReadsWhatDisruptsIt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(now)}}
	after, last := v1.NillableDuration{Duration: 720 * time.Hour}, metav1.NewTime(now.Add(time.Minute))
	c.Spec.ExpireAfter, c.Spec.TerminationGracePeriod, c.Status.LastPodEventTime = &after, &metav1.Duration{Duration: time.Hour}, &last
	c.Conditions().SetTrue(v1.ConditionInitialized, now.Add(time.Second))
	c.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, "Empty", "", now.Add(2*time.Second))
	c.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, "NodePoolDrifted", "", now.Add(3*time.Second))
	got, err := translate.Claim(c)
	if err != nil {
		t.Fatal(err)
	}
	if !got.InitializedAt.Equal(now.Add(time.Second)) || !got.LastPodEvent.Equal(last.Time) || got.Grace != time.Hour || !got.ExpiresAt.Equal(now.Add(720*time.Hour)) {
		t.Errorf("times of %+v", got)
	}
	if want := (cluster.Disrupting{Reason: "Empty", Since: now.Add(2 * time.Second)}); got.Disrupting == nil || *got.Disrupting != want {
		t.Errorf("disrupting = %+v, want %+v", got.Disrupting, want)
	}
	if want := (cluster.Drift{Reason: "NodePoolDrifted", Since: now.Add(3 * time.Second)}); got.Drift == nil || *got.Drift != want {
		t.Errorf("drift = %+v, want %+v", got.Drift, want)
	}
	for _, reason := range []string{v1.ReasonReplicasNotReady, v1.ReasonDraining} {
		c.Conditions().Set(v1.ConditionDrained, metav1.ConditionUnknown, reason, "", now)
		if got, err := translate.Claim(c); err != nil || got.ReplicasLate != (reason == v1.ReasonReplicasNotReady) {
			t.Errorf("a drain that waits for %s: replicas late %v, %v", reason, got.ReplicasLate, err)
		}
	}
	never := v1.NillableDuration{Never: true}
	c.Spec.ExpireAfter = &never
	c.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionFalse, "Empty", "", now)
	if got, err = translate.Claim(c); err != nil || !got.ExpiresAt.IsZero() || got.Disrupting != nil {
		t.Errorf("expires %s, disrupting %+v, %v", got.ExpiresAt, got.Disrupting, err)
	}
}
