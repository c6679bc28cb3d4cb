package claim

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// lateCloud is EC2 whose listings show nothing yet.
type lateCloud struct {
	Cloud
	state string // of every instance; empty: EC2 does not know the instance
}

func (c lateCloud) InstancesOf(context.Context, string) ([]aws.Instance, error) {
	return nil, nil
}

func (c lateCloud) Instance(_ context.Context, id string) (aws.Instance, error) {
	if c.state == "" {
		return aws.Instance{}, aws.ErrNotFound
	}
	return aws.Instance{ID: id, State: c.state}, nil
}

func TestInstancesOf_RecordedInstanceIsNotForgottenWhileListingsAreLate(t *testing.T) {
	launched := time.Unix(1000, 0)
	claim := &v1.NodeClaim{}
	claim.Status.ProviderID = awsspec.ProviderID("us-west-2a", "i-1")
	claim.Conditions().SetTrue(v1.ConditionLaunched, launched)
	for name, tc := range map[string]struct {
		state string
		age   time.Duration
		want  []string
	}{
		"not shown yet":     {"", time.Second, []string{"i-1"}},
		"forgotten by EC2":  {"", 2 * time.Hour, nil},
		"shown by its id":   {"running", time.Second, []string{"i-1"}},
		"still on its way":  {"shutting-down", time.Minute, []string{"i-1"}},
		"ended a while ago": {"terminated", time.Minute, nil},
	} {
		c := &Controller{Cloud: lateCloud{state: tc.state}, Now: func() time.Time { return launched.Add(tc.age) }}
		got, err := c.instancesOf(context.Background(), claim)
		if err != nil || !slices.Equal(slices.Sorted(maps.Keys(got)), tc.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
}

const (
	deletesNode  = "DELETE " + nodesPath + "n"
	deletesClaim = "DELETE " + claimsPath + "c"
	evicts       = "POST /api/v1/namespaces/default/pods/a/eviction"
)

// draining is a NodeClaim in deletion, as goingAway has it, with its node, on which a pod
// runs. change makes the live Node another one than that of the watch.
func draining(t *testing.T, watched, change func(*corev1.Node)) (*server, *cloud) {
	t.Helper()
	s, ec2 := goingAway(t)
	_, node := registered()
	node.ResourceVersion = "1"
	watched(node)
	s.Observe(node)
	live := node.DeepCopy()
	change(live)
	s.put(t, live)
	s.pods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "a"}, Spec: corev1.PodSpec{NodeName: "n"}}}
	return s, ec2
}

func asItIs(*corev1.Node) {}

// watch brings the live Node to the world.
func (s *server) watch(t *testing.T) *corev1.Node {
	t.Helper()
	node, err := s.controller.Core.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Observe(node)
	return node
}

func (s *server) reconcile(t *testing.T, times int) {
	t.Helper()
	for range times {
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
	}
}

// times is how often the request was made.
func (s *server) times(request string) (n int) {
	for _, w := range s.writes {
		if w == request {
			n++
		}
	}
	return n
}

// Whoever watches Nodes, as kube-proxy and CSI drivers do, sees from the beginning of the
// drain that the Node is being deleted; and no earlier that it is removed than its
// instance is terminated.
func TestTerminate_TheNodeIsBeingDeletedWhileItDrains(t *testing.T) {
	s, ec2 := draining(t, asItIs, asItIs)
	s.reconcile(t, 3)
	if first := slices.Index(s.writes, deletesNode); first < 0 || first > slices.Index(s.writes, evicts) {
		t.Errorf("writes %v; want the deletion of the Node before the first eviction", s.writes)
	}
	node := s.watch(t)
	if node.DeletionTimestamp == nil || !slices.Contains(node.Finalizers, v1.FinalizerTermination) || len(node.Spec.Taints) != 1 || len(ec2.ended) > 0 {
		t.Errorf("deleted at %v, finalizers %v, taints %v, ended %v", node.DeletionTimestamp, node.Finalizers, node.Spec.Taints, ec2.ended)
	}
	s.pods = nil
	s.reconcile(t, 6)
	if _, there := s.live[nodesPath+"n"]; !there || !slices.Equal(ec2.ended, []string{"i-1"}) {
		t.Errorf("ended %v, the Node is there: %v; want it until the instance is gone", ec2.ended, there)
	}
	ec2.instances = nil
	s.reconcile(t, 2)
	if n := s.times(deletesNode); len(s.live) > 0 || n != 1 {
		t.Errorf("the Node was deleted %d times; left %v", n, s.live)
	}
}

// Load balancers that look for the label send nothing more to a node whose pods are leaving.
// Karpenter puts its taint on a node that it is about to disrupt, and the label when it drains.
func TestTerminate_ANodeThatSomebodyElseHasTaintedLeavesLoadBalancersToo(t *testing.T) {
	for name, taints := range map[string][]corev1.Taint{"by nobody": nil, "by Karpenter": {v1.DisruptedTaint()}} {
		tainted := func(n *corev1.Node) { n.Spec.Taints = taints }
		s, _ := draining(t, tainted, tainted)
		s.reconcile(t, 3)
		if node := s.watch(t); node.Labels[corev1.LabelNodeExcludeBalancers] == "" || len(node.Spec.Taints) != 1 {
			t.Errorf("tainted %s: labels %v, taints %v", name, node.Labels, node.Spec.Taints)
		}
		if first := slices.Index(s.writes, evicts); first < 0 {
			t.Errorf("tainted %s: nothing is evicted: %v", name, s.writes)
		}
	}
}

// Without the finalizer the Node would be removed with its pods on it.
func TestTerminate_ANodeThatNothingHoldsIsDrainedFirst(t *testing.T) {
	without := func(n *corev1.Node) { n.Finalizers = nil }
	for name, watched := range map[string]func(*corev1.Node){
		"it has not registered":                 without,
		"somebody has just taken the finalizer": asItIs,
	} {
		s, ec2 := draining(t, watched, func(n *corev1.Node) { without(n); n.ResourceVersion = "2" })
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil && !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", name, err)
		}
		node := s.watch(t)
		s.reconcile(t, 2)
		if node.DeletionTimestamp != nil || !s.wrote(evicts) {
			t.Errorf("%s: writes %v", name, s.writes)
		}
		s.pods = nil
		s.reconcile(t, 6)
		ec2.instances = nil
		s.reconcile(t, 2)
		if len(s.live) > 0 || !slices.Equal(ec2.ended, []string{"i-1"}) {
			t.Errorf("%s: ended %v, left %v", name, ec2.ended, s.live)
		}
	}
}

// The daemon may be killed between the deletions of NodeClaim and Node, in either order, and
// an answer may be lost: each is deleted once.
func TestTerminate_NodeAndNodeClaimAreEachDeletedOnce(t *testing.T) {
	at := metav1.NewTime(time.Unix(5000, 0))
	deleted := func(n *corev1.Node) { n.DeletionTimestamp, n.ResourceVersion = &at, "2" }
	for name, tc := range map[string]struct {
		watched, live func(*corev1.Node)
		claimStays    bool // nobody has deleted the NodeClaim
		nodes, claims int
	}{
		"the nodeclaim alone is deleted":            {asItIs, asItIs, false, 1, 0},
		"both are":                                  {deleted, asItIs, false, 0, 0},
		"somebody has deleted the node":             {deleted, asItIs, true, 0, 1},
		"the answer to the node's deletion is lost": {asItIs, deleted, false, 1, 0}, // and its repetition is a conflict
	} {
		s, ec2 := draining(t, tc.watched, tc.live)
		if tc.claimStays {
			c := s.claims["c"].DeepCopy()
			c.DeletionTimestamp = nil
			s.put(t, c)
			s.Observe(c)
			s.reconcile(t, 1)
			s.Observe(s.liveClaim(t))
		}
		if _, err := s.controller.Reconcile(t.Context(), "c"); err != nil && !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", name, err)
		}
		s.watch(t)
		s.reconcile(t, 2)
		s.pods = nil
		s.reconcile(t, 6)
		ec2.instances = nil
		s.reconcile(t, 2)
		if len(s.live) > 0 || s.times(deletesNode) != tc.nodes || s.times(deletesClaim) != tc.claims {
			t.Errorf("%s: left %v, writes\n%s", name, s.live, strings.Join(s.writes, "\n"))
		}
	}
}

// liveClaim is the NodeClaim as the API server has it.
func (s *server) liveClaim(t *testing.T) *v1.NodeClaim {
	t.Helper()
	c, err := s.controller.Claims.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The finalizer is the only thing that holds the Node: who takes it off while the node drains
// removes the Node, and then nothing is left to drain.
func TestTerminate_ANodeThatSomebodyRemovesWhileItDrainsHoldsNothingUp(t *testing.T) {
	s, ec2 := draining(t, asItIs, asItIs)
	s.reconcile(t, 2)
	delete(s.live, nodesPath+"n")
	s.nodes = nil // as the watch brings it
	s.reconcile(t, 2)
	if !slices.Equal(ec2.ended, []string{"i-1"}) {
		t.Errorf("ended %v", ec2.ended)
	}
	ec2.instances = nil
	s.reconcile(t, 2)
	if len(s.live) > 0 {
		t.Errorf("left %v", s.live)
	}
}

// A machine that has joined again under another name has two Nodes. The pods may be on either, and
// once the Node is being deleted that they are on, the other one counts as that of the instance.
func TestTerminate_AllNodesOfAnInstanceAreDrainedAndRemoved(t *testing.T) {
	s, ec2 := draining(t, asItIs, asItIs)
	_, again := registered()
	again.Name, again.UID, again.ResourceVersion = "again", "again", "1"
	s.put(t, again)
	s.nodes = append([]*corev1.Node{again}, s.nodes...)
	s.reconcile(t, 4)
	if !s.wrote(evicts) || len(ec2.ended) > 0 {
		t.Errorf("ended %v while a pod runs there, writes %v", ec2.ended, s.writes)
	}
	s.pods = nil
	s.reconcile(t, 6)
	ec2.instances = nil
	s.reconcile(t, 2)
	if len(s.live) > 0 || !slices.Equal(ec2.ended, []string{"i-1"}) {
		t.Errorf("ended %v, left %v", ec2.ended, s.live)
	}
}

// A machine that runs under its new name alone does not wait for pods of the old one.
func TestTerminate_ANodeUnderWhichTheMachineDoesNotRunHoldsNothingUp(t *testing.T) {
	s, ec2 := draining(t, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, asItIs)
	_, again := registered()
	again.Name, again.UID, again.ResourceVersion = "again", "again", "1"
	s.put(t, again)
	s.nodes = append([]*corev1.Node{again}, s.nodes...)
	s.reconcile(t, 6)
	if !slices.Equal(ec2.ended, []string{"i-1"}) {
		t.Errorf("ended %v, writes %v", ec2.ended, s.writes)
	}
	ec2.instances = nil
	s.reconcile(t, 2)
	if len(s.live) > 0 {
		t.Errorf("left %v", s.live)
	}
}

// Nothing of a node can be drained whose instance no longer exists.
func TestTerminate_ANodeWhoseInstanceIsGoneGoesAtOnce(t *testing.T) {
	s, ec2 := draining(t, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, asItIs)
	ec2.instances = nil
	s.reconcile(t, 3)
	if len(s.live) > 0 || s.wrote(evicts) {
		t.Errorf("left %v, writes %v", s.live, s.writes)
	}
}

// A webhook that denies the deletion of Nodes, or does not answer, must not keep pods on an
// instance that EC2 takes.
func TestTerminate_ANodeThatCannotBeDeletedDrainsNevertheless(t *testing.T) {
	for _, code := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusInternalServerError, http.StatusGatewayTimeout} {
		s, ec2 := draining(t, asItIs, asItIs)
		s.denied, s.deniedAs = deletesNode, code
		s.reconcile(t, 2)
		if !s.wrote(evicts) {
			t.Errorf("%d: writes %v", code, s.writes)
		}
		s.pods = nil
		s.reconcile(t, 6)
		if !slices.Equal(ec2.ended, []string{"i-1"}) {
			t.Errorf("%d: ended %v", code, ec2.ended)
		}
	}
}

// What somebody has written by hand must not keep a node for ever.
func TestTerminate_ATimeThatCannotBeReadHoldsUpNothing(t *testing.T) {
	for _, grace := range []time.Duration{0, 24 * time.Hour} {
		for _, text := range []string{"", "tomorrow", "2026-01-01", "1767225600", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"} {
			s, ec2 := draining(t, asItIs, asItIs)
			c := s.claims["c"].DeepCopy()
			c.Annotations = map[string]string{v1.AnnotationTerminationTimestamp: text}
			if grace > 0 {
				c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: grace}
			}
			s.put(t, c)
			s.Observe(c)
			s.reconcile(t, 2)
			want := ""
			if grace > 0 {
				want = c.DeletionTimestamp.Add(grace).UTC().Format(time.RFC3339)
			}
			if got := s.liveClaim(t).Annotations[v1.AnnotationTerminationTimestamp]; got != want {
				t.Errorf("%q with a grace of %v: is %q now, want %q", text, grace, got, want)
			}
			s.pods = nil
			s.reconcile(t, 6)
			ec2.instances = nil
			s.reconcile(t, 2)
			if len(s.live) > 0 || !slices.Equal(ec2.ended, []string{"i-1"}) {
				t.Errorf("%q with a grace of %v: ended %v, left %v", text, grace, ec2.ended, s.live)
			}
		}
	}
}
