package v1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

var (
	created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later   = created.Add(time.Minute)
	latest  = created.Add(time.Hour)
)

func newClaim() *v1.NodeClaim {
	return &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Generation: 2, CreationTimestamp: metav1.NewTime(created)}}
}

func TestConditions_AbsentDependentAwaitsReconciliationSinceCreation(t *testing.T) {
	c := newClaim()
	got := c.Conditions().Get(v1.ConditionLaunched)
	if got.Status != metav1.ConditionUnknown || got.Reason != v1.ReasonAwaitingReconciliation || !got.LastTransitionTime.Time.Equal(created) {
		t.Errorf("absent dependent is %+v", got)
	}
	if got := c.Conditions().Get(v1.ConditionDrained); got != (v1.Condition{}) {
		t.Errorf("absent independent condition is %+v, want zero", got)
	}
	if len(c.Status.Conditions) != 0 {
		t.Errorf("reading wrote %v", c.Status.Conditions)
	}
}

func TestConditions_ReadyFollowsFromDependents(t *testing.T) {
	c := newClaim()
	set := c.Conditions()
	expect := func(status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		if r := set.Get(v1.ConditionReady); r.Status != status || r.Reason != reason || r.Message != message {
			t.Errorf("Ready is %s %s %q, want %s %s %q", r.Status, r.Reason, r.Message, status, reason, message)
		}
	}
	set.SetTrue(v1.ConditionLaunched, later)
	expect(metav1.ConditionUnknown, v1.ReasonReconcilingDependents, "Registered=Unknown, Initialized=Unknown")
	set.Set(v1.ConditionRegistered, metav1.ConditionFalse, v1.ReasonMultipleNodesFound, "two nodes", later)
	expect(metav1.ConditionFalse, v1.ReasonUnhealthyDependents, "Registered=False, Initialized=Unknown")
	set.SetTrue(v1.ConditionRegistered, later)
	set.SetTrue(v1.ConditionInitialized, latest)
	expect(metav1.ConditionTrue, v1.ConditionReady, "")
	if !set.IsReady() {
		t.Error("IsReady is false with Ready True")
	}
	c.Generation++
	if c.Conditions().IsReady() {
		t.Error("IsReady is true for a generation that nothing was found for")
	}
	c.Conditions().SetTrue(v1.ConditionLaunched, latest)
	expect(metav1.ConditionUnknown, v1.ReasonReconcilingDependents, "Registered=Unknown, Initialized=Unknown")
}

// Programs that wait for the condition Ready of a node that drains, and columns of kubectl, see
// what was so before.
func TestConditions_ADeletionTakesBackNothingThatWasFound(t *testing.T) {
	for want, initialized := range map[metav1.ConditionStatus]bool{metav1.ConditionTrue: true, metav1.ConditionUnknown: false} {
		c := newClaim()
		for _, x := range []string{v1.ConditionLaunched, v1.ConditionRegistered, v1.ConditionInitialized} {
			if x != v1.ConditionInitialized || initialized {
				c.Conditions().SetTrue(x, later)
			}
		}
		c.Generation, c.DeletionTimestamp = c.Generation+1, &metav1.Time{Time: later}
		c.Conditions().Set(v1.ConditionDrained, metav1.ConditionUnknown, v1.ReasonDraining, "", latest)
		if ready := c.Conditions().Get(v1.ConditionReady); ready.Status != want || initialized && !ready.LastTransitionTime.Time.Equal(later) {
			t.Errorf("initialized %v: %+v", initialized, ready)
		}
		for _, x := range c.Status.Conditions {
			if x.ObservedGeneration != c.Generation {
				t.Errorf("%s is of generation %d, the object of %d", x.Type, x.ObservedGeneration, c.Generation)
			}
		}
	}
}

// Clients read metav1.Condition, in which only observedGeneration may be left out. NodeClaims
// of an older Karpenter have conditions without reason and message.
func TestConditions_AreWrittenWithAllThatClientsExpect(t *testing.T) {
	c := newClaim()
	c.Status.Conditions = []v1.Condition{{Type: v1.ConditionLaunched, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(created)}}
	c.Conditions().SetTrue(v1.ConditionDrained, later)
	c.Conditions().Set(v1.ConditionRegistered, metav1.ConditionUnknown, "", "", later)
	data, err := json.Marshal(c.Status)
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Conditions []map[string]any `json:"conditions"`
	}
	if err := json.Unmarshal(data, &written); err != nil || len(written.Conditions) != 5 {
		t.Fatalf("%v, %s", err, data)
	}
	for _, x := range written.Conditions {
		_, message := x["message"].(string)
		if reason, _ := x["reason"].(string); reason == "" || !message || x["status"] == "" || x["lastTransitionTime"] == nil {
			t.Errorf("written as %v", x)
		}
	}
	if got := c.Conditions().Get(v1.ConditionLaunched); got.Reason != v1.ConditionLaunched || !got.LastTransitionTime.Time.Equal(created) {
		t.Errorf("the condition of an older Karpenter is now %+v", got)
	}
}

func TestConditions_TransitionTimeMovesOnlyWithStatus(t *testing.T) {
	c := newClaim()
	set := c.Conditions()
	set.Set(v1.ConditionRegistered, metav1.ConditionUnknown, v1.ReasonNodeNotFound, "not there", later)
	if !set.Set(v1.ConditionRegistered, metav1.ConditionUnknown, "Other", "still not", latest) {
		t.Error("a change of reason is not reported as a change")
	}
	if got := set.Get(v1.ConditionRegistered); !got.LastTransitionTime.Time.Equal(created) && !got.LastTransitionTime.Time.Equal(later) {
		t.Errorf("transition time moved to %v without a change of status", got.LastTransitionTime)
	}
	if set.Set(v1.ConditionRegistered, metav1.ConditionUnknown, "Other", "still not", latest) {
		t.Error("setting what is there is reported as a change")
	}
	set.SetTrue(v1.ConditionRegistered, latest.Add(123*time.Millisecond))
	if got := set.Get(v1.ConditionRegistered); !got.LastTransitionTime.Time.Equal(latest) {
		t.Errorf("transition time %v, want %v in whole seconds", got.LastTransitionTime, latest)
	}
}

func TestConditions_SortedByTransitionWithReadyLast(t *testing.T) {
	c := newClaim()
	set := c.Conditions()
	set.SetTrue(v1.ConditionInitialized, latest)
	set.SetTrue(v1.ConditionLaunched, later)
	set.SetTrue(v1.ConditionRegistered, later)
	set.Set(v1.ConditionDrained, metav1.ConditionUnknown, v1.ReasonDraining, "", latest)
	var types []string
	for _, condition := range c.Status.Conditions {
		types = append(types, condition.Type)
	}
	want := "Launched Registered Drained Initialized Ready"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestConditions_ClearRemovesOnlyWhatReadyDoesNotDependOn(t *testing.T) {
	c := newClaim()
	set := c.Conditions()
	set.SetTrue(v1.ConditionLaunched, later)
	set.SetTrue(v1.ConditionDisruptionReason, later)
	if !set.Clear(v1.ConditionDisruptionReason) || set.Get(v1.ConditionDisruptionReason).Status != "" {
		t.Error("DisruptionReason is still there")
	}
	if set.Clear(v1.ConditionLaunched) || !set.Get(v1.ConditionLaunched).IsTrue() {
		t.Error("a dependent of Ready was removed")
	}
}

func TestNillableDuration_ReadsAndWritesWireText(t *testing.T) {
	for text, want := range map[string]v1.NillableDuration{
		`"Never"`: {Never: true}, `"0s"`: {}, `"90s"`: {Duration: 90 * time.Second}, `"1h30m"`: {Duration: 90 * time.Minute},
	} {
		var got v1.NillableDuration
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s reads as %+v, %v; want %+v", text, got, err, want)
		}
		written, err := json.Marshal(got)
		var again v1.NillableDuration
		if err != nil || json.Unmarshal(written, &again) != nil || again != want {
			t.Errorf("%s is written as %s, %v", text, written, err)
		}
	}
	var d v1.NillableDuration
	if err := json.Unmarshal([]byte(`"soon"`), &d); err == nil || !strings.Contains(err.Error(), "1h30m") {
		t.Errorf("error %v, want one with an example", err)
	}
}

// The API server refuses a whole status for one message that is too long.
func TestConditions_AMessageIsCutBeforeItIsTooLong(t *testing.T) {
	c := &v1.NodeClaim{}
	for text, want := range map[string]int{"short": 5, strings.Repeat("a", v1.MostMessage): v1.MostMessage, strings.Repeat("a", v1.MostMessage+1): v1.MostMessage, strings.Repeat("é", v1.MostMessage): v1.MostMessage - 1} {
		c.Conditions().Set(v1.ConditionLaunched, metav1.ConditionFalse, "Why", text, time.Unix(1, 0))
		got := c.Conditions().Get(v1.ConditionLaunched).Message
		if len(got) != want || !utf8.ValidString(got) || len(text) > v1.MostMessage && !strings.HasSuffix(got, "...") {
			t.Errorf("%d bytes of %d, want %d", len(got), len(text), want)
		}
	}
}
