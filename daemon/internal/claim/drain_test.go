package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// drained is a node with pods that is drained on an API server that gives one answer
// to all evictions.
type drained struct {
	World
	Recorder

	controller *Controller
	claim      *v1.NodeClaim
	node       *corev1.Node
	now        time.Time

	mu      sync.Mutex
	pods    []*corev1.Pod
	posts   map[string]int    // evictions by pod
	methods map[string]string // the last one of a request that names the pod itself
	order   []string          // of the evictions
	answer  *metav1.Status    // nil for success
	events  []string
	told    []string // Evicted, by pod

	up      bool     // NodeOf finds the node
	volumes []string // attached

	replicas int64
	siblings []*corev1.Pod
	budgets  []cluster.PodBudget
	pool     *v1.NodePool // nil for none
}

func newDrained(t *testing.T, pods ...string) *drained {
	t.Helper()
	d := &drained{now: time.Unix(10_000, 0), posts: map[string]int{}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	clients, err := kube.NewClients(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	d.controller = &Controller{
		Core: clients.Core, Claims: clients.NodeClaims, World: d, Recorder: d, Now: func() time.Time { return d.now },
	}
	d.claim = &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c"}}
	d.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelNodeExcludeBalancers: "karpenter"}}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{v1.DisruptedTaint()}}}
	for _, name := range pods {
		d.pods = append(d.pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: "n"},
		})
	}
	return d
}

func (d *drained) Observe(o metav1.Object) {
	if c, ok := o.(*v1.NodeClaim); ok {
		d.claim = c
	}
}

func (d *drained) Replicas(p *corev1.Pod) (*metav1.OwnerReference, int64, []*corev1.Pod) {
	return metav1.GetControllerOf(p), d.replicas, d.siblings
}
func (d *drained) BudgetsOf(*corev1.Pod) []cluster.PodBudget { return d.budgets }
func (d *drained) NodeOf(string) (*corev1.Node, bool) {
	if !d.up {
		return nil, false
	}
	return d.node, true
}

func (d *drained) NodesOf(id string) []*corev1.Node {
	if n, up := d.NodeOf(id); up {
		return []*corev1.Node{n}
	}
	return nil
}
func (d *drained) NodePool(string) (*v1.NodePool, bool) { return d.pool, d.pool != nil }
func (d *drained) PodsOn(string) []*corev1.Pod          { return append([]*corev1.Pod(nil), d.pods...) }

func (d *drained) Draining(_ *v1.NodeClaim, _, key, waitingFor string) {
	d.events = append(d.events, key+": "+waitingFor)
}

func (d *drained) Evicted(p *corev1.Pod, why string) { d.told = append(d.told, p.Name+": "+why) }
func (d *drained) ForceDeleted(p *corev1.Pod, deadline time.Time, grace int64) {
	d.told = append(d.told, fmt.Sprintf("%s: by %d with %d s", p.Name, deadline.Unix(), grace))
}

func (d *drained) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPut { // the status of the NodeClaim
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
		return
	}
	path := strings.Split(r.URL.Path, "/")
	if r.Method == http.MethodDelete {
		if d.methods != nil {
			d.methods[path[len(path)-1]] = r.Method
		}
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
		return
	}
	pod := path[len(path)-2]
	d.posts[pod]++
	d.order = append(d.order, pod)
	answer := metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	if d.answer != nil && d.posts[pod] < 100 { // a client that tries for ever ends
		answer = *d.answer
	}
	answer.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if answer.Details != nil && answer.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(answer.Details.RetryAfterSeconds))
	}
	w.WriteHeader(int(answer.Code))
	_ = json.NewEncoder(w).Encode(answer)
}

func (d *drained) drain(t *testing.T) (time.Duration, error) {
	t.Helper()
	again, done, err := d.controller.drain(context.Background(), d.claim, d.node, time.Time{})
	if done {
		t.Fatal("drained with pods on the node")
	}
	return again, err
}

// message is what the NodeClaim says of its drain.
func (d *drained) message() string {
	return d.claim.DeepCopy().Conditions().Get(v1.ConditionDrained).Message
}

// blocked is the API server's answer where a budget allows no eviction.
func blocked(retryAfter int) *metav1.Status {
	status := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter).ErrStatus
	status.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 3 healthy pods and has 3 currently"}}
	return &status
}

func TestEvict_IsOneRequestEvenIfTheServerAsksToRetry(t *testing.T) {
	d := newDrained(t, "a")
	d.answer = blocked(1)
	if _, err := d.drain(t); err != nil || d.posts["a"] != 1 {
		t.Errorf("%d requests, error %v; want one: a worker must not sleep", d.posts["a"], err)
	}
}

func TestEvict_SaysWhatBlocks(t *testing.T) {
	many := apierrors.NewTooManyRequests("too many requests, please try again later", 1).ErrStatus
	two := metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}
	for want, answer := range map[string]*metav1.Status{
		"default/a: PodDisruptionBudget default/web allows no eviction now": blocked(0),
		"default/a: the API server has too many requests":                   &many,
		"default/a: more than one PodDisruptionBudget selects the pod (default/one, default/two), which the eviction API refuses: change the selector of one, or delete one": &two,
	} {
		d := newDrained(t, "a")
		d.answer, d.budgets = answer, []cluster.PodBudget{{Namespace: "default", Name: "two"}, {Namespace: "default", Name: "one"}}
		if _, err := d.drain(t); err != nil || d.message() != want {
			t.Errorf("message %q, error %v, want %q", d.message(), err, want)
		}
	}
}

func TestEvict_AnotherFailureOfTheServerIsAnErrorThatIsRetried(t *testing.T) {
	for _, answer := range []apierrors.APIStatus{
		apierrors.NewInternalError(errors.New("failed calling webhook")), apierrors.NewServiceUnavailable("etcd is away"),
	} {
		status := answer.Status()
		d := newDrained(t, "a", "b")
		d.answer = &status
		if _, err := d.drain(t); err == nil || !strings.Contains(err.Error(), status.Message) || d.posts["b"] != 1 {
			t.Errorf("error %v, %d requests for the other pod", err, d.posts["b"])
		}
		d.now = d.now.Add(backoffFirst)
		d.answer = nil
		if _, err := d.drain(t); err != nil || d.posts["a"] != 2 {
			t.Errorf("%d requests, error %v", d.posts["a"], err)
		}
	}
}

func TestDrain_ABlockedPodHasABackOffOfItsOwn(t *testing.T) {
	d := newDrained(t, "a")
	d.answer = blocked(0)
	at, wait := time.Duration(0), backoffFirst
	for tries := 1; tries <= 10; tries++ {
		for range 3 { // two events of other pods do not try again
			again, err := d.drain(t)
			if err != nil || d.posts["a"] != tries || again != min(wait, drainPoll) {
				t.Fatalf("after %s: %d requests, again after %s, error %v; want %d, %s", at, d.posts["a"], again, err, tries, wait)
			}
		}
		d.now, at = d.now.Add(wait), at+wait
		wait = min(2*wait, backoffMost)
	}
	if wait != 10*time.Second {
		t.Errorf("the last back-off is %s", wait)
	}
	d.pods = append(d.pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", UID: "b"}})
	if _, err := d.drain(t); err != nil || d.posts["b"] != 1 {
		t.Errorf("another pod was asked for %d times, error %v", d.posts["b"], err)
	}
}

func TestDrain_LargePodsAreEvictedFirst(t *testing.T) {
	d := newDrained(t, "small", "cpu", "memory", "middle")
	d.node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("16Gi")}
	for i, requests := range []corev1.ResourceList{
		{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("12Gi")},
		{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("2Gi")},
	} {
		d.pods[i].Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
	}
	if _, err := d.drain(t); err != nil || strings.Join(d.order, " ") != "memory cpu middle small" {
		t.Errorf("evicted in the order %v, error %v", d.order, err)
	}
}

func TestDrain_ItsEventHasTheReasonAndTheNumberOfPodsAsKey(t *testing.T) {
	d := newDrained(t, "a", "b")
	d.pods[1].Annotations = map[string]string{v1.AnnotationDoNotDisrupt: "true"}
	d.answer = blocked(0)
	if _, err := d.drain(t); err != nil || len(d.events) != 1 || !strings.HasPrefix(d.events[0], "2 DoNotDisrupt PodDisruptionBudget: ") {
		t.Errorf("events %q, error %v", d.events, err)
	}
}

// One rule says what protects a pod, in plans and in drains.
func TestDrain_WhatProtectsAPodInPlansHoldsItsEviction(t *testing.T) {
	for _, c := range []struct {
		annotation, value string
		held              bool
	}{
		{v1.AnnotationDoNotDisrupt, "true", true},
		{v1.AnnotationDoNotDisrupt, "4h", true},
		{v1.AnnotationDoNotDisrupt, "30m", false},
		{v1.AnnotationDoNotDisrupt, "soon", true},
		{v1.AnnotationDoNotDisrupt, "false", false},
		{v1.AnnotationDoNotEvict, "true", true},
	} {
		d := newDrained(t, "a")
		d.pods[0].Annotations = map[string]string{c.annotation: c.value}
		started := metav1.NewTime(d.now.Add(-time.Hour))
		d.pods[0].Status.StartTime = &started
		_, err := d.drain(t)
		if held := d.posts["a"] == 0; err != nil || held != c.held || held && !strings.Contains(d.message(), c.annotation) {
			t.Errorf("%s: %q holds the eviction: %v, %q, error %v", c.annotation, c.value, held, d.message(), err)
		}
	}
}

// The watch may be behind the answer. The same pod in the cache is no reason to ask again.
func TestEvict_AnAcceptedEvictionIsNotAskedForAgain(t *testing.T) {
	d := newDrained(t, "a", "b")
	for range 3 {
		again, err := d.drain(t)
		if err != nil || again != drainPoll || d.posts["a"] != 1 || d.posts["b"] != 1 || d.message() != "still on node n: 2 pods" || len(d.events) > 0 {
			t.Fatalf("%v, again after %s, %q, events %q, error %v; want each pod asked for once", d.posts, again, d.message(), d.events, err)
		}
		d.now = d.now.Add(drainPoll)
	}
	d.pods[0].UID = "another"
	if _, err := d.drain(t); err != nil || d.posts["a"] != 2 || d.posts["b"] != 1 {
		t.Errorf("%v, error %v; want the other pod of the name asked for, too", d.posts, err)
	}
	d.pods = d.pods[1:]
	if _, err := d.drain(t); err != nil || len(d.controller.blocked(d.claim)) != 1 {
		t.Errorf("%v is remembered, error %v; want pod b alone", d.controller.blocked(d.claim), err)
	}
	d.now = d.now.Add(stuck)
	if _, err := d.drain(t); err != nil || d.posts["b"] != 2 {
		t.Errorf("%d requests, error %v; want another: the pod does not terminate", d.posts["b"], err)
	}
	d.pods = nil
	if _, err := d.drain(t); err != nil || len(d.controller.blocked(d.claim)) != 0 {
		t.Errorf("%v is remembered, error %v; want nothing after the drain", d.controller.blocked(d.claim), err)
	}
}

// A pod that is not blocked hides none that is.
func TestDrain_SaysWhatBlocksBesideAcceptedEvictions(t *testing.T) {
	d := newDrained(t, "a", "b")
	d.pods[1].Annotations = map[string]string{v1.AnnotationDoNotDisrupt: "true"}
	for range 2 {
		want := "default/b: annotation " + v1.AnnotationDoNotDisrupt + " blocks the eviction"
		if _, err := d.drain(t); err != nil || d.message() != want || d.events[0] != "1 DoNotDisrupt: "+want {
			t.Errorf("message %q, events %q, error %v; want %q", d.message(), d.events, err, want)
		}
	}
}

func TestDrain_TellsEachPodOnceThatItIsEvictedAndWhy(t *testing.T) {
	d := newDrained(t, "a", "b")
	d.claim.Conditions().Set(v1.ConditionDisruptionReason, metav1.ConditionTrue, "Drifted", "", d.now)
	for range 3 {
		if _, err := d.drain(t); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(drainPoll)
	}
	if want := []string{"a: Drifted", "b: Drifted"}; !slices.Equal(d.told, want) {
		t.Errorf("told %q, want %q", d.told, want)
	}
	d = newDrained(t, "a")
	if _, err := d.drain(t); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a: Deleted"}; !slices.Equal(d.told, want) {
		t.Errorf("told %q, want %q", d.told, want)
	}
	d = newDrained(t, "a")
	d.answer = &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests}
	if _, err := d.drain(t); err != nil {
		t.Fatal(err)
	}
	if len(d.told) != 0 {
		t.Errorf("a pod that stays is told %q", d.told)
	}
}

func TestDrain_TellsAPodThatIsDeletedAtTheDeadline(t *testing.T) {
	d := newDrained(t, "a")
	grace := int64(60)
	d.pods[0].Spec.TerminationGracePeriodSeconds = &grace
	if _, _, err := d.controller.drain(context.Background(), d.claim, d.node, d.now.Add(40*time.Second)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a: by 10040 with 40 s"}; !slices.Equal(d.told, want) {
		t.Errorf("told %q, want %q", d.told, want)
	}
}
