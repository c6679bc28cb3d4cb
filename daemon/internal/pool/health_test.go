package pool

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// joining is a NodePool p with its class, as its Keeper sees them.
type joining struct {
	keeper *Keeper
	pool   *v1.NodePool
	class  *awsv1.EC2NodeClass
	now    time.Time
}

func newJoining() *joining {
	j := &joining{
		keeper: &Keeper{}, pool: &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1}},
		class: &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "k", Generation: 1}}, now: time.Unix(1000, 0),
	}
	j.look()
	return j
}

func (j *joining) look() v1.Condition {
	j.now = j.now.Add(time.Second)
	j.keeper.setAll(j.pool, j.class, nil, j.now)
	return j.pool.Conditions().Get(v1.ConditionNodeRegistrationHealthy)
}

func (j *joining) claim() *v1.NodeClaim {
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-1", Labels: map[string]string{v1.LabelNodePool: "p"}}}
	c.Conditions().SetTrue(v1.ConditionLaunched, j.now)
	return c
}

// play plays outcomes: R for a node that registers, F for one that does not, ! for a daemon
// that begins.
func (j *joining) play(outcomes string) v1.Condition {
	var last v1.Condition
	for _, x := range outcomes {
		switch x {
		case 'R':
			j.keeper.Registered(j.claim())
		case 'F':
			j.keeper.Failed(j.claim())
		case '!':
			j.keeper = &Keeper{}
		}
		last = j.look()
	}
	return last
}

// Karpenter's rule: two failures among the last four make a pool unhealthy, until fewer are.
func TestHealth_FollowsFromTheLastOutcomes(t *testing.T) {
	for outcomes, want := range map[string]metav1.ConditionStatus{
		"": metav1.ConditionUnknown, "R": metav1.ConditionTrue, "F": metav1.ConditionUnknown, "FR": metav1.ConditionTrue, "FF": metav1.ConditionFalse,
		"RF": metav1.ConditionTrue, "RFF": metav1.ConditionFalse, "FFR": metav1.ConditionFalse, "FFRR": metav1.ConditionFalse, "FFRRR": metav1.ConditionTrue,
		"RFRF": metav1.ConditionFalse, "RFRRF": metav1.ConditionFalse, "RFRRRF": metav1.ConditionTrue,
		"FF!": metav1.ConditionFalse, "FF!R": metav1.ConditionFalse, "FF!RRR": metav1.ConditionTrue, "R!": metav1.ConditionTrue, "R!F": metav1.ConditionTrue, "R!FF": metav1.ConditionFalse,
	} {
		j := newJoining()
		got := j.play(outcomes)
		if outcomes == "" {
			got = j.look()
		}
		if got.Status != want || got.Reason == "" {
			t.Errorf("%s: %s %s, want %s", outcomes, got.Status, got.Reason, want)
		}
	}
}

func TestHealth_ANewGenerationTellsNothingYet(t *testing.T) {
	for name, change := range map[string]func(*joining){
		"of the pool":  func(j *joining) { j.pool.Generation++ },
		"of the class": func(j *joining) { j.class.Generation++ },
	} {
		j := newJoining()
		j.play("FF")
		change(j)
		if got := j.look(); got.Status != metav1.ConditionUnknown || got.ObservedGeneration != j.pool.Generation {
			t.Errorf("%s: %+v", name, got)
		}
		if got := j.play("F"); got.Status != metav1.ConditionUnknown {
			t.Errorf("%s: failures of before count: %+v", name, got)
		}
		if got := j.play("R"); !got.IsTrue() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestHealth_SaysWhy(t *testing.T) {
	j := newJoining()
	if got := j.play("FF"); got.Reason != "RegistrationFailed" || !strings.Contains(got.Message, "NodeClaim p-1") {
		t.Errorf("%+v", got)
	}
	c := j.claim()
	c.Conditions().Set(v1.ConditionLaunched, metav1.ConditionUnknown, v1.ReasonLaunchFailed, "not authorized to perform ec2:CreateFleet", j.now)
	j.keeper.Failed(c)
	got := j.look()
	if got.Reason != v1.ReasonLaunchFailed || !strings.Contains(got.Message, "not authorized to perform ec2:CreateFleet") {
		t.Errorf("%+v", got)
	}
	j.keeper = &Keeper{}
	if again := j.look(); again != got {
		t.Errorf("a daemon that begins says %+v, want %+v", again, got)
	}
	if j.pool.Conditions().Get(v1.ConditionReady).Message != "" && strings.Contains(j.pool.Conditions().Get(v1.ConditionReady).Message, "NodeRegistrationHealthy") {
		t.Error("Ready depends on it")
	}
}
