package interruption

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// api has one NodeClaim, and records the patches.
type api struct {
	claim  *v1.NodeClaim
	others []*v1.NodeClaim
	fault  error
	bodies []string
	seen   int
	told   int
}

func (a *api) NodeClaimOf(instanceID string) (*v1.NodeClaim, bool) {
	return a.claim, instanceID == "i-1"
}
func (a *api) NodeClaims() []*v1.NodeClaim { return append(a.others, a.claim) }
func (a *api) Observe(metav1.Object)       { a.seen++ }

func (a *api) Patch(_ context.Context, _ string, _ types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*v1.NodeClaim, error) {
	a.bodies = append(a.bodies, string(body))
	return a.claim, a.fault
}

func claimed(change func(*v1.NodeClaim)) *api {
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "spot-1", UID: "u"}}
	claim.Status.ProviderID = "aws:///us-west-2a/i-1"
	change(claim)
	return &api{claim: claim}
}

func (a *api) handle(e Event) error {
	m := &Marker{
		World: a, Claims: a, Logger: hclog.NewNullLogger(), Now: func() time.Time { return time.Unix(1000, 0) },
		Told: func(*v1.NodeClaim, string, time.Time) { a.told++ },
	}
	return m.Handle(context.Background(), []Event{e})
}

// EC2 may warn of an instance before the answer to its launch is recorded.
func TestMarker_AMessageComesAgainWhileALaunchMayHaveMadeItsInstance(t *testing.T) {
	launching := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.AnnotationLaunchRequest: "{}"}}}
	recorded, unasked := launching.DeepCopy(), &v1.NodeClaim{}
	recorded.Status.ProviderID = "aws:///us-west-2a/i-9"
	for name, tt := range map[string]struct {
		other *v1.NodeClaim
		kind  Kind
		again bool
		old   time.Duration
	}{
		"a launch is under way":    {launching, SpotInterrupted, true, 0},
		"it is recorded":           {recorded, SpotInterrupted, false, 0},
		"EC2 was not asked yet":    {unasked, SpotInterrupted, false, 0},
		"it is no interruption":    {launching, RebalanceRecommendation, false, 0},
		"it has ended meanwhile":   {launching, InstanceTerminated, true, 0},
		"it was stopped meanwhile": {launching, InstanceStopped, true, 0},
		"the event is old":         {launching, SpotInterrupted, false, recordedWithin},
	} {
		a := claimed(func(*v1.NodeClaim) {})
		a.others = []*v1.NodeClaim{tt.other}
		if err := a.handle(Event{Kind: tt.kind, InstanceID: "i-2", Time: time.Unix(1000, 0).Add(-tt.old), Deadline: time.Unix(1120, 0)}); errors.Is(err, ErrMayBeOurs) != tt.again || !tt.again && err != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Maintenance in ten days is no reason to miss that the instance ends today; what is known of
// an end is not put off by a later one.
func TestMarker_TheNearestDeadlineCounts(t *testing.T) {
	known := time.Unix(2000, 0)
	for name, tt := range map[string]struct {
		event Event
		marks bool
	}{
		"a spot warning before it":       {Event{Kind: SpotInterrupted, Deadline: time.Unix(1120, 0)}, true},
		"stopped by hand before it":      {Event{Kind: InstanceStopped, Deadline: time.Unix(1000, 0)}, true},
		"ended before it":                {Event{Kind: InstanceTerminated, Deadline: time.Unix(1000, 0)}, true},
		"it is ending by now":            {Event{Kind: SpotInterrupted}, true},
		"the same once more":             {Event{Kind: ScheduledChange, Deadline: known}, false},
		"maintenance at a later time":    {Event{Kind: ScheduledChange, Deadline: known.Add(time.Hour)}, false},
		"a recommendation is no warning": {Event{Kind: RebalanceRecommendation}, false},
	} {
		a := claimed(func(c *v1.NodeClaim) {
			mark := translate.FormatInterruption(cluster.Interruption{Reason: string(ScheduledChange), Noticed: time.Unix(500, 0), Deadline: known})
			c.Annotations = map[string]string{v1.AnnotationInterruption: mark}
		})
		tt.event.InstanceID = "i-1"
		if err := a.handle(tt.event); err != nil || (len(a.bodies) == 1) != tt.marks {
			t.Errorf("%s: written %q, error %v", name, a.bodies, err)
		}
		if tt.marks && !strings.Contains(a.bodies[0], string(tt.event.Kind)) {
			t.Errorf("%s: written %q", name, a.bodies)
		}
	}
}

func TestMarker_WritesAnInterruptionOnceAndOntoItsOwnClaim(t *testing.T) {
	warning := Event{Kind: SpotInterrupted, InstanceID: "i-1", Deadline: time.Unix(1120, 0)}
	for name, tt := range map[string]struct {
		claim func(*v1.NodeClaim)
		event Event
		marks bool
	}{
		"warned":      {func(*v1.NodeClaim) {}, warning, true},
		"no deadline": {func(*v1.NodeClaim) {}, Event{Kind: SpotInterrupted, InstanceID: "i-1"}, true},
		"not ours":    {func(*v1.NodeClaim) {}, Event{Kind: SpotInterrupted, InstanceID: "i-2"}, false},
		"rebalance":   {func(*v1.NodeClaim) {}, Event{Kind: RebalanceRecommendation, InstanceID: "i-1"}, false},
		"known already": {func(c *v1.NodeClaim) {
			mark := translate.FormatInterruption(cluster.Interruption{Reason: "spot_interrupted", Noticed: time.Unix(1000, 0), Deadline: time.Unix(1120, 0)})
			c.Annotations = map[string]string{v1.AnnotationInterruption: mark}
		}, warning, false},
		"a mark that cannot be read": {func(c *v1.NodeClaim) { c.Annotations = map[string]string{v1.AnnotationInterruption: "x"} }, warning, true},
		"going already":              {func(c *v1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, warning, false},
	} {
		a := claimed(tt.claim)
		if err := a.handle(tt.event); err != nil {
			t.Fatal(err)
		}
		if marked := len(a.bodies) == 1 && a.seen == 1 && a.told == 1; marked != tt.marks || !tt.marks && len(a.bodies)+a.seen+a.told > 0 {
			t.Errorf("%s: written %q, seen %d, told %d", name, a.bodies, a.seen, a.told)
		}
		if tt.marks && (!strings.Contains(a.bodies[0], `"uid":"u"`) || !strings.Contains(a.bodies[0], v1.AnnotationInterruption)) {
			t.Errorf("%s: written %s", name, a.bodies[0])
		}
	}
}

func TestMarker_AClaimThatIsGoneIsNoFailure(t *testing.T) {
	warning := Event{Kind: SpotInterrupted, InstanceID: "i-1", Deadline: time.Unix(1120, 0)}
	claims := schema.GroupResource{Group: v1.Group, Resource: v1.NodeClaimResource}
	other := errors.New("no connection")
	for _, tt := range []struct{ fault, want error }{
		{apierrors.NewNotFound(claims, "spot-1"), nil}, {apierrors.NewConflict(claims, "spot-1", other), nil}, {other, other},
	} {
		a := claimed(func(*v1.NodeClaim) {})
		a.fault = tt.fault
		if err := a.handle(warning); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("of %v: %v", tt.fault, err)
		}
	}
}

// fleet has a NodeClaim for each instance, and does not let those be written that end in "deny".
type fleet struct{ tried []string }

func (f *fleet) NodeClaimOf(instanceID string) (*v1.NodeClaim, bool) {
	return &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "of-" + instanceID, UID: "u"}}, true
}

func (f *fleet) NodeClaims() []*v1.NodeClaim { return nil }
func (f *fleet) Observe(metav1.Object)       {}

func (f *fleet) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*v1.NodeClaim, error) {
	f.tried = append(f.tried, name)
	if strings.HasSuffix(name, "deny") {
		return nil, errors.New("a webhook denies it")
	}
	return &v1.NodeClaim{}, nil
}

func TestMarker_AClaimThatCannotBeMarkedKeepsNoOtherFromBeingMarked(t *testing.T) {
	f := &fleet{}
	m := &Marker{World: f, Claims: f, Logger: hclog.NewNullLogger(), Now: time.Now, Told: func(*v1.NodeClaim, string, time.Time) {}}
	err := m.Handle(context.Background(), []Event{
		{Kind: SpotInterrupted, InstanceID: "1-deny"}, {Kind: SpotInterrupted, InstanceID: "2"}, {Kind: SpotInterrupted, InstanceID: "3-deny"},
	})
	if want := []string{"of-1-deny", "of-2", "of-3-deny"}; !slices.Equal(f.tried, want) {
		t.Errorf("tried %q, want %q", f.tried, want)
	}
	if err == nil || !strings.Contains(err.Error(), "of-1-deny") || !strings.Contains(err.Error(), "of-3-deny") {
		t.Errorf("error %v, want one that names both NodeClaims", err)
	}
}

// racing is a world with one NodeClaim that is marked from several goroutines.
type racing struct {
	mu    sync.Mutex
	claim *v1.NodeClaim
}

func (r *racing) NodeClaimOf(string) (*v1.NodeClaim, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.claim, true
}
func (r *racing) NodeClaims() []*v1.NodeClaim { return nil }
func (r *racing) Observe(o metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claim = o.(*v1.NodeClaim)
}

func (r *racing) Patch(_ context.Context, _ string, _ types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*v1.NodeClaim, error) {
	time.Sleep(time.Millisecond)
	var patch struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, err
	}
	next := r.claim.DeepCopy()
	next.Annotations = patch.Metadata.Annotations
	return next, nil
}

func TestMarker_OfMessagesAtTheSameTimeTheNearestDeadlineCounts(t *testing.T) {
	r := &racing{claim: &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}}
	m := &Marker{World: r, Claims: r, Logger: hclog.NewNullLogger(), Now: func() time.Time { return time.Unix(1000, 0) }, Told: func(*v1.NodeClaim, string, time.Time) {}}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if err := m.Handle(t.Context(), []Event{{Kind: ScheduledChange, InstanceID: "i-1", Deadline: time.Unix(2000+int64(i*7%20), 0)}}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got, err := translate.InterruptionOf(r.claim); err != nil || !got.Deadline.Equal(time.Unix(2000, 0)) {
		t.Errorf("marked %+v, %v", got, err)
	}
}
