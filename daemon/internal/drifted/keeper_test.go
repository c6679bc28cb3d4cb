package drifted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

var start = time.Unix(10_000, 0)

// test is a world with a NodePool, its class and a NodeClaim with an instance, a clock,
// an API server that refuses outdated writes, and EC2.
type test struct {
	*testing.T
	world  *world.World
	keeper *Keeper
	now    time.Time

	mu       sync.Mutex
	versions map[string]string // of the live objects, by kind and name
	writes   []string          // what was written, in order
	down     bool              // the API server refuses all
	inFlight int
	most     int // writes in flight

	instances []aws.Instance
	away      bool // EC2 does not answer
	calls     int
	tags      map[string]string
	sold      map[string][]string // zones by instance type
	asked     []string            // instance types

	said []string // to the recorder
}

func newTest(t *testing.T) *test {
	t.Helper()
	x := &test{T: t, now: start, versions: map[string]string{}, sold: map[string][]string{"m5.large": {"a"}}}
	x.world = world.New(nil, catalog.Market{}, func() time.Time { return x.now })
	x.restart()
	ref := v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}
	pool.Spec.Template.Spec.NodeClassRef = ref
	x.put(pool)
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "default"}}
	class.Spec.InstanceProfile = "nodes"
	class.Status = awsv1.EC2NodeClassStatus{
		Subnets: []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}, SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-1"}}, AMIs: []awsv1.AMI{{ID: "ami-1"}},
	}
	for _, c := range awsv1.ReadyConditions() {
		class.Conditions().SetTrue(c, start)
	}
	x.put(class)
	x.put(x.launched("c"))
	return x
}

// launched is a NodeClaim as the daemon makes it now, with an instance that EC2 has.
func (x *test) launched(name string) *v1.NodeClaim {
	pool, _ := x.world.NodePool("p")
	class, _ := x.world.EC2NodeClass("default")
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelNodePool: "p", label.InstanceType: "m5.large"}, Annotations: drift.PoolStamp(pool),
	}}
	maps.Copy(c.Annotations, drift.ClassStamp(class))
	c.Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
	c.Status.ProviderID, c.Status.ImageID = awsspec.ProviderID("a", "i-"+name), "ami-1"
	c.Conditions().SetTrue(v1.ConditionLaunched, start)
	x.instances = append(x.instances, aws.Instance{
		ID: "i-" + name, Zone: "a", State: "running", ImageID: "ami-1", SubnetID: "subnet-1", SecurityGroupIDs: []string{"sg-1"},
	})
	return c
}

// put makes the object live, in its next version, and tells the world.
func (x *test) put(o metav1.Object) {
	key := fmt.Sprintf("%T/%s", o, o.GetName())
	last, _ := strconv.Atoi(x.versions[key])
	o.SetResourceVersion(strconv.Itoa(last + 1))
	x.versions[key] = o.GetResourceVersion()
	x.world.Observe(o)
}

// restart makes a Keeper that knows nothing, and is past its first sweep.
func (x *test) restart() {
	x.keeper = &Keeper{
		World: x.world, Claims: claims{writer[*v1.NodeClaim]{x, x.claim}}, Cloud: x, Cluster: "lab", Recorder: x,
		Pools: writer[*v1.NodePool]{x, func(string) *v1.NodePool { return x.pool() }},
		Classes: writer[*awsv1.EC2NodeClass]{x, func(string) *awsv1.EC2NodeClass {
			c, _ := x.world.EC2NodeClass("default")
			return c.DeepCopy()
		}},
	}
	x.sweep()
}

func (x *test) claim(name string) *v1.NodeClaim {
	c, _ := x.world.NodeClaim(name)
	return c.DeepCopy()
}

func (x *test) pool() *v1.NodePool {
	p, _ := x.world.NodePool("p")
	return p.DeepCopy()
}

func (x *test) class() *awsv1.EC2NodeClass {
	c, _ := x.world.EC2NodeClass("default")
	return c.DeepCopy()
}

// write lets the write of this version of the object pass, or not.
func (x *test) write(what string, o metav1.Object) error {
	x.mu.Lock()
	x.inFlight++
	x.most = max(x.most, x.inFlight)
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		x.inFlight--
		x.mu.Unlock()
	}()
	x.mu.Lock()
	defer x.mu.Unlock()
	key := fmt.Sprintf("%T/%s", o, o.GetName())
	switch {
	case x.down:
		return errors.New("the API server is down")
	case x.versions[key] != o.GetResourceVersion():
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), nil)
	}
	last, _ := strconv.Atoi(o.GetResourceVersion())
	x.versions[key] = strconv.Itoa(last + 1)
	o.SetResourceVersion(x.versions[key])
	x.writes = append(x.writes, what+" "+o.GetName())
	return nil
}

// writer is the API server for objects of one kind.
type writer[T metav1.Object] struct {
	*test

	live func(name string) T
}

func (w writer[T]) Patch(_ context.Context, name string, _ types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (T, error) {
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Annotations     map[string]string
		}
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		w.Error(err)
	}
	o := w.live(name)
	if patch.Metadata.UID != o.GetUID() {
		w.Errorf("patch of %s with uid %q", name, patch.Metadata.UID)
	}
	o.SetResourceVersion(patch.Metadata.ResourceVersion)
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, patch.Metadata.Annotations)
	o.SetAnnotations(annotations)
	return o, w.write("stamp", o)
}

type claims struct{ writer[*v1.NodeClaim] }

func (w claims) UpdateStatus(_ context.Context, c *v1.NodeClaim, _ metav1.UpdateOptions) (*v1.NodeClaim, error) {
	got := c.DeepCopy()
	return got, w.write("status", got)
}

func (x *test) Instances(_ context.Context, tags map[string]string) ([]aws.Instance, error) {
	x.calls++
	x.tags = tags
	if x.away {
		return nil, errors.New("EC2 does not answer")
	}
	return x.instances, nil
}

func (x *test) InstanceTypeZones(_ context.Context, types []string) (map[string][]string, error) {
	x.asked = append(x.asked, types...)
	if x.away {
		return nil, errors.New("EC2 does not answer")
	}
	return x.sold, nil
}

func (x *test) Drifted(c *v1.NodeClaim, reason, message string) {
	x.say("drifted " + c.Name + " " + reason + ": " + message)
}

func (x *test) NotDrifted(c *v1.NodeClaim, was string) { x.say("not drifted " + c.Name + " " + was) }
func (x *test) StaleDriftMark(node *corev1.Node)       { x.say("mark " + node.Name) }
func (x *test) DriftCounted([]*v1.NodeClaim)           {}
func (x *test) AnotherController(p *v1.NodePool, version string) {
	x.say("another controller on " + p.Name + " " + version)
}

func (x *test) say(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.said = append(x.said, text)
}

func (x *test) sweep() {
	x.Helper()
	if err := x.keeper.Sweep(x.Context(), x.now); err != nil {
		x.Fatal(err)
	}
}

// expect checks the reason of the condition of NodeClaim c; empty for no condition.
func (x *test) expect(when, reason string) {
	x.Helper()
	got := x.claim("c").Conditions().Get(v1.ConditionDrifted)
	if got.Reason != reason || got.IsTrue() != (reason != "") {
		x.Errorf("%s: condition %+v, want reason %q", when, got, reason)
	}
}

// A NodeClaim that the leader before made may be newer than the pools and classes that
// the new one has seen.
func TestSweep_TheFirstOfALeaderWritesNothing(t *testing.T) {
	x := newTest(t)
	pool := x.pool()
	pool.Spec.Template.Spec.Taints = []v1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	x.put(pool)
	x.restart()
	x.expect("after the first sweep", "")
	if len(x.writes) > 0 || x.calls > 0 {
		t.Errorf("writes %q, %d calls", x.writes, x.calls)
	}
	x.sweep()
	x.expect("after the second sweep", "NodePoolDrifted")
}

func TestSweep_AnEditOfThePoolOrTheClassSetsTheConditionAndItsEndClearsIt(t *testing.T) {
	x := newTest(t)
	x.sweep()
	x.expect("as asked for", "")
	pool := x.pool()
	pool.Spec.Template.Spec.Taints = []v1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	x.put(pool)
	x.now = x.now.Add(10 * time.Second)
	x.sweep()
	x.expect("the template has another taint", "NodePoolDrifted")
	since := x.claim("c").Conditions().Get(v1.ConditionDrifted).LastTransitionTime
	class := x.class()
	class.Spec.Tags = map[string]string{"team": "web"}
	x.put(class)
	pool = x.pool()
	pool.Spec.Template.Spec.Taints = nil
	x.put(pool)
	x.now = x.now.Add(10 * time.Second)
	x.sweep()
	x.expect("now the class has another tag", "NodeClassDrift")
	if again := x.claim("c").Conditions().Get(v1.ConditionDrifted).LastTransitionTime; !again.Equal(&since) {
		t.Errorf("drifted since %s and %s: another reason is not a new drift", since, again)
	}
	class = x.class()
	class.Spec.Tags = nil
	x.put(class)
	x.sweep()
	x.expect("the tag is gone", "")
	want := []string{
		"drifted c NodePoolDrifted: NodePool p has another template than when the NodeClaim was made: taints",
		"drifted c NodeClassDrift: EC2NodeClass default has another spec than when the instance was launched: tags",
		"not drifted c NodeClassDrift",
	}
	if fmt.Sprint(x.said) != fmt.Sprint(want) {
		t.Errorf("said %q, want %q", x.said, want)
	}
}

func TestSweep_WritesTheHashesOfPoolAndClassOnceForEachVersion(t *testing.T) {
	x := newTest(t)
	x.sweep()
	x.sweep()
	if fmt.Sprint(x.writes) != "[stamp p stamp default]" {
		t.Errorf("writes %q", x.writes)
	}
	pool := x.pool()
	pool.Spec.Template.ObjectMeta.Labels = map[string]string{"team": "web"}
	x.put(pool)
	x.sweep()
	if got := x.pool().Annotations; got[v1.AnnotationNodePoolHash] != drift.PoolHash(pool) || got[v1.AnnotationNodePoolHashVersion] != drift.Version {
		t.Errorf("annotations of the pool: %v", got)
	}
	if got := x.class().Annotations; got[awsv1.AnnotationNodeClassHash] != drift.ClassHash(x.class()) || got[awsv1.AnnotationNodeClassHashVersion] != drift.Version {
		t.Errorf("annotations of the class: %v", got)
	}
}

func TestSweep_TakingOverManyNodeClaimsDriftsNoneWithFewWritesAtATime(t *testing.T) {
	x := newTest(t)
	const many = 50
	for i := range many {
		c := x.launched("k" + strconv.Itoa(i))
		c.Annotations = map[string]string{v1.AnnotationNodePoolHash: "1", v1.AnnotationNodePoolHashVersion: "v3"}
		x.put(c)
	}
	x.sweep()
	if stamps := len(x.writes) - 2; stamps != many || x.most > workers {
		t.Errorf("%d stamps, %d at a time; want %d, at most %d", stamps, x.most, many, workers)
	}
	x.writes = nil
	x.sweep()
	if len(x.writes) > 0 || len(x.said) > 0 {
		t.Errorf("again: writes %q, said %q", x.writes, x.said)
	}
	pool := x.pool()
	pool.Spec.Template.ObjectMeta.Labels = map[string]string{"team": "web"}
	x.put(pool)
	x.sweep()
	if len(x.said) != many+1 {
		t.Errorf("an edit after the take-over drifts %d NodeClaims, want %d", len(x.said), many+1)
	}
}

func TestSweep_ANodeClaimThatIsNotLaunchedOrGoesIsLeftAlone(t *testing.T) {
	x := newTest(t)
	young := x.launched("young")
	young.Annotations, young.Status = nil, v1.NodeClaimStatus{}
	x.put(young)
	going := x.launched("going")
	going.Annotations, going.DeletionTimestamp = nil, &metav1.Time{Time: start}
	x.put(going)
	x.sweep()
	if fmt.Sprint(x.writes) != "[stamp p stamp default]" {
		t.Errorf("writes %q", x.writes)
	}
}

func TestSweep_AsksEC2OnceAMinuteForAll(t *testing.T) {
	x := newTest(t)
	x.put(x.launched("d"))
	for range 7 {
		x.sweep()
		x.now = x.now.Add(10 * time.Second)
	}
	if x.calls != 2 || x.tags[awsspec.TagClusterName] != "lab" || x.tags[awsspec.TagNodePool] != "*" {
		t.Errorf("%d calls with %v", x.calls, x.tags)
	}
	empty := newTest(t)
	gone := empty.claim("c")
	empty.world.Forget(gone)
	empty.sweep()
	if empty.calls != 0 {
		t.Error("asks for instances although there are no NodeClaims")
	}
}

func TestSweep_WithoutAnAnswerOfEC2TheConditionStays(t *testing.T) {
	x := newTest(t)
	x.instances[0].SecurityGroupIDs = []string{"sg-9"}
	x.sweep()
	x.expect("other security groups", "SecurityGroupDrift")
	x.away = true
	x.instances[0].SecurityGroupIDs = []string{"sg-1"}
	for x.now = x.now.Add(ListEvery); x.now.Before(start.Add(time.Hour)); x.now = x.now.Add(ListEvery) {
		if err := x.keeper.Sweep(t.Context(), x.now); err == nil {
			t.Fatal("EC2 is away, and Sweep does not say so")
		}
	}
	x.expect("EC2 is away for an hour", "SecurityGroupDrift")
	x.restart()
	x.away, x.instances = false, nil
	x.sweep()
	x.expect("EC2 does not list the instance", "SecurityGroupDrift")
	x.launched("c")
	x.now = x.now.Add(ListEvery)
	x.sweep()
	x.expect("the instance has the groups of the class", "")
}

func TestSweep_AClassThatIsNotReadyChangesNothing(t *testing.T) {
	x := newTest(t)
	x.sweep()
	class := x.class()
	class.Generation, class.Status.SecurityGroups = 2, nil
	class.Spec.UserData = new(string)
	*class.Spec.UserData = "echo"
	x.put(class)
	x.sweep()
	x.expect("the class is not ready in its newest version", "")
	for _, c := range class.Status.Conditions {
		class.Conditions().SetTrue(c.Type, x.now)
	}
	x.put(class)
	x.sweep()
	x.expect("the class is ready", "NodeClassDrift")
}

func TestSweep_AnOutdatedWriteIsLeftOutAndAFailureIsSaid(t *testing.T) {
	x := newTest(t)
	x.sweep()
	pool := x.pool()
	pool.Spec.Template.Spec.Taints = []v1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	x.put(pool)
	x.versions["*v1.NodeClaim/c"] = "7" // somebody has written it
	x.sweep()
	x.expect("the NodeClaim is newer than the world knows", "")
	x.versions["*v1.NodeClaim/c"] = x.claim("c").ResourceVersion
	x.down = true
	if err := x.keeper.Sweep(t.Context(), x.now); err == nil {
		t.Error("a failure is not said")
	}
	x.down = false
	x.sweep()
	x.expect("when the API server is back", "NodePoolDrifted")
}

func TestSweep_AStaleMarkOfAnOldKarpenterIsReportedOnceAndNotObeyed(t *testing.T) {
	x := newTest(t)
	x.world.Observe(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Annotations: map[string]string{v1.AnnotationVoluntaryDisruption: "drifted"}},
		Spec:       corev1.NodeSpec{ProviderID: awsspec.ProviderID("a", "i-c")},
	})
	x.sweep()
	x.sweep()
	x.expect("a mark", "")
	if fmt.Sprint(x.said) != "[mark n]" {
		t.Errorf("said %q", x.said)
	}
}

func TestSweep_AHashThatIsWrittenOverTellsOfAnotherController(t *testing.T) {
	x := newTest(t)
	karpenters := func() {
		p := x.pool()
		p.Annotations = map[string]string{v1.AnnotationNodePoolHash: "1", v1.AnnotationNodePoolHashVersion: "v3"}
		x.put(p)
	}
	karpenters()
	x.sweep() // that is what a Karpenter left which does not run any more
	x.sweep()
	if len(x.said) > 0 {
		t.Errorf("said %q of a cluster that is taken over", x.said)
	}
	karpenters()
	x.sweep()
	if want := []string{"another controller on p v3"}; !slices.Equal(x.said, want) {
		t.Errorf("said %q, want %q", x.said, want)
	}
	x.sweep()
	if len(x.said) != 1 {
		t.Errorf("said %q of one write", x.said)
	}
}

func TestSweep_WhatCannotBeReadIsNeitherHashedNorCompared(t *testing.T) {
	x := newTest(t)
	x.sweep()
	x.expect("at first", "")
	pool, class := x.pool(), x.class()
	hashes := []string{pool.Annotations[v1.AnnotationNodePoolHash], class.Annotations[awsv1.AnnotationNodeClassHash]}
	pool.Unread, pool.Spec = "spec must be an object, and is a string\n", v1.NodePoolSpec{}
	class.Unread, class.Spec = "spec must be an object, and is a string\n", awsv1.EC2NodeClassSpec{}
	x.put(pool)
	x.put(class)
	x.sweep()
	x.sweep()
	x.expect("while pool and class cannot be read", "")
	if now := []string{x.pool().Annotations[v1.AnnotationNodePoolHash], x.class().Annotations[awsv1.AnnotationNodeClassHash]}; !slices.Equal(now, hashes) {
		t.Errorf("hashes %v, before %v", now, hashes)
	}
}
