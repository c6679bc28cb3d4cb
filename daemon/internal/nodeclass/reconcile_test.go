package nodeclass

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// world is one class, its NodeClaims, and the cloud.
type world struct {
	class     *awsv1.EC2NodeClass
	others    []*awsv1.EC2NodeClass
	claims    []*v1.NodeClaim
	o         observation
	templates []string
	tags      map[string]string
	writes    int
	managers  []string // of every write
	counted   map[string]int64
	trials    []aws.Trial               // launches that EC2 was asked about
	meanwhile func(*awsv1.EC2NodeClass) // changes the class whenever EC2 is asked for subnets or templates; may be nil
	mu        sync.Mutex                // protects o and class, which tests change and read while the reconciler runs
}

func (w *world) EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.class, w.class != nil && w.class.Name == name
}

func (w *world) EC2NodeClasses() []*awsv1.EC2NodeClass {
	if w.class == nil {
		return w.others
	}
	return append([]*awsv1.EC2NodeClass{w.class}, w.others...)
}
func (w *world) NodeClaims() []*v1.NodeClaim { return w.claims }

func (w *world) Patch(_ context.Context, _ string, kind types.PatchType, data []byte, o metav1.PatchOptions, _ ...string) (*awsv1.EC2NodeClass, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.managers = append(w.managers, o.FieldManager)
	want, err := kube.ReadFinalizers(data)
	if err != nil || kind != types.JSONPatchType {
		return nil, errors.Join(errors.New("no JSON patch of the finalizers"), err)
	}
	w.class = w.class.DeepCopy()
	w.class.Finalizers = want
	w.class.ResourceVersion += "0"
	return w.class, nil
}

func (w *world) UpdateStatus(_ context.Context, class *awsv1.EC2NodeClass, o metav1.UpdateOptions) (*awsv1.EC2NodeClass, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.managers = append(w.managers, o.FieldManager)
	if class.ResourceVersion != w.class.ResourceVersion {
		return nil, errors.New("conflict")
	}
	w.class, w.writes = class.DeepCopy(), w.writes+1
	return w.class, nil
}

func (w *world) Subnets(context.Context, []aws.Selector) ([]aws.Subnet, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touch()
	return w.o.subnets, w.o.subnetsErr
}

// touch is what somebody else does meanwhile.
func (w *world) touch() {
	if w.meanwhile != nil {
		w.class = w.class.DeepCopy()
		w.class.ResourceVersion += "1"
		w.meanwhile(w.class)
	}
}

func (w *world) SecurityGroups(context.Context, []aws.Selector) ([]aws.SecurityGroup, error) {
	return w.o.groups, w.o.groupsErr
}

func (w *world) CapacityReservations(context.Context, []aws.ReservationSelector) ([]aws.CapacityReservation, error) {
	return w.o.reservations, w.o.reservationsErr
}

func (w *world) Parameter(_ context.Context, name string) (string, error) {
	for _, i := range w.o.images {
		if name == al2023Parameter(i.variant) {
			return i.ID, nil
		}
	}
	return "", aws.ErrNotFound
}

func (w *world) Images(_ context.Context, selectors []aws.ImageSelector) ([]aws.Image, error) {
	var out []aws.Image
	for _, i := range w.o.images {
		if slices.ContainsFunc(selectors, func(s aws.ImageSelector) bool { return s.ID == i.ID }) {
			out = append(out, i.Image)
		}
	}
	return out, nil
}

func (w *world) LaunchTemplates(_ context.Context, tags map[string]string) ([]string, error) {
	w.tags = tags
	w.touch()
	return w.templates, nil
}

func (w *world) DeleteLaunchTemplate(_ context.Context, name string) error {
	w.templates = slices.DeleteFunc(slices.Clone(w.templates), func(t string) bool { return t == name })
	return nil
}

func (w *world) MayLaunch(_ context.Context, t aws.Trial) error {
	w.trials = append(w.trials, t)
	return w.o.launchErr
}

// profiles are the calls of a Cloud that are about instance profiles.
type profiles interface {
	GetInstanceProfile(ctx context.Context, name string) (aws.InstanceProfile, error)
	CreateInstanceProfile(ctx context.Context, want aws.InstanceProfile) (aws.InstanceProfile, error)
	UpdateInstanceProfile(ctx context.Context, prior, want aws.InstanceProfile) (aws.InstanceProfile, error)
	InstanceProfiles(ctx context.Context, pathPrefix string) ([]aws.InstanceProfile, error)
	DeleteInstanceProfile(ctx context.Context, name, id string) error
}

// cloud is the world with profiles.
type cloud struct {
	*world
	profiles
}

// handMade has one profile, which the daemon did not make, and lists none.
type handMade struct {
	profiles
	world *world
}

func (h handMade) GetInstanceProfile(context.Context, string) (aws.InstanceProfile, error) {
	return h.world.o.profile, h.world.o.profileErr
}

func (handMade) InstanceProfiles(context.Context, string) ([]aws.InstanceProfile, error) {
	return nil, nil
}

func newWorld() (*world, *Reconciler) {
	w := &world{class: class(), o: found(), templates: []string{"karpenter.k8s.aws/1", "karpenter.k8s.aws/2"}}
	return w, w.reconciler(handMade{world: w})
}

func (w *world) reconciler(p profiles) *Reconciler {
	f := clusterFacts()
	return New(Config{
		Cluster: func() family.Cluster { return f.cluster }, Region: f.region, Cloud: cloud{w, p}, Objects: w, Writer: w,
		Logger: hclog.NewNullLogger(), Now: func() time.Time { return at(10) },
		Counted: func(asked time.Time, left map[string]int64) {
			if !asked.Equal(at(10)) || w.writes > 0 {
				left = nil
			}
			w.counted = left
		},
		Catalogue:   func() market.State { return w.o.catalogue },
		Expressions: func(*awsv1.EC2NodeClass) error { return w.o.expressions },
	})
}

func TestReconcile_WritesTheStatusOnce(t *testing.T) {
	w, r := newWorld()
	for range 2 {
		again, err := r.Reconcile(context.Background(), "default")
		if err != nil || again != refreshReady {
			t.Fatalf("got %v, %v", again, err)
		}
	}
	if !w.class.Conditions().IsReady() || len(w.class.Status.AMIs) != 2 || !slices.Contains(w.class.Finalizers, awsv1.FinalizerTermination) {
		t.Errorf("got %+v", w.class)
	}
	if w.writes != 1 {
		t.Errorf("%d status writes, want 1", w.writes)
	}
	if want := []string{translate.FieldManager, translate.FieldManager}; !slices.Equal(w.managers, want) { // the finalizer and the status
		t.Errorf("field managers %q, want %q", w.managers, want)
	}
}

func TestReconcile_WritesWhatItFoundAndReportsTheRest(t *testing.T) {
	w, r := newWorld()
	w.o.groupsErr = aws.ErrThrottled
	if _, err := r.Reconcile(context.Background(), "default"); !errors.Is(err, aws.ErrThrottled) {
		t.Errorf("got %v", err)
	}
	if len(w.class.Status.Subnets) != 2 {
		t.Errorf("subnets %v", w.class.Status.Subnets)
	}
	w.o.groupsErr, w.o.groups = nil, nil
	if again, err := r.Reconcile(context.Background(), "default"); err != nil || again != refreshNotReady {
		t.Errorf("got %v, %v", again, err)
	}
}

// The places left must be known when the status first names a reservation.
func TestReconcile_CountsReservationsBeforeTheStatusNamesThem(t *testing.T) {
	w, r := newWorld()
	w.o.reservations = []aws.CapacityReservation{{ID: "cr-1", InstanceType: "m5.large", Zone: "us-west-2a", OwnerID: "123456789012", Match: "open", Type: "default", Available: 3}}
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || len(w.class.Status.CapacityReservations) != 0 || w.counted != nil {
		t.Errorf("without terms: %v, %+v, %v", err, w.class.Status.CapacityReservations, w.counted)
	}
	w, r = newWorld()
	w.class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{InstanceMatchCriteria: "open"}}
	w.o.reservations = []aws.CapacityReservation{{ID: "cr-1", InstanceType: "m5.large", Zone: "us-west-2a", OwnerID: "123456789012", Match: "open", Type: "default", Available: 3}}
	if _, err := r.Reconcile(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	if w.counted["cr-1"] != 3 || len(w.class.Status.CapacityReservations) != 1 || !w.class.Conditions().IsReady() {
		t.Errorf("counted %v, status %+v", w.counted, w.class.Status)
	}
	w.o.reservations[0].End = at(10).Add(20 * time.Second)
	if again, err := r.Reconcile(t.Context(), "default"); err != nil || again != 20*time.Second {
		t.Errorf("20 seconds before its end: looks again after %v, %v", again, err)
	}
	w.o.reservations, w.o.reservationsErr = nil, aws.ErrThrottled
	if _, err := r.Reconcile(t.Context(), "default"); !errors.Is(err, aws.ErrThrottled) || len(w.class.Status.CapacityReservations) != 1 {
		t.Errorf("a throttled call: %v, %+v", err, w.class.Status.CapacityReservations)
	}
	w.o.reservationsErr = &aws.UnauthorizedError{Action: "ec2:DescribeCapacityReservations"}
	_, _ = r.Reconcile(t.Context(), "default")
	if c := w.class.Conditions().Get(awsv1.ConditionCapacityReservationsReady); c.Reason != awsv1.ReasonUnauthorized || w.class.Conditions().IsReady() {
		t.Errorf("a refused call: %+v", c)
	}
}

// AWS takes seconds to answer, and others write the class meanwhile.
func TestReconcile_AChangeOfTheClassWhileAWSAnswersIsNoConflict(t *testing.T) {
	w, r := newWorld()
	w.class.ResourceVersion = "7"
	w.meanwhile = func(c *awsv1.EC2NodeClass) {
		c.Annotations = map[string]string{"example.com/touched": c.ResourceVersion}
	}
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || !w.class.Conditions().IsReady() || w.writes != 1 {
		t.Fatalf("%v, %d writes, status %+v", err, w.writes, w.class.Status)
	}
	if w.class.Annotations["example.com/touched"] == "" {
		t.Error("what the other one wrote is lost")
	}
	w.o.subnets = w.o.subnets[:1]
	w.meanwhile = func(c *awsv1.EC2NodeClass) { c.Generation++ }
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || w.writes != 1 {
		t.Errorf("%v, %d writes: what AWS said is not about the new spec", err, w.writes)
	}
}

func claimOf(class string) *v1.NodeClaim {
	c := &v1.NodeClaim{}
	c.Spec.NodeClassRef.Name = class
	return c
}

// The finalizer is removed whatever else of the class changes while AWS is asked.
func TestReconcile_ReleasesAClassThatOthersWriteAllTheTime(t *testing.T) {
	w, r := newWorld()
	now := metav1.NewTime(at(0))
	w.class.DeletionTimestamp, w.class.Finalizers, w.class.ResourceVersion = &now, []string{awsv1.FinalizerTermination}, "7"
	w.meanwhile = func(c *awsv1.EC2NodeClass) { c.Labels = map[string]string{"touched": c.ResourceVersion} }
	if _, err := r.Reconcile(t.Context(), "default"); err != nil || len(w.class.Finalizers) != 0 {
		t.Errorf("%v, finalizers %v", err, w.class.Finalizers)
	}
}

func TestReconcile_HoldsADeletedClassWhileNodeClaimsReferToIt(t *testing.T) {
	w, r := newWorld()
	now := metav1.NewTime(at(0))
	w.class.DeletionTimestamp, w.class.Finalizers = &now, []string{"other", awsv1.FinalizerTermination}
	w.claims = []*v1.NodeClaim{claimOf("default"), claimOf("other")}
	if again, err := r.Reconcile(context.Background(), "default"); err != nil || again != refreshNotReady {
		t.Fatalf("got %v, %v", again, err)
	}
	if len(w.class.Finalizers) != 2 || len(w.templates) != 2 {
		t.Fatalf("released too early: %v, %v", w.class.Finalizers, w.templates)
	}
	w.claims = w.claims[1:]
	if _, err := r.Reconcile(context.Background(), "default"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.class.Finalizers, []string{"other"}) || len(w.templates) != 0 {
		t.Errorf("left: finalizers %v, templates %v", w.class.Finalizers, w.templates)
	}
	if w.tags[awsspec.TagClusterName] != "lab" || w.tags[awsspec.TagNodeClass] != "default" {
		t.Errorf("templates were looked up by %v", w.tags)
	}
}

func TestRun_LooksAgainAfterTheRefreshInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWorld()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(ctx)
		}()
		r.Enqueue("default")
		r.Enqueue("gone")
		synctest.Wait()
		if !w.class.Conditions().IsReady() {
			t.Fatal("not reconciled")
		}
		w.mu.Lock()
		w.o.subnets = nil
		w.mu.Unlock()
		time.Sleep(refreshReady + time.Second)
		synctest.Wait()
		if w.class.Conditions().IsReady() {
			t.Error("a change in the cloud was not seen")
		}
		cancel()
		<-done
	})
}

// hanging is a world of many classes; AWS does not answer for the first.
type hanging struct {
	*world
	profiles
	got chan string // the classes whose status was written
}

func (h *hanging) EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool) {
	c := class()
	c.Name, c.Finalizers = name, []string{awsv1.FinalizerTermination}
	c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: name}}
	return c, true
}

func (h *hanging) UpdateStatus(_ context.Context, class *awsv1.EC2NodeClass, _ metav1.UpdateOptions) (*awsv1.EC2NodeClass, error) {
	h.got <- class.Name
	return class, nil
}

func (h *hanging) Subnets(ctx context.Context, selectors []aws.Selector) ([]aws.Subnet, error) {
	if selectors[0].ID == "first" {
		<-ctx.Done()
	}
	return h.o.subnets, nil
}

func (h *hanging) MayLaunch(context.Context, aws.Trial) error { return nil }

func (h *hanging) LaunchTemplates(context.Context, map[string]string) ([]string, error) {
	return nil, nil
}

func TestRun_AClassForWhichAWSDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWorld()
		h := &hanging{world: w, profiles: handMade{world: w}, got: make(chan string, 10)}
		r.Objects, r.Writer, r.Cloud = h, h, h
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(ctx)
		}()
		for _, name := range []string{"first", "second", "third"} {
			r.Enqueue(name)
		}
		synctest.Wait()
		var found []string
		for len(h.got) > 0 {
			found = append(found, <-h.got)
		}
		if slices.Sort(found); !slices.Equal(found, []string{"second", "third"}) {
			t.Errorf("looked at %q", found)
		}
		cancel()
		<-done
	})
}

// al2023Parameter is the name of the SSM parameter with the recommended image of the variant.
func al2023Parameter(v family.Variant) string {
	alias, _ := family.ParseAlias("al2023@latest")
	for _, p := range alias.Parameters("1.36") {
		if slices.Contains(p.Variants, v) {
			return p.Name
		}
	}
	return ""
}
