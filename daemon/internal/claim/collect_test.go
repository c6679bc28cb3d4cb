package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// cloud is EC2 with these instances.
type cloud struct {
	Cloud

	instances []aws.Instance
	ended     []string // ids that Terminate was called with
	owned     []string // "id nodeclaim uid" of the calls to OwnInstance
	named     []string // "id name" of the calls to NameInstance
	err       error    // of every call
}

func (c *cloud) Instances(context.Context, map[string]string) ([]aws.Instance, error) {
	return slices.Clone(c.instances), c.err
}

func (c *cloud) InstancesOf(ctx context.Context, _ string) ([]aws.Instance, error) {
	return c.Instances(ctx, nil)
}

func (c *cloud) InstancesByID(context.Context, ...string) (map[string]aws.Instance, error) {
	found := map[string]aws.Instance{}
	for _, i := range c.instances {
		found[i.ID] = i
	}
	return found, c.err
}

func (c *cloud) Instance(_ context.Context, id string) (aws.Instance, error) {
	for _, i := range c.instances {
		if i.ID == id {
			return i, c.err
		}
	}
	if c.err != nil {
		return aws.Instance{}, c.err
	}
	return aws.Instance{}, aws.ErrNotFound
}

func (c *cloud) OwnInstance(_ context.Context, id, nodeClaim, uid string) error {
	c.owned = append(c.owned, id+" "+nodeClaim+" "+uid)
	return c.err
}

func (c *cloud) NameInstance(_ context.Context, id, name string) error {
	c.named = append(c.named, id+" "+name)
	return c.err
}

func (c *cloud) Terminate(_ context.Context, ids ...string) error {
	c.ended = append(c.ended, ids...)
	return c.err
}

// Its event may be lost; its pods would stay on a node that nobody starts again.
func TestSweep_ANodeClaimWhoseInstanceWasStoppedGoesWhenTheNodeSaysSoToo(t *testing.T) {
	s, collector, n := collected(t)
	stopped := aws.Instance{ID: "i-1", Zone: "us-west-2a", State: "stopped", LaunchTime: s.now.Add(-time.Hour), Tags: map[string]string{awsspec.TagNodeClaimUID: "uid-c"}}
	s.controller.Cloud = &cloud{instances: []aws.Instance{stopped}}
	if err := collector.Sweep(t.Context(), time.Time{}); err != nil || s.wrote("DELETE "+claimsPath+"c") {
		t.Fatalf("error %v, writes %v though the node is ready", err, s.writes)
	}
	s.put(t, notReady(n))
	for range 2 {
		if err := collector.Sweep(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if !s.wrote("DELETE " + claimsPath + "c") {
		t.Errorf("writes %v", s.writes)
	}
}

// collected is a server with a NodeClaim, and a Collector for it. EC2 knows no instance.
func collected(t *testing.T) (*server, *Collector, *corev1.Node) {
	t.Helper()
	s := newServer(t)
	s.controller.Cloud = &cloud{}
	s.controller.Start()
	c, n := registered()
	s.put(t, c)
	s.put(t, n)
	s.Observe(c)
	s.Observe(n.DeepCopy())
	return s, &Collector{Controller: s.controller, Away: func(bool) {}, Held: func(context.Context, int, string) {}}, n
}

func notReady(n *corev1.Node) *corev1.Node {
	n = n.DeepCopy()
	n.Status.Conditions[0].Status = corev1.ConditionUnknown
	return n
}

func TestSweep_ANodeThatIsReadyIsKeptWhateverEC2Says(t *testing.T) {
	s, collector, _ := collected(t)
	for range 3 {
		if err := collector.Sweep(t.Context(), time.Time{}); err != nil || len(s.writes) > 0 {
			t.Fatalf("error %v, writes %v", err, s.writes)
		}
	}
}

func TestSweep_ANodeClaimGoesWhenEC2AndTheNodeSaySoTwice(t *testing.T) {
	s, collector, n := collected(t)
	for i, ready := range []bool{false, true, false, false} {
		if s.put(t, notReady(n)); ready {
			s.put(t, n)
		}
		if err := collector.Sweep(t.Context(), time.Time{}); err != nil || len(s.writes) > 0 != (i == 3) {
			t.Fatalf("sweep %d: error %v, writes %v", i, err, s.writes)
		}
	}
	if !s.wrote("DELETE " + claimsPath + "c") {
		t.Errorf("writes %v", s.writes)
	}
}

// deleted is a NodeClaim in deletion without a Node.
func deleted(t *testing.T) (*server, *cloud, *v1.NodeClaim) {
	t.Helper()
	s := newServer(t)
	ec2 := &cloud{}
	s.controller.Cloud = ec2
	c, _ := registered()
	at := metav1.NewTime(s.now)
	c.DeletionTimestamp = &at
	s.Observe(c)
	s.put(t, c)
	return s, ec2, c
}

func TestTerminate_NothingIsFinishedWithoutACallToTerminate(t *testing.T) {
	s, ec2, c := deleted(t)
	for range 3 {
		c, _ = s.NodeClaim("c")
		if c == nil {
			break
		}
		if _, err := s.controller.terminate(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(ec2.ended, []string{"i-1"}) || c != nil {
		t.Errorf("terminated %v, nodeclaim left: %v; EC2's reads may be behind", ec2.ended, c != nil)
	}
}

func TestTerminate_AnAttemptThatEC2MayStillListIsWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		after   time.Duration
		nothing bool // EC2 said that nothing was launched
		done    bool
	}{
		"a moment ago": {after: listingLag - time.Second},
		"long ago":     {after: listingLag, done: true},
		"without any":  {nothing: true, done: true},
	} {
		s, _, c := deleted(t)
		c.Status = v1.NodeClaimStatus{}
		c.Annotations = map[string]string{v1.AnnotationLaunchAttempt: "1"}
		if tc.nothing {
			s.controller.unlaunched.Store(c.UID, true)
		}
		s.now = s.now.Add(tc.after)
		_, err := s.controller.terminate(t.Context(), c)
		if _, left := s.NodeClaim("c"); err != nil || left == tc.done {
			t.Errorf("%s: the nodeclaim is left: %v, error %v", name, left, err)
		}
	}
}

func TestSweep_ANodeWhoseNodeClaimVanishedLosesItsFinalizerOnceItsInstanceIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		claimed, running bool
		goes             bool
	}{
		"only the watch lacks the nodeclaim": {claimed: true},
		"the instance runs":                  {running: true},
		"nothing is left":                    {goes: true},
	} {
		s, collector, n := collected(t)
		delete(s.claims, "c")
		if !tc.claimed {
			delete(s.live, claimsPath+"c")
		}
		if tc.running {
			s.controller.Cloud = &cloud{instances: []aws.Instance{{ID: "i-1", State: "running", LaunchTime: s.now}}}
		}
		n = notReady(n)
		s.put(t, n)
		s.Observe(n)
		for i := range 2 {
			if err := collector.Sweep(t.Context(), time.Time{}); err != nil || i == 0 && len(s.writes) > 0 {
				t.Fatalf("%s: error %v, writes %v", name, err, s.writes)
			}
		}
		if _, left := s.live[nodesPath+"n"]; left == tc.goes || !tc.goes && len(s.writes) > 0 {
			t.Errorf("%s: writes %v", name, s.writes)
		}
	}
}

func TestSweep_EC2IsAwayUntilItHasAnsweredTwice(t *testing.T) {
	_, collector, _ := collected(t)
	var away []bool
	collector.Away = func(is bool) { away = append(away, is) }
	for _, err := range []error{
		nil, nil, aws.ErrCredentials, nil, aws.ErrUnreachable, aws.ErrThrottled, nil, aws.ErrThrottled, nil,
		aws.ErrThrottled, aws.ErrThrottled, aws.ErrThrottled, // NodeClaims must not time out while that lasts
	} {
		collector.Cloud = &cloud{err: err}
		if got := collector.Sweep(t.Context(), time.Time{}); !errors.Is(got, err) {
			t.Errorf("error %v, want %v", got, err)
		}
	}
	if want := []bool{false, true, true, false, true}; !slices.Equal(away, want) {
		t.Errorf("away: %v, want %v", away, want)
	}
}

// orphaned is a fleet of so many instances, of which the first have no NodeClaim, and what the
// Collector tells of them.
func orphaned(t *testing.T, fleet, orphans int) (s *server, ec2 *cloud, collector *Collector, held *int, told *[]string) {
	t.Helper()
	s, collector, _ = collected(t)
	ec2 = &cloud{}
	s.controller.Cloud = ec2
	tags := map[string]string{awsspec.TagClusterName: "", awsspec.TagNodePool: "pool"}
	for i := range fleet {
		id, uid := fmt.Sprintf("i-%d", 100+i), fmt.Sprintf("uid-%d", i)
		x := maps.Clone(tags)
		x[awsspec.TagNodeClaimUID] = uid
		ec2.instances = append(ec2.instances, aws.Instance{ID: id, Zone: "us-west-2a", State: "running", LaunchTime: s.now.Add(-time.Hour), Tags: x})
		if i < orphans {
			continue
		}
		c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%d", i), UID: types.UID(uid), Finalizers: []string{v1.FinalizerTermination}}}
		c.Status.ProviderID = awsspec.ProviderID("us-west-2a", id)
		s.put(t, c)
		s.Observe(c)
	}
	held, told = new(int), new([]string)
	collector.Held = func(_ context.Context, n int, why string) {
		if *held = n; why != "" {
			*told = append(*told, why)
		}
	}
	return s, ec2, collector, held, told
}

// An etcd that was restored from an old backup has none of the NodeClaims: that must not end the
// fleet before somebody can look.
func TestSweep_MoreOrphansThanATenthOfTheFleetAreHeldForAnHour(t *testing.T) {
	s, ec2, collector, held, told := orphaned(t, 50, 30)
	began := s.now
	for s.now.Sub(began) < orphansPause {
		if err := collector.Sweep(t.Context(), s.now); err != nil || len(ec2.ended) > 0 {
			t.Fatalf("after %s: ended %v, error %v", s.now.Sub(began), ec2.ended, err)
		}
		s.now = s.now.Add(30 * time.Second)
	}
	if *held != 30 || len(*told) != 1 || !strings.Contains((*told)[0], "30 of 50 instances") {
		t.Errorf("%d held, told %q", *held, *told)
	}
	s.now = s.now.Add(time.Minute)
	for n := 1; n <= 3; n++ { // at most a tenth a sweep
		if err := collector.Sweep(t.Context(), s.now); err != nil || len(ec2.ended) != 5*n {
			t.Errorf("sweep %d after the pause: ended %v, error %v", n, ec2.ended, err)
		}
	}
	if len(*told) != 1 {
		t.Errorf("told %q", *told)
	}
}

// A second accident must not find the hour of the first one over.
func TestSweep_EachOrphanThatIsHeldWaitsForItsOwnHour(t *testing.T) {
	s, ec2, collector, _, told := orphaned(t, 20, 3)
	sweep := func(later time.Duration) {
		t.Helper()
		s.now = s.now.Add(later)
		if err := collector.Sweep(t.Context(), s.now); err != nil {
			t.Fatal(err)
		}
	}
	sweep(0)
	sweep(30 * time.Second)
	sweep(50 * time.Minute)
	for i := 3; i < 20; i++ { // the NodeClaims are lost
		s.Forget(s.claims[fmt.Sprintf("c-%d", i)])
		s.live = map[string]map[string]any{}
	}
	sweep(30 * time.Second)
	sweep(30 * time.Second)
	if len(*told) != 2 {
		t.Errorf("told %d times of two accidents: %q", len(*told), *told)
	}
	for range 10 { // the hour of the first three is over; EC2 does not terminate them
		sweep(time.Minute)
	}
	if ended := slices.Compact(slices.Sorted(slices.Values(ec2.ended))); !slices.Equal(ended, []string{"i-100", "i-101", "i-102"}) {
		t.Errorf("ended %v, want only those that have waited for an hour", ended)
	}
	sweep(time.Hour)
	for range 10 {
		sweep(30 * time.Second)
	}
	if ended := slices.Compact(slices.Sorted(slices.Values(ec2.ended))); len(ended) != 20 {
		t.Errorf("ended %v", ended)
	}
}

func TestSweep_FewOrphansAreTerminatedAtOnce(t *testing.T) {
	s, ec2, collector, held, told := orphaned(t, 50, 5)
	for range 2 {
		if err := collector.Sweep(t.Context(), s.now); err != nil {
			t.Fatal(err)
		}
	}
	if len(ec2.ended) != 5 || *held != 0 || len(*told) > 0 {
		t.Errorf("ended %v, %d held, told %q", ec2.ended, *held, *told)
	}
}

// Whoever restores the NodeClaims has lost nothing, and the next accident is told, too.
func TestSweep_OrphansWhoseNodeClaimsComeBackAreForgotten(t *testing.T) {
	s, ec2, collector, held, told := orphaned(t, 50, 50)
	for range 2 {
		if err := collector.Sweep(t.Context(), s.now); err != nil {
			t.Fatal(err)
		}
	}
	lost := ec2.instances
	ec2.instances = nil
	if err := collector.Sweep(t.Context(), s.now); err != nil || *held != 0 {
		t.Errorf("%d held, error %v", *held, err)
	}
	ec2.instances = lost
	for range 2 {
		if err := collector.Sweep(t.Context(), s.now); err != nil {
			t.Fatal(err)
		}
	}
	if len(ec2.ended) > 0 || *held != 50 || len(*told) != 2 {
		t.Errorf("ended %v, %d held, told %d times", ec2.ended, *held, len(*told))
	}
}
