package market

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// replica is one daemon after another of the same cluster, with the same API server.
type replica struct {
	*ReportKeeper
	t     *testing.T
	kube  *fake.Clientset
	world *world.World
	class *awsv1.EC2NodeClass
	now   time.Time
	log   *bytes.Buffer
	sent  []string       // Events: class, instance type, resource and text
	count map[string]int // the metric
}

func (r *replica) SmallerTypesCounted(byClass map[string]int) { r.count = byClass }

func (r *replica) SmallerType(c *awsv1.EC2NodeClass, instanceType, resource string, has *plan.Reported) {
	r.sent = append(r.sent, strings.Join([]string{c.Name, instanceType, resource, has.Explain(instanceType, resource)}, " "))
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	r := &replica{t: t, kube: newRegion(t).kube, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	r.class = &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid-default", ResourceVersion: "1"}}
	r.class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zoneA.Name, ZoneID: zoneA.ID}}
	r.class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	r.class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	return r.restart()
}

// restart starts a daemon that knows nothing but what the API server has.
func (r *replica) restart() *replica {
	facts := []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}}
	sold := catalog.Market{Zones: []catalog.Zone{zoneA}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 100}}
	r.world, r.log = world.New(facts, sold, func() time.Time { return r.now }), &bytes.Buffer{}
	r.ReportKeeper = &ReportKeeper{
		World: r.world, Store: Store{r.kube.CoreV1().ConfigMaps("karpenter")}, Logger: hclog.New(&hclog.LoggerOptions{Output: r.log}), Recorder: r,
	}
	r.sent, r.count = nil, nil
	r.world.Observe(r.class)
	return r
}

func (r *replica) planned() catalog.InstanceType {
	r.t.Helper()
	class, _ := r.world.TypesOf("default")
	if len(class.Types) != 1 {
		r.t.Fatalf("types %v", class.Types)
	}
	return class.Types[0]
}

// report lets a node join that has so much for pods.
func (r *replica) report(name string, allocatable quantity.Resources) {
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "2"}}
	c.Labels, c.Annotations = map[string]string{label.InstanceType: "m5.large"}, drift.ClassStamp(r.class)
	c.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
	c.Status.ProviderID, c.Status.ImageID = "aws:///us-west-2a/i-"+name, "ami-1"
	r.world.Observe(c)
	r.world.Observe(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-node-" + name), ResourceVersion: "3"},
		Spec:       corev1.NodeSpec{ProviderID: c.Status.ProviderID}, Status: corev1.NodeStatus{Allocatable: translate.ResourceList(allocatable)},
	})
}

func (r *replica) sweep(after time.Duration) {
	r.t.Helper()
	r.now = r.now.Add(after)
	if err := r.Sweep(r.t.Context(), r.now); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) writes() (n int) {
	for _, a := range r.kube.Actions() {
		if a.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

// The node in vain is deleted when the next daemon starts.
func TestReports_SurviveARestartWhenTheNodeIsGone(t *testing.T) {
	r := newReplica(t)
	r.Begin(t.Context())
	small := r.planned().Allocatable
	small.EphemeralBytes -= 80 << 20
	r.report("a", small)
	r.sweep(ReportsEvery)
	r.restart().Begin(t.Context())
	if got := r.planned(); got.Allocatable.Compare(small) != 0 || len(got.Smaller) != 1 || got.Smaller[0].Node != "a" {
		t.Errorf("after the restart planned with %s (%v), want %s", got.Allocatable, got.Smaller, small)
	}
}

func TestReports_AreWrittenOnceAndLoggedOnce(t *testing.T) {
	r := newReplica(t)
	r.Begin(t.Context())
	small := r.planned().Allocatable
	r.sweep(ReportsEvery)
	if r.writes() > 0 {
		t.Error("written before a node has reported anything")
	}
	small.MemoryBytes -= 1 << 30
	r.report("a", small)
	r.report("b", small)
	for range 10 {
		r.sweep(ReportsEvery)
	}
	if n := r.writes(); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
	for _, want := range []string{"ec2nodeclass=default", "node=a", "resource=memory", "instance_type=m5.large", fmt.Sprint("reported=", small.MemoryBytes), fmt.Sprint("catalogue=", small.MemoryBytes+1<<30)} {
		if n := strings.Count(r.log.String(), want); n != 1 {
			t.Errorf("the log has %q %d times: %s", want, n, r.log)
		}
	}
}

func TestReports_AreToldInOneEventAndCountedAlsoAfterARestart(t *testing.T) {
	r := newReplica(t)
	r.Begin(t.Context())
	small := r.planned().Allocatable
	r.report("whole", small)
	r.sweep(ReportsEvery)
	if len(r.sent) > 0 || r.count["default"] != 0 {
		t.Errorf("a node as expected: %v, %v", r.sent, r.count)
	}
	small.MemoryBytes -= 1 << 30
	for _, node := range []string{"a", "b", "c"} {
		r.report(node, small)
		r.sweep(ReportsEvery)
		small.MemoryBytes -= 1 << 20
	}
	if len(r.sent) != 1 || r.count["default"] != 1 {
		t.Fatalf("three nodes: %v, %v", r.sent, r.count)
	}
	for _, want := range []string{"default m5.large memory Nodes of instance type m5.large have ", "node a reported", "were expected", "Plans count on no more", "change what takes it"} {
		if !strings.Contains(r.sent[0], want) {
			t.Errorf("the Event lacks %q: %s", want, r.sent[0])
		}
	}
	r.restart().Begin(t.Context())
	r.sweep(ReportsEvery)
	if len(r.sent) != 0 || r.count["default"] != 1 {
		t.Errorf("after a restart: %v, %v", r.sent, r.count)
	}
	small.EphemeralBytes -= 1 << 30
	r.report("d", small)
	r.sweep(ReportsEvery)
	if len(r.sent) != 1 || !strings.HasPrefix(r.sent[0], "default m5.large ephemeral-storage ") || r.count["default"] != 1 {
		t.Errorf("another resource: %v, %v", r.sent, r.count)
	}
	r.class = r.class.DeepCopy()
	r.class.ResourceVersion, r.class.Status.AMIs = "9", []awsv1.AMI{{ID: "ami-2"}}
	r.world.Observe(r.class)
	r.sweep(recountEvery)
	if r.count["default"] != 0 {
		t.Errorf("another image: %v", r.count)
	}
}

// An Event is of an object, and is forgotten with it.
func TestReports_AClassThatIsMadeAgainUnderItsNameIsToldAgain(t *testing.T) {
	r := newReplica(t)
	r.Begin(t.Context())
	small := r.planned().Allocatable
	small.MemoryBytes -= 1 << 30
	r.report("a", small)
	r.sweep(ReportsEvery)
	if len(r.sent) != 1 {
		t.Fatalf("before: %v", r.sent)
	}
	again := func(uid types.UID) {
		r.class = r.class.DeepCopy()
		r.class.UID, r.class.ResourceVersion = uid, "9"
		r.world.Observe(r.class)
		r.sweep(recountEvery)
		r.sweep(recountEvery)
	}
	r.world.Forget(r.class)
	r.sweep(recountEvery)
	if len(r.events) > 0 || len(r.count) > 0 {
		t.Errorf("of a class that is gone there are %v and %v", r.events, r.count)
	}
	if again("uid-2"); len(r.sent) != 2 {
		t.Errorf("made again: %v", r.sent)
	}
	r.world.Forget(r.class)
	if again("uid-3"); len(r.sent) != 3 || len(r.events) != 1 {
		t.Errorf("made again at once: %v, %v", r.sent, r.events)
	}
	r.restart().Begin(t.Context())
	r.sweep(recountEvery)
	r.world.Forget(r.class)
	if again("uid-4"); len(r.sent) != 1 {
		t.Errorf("made again after a restart: %v", r.sent)
	}
}

// The answers of AWS are in the same ConfigMap.
func TestReports_LeaveTheAnswersOfAWSAlone(t *testing.T) {
	region := newRegion(t)
	k := region.keeper()
	k.Begin(t.Context(), time.Minute)
	region.after(k, 0)
	before := region.stored().BinaryData[storeKey]
	r := newReplica(t)
	r.kube = region.kube
	r.restart().Begin(t.Context())
	r.report("a", r.planned().Allocatable)
	r.sweep(ReportsEvery)
	m := region.stored()
	if !bytes.Equal(m.BinaryData[storeKey], before) || len(m.BinaryData[reportsKey]) == 0 {
		t.Errorf("keys %d and %d bytes", len(m.BinaryData[storeKey]), len(m.BinaryData[reportsKey]))
	}
	region.spot["m5.large"] = map[string]quantity.Money{zoneA.Name: 44}
	region.after(k, time.Hour)
	if got := region.stored().BinaryData[reportsKey]; !bytes.Equal(got, m.BinaryData[reportsKey]) {
		t.Error("the answers replaced the reports")
	}
}

func TestReports_WhatCannotBeReadIsLearnedAnewAndReplaced(t *testing.T) {
	good := func(change func(*keptReports)) []byte {
		k := keptReports{Format: reportsFormat, Reports: []keptOrigin{{
			Origin: catalog.Origin{Class: "default", Spec: drift.ClassHash(newReplica(t).class), Image: "ami-1"},
			Types:  map[string]catalog.Report{"m5.large": {"memory": {Least: 1 << 30, Node: "old", Seen: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)}}},
		}}}
		change(&k)
		data, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		return zipped(t, string(data))
	}
	whole := good(func(*keptReports) {})
	for name, data := range map[string][]byte{
		"nothing":        nil,
		"no gzip":        []byte("hello"),
		"cut short":      whole[:len(whole)-12],
		"no JSON":        zipped(t, "["),
		"an answer":      zipped(t, `{"Format":1,"Region":"us-west-2"}`),
		"another format": good(func(k *keptReports) { k.Format = 2 }),
		"no class":       good(func(k *keptReports) { k.Reports[0].Class = "" }),
		"no image":       good(func(k *keptReports) { k.Reports[0].Image = "" }),
		"no type":        good(func(k *keptReports) { k.Reports[0].Types[""] = catalog.Report{} }),
		"nothing of it":  good(func(k *keptReports) { k.Reports[0].Types["m5.large"]["memory"] = catalog.Figure{} }),
		"less than none": good(func(k *keptReports) { k.Reports[0].Types["m5.large"]["memory"] = catalog.Figure{Least: -5} }),
		"not known":      good(func(k *keptReports) { k.Reports[0].Types["m5.large"] = catalog.Report{"colour": {Least: 5}} }),
		"another class":  good(func(k *keptReports) { k.Reports[0].Class = "other" }),
		"another spec":   good(func(k *keptReports) { k.Reports[0].Spec = "x" }),
		"another image":  good(func(k *keptReports) { k.Reports[0].Image = "ami-2" }),
		"another type": good(func(k *keptReports) {
			k.Reports[0].Types["m5.xlarge"] = k.Reports[0].Types["m5.large"]
			delete(k.Reports[0].Types, "m5.large")
		}),
		"of long ago":     good(func(k *keptReports) { setSeen(k, time.Time{}) }),
		"still to come":   good(func(k *keptReports) { setSeen(k, time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)) }),
		"types of nobody": good(func(k *keptReports) { k.Reports[0].Types = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t)
			listed := r.planned().Allocatable
			m, err := r.kube.CoreV1().ConfigMaps("karpenter").Get(t.Context(), "karpenterd-catalogue", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			m.BinaryData = map[string][]byte{reportsKey: data}
			if _, err := r.kube.CoreV1().ConfigMaps("karpenter").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			r.Begin(t.Context())
			if got := r.planned().Allocatable; got.Compare(listed) != 0 {
				t.Errorf("planned with %s of %s", got, listed)
			}
			small := listed
			small.MemoryBytes -= 5 << 20
			r.report("a", small)
			r.sweep(ReportsEvery)
			r.restart().Begin(t.Context())
			if got := r.planned().Allocatable; got.Compare(small) != 0 {
				t.Errorf("after a node reported and a restart planned with %s, want %s", got, small)
			}
		})
	}
	r := newReplica(t)
	if got, err := decodeReports(whole); err != nil {
		t.Error(err)
	} else if r.world.Recall(got); r.planned().Allocatable.MemoryBytes != 1<<30 {
		t.Error("the good one is not read")
	}
	none := good(func(k *keptReports) {
		k.Reports[0].Types["m5.large"]["nvidia.com/gpu"] = catalog.Figure{Node: "old", Short: 2}
	})
	if got, err := decodeReports(none); err != nil || len(got) != 1 {
		t.Errorf("a node without its devices is not read: %v, %v", got, err)
	}
}

func setSeen(k *keptReports, at time.Time) {
	f := k.Reports[0].Types["m5.large"]["memory"]
	f.Seen = at
	k.Reports[0].Types["m5.large"]["memory"] = f
}

// What is kept is read before anything is written, also when the API server answers late.
func TestReports_AnAPIServerThatRefusesIsAskedAgainEverMoreSeldom(t *testing.T) {
	r := newReplica(t)
	r.Begin(t.Context())
	small := r.planned().Allocatable
	small.MemoryBytes -= 1 << 30
	r.report("a", small)
	r.sweep(ReportsEvery)

	down := true
	r.kube.PrependReactor("*", "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) { return down, nil, errBroken })
	r.restart().Begin(t.Context())
	other := r.planned().Allocatable
	other.PodSlots--
	r.report("b", other)
	failures := 0
	for range 3600 {
		r.now = r.now.Add(ReportsEvery)
		if err := r.Sweep(t.Context(), r.now); err != nil {
			failures++
			if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `configmap "karpenterd-catalogue"`) {
				t.Fatal(err)
			}
		}
	}
	if failures < 8 || failures > 14 {
		t.Errorf("%d failures in an hour", failures)
	}
	down = false
	r.sweep(mostPause)
	r.sweep(ReportsEvery)
	r.restart().Begin(t.Context())
	want := small
	want.PodSlots--
	if got := r.planned().Allocatable; got.Compare(want) != 0 {
		t.Errorf("after all planned with %s, want %s", got, want)
	}
}

func TestReports_AsManyAsAreRememberedFitIntoAConfigMap(t *testing.T) {
	var all catalog.Reports
	now, spec := time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC), drift.ClassHash(newReplica(t).class)
	for i := range catalog.MostReports + 10 {
		n := int64(i)*7919%9973 + 1
		of := catalog.Origin{Class: fmt.Sprint("team-", i%5), Spec: spec, Image: fmt.Sprintf("ami-%017x", n%20)}
		all, _ = all.With(of, fmt.Sprintf("m%d.%dxlarge", i%9, i), fmt.Sprintf("ip-10-%d-%d-%d.us-west-2.compute.internal", n%250, n%130, n%170), quantity.Resources{
			MilliCPU: n * 10, MemoryBytes: n * 1_234_567, EphemeralBytes: n * 9_876_543, PodSlots: n,
		}, now.Add(time.Duration(i)*time.Minute))
	}
	packed, err := encode(toKeep(all), reportsMost)
	if err != nil || len(packed) > reportsMost*3/4 {
		t.Fatalf("%d bytes, %v", len(packed), err)
	}
	back, err := decodeReports(packed)
	n := 0
	for _, types := range back {
		n += len(types)
	}
	if err != nil || n != catalog.MostReports {
		t.Errorf("%d reports, %v", n, err)
	}
}

func FuzzDecodeReports(f *testing.F) {
	f.Add([]byte("hello"))
	packed, err := encode(keptReports{Format: 1, Reports: []keptOrigin{{catalog.Origin{Class: "c", Image: "i"}, map[string]catalog.Report{"a": {"cpu": {Least: 1}}}}}}, reportsMost)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(_ *testing.T, data []byte) {
		if r, err := decodeReports(data); err == nil { // whatever it holds must not harm
			catalog.AsReported([]catalog.InstanceType{{Name: "a"}}, catalog.Reports(nil).Merge(r).Of("c", "", []string{"i"}, time.Now()))
		}
	})
}
