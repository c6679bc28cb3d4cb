package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// The pool that stood in says nothing of a cluster that gets one.
func TestRun_AnotherPoolTakesThePlaceOfTheStandIn(t *testing.T) {
	t.Parallel()
	none := standInPool()
	none.Name, none.UID = "none", "none"
	none.Spec.Template.Spec.Requirements[3] = v1.Requirement{Key: catalog.LabelFamily, Operator: corev1.NodeSelectorOpIn, Values: []string{"nosuch"}}
	o := hour()
	o.With, o.Scratch = []metav1.Object{none}, true
	r := run(t, groups(), o)
	if len(r.With.WouldLaunch) > 0 || r.With.UnplacedPods() != 14 || r.Now.Nodes != 9 || r.SavingPercent() < 50 {
		t.Errorf("with a pool that launches nothing: launches %+v, %d pods wait; as it is %+v", r.With.WouldLaunch, r.With.UnplacedPods(), r.Forecast)
	}
}

func TestRun_NodesOfGroupsGoToAPoolThatLaunchesForPods(t *testing.T) {
	t.Parallel()
	c := groups()
	static := standInPool()
	one := int64(1)
	static.Name, static.UID, static.Spec.Replicas = "a-static", "static", &one
	c.Add(static)
	r := run(t, c, hour())
	if slices.ContainsFunc(r.WouldRemove.Reasons, func(x Reason) bool { return x.Why == "Surplus" }) || r.Now.Pools[0].Name != standInName || r.UnplacedPods() != 1 {
		t.Errorf("%+v, removals %+v", r.Now, r.WouldRemove.Reasons)
	}
}

func TestRun_NodesThatNoPoolCanReplaceStay(t *testing.T) {
	t.Parallel()
	c := NewCluster()
	for i, change := range []func(*corev1.Node){
		func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" },
		func(n *corev1.Node) { n.Labels["eks.amazonaws.com/compute-type"] = "fargate" },
		func(n *corev1.Node) { n.Labels[label.OS] = "windows" },
		func(n *corev1.Node) { n.Spec.ProviderID = "gce://project/zone/name" },
		func(*corev1.Node) {},
	} {
		n := node(i)
		change(n)
		c.Add(n)
	}
	r := run(t, c, hour())
	if r.Now.Nodes != 1 || r.WouldRemove.Nodes != 1 || r.Foreign.Nodes != 4 || r.Foreign.Unpriced != 4 {
		t.Errorf("now %+v, removals %+v, foreign %+v", r.Now, r.WouldRemove, r.Foreign)
	}
	for _, want := range []string{"of the control plane", "of Fargate", "of Windows", "of another cloud"} {
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no note says %q: %q", want, r.Notes)
		}
	}
}

// database adds a StatefulSet with its pods, the first made last.
func database(c *Cluster, pods int) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "db"}}
	n, yes := int32(pods), true
	set.Spec.Replicas, set.Spec.Selector = &n, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	set.Spec.Template = *c.sets["shop/web-6d4cf56db6"].Spec.Template.DeepCopy()
	set.Spec.Template.Labels = map[string]string{"app": "db"}
	c.Add(set)
	for i := range pods {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("db-", i), UID: types.UID(fmt.Sprint("db-", i)), Labels: map[string]string{"app": "db"}, CreationTimestamp: made()}, Spec: set.Spec.Template.Spec}
		if i == 0 {
			p.CreationTimestamp = seen()
		}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db", Controller: &yes}}
		p.Spec.NodeName, p.Status.Phase = "ip-10-0-0-0.ec2.internal", corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		c.Add(p)
	}
}

func TestRun_ScalesStatefulSetsByTheNumbersOfTheirPods(t *testing.T) {
	t.Parallel()
	for replicas, want := range map[int32]int64{2: 15, 10: 23} { // 13 other pods run
		c, o := groups(), hour()
		database(c, 3)
		o.Scales = []Scale{{"statefulset", "shop", "db", replicas}}
		if r := run(t, c, o); r.Then.Pods != want {
			t.Errorf("to %d: %d pods run, want %d", replicas, r.Then.Pods, want)
		}
	}
}

func TestRun_ScalesWhatHasNoPodsByItsTemplate(t *testing.T) {
	t.Parallel()
	for _, scale := range []string{"replicaset/shop/web-6d4cf56db6=30", "deployment/shop/web=30"} {
		s, err := ParseScale(scale)
		if err != nil {
			t.Fatal(err)
		}
		c, o, none := NewCluster(), hour(), int32(0)
		c.Add(node(0))
		app{"web", 4000, 1024, nil, nil}.add(c)
		c.sets["shop/web-6d4cf56db6"].Spec.Replicas = &none
		o.Scales = []Scale{s}
		if r := run(t, c, o); r.Then.Pods != 30 || r.Then.Nodes < 4 {
			t.Errorf("%s: %d pods on %d nodes", scale, r.Then.Pods, r.Then.Nodes)
		}
	}
	c, o := owned(nil), hour() // of a manifest, without a ReplicaSet
	c.Add(deploymentOf(c.sets["shop/web-6d4cf56db6"], "batch", 1))
	o.Scales = []Scale{{"deployment", "shop", "batch", 7}}
	if r := run(t, c, o); r.Then.Pods != 20 {
		t.Errorf("%d pods run, want 20", r.Then.Pods)
	}
}

func TestRun_WithAnObjectThatIsThereAlreadyTheNewOneCounts(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		object func(*Cluster) metav1.Object
		pods   int64
	}{
		"Deployment": {func(c *Cluster) metav1.Object {
			d := deploymentOf(c.sets["shop/web-6d4cf56db6"], "web", 20)
			d.Spec.Template.Labels = c.sets["shop/web-6d4cf56db6"].Spec.Template.Labels
			return d
		}, 27},
		"StatefulSet": {func(c *Cluster) metav1.Object {
			database(c, 3)
			set := c.stateful["shop/db"].DeepCopy()
			set.UID = ""
			return set
		}, 16},
		"Deployment without a namespace": {func(c *Cluster) metav1.Object {
			d := deploymentOf(c.sets["shop/web-6d4cf56db6"], "batch", 5)
			d.Namespace = ""
			return d
		}, 18},
	} {
		c, o := groups(), hour()
		o.With = []metav1.Object{x.object(c)}
		if r := run(t, c, o); r.With.Then.Pods != x.pods {
			t.Errorf("%s: %d pods run, want %d", name, r.With.Then.Pods, x.pods)
		}
	}
}

func TestRun_ABudgetOfAManifestAllowsWhatItsSpecSays(t *testing.T) {
	t.Parallel()
	budget := func(most int32) *policyv1.PodDisruptionBudget {
		n := intstr.FromInt32(most)
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ledger", UID: "budget"}, Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ledger"}},
		}}
	}
	o := hour()
	o.With = []metav1.Object{budget(1)}
	r := run(t, groups(), o)
	held := func(f *Forecast) bool {
		return slices.ContainsFunc(f.Stays, func(s Stays) bool { return s.Reason == "PodDisruptionBudget" })
	}
	if !held(&r.Forecast) || held(r.With) {
		t.Errorf("with maxUnavailable 0 %+v, with 1 %+v", r.Stays, r.With.Stays)
	}
}

func TestRun_WhatIsThereTwiceCountsOnceInWhateverOrderItComes(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		c := groups()
		for _, number := range order {
			n := node(0)
			n.Labels["from"] = fmt.Sprint(number)
			c.AddNumbered(number, n)
		}
		if got := c.nodes["ip-10-0-0-0.ec2.internal"].Labels["from"]; got != "2" {
			t.Errorf("in the order %v the node is that of object %s", order, got)
		}
	}
	c := groups()
	copied := node(3)
	copied.Name = "copied"
	c.Add(copied)
	if r := run(t, c, hour()); !slices.Contains(r.Notes, "ip-10-0-0-3.ec2.internal has the UID of copied and is left out: give it another") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestRun_PodsOnNodesThatAreMissingAreNoted(t *testing.T) {
	t.Parallel()
	c := groups()
	delete(c.nodes, "ip-10-0-0-8.ec2.internal")
	if r := run(t, c, hour()); !slices.Contains(r.Notes, "1 pod on nodes that are not in the input: they do not count") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestReport_WhatHasNoBoundIsNotCalledOptimal(t *testing.T) {
	t.Parallel()
	c := NewCluster()
	c.Add(node(0))
	r := run(t, c, hour())
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil || !strings.Contains(b.String(), "$0.00     -") {
		t.Errorf("%v\n%s", err, b.String())
	}
	o := hour()
	o.For = 1
	if r := run(t, groups(), o); r.Settled || r.verdict() != "Nothing would change within 0 seconds, and something may after that." {
		t.Errorf("%v: %s", r.Settled, r.verdict())
	}
}

// A node of a node group is of the NodePool that could have launched it, not of one of spot nodes with a taint.
func TestRun_NodesOfGroupsGoToAPoolThatFitsThem(t *testing.T) {
	t.Parallel()
	o := hour()
	o.Nodes = AllNodes
	c := readDump(t, karpenterDump)
	run(t, c, o)
	for _, name := range []string{"bootstrap-1", "bootstrap-2"} {
		if got := c.claims["simulated-"+name]; got == nil || got.Labels[v1.LabelNodePool] != "general" {
			t.Errorf("%s: %v", name, got)
		}
	}
	c = readDump(t, karpenterDump)
	c.nodes["bootstrap-1"].Labels[label.InstanceType] = "t3.large"
	r := run(t, c, o)
	if got := c.claims["simulated-bootstrap-1"].Labels[v1.LabelNodePool]; got != standInName || !slices.ContainsFunc(r.Notes, func(n string) bool {
		return strings.HasPrefix(n, "1 node of no NodePool, and none of the NodePools could have launched")
	}) {
		t.Errorf("%s; notes %q", got, r.Notes)
	}
	if slices.ContainsFunc(r.WouldLaunch, func(l Launches) bool { return l.Pool == standInName }) {
		t.Errorf("the pool that stands in launches: %+v", r.WouldLaunch)
	}
}

// A scale-up has just put pods on nodes whose kubelets report every five minutes.
func TestRun_TheTimeOfADumpIsAfterAllThatHappened(t *testing.T) {
	t.Parallel()
	c := readDump(t, karpenterDump)
	last := metav1.NewTime(c.newest.Add(20 * time.Second))
	for _, claim := range c.claims {
		claim.Status.LastPodEventTime = &last
		c.Add(claim)
	}
	if r := run(t, c, hour()); r.Time != last.UTC().Format(time.RFC3339) {
		t.Errorf("cluster as of %s, and pods came at %s", r.Time, last)
	}
}

// What Karpenter's default expireAfter of 720 hours brings is no news, and waiting for it is no change.
func TestReport_SaysWhenTheLastChangeIs(t *testing.T) {
	t.Parallel()
	r := run(t, readDump(t, karpenterDump), hour())
	last := r.WouldRemove.List[len(r.WouldRemove.List)-1].Seconds
	if want := ", after " + duration(last) + "."; r.Changed != last || r.Played != 3600 || !strings.HasSuffix(r.verdict(), want) {
		t.Errorf("changed %d, want %d: %s", r.Changed, last, r.verdict())
	}
	o := hour()
	o.For = 5 * time.Minute
	if r := run(t, readDump(t, karpenterDump), o); r.verdict() != "Nothing would change within 5 minutes, and something may after that." {
		t.Error(r.verdict())
	}
}

// Who presses Ctrl-C waits for one plan at most.
func TestRun_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"a forecast": {For: time.Hour, Seed: 1}, "advice": {For: time.Hour, Seed: 1, Advise: true}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := Run(ctx, groups(), o); !errors.Is(err, context.Canceled) || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}
