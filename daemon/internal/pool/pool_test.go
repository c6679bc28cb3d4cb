package pool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

func TestSetStatus_SaysWhetherPodsMoveAndSinceWhenNoneDo(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{v1.LabelNodePool: "p"}}}
	for i, c := range []struct {
		reason  string // of the claim's disruption; "" for none
		deleted bool
		node    string
		want    metav1.ConditionStatus
		until   time.Time
	}{
		{"", false, "n", metav1.ConditionUnknown, time.Time{}},
		{"", true, "", metav1.ConditionUnknown, time.Time{}}, // it never came up
		{"Empty", false, "n", metav1.ConditionUnknown, time.Time{}},
		{"Empty", true, "n", metav1.ConditionUnknown, time.Time{}},
		{"Underutilized", false, "n", metav1.ConditionTrue, now.Add(4 * time.Hour)},
		{"Drifted", true, "n", metav1.ConditionTrue, now.Add(5 * time.Hour)},
		{"Empty", true, "n", metav1.ConditionFalse, now.Add(6 * time.Hour)},
		{"", false, "n", metav1.ConditionFalse, now.Add(6 * time.Hour)},
		{"", true, "n", metav1.ConditionTrue, now.Add(8 * time.Hour)}, // at the end of its life, or by hand
		{"", false, "n", metav1.ConditionFalse, now.Add(9 * time.Hour)},
	} {
		at := now.Add(time.Duration(i) * time.Hour)
		claim.Status.Conditions, claim.Status.NodeName, claim.DeletionTimestamp = nil, c.node, nil
		if c.deleted {
			claim.DeletionTimestamp = &metav1.Time{Time: at}
		}
		if c.reason != "" {
			claim.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, c.reason, "", at)
		}
		setStatus(p, nil, []*v1.NodeClaim{claim}, at)
		if got := p.Conditions().Get(v1.ConditionDisrupting).Status; got != c.want && (got != "" || c.want != metav1.ConditionUnknown) {
			t.Errorf("after %d: %s, want %s", i, got, c.want)
		}
		if got := DisruptedUntil([]*v1.NodePool{p}, at); !got.Equal(c.until) {
			t.Errorf("after %d: disrupted until %s, want %s", i, got, c.until)
		}
	}
}

func TestSetStatus_NamesWhatIsUnsupportedWhileThePoolIsReady(t *testing.T) {
	now := metav1.Now()
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 2}}
	p.Spec.Template.Spec.Taints = []v1.Taint{{Key: "a", Effect: "NoSchedule", TimeAdded: &now}}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c", Generation: 7}}
	for _, c := range awsv1.ReadyConditions() {
		class.Conditions().SetTrue(c, now.Time)
	}
	setStatus(p, class, nil, now.Time)
	got := p.Conditions().Get(v1.ConditionUnsupported)
	if !got.IsTrue() || got.Reason != "UnsupportedField" || got.Message != "spec.template.spec.taints[0].timeAdded: the taint is as old as its node: remove the field" {
		t.Errorf("%+v", got)
	}
	if !p.Conditions().IsReady() || p.Status.NodeClassObservedGeneration != 7 {
		t.Errorf("%+v", p.Status)
	}
	p.Spec.Template.Spec.Taints[0].TimeAdded = nil
	setStatus(p, class, nil, now.Time)
	if got := p.Conditions().Get(v1.ConditionUnsupported); got.Type != "" {
		t.Errorf("after the field is gone: %+v", got)
	}
}

func TestFinalizers_HoldADeletedPoolWhileItHasNodeClaims(t *testing.T) {
	now := metav1.Now()
	claim := func(pool string) *v1.NodeClaim {
		return &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{v1.LabelNodePool: pool}}}
	}
	const other, ours = "example.com/other", v1.FinalizerTermination
	for name, c := range map[string]struct {
		deleted    bool
		have, want []string
		claims     []*v1.NodeClaim
	}{
		"new":                          {false, nil, []string{ours}, nil},
		"beside another":               {false, []string{other}, []string{other, ours}, nil},
		"held":                         {false, []string{ours}, []string{ours}, nil},
		"deleted with NodeClaims":      {true, []string{ours, other}, []string{ours, other}, []*v1.NodeClaim{claim("q"), claim("p")}},
		"deleted with those of others": {true, []string{ours, other}, []string{other}, []*v1.NodeClaim{claim("q")}},
		"deleted, not held":            {true, []string{other}, []string{other}, []*v1.NodeClaim{claim("p")}},
	} {
		p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", Finalizers: c.have}}
		if c.deleted {
			p.DeletionTimestamp = &now
		}
		if got, held := finalizers(p, c.claims); !slices.Equal(got, c.want) || held != slices.Contains(c.want, ours) {
			t.Errorf("%s: %v, held %v, want %v", name, got, held, c.want)
		}
	}
}

// fewPools is a World, and a Writer that a webhook denies the status or the finalizer of
// one pool.
type fewPools struct {
	pools          []*v1.NodePool
	denied         string // the pool
	finalizersToo  bool
	written, held  []string
	observed, gone []string
}

func (f *fewPools) Observe(o metav1.Object)     { f.observed = append(f.observed, o.GetName()) }
func (f *fewPools) Forget(o metav1.Object)      { f.gone = append(f.gone, o.GetName()) }
func (f *fewPools) NodePools() []*v1.NodePool   { return f.pools }
func (f *fewPools) NodeClaims() []*v1.NodeClaim { return nil }
func (f *fewPools) EC2NodeClass(string) (*awsv1.EC2NodeClass, bool) {
	return nil, false
}

var errDenied = errors.New("admission webhook denied the request")

func (f *fewPools) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*v1.NodePool, error) {
	if name == f.denied && f.finalizersToo {
		return nil, errDenied
	}
	f.held = append(f.held, name)
	return &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

func (f *fewPools) UpdateStatus(_ context.Context, p *v1.NodePool, _ metav1.UpdateOptions) (*v1.NodePool, error) {
	if p.Name == f.denied {
		return nil, errDenied
	}
	f.written = append(f.written, p.Name)
	return p, nil
}

func TestSync_APoolThatCannotBeWrittenHoldsUpNoOther(t *testing.T) {
	for _, finalizers := range []bool{false, true} {
		f := &fewPools{denied: "bad", finalizersToo: finalizers}
		for _, name := range []string{"bad", "good", "also-good"} {
			p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if !finalizers {
				p.Finalizers = []string{v1.FinalizerTermination}
			}
			f.pools = append(f.pools, p)
		}
		err := (&Keeper{World: f, Pools: f}).Sync(t.Context(), time.Now())
		if !errors.Is(err, errDenied) || !strings.Contains(err.Error(), "nodepool bad") {
			t.Errorf("finalizers %v: error %v, want that of nodepool bad", finalizers, err)
		}
		written := f.written
		if finalizers {
			written = f.held
		}
		if want := []string{"good", "also-good"}; !slices.Equal(written, want) {
			t.Errorf("finalizers %v: %v are written, want %v", finalizers, written, want)
		}
	}
}

// hanging is fewPools whose denied pool is not refused: its webhook does not answer.
type hanging struct{ *fewPools }

func (h hanging) UpdateStatus(ctx context.Context, p *v1.NodePool, o metav1.UpdateOptions) (*v1.NodePool, error) {
	if p.Name == h.denied {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.fewPools.UpdateStatus(ctx, p, o)
}

func TestSync_AWebhookThatHangsForOnePoolHoldsUpTheOthersForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fewPools{denied: "bad"}
		for _, name := range []string{"bad", "good"} {
			f.pools = append(f.pools, &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Finalizers: []string{v1.FinalizerTermination}}})
		}
		k, start := &Keeper{World: f, Pools: hanging{f}}, time.Now()
		for time.Since(start) < 10*time.Minute {
			began := time.Now()
			_ = k.Sync(t.Context(), began)
			if took := time.Since(began); took > writeWithin {
				t.Fatalf("a sweep takes %s", took)
			}
			time.Sleep(time.Second)
		}
		if n := len(f.written); n < 500 {
			t.Errorf("the other pool was looked at %d times in 10 minutes, want about each second", n)
		}
		f.denied = ""
		time.Sleep(longestPause + writeWithin)
		if err := k.Sync(t.Context(), time.Now()); err != nil || !slices.Contains(f.written, "bad") {
			t.Errorf("once the webhook answers: %v", err)
		}
	})
}
