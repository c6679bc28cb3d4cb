package shadow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

const region = "us-east-1"

func start() time.Time { return time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC) }

// node is one of a node group, which was made at the time.
func node(name, instanceType string, cpu int64, made time.Time) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(made), Labels: map[string]string{
		label.Arch: "amd64", label.OS: "linux", label.Hostname: name, label.InstanceType: instanceType, label.Zone: region + "a", label.Region: region,
	}}}
	n.Spec.ProviderID = "aws:///" + region + "a/i-" + name
	n.Status.Allocatable = corev1.ResourceList{"cpu": *resource.NewQuantity(cpu, resource.DecimalSI), "memory": *resource.NewQuantity(cpu<<32, resource.BinarySI), "pods": resource.MustParse("58")}
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// pod asks for one vCPU and runs on the node.
func pod(name, on string, made time.Time) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(made), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"),
		}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// cluster has so many nodes of eight vCPU, each with one pod.
func cluster(k *Keeper, nodes int) {
	replicas := int32(nodes)
	k.Observe(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	})
	for i := range nodes {
		k.Observe(node(fmt.Sprint("n", i), "m5.2xlarge", 8, start().Add(-time.Hour)))
		k.Observe(k.Keep(pod(fmt.Sprint("p", i), fmt.Sprint("n", i), start().Add(-time.Hour))))
	}
}

func keeper(t *testing.T, client *fake.Clientset) *Keeper {
	t.Helper()
	k := New(Config{Region: region, Settings: simulate.Settings{Policy: engine.DefaultPolicy(), Overhead: catalog.DefaultOverhead()}, Store: Store{client.CoreV1().ConfigMaps("karpenter")}, Logger: hclog.NewNullLogger(), Publish: func(View) {}})
	facts, market, err := embedded.Load(region)
	if err != nil {
		t.Fatal(err)
	}
	k.Sell(facts, market)
	return k
}

func kept(data string) *fake.Clientset {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: install.ShadowName}}
	if data != "" {
		m.Data = map[string]string{historyKey: data}
	}
	return fake.NewClientset(m)
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

func TestLook_SaysWhatTheFleetCostsAndWhatItWouldCostAndWritesTheHistoryAlone(t *testing.T) {
	t.Parallel()
	client := kept("")
	k := keeper(t, client)
	cluster(k, 3)
	for i := range 3 {
		k.Look(t.Context(), start().Add(time.Duration(i)*time.Minute))
	}
	v := k.View()
	if v.Failed != "" || v.Report == nil || v.Report.Now.Nodes != 3 || v.Report.Then.Nodes != 1 {
		t.Fatalf("%+v", v)
	}
	sum := v.History.Sum()
	if len(v.History) != 1 || !near(sum.Seconds, 120) || !near(sum.Paid, v.Report.Now.CostPerHour/30) || !near(sum.Forecast, v.Report.Then.CostPerHour/30) || sum.Bound <= 0 || sum.Bound > sum.Forecast {
		t.Errorf("%+v", sum)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" && a.GetVerb() != "patch" || a.GetResource().Resource != "configmaps" {
			t.Errorf("the shadow does %s of %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

func TestLook_SpeaksForFiveMinutesAtMost(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	cluster(k, 1)
	k.Look(t.Context(), start())
	k.Look(t.Context(), start().Add(3*time.Hour))
	if sum := k.View().History.Sum(); !near(sum.Seconds, 300) {
		t.Errorf("two looks three hours apart speak for %v s", sum.Seconds)
	}
}

// A node is compared once, when its pods have had a minute to come to it.
func TestLook_ComparesWhatAnotherProgramLaunchesForTheSamePods(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	cluster(k, 1)
	for i := range 7 { // the one node is full
		k.Observe(k.Keep(pod(fmt.Sprint("full", i), "n0", start())))
	}
	at := start()
	look := func() { k.Look(t.Context(), at); at = at.Add(time.Minute) }
	look()
	k.Observe(node("big", "m5.8xlarge", 32, at))
	k.Observe(k.Keep(pod("a", "big", at)))
	k.Observe(k.Keep(pod("b", "big", at)))
	look()
	if n := len(k.View().Compared); n != 0 {
		t.Fatalf("%d comparisons at the first look that sees the node", n)
	}
	look()
	look()
	v := k.View()
	if len(v.Compared) != 1 {
		t.Fatalf("%d comparisons, want the one of the new node: %+v", len(v.Compared), v.Failed)
	}
	c := v.Compared[0]
	if c.Pods != 2 || len(c.LeftOut) != 0 || c.Theirs.Nodes != 1 || c.Theirs.Types[0] != "m5.8xlarge" || c.Ours.Nodes != 1 || c.Ours.CostPerHour <= 0 || c.Ours.CostPerHour > c.Theirs.CostPerHour/5 {
		t.Errorf("%+v", c)
	}
	if l := v.History.Sum().Launches; l.Theirs.Nodes != 1 || l.Ours.CostPerHour != c.Ours.CostPerHour {
		t.Errorf("%+v", l)
	}
}

func TestLook_OfNothingSaysWhatIsMissingAndGoesOn(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	k.Look(t.Context(), start())
	if v := k.View(); !strings.Contains(v.Failed, "neither nodes nor NodePools") || len(v.History) != 0 {
		t.Errorf("%+v", v)
	}
	cluster(k, 2)
	k.Look(t.Context(), start().Add(time.Minute))
	if v := k.View(); v.Failed != "" || v.Report == nil {
		t.Errorf("%+v", v)
	}
	k.Forget(node("n1", "m5.2xlarge", 8, start()))
	k.Look(t.Context(), start().Add(2*time.Minute))
	if v := k.View(); v.Report.Now.Nodes != 1 {
		t.Errorf("%d nodes after one was deleted", v.Report.Now.Nodes)
	}
}

func TestSave_ContinuesTheHistoryOfAnEarlierShadow(t *testing.T) {
	t.Parallel()
	earlier := History{
		{Start: start().Truncate(time.Hour).Add(-time.Hour), Seconds: 3600, Nodes: simulate.AllNodes, Paid: 2, Forecast: 1, Bound: 0.5},
		{Start: start().Truncate(time.Hour), Seconds: 600, Nodes: simulate.AllNodes, Paid: 3, Forecast: 1, Bound: 0.5},
	}
	text, err := json.Marshal(earlier)
	if err != nil {
		t.Fatal(err)
	}
	client := kept(string(text))
	k := keeper(t, client)
	cluster(k, 1)
	k.Look(t.Context(), start())
	k.Look(t.Context(), start().Add(time.Minute))
	if err := k.Save(t.Context(), start()); err != nil {
		t.Fatal(err)
	}
	h, err := k.Store.Load(t.Context())
	if err != nil || len(h) != 2 || h[0].Paid != 2 || !near(h[1].Seconds, 660) || h[1].Paid <= 3 {
		t.Errorf("%+v %v", h, err)
	}
}

func TestSave_DoesNotReplaceAHistoryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	client := kept("[{")
	k := keeper(t, client)
	cluster(k, 1)
	k.Look(t.Context(), start())
	if err := k.Save(t.Context(), start()); err == nil || !strings.Contains(err.Error(), "delete the key") {
		t.Errorf("%v", err)
	}
	m, err := client.CoreV1().ConfigMaps("karpenter").Get(t.Context(), install.ShadowName, metav1.GetOptions{})
	if err != nil || m.Data[historyKey] != "[{" {
		t.Errorf("%+v %v", m, err)
	}
}

// 30 days of hours, each as wide as an hour can be, fit into a ConfigMap.
func TestHistory_Of30DaysFitsIntoAConfigMap(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	cluster(k, 1)
	k.Look(t.Context(), start())
	v := k.View()
	var h History
	for i := range 40 * 24 {
		h.look(start().Add(time.Duration(i)*time.Hour+time.Duration(i)*time.Millisecond), mostBetween, simulate.OwnedNodes, &v.Report.Forecast, Launches{})
		x := &h[len(h)-1]
		x.Seconds, x.Paid, x.Forecast, x.Bound = 3599.999999, 12345.678901234567, 12345.678901234567, 12345.678901234567
		x.Launches.Waited, x.Launches.WaitedSeconds, x.Launches.LeftOut = 12345, 12345.678901234567, 12345
		x.Launches.Theirs.Nodes, x.Launches.Theirs.CostPerHour, x.Launches.Ours.Nodes, x.Launches.Ours.CostPerHour = 12345, 12345.678901234567, 12345, 12345.678901234567
	}
	text, err := json.Marshal(h)
	if err != nil || len(h) != 30*24 || len(text) > 512<<10 {
		t.Errorf("%d hours take %d bytes, %v", len(h), len(text), err)
	}
}

func TestRun_SavesWhenItEnds(t *testing.T) {
	t.Parallel()
	client := kept("")
	k := keeper(t, client)
	cluster(k, 1)
	ctx, end := context.WithCancel(t.Context())
	k.Publish = func(View) { end() }
	if err := k.Run(ctx, func() func() { return func() {} }); err != nil {
		t.Fatal(err)
	}
	if h, err := k.Store.Load(t.Context()); err != nil || len(h) != 1 {
		t.Errorf("%v %v", h, err)
	}
}

// A fault of the core ends one look, not the shadow.
func TestLook_AFaultOfTheDaemonIsAnErrorOfOneLook(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	if _, err := k.simulate(t.Context(), nil, nil, nil, start()); !errors.Is(err, errFault) {
		t.Errorf("%v", err)
	}
}

// full fills node n0 with pods that cannot go elsewhere but to a new node.
func full(k *Keeper) {
	for i := range 7 {
		k.Observe(k.Keep(pod(fmt.Sprint("full", i), "n0", start())))
	}
}

// beside has looked once at a cluster of one full node: what is made from now on is compared.
func beside(t *testing.T) (k *Keeper, at time.Time) {
	t.Helper()
	k, at = keeper(t, kept("")), start()
	cluster(k, 1)
	full(k)
	looks(t, k, &at, 1)
	return k, at
}

// looks looks so many times, a minute apart.
func looks(t *testing.T, k *Keeper, from *time.Time, n int) {
	t.Helper()
	for range n {
		k.Look(t.Context(), *from)
		*from = from.Add(time.Minute)
		if v := k.View(); v.Failed != "" {
			t.Fatal(v.Failed)
		}
	}
}

// A node in place of one that is drained has no pods yet: that it costs something and nothing would
// be launched for no pods is no saving.
func TestLook_ANodeWithoutPodsIsNotCompared(t *testing.T) {
	t.Parallel()
	k, at := beside(t)
	k.Observe(node("late", "m5.8xlarge", 32, at))
	k.Observe(node("never", "m5.8xlarge", 32, at))
	looks(t, k, &at, 4)
	if v := k.View(); len(v.Compared) != 0 || v.History.Sum().Launches.LeftOut != 0 {
		t.Fatalf("%+v", v.History)
	}
	k.Observe(k.Keep(pod("a", "late", at)))
	looks(t, k, &at, 1)
	if v := k.View(); len(v.Compared) != 1 || !slices.Equal(v.Compared[0].Nodes, []string{"late"}) {
		t.Fatalf("%+v", v.Compared)
	}
	looks(t, k, &at, 2*mostWaits)
	if l := k.View().History.Sum().Launches; l.Theirs.Nodes != 1 || l.LeftOut != 1 {
		t.Errorf("%+v, want the node that never had a pod left out", l)
	}
}

func TestLook_WhileANodeIsDrainedItsPoolIsNotCompared(t *testing.T) {
	t.Parallel()
	k, at := beside(t)
	old := node("n0", "m5.2xlarge", 8, start().Add(-time.Hour))
	old.Spec.Unschedulable = true
	k.Observe(old)
	k.Observe(node("new", "m5.8xlarge", 32, at))
	k.Observe(k.Keep(pod("a", "new", at)))
	looks(t, k, &at, 3)
	if n := len(k.View().Compared); n != 0 {
		t.Fatalf("%d comparisons while a node is drained whose pods are about to come", n)
	}
	k.Forget(old)
	looks(t, k, &at, 1)
	if n := len(k.View().Compared); n != 1 {
		t.Errorf("%d comparisons afterwards", n)
	}
}

func TestLook_ANodeThatIsNotReadyForAWhileIsComparedOnce(t *testing.T) {
	t.Parallel()
	k, at := beside(t)
	made := at
	k.Observe(k.Keep(pod("a", "new", at)))
	for range 3 {
		n := node("new", "m5.8xlarge", 32, made)
		k.Observe(n)
		looks(t, k, &at, 2)
		n = node("new", "m5.8xlarge", 32, made)
		n.Status.Conditions[0].Status = corev1.ConditionFalse
		k.Observe(n)
		looks(t, k, &at, 1)
	}
	if l := k.View().History.Sum().Launches; l.Theirs.Nodes != 1 {
		t.Errorf("%+v", l)
	}
}

// One pod that the daemon has no place for leaves its own node out, and no other.
func TestLook_ANodeWithAPodWithoutAPlaceIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	k, at := beside(t)
	for _, name := range []string{"a", "b"} {
		k.Observe(node(name, "m5.8xlarge", 32, at))
		p := pod("on-"+name, name, at)
		if name == "a" {
			p.Spec.NodeSelector = map[string]string{"eks.amazonaws.com/nodegroup": "workers"}
		}
		k.Observe(k.Keep(p))
	}
	looks(t, k, &at, 2)
	v := k.View()
	if len(v.Compared) != 1 || !slices.Equal(v.Compared[0].Nodes, []string{"b"}) || !slices.Equal(v.Compared[0].LeftOut, []string{"a"}) || v.History.Sum().Launches.LeftOut != 1 {
		t.Errorf("%+v %+v", v.Compared, v.History)
	}
}

// Pods that wait cost nothing yet: what nodes for them would cost is no loss.
func TestHistory_IsAboutThePodsThatRun(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	cluster(k, 1)
	full(k)
	for i := range 16 {
		p := pod(fmt.Sprint("waits", i), "", start())
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
		k.Observe(k.Keep(p))
	}
	at := start()
	looks(t, k, &at, 3)
	sum := k.View().History.Sum()
	if sum.Seconds == 0 || sum.Forecast > sum.Paid+1e-6 {
		t.Errorf("%+v", sum)
	}
	if r := k.View().Report; r.Then.Pods != 24 || r.Then.CostPerHour <= r.Now.CostPerHour {
		t.Errorf("the report is about all pods: %+v", r.Then)
	}
}

// Which nodes may be replaced is decided once: the cost of all and that of some do not add up.
func TestLook_DecidesOnceWhichNodesMayBeReplaced(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	cluster(k, 2)
	at := start()
	looks(t, k, &at, 1)
	pool := &v1.NodePool{}
	pool.Name, pool.UID = "general", "general"
	pool.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
	k.Observe(pool)
	looks(t, k, &at, 1)
	if v := k.View(); v.Report.Nodes != simulate.AllNodes || v.History[0].Nodes != simulate.AllNodes {
		t.Errorf("%s %+v", v.Report.Nodes, v.History)
	}
}

// A clock that was wrong for a while takes no hour away, and leaves none behind.
func TestHistory_OutlivesAWrongClock(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	cluster(k, 1)
	looked := start()
	looks(t, k, &looked, 3)
	f := &k.View().Report.Forecast
	var h History
	for i := range 5 {
		h.look(start().Add(time.Duration(i)*time.Hour), time.Minute, simulate.AllNodes, f, Launches{})
	}
	h.look(start().Add(31*24*time.Hour), time.Minute, simulate.AllNodes, f, Launches{})
	if len(h) != 6 {
		t.Fatalf("%d hours", len(h))
	}
	h.look(start().Add(5*time.Hour), -31*24*time.Hour, simulate.AllNodes, f, Launches{})
	if len(h) != 6 || !h[0].Start.Equal(start()) || !h[5].Start.Equal(start().Add(5*time.Hour)) || h[5].Seconds != 0 {
		t.Errorf("%+v", h)
	}
}

func TestObserve_TheShadowsOwnPodsAreNotThere(t *testing.T) {
	t.Parallel()
	k := keeper(t, kept(""))
	k.Namespace = "observer"
	cluster(k, 1)
	own := pod("karpenterd-1", "n0", start())
	own.Namespace, own.Labels = "observer", map[string]string{nameLabel: install.DefaultName}
	k.Observe(k.Keep(own))
	k.Look(t.Context(), start())
	if n := k.View().Report.Now.Pods; n != 1 {
		t.Errorf("%d pods", n)
	}
}
