package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/pool"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/remark"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate/filltest"
)

// brokenSeeds are how many objects are drawn of each kind: the one with the most fields is
// broken, as optional ones may be absent.
const brokenSeeds = 30

// village is a world with a good class, a good pool of it and a pod that fits that pool alone,
// and an API server that answers every list with the same body.
type village struct {
	*world.World
	t       *testing.T
	answer  []byte
	clients *kube.Clients
	remarks map[string]int // by kind and name of the object: those that it cannot be read
}

func newVillage(t *testing.T) *village {
	t.Helper()
	v := &village{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(v.answer)
	}))
	t.Cleanup(server.Close)
	clients, err := kube.NewClients(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	v.clients = clients
	return v
}

func identity(name, version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: version, CreationTimestamp: metav1.NewTime(time.Unix(900, 0))}
}

// anew is the village without broken objects.
func (v *village) anew() {
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	fact := catalog.Fact{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{fact.Name: {0}}, OnDemand: map[string]quantity.Money{fact.Name: 100}}
	v.World = world.New([]catalog.Fact{fact}, market, func() time.Time { return time.Unix(1000, 0) })
	v.remarks = map[string]int{}

	class := &awsv1.EC2NodeClass{ObjectMeta: identity("good", "1")}
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	v.Observe(class)
	good := &v1.NodePool{ObjectMeta: identity("good", "2")}
	good.Spec.Template.ObjectMeta.Labels = map[string]string{"team": "good"}
	good.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "good"}
	v.Observe(good)
	v.Observe(&corev1.Namespace{ObjectMeta: identity("good", "3")})
	pod := &corev1.Pod{ObjectMeta: identity("good", "4")}
	pod.Namespace, pod.Spec.NodeSelector, pod.Spec.SchedulerName = "good", map[string]string{"team": "good"}, corev1.DefaultSchedulerName
	pod.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	v.Observe(pod)
}

func (v *village) UnreadCounted(map[string]int) {}
func (v *village) Remark(o *corev1.ObjectReference, r translate.Remark) {
	if r.Reason == translate.RemarkUnread {
		v.remarks[o.Kind+" "+o.Name]++
	}
}

func (v *village) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*v1.NodePool, error) {
	return &v1.NodePool{ObjectMeta: identity("patched", "1")}, nil
}

func (v *village) UpdateStatus(_ context.Context, p *v1.NodePool, _ metav1.UpdateOptions) (*v1.NodePool, error) {
	return p, nil
}

// served checks that the pod gets a node of the good pool beside the broken objects.
func (v *village) served(what string) {
	v.t.Helper()
	defer func() {
		if fault := recover(); fault != nil {
			v.t.Errorf("%s: %v", what, fault)
		}
	}()
	now := time.Unix(1000, 0)
	_ = (&pool.Keeper{World: v, Pools: v}).Sync(v.t.Context(), now)
	teller := &remark.Teller{World: v.World, Recorder: v}
	for range 2 {
		_ = teller.Look(v.t.Context(), now)
	}
	for _, c := range v.NodeClaims() {
		p, _ := v.NodePool(c.Labels[v1.LabelNodePool])
		k, _ := v.EC2NodeClass(c.Spec.NodeClassRef.Name)
		e := drift.Evidence{Claim: c}
		if p != nil {
			e.Pool = drift.ReadPool(p)
		}
		if k != nil {
			e.Class = drift.ReadClass(k)
		}
		drift.Judge(e)
	}
	var memory engine.Memory
	for n := range 3 {
		s, faults := v.Snapshot()
		out := engine.Step(engine.Input{Snapshot: s, Memory: memory, Policy: engine.DefaultPolicy(), Now: now.Add(time.Duration(n) * 20 * time.Second), Seed: uint64(n)})
		memory = out.Memory
		if slices.ContainsFunc(out.Plan.Actions, func(a plan.Action) bool { l, is := a.(plan.Launch); return is && l.Pool == "good" }) {
			return
		}
		if n == 2 {
			v.t.Errorf("%s: nothing is launched for the good pod: %+v, %v", what, out.Plan.Actions, faults)
		}
	}
}

// One field of an object of the product's kinds after the other has a value of another type,
// none, or an absurd one, as definitions of others allow it. The good objects are served, and
// each that cannot be read is named once.
func TestBroken_AnObjectOfOurKindsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	v := newVillage(t)
	values := []any{nil, "?!", strings.Repeat("x", 3000), -1, 1.5, json.Number("123456789012345678901234567890"), true, []any{}, []any{"?!"}, map[string]any{}, map[string]any{"?!": map[string]any{}}}
	cases, unread := 0, 0
	for _, x := range watches(v.clients, true)[:2] {
		cases, unread = v.breakEach(x, values, cases, unread)
	}
	for _, x := range decisive(v.clients)[:1] {
		cases, unread = v.breakEach(x, values, cases, unread)
	}
	if cases < 1000 || unread < 500 {
		t.Errorf("only %d broken objects, of which %d cannot be read", cases, unread)
	}
}

// breakEach serves a list for each field of objects of the kind, with an object for each value.
func (v *village) breakEach(x watched, values []any, cases, unread int) (allCases, allUnread int) {
	v.t.Helper()
	whole := richest(v.t, x.example)
	data, err := json.Marshal(whole)
	if err != nil {
		v.t.Fatal(err)
	}
	var fields [][]any
	fieldsOf(decoded(v.t, data), nil, &fields)
	for _, path := range fields {
		if path[0] == "metadata" || path[0] == "kind" || path[0] == "apiVersion" {
			continue // the API server checks these itself
		}
		var items []any
		for i := range len(values) + 1 {
			item, is := decoded(v.t, data).(map[string]any)
			if !is {
				v.t.Fatal("no object")
			}
			item["kind"], item["apiVersion"] = kindOf(x), versionOf(x)
			item["metadata"] = map[string]any{"name": fmt.Sprint("broken-", i), "uid": fmt.Sprint("uid-broken-", i), "resourceVersion": fmt.Sprint(100 + i), "labels": map[string]any{v1.LabelNodePool: "good"}}
			if i == len(values) {
				replace(item, path, nil, true)
			} else {
				replace(item, path, values[i], false)
			}
			items = append(items, item)
		}
		v.anew()
		v.answer, err = json.Marshal(map[string]any{"kind": kindOf(x) + "List", "apiVersion": versionOf(x), "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
		if err != nil {
			v.t.Fatal(err)
		}
		what, seen := fmt.Sprintf("%s with other values of %v", kindOf(x), path), 0
		var wrong []string
		if _, err := x.read(v.t.Context(), func(o metav1.Object) {
			seen++
			if isUnread(o) {
				wrong = append(wrong, kindOf(x)+" "+o.GetName())
			}
			v.Observe(o)
		}); err != nil || seen != len(items) {
			v.t.Errorf("%s: %d of %d are read, error %v", what, seen, len(items), err)
			continue
		}
		v.served(what)
		for _, name := range wrong {
			if v.remarks[name] != 1 {
				v.t.Errorf("%s: %s is named %d times", what, name, v.remarks[name])
			}
		}
		cases, unread = cases+len(items), unread+len(wrong)
	}
	return cases, unread
}

func kindOf(x watched) string { return reflect.TypeOf(x.example).Elem().Name() }

func versionOf(x watched) string {
	if strings.HasSuffix(x.what, awsv1.Group) {
		return awsv1.GroupVersion().String()
	}
	return v1.GroupVersion().String()
}

func isUnread(o metav1.Object) bool {
	switch o := o.(type) {
	case *v1.NodePool:
		return o.Unread != ""
	case *v1.NodeClaim:
		return o.Unread != ""
	case *awsv1.EC2NodeClass:
		return o.Unread != ""
	}
	return false
}

// filled is an object of the kind whose fields have values.
func filled(like runtime.Object, seed uint64) runtime.Object {
	into := reflect.New(reflect.TypeOf(like).Elem())
	filltest.Object(filltest.New(seed), into.Interface())
	settle(into.Elem())
	served := v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "good"} // else the daemon leaves it to others
	switch o := into.Interface().(type) {
	case *v1.NodePool:
		o.Spec.Template.Spec.NodeClassRef = served
	case *v1.NodeClaim:
		o.Spec.NodeClassRef = served
	case *appsv1.DaemonSet: // its pods may need a whole node: for two reasons they do not run on good ones
		elsewhere := corev1.NodeSelectorRequirement{Key: "broken", Operator: corev1.NodeSelectorOpIn, Values: []string{"here"}}
		o.Spec.Template.Spec.NodeSelector = map[string]string{"broken": "here"}
		o.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{elsewhere}}},
		}}}
	}
	return into.Interface().(runtime.Object) //nolint:forcetypeassert // of the type of an object
}

// settle makes every number or text below the value one of the two kinds that there are.
func settle(v reflect.Value) {
	if n, is := v.Interface().(intstr.IntOrString); is {
		n.Type = intstr.Int
		v.Set(reflect.ValueOf(n))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			settle(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			settle(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				settle(v.Field(i))
			}
		}
	default:
	}
}

// richest is the object with the most values of those that are drawn, without the fields that
// nothing reads.
func richest(t *testing.T, like runtime.Object) (best runtime.Object) {
	t.Helper()
	keeper, most := translate.NewKeeper(), 0
	for seed := range uint64(brokenSeeds) {
		o := filled(like, seed)
		keeper.Keep(o.(metav1.Object)) //nolint:forcetypeassert // it has metadata
		data, err := json.Marshal(o)
		if err != nil {
			continue // a number or text of a kind that does not exist
		}
		var fields [][]any
		if fieldsOf(decoded(t, data), nil, &fields); len(fields) > most {
			best, most = o, len(fields)
		}
	}
	if best == nil {
		t.Fatalf("no %T can be written", like)
	}
	return best
}

func decoded(t *testing.T, data []byte) (out any) {
	t.Helper()
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fieldsOf lists the paths of all values.
func fieldsOf(value any, path []any, into *[][]any) {
	if len(path) > 0 {
		*into = append(*into, slices.Clone(path))
	}
	switch x := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			fieldsOf(x[key], append(path, key), into)
		}
	case []any:
		if len(x) > 0 {
			fieldsOf(x[0], append(path, 0), into)
		}
	}
}

// replace gives the value at the path another one, or removes it.
func replace(value any, path []any, with any, remove bool) {
	switch x := value.(type) {
	case map[string]any:
		key, _ := path[0].(string)
		switch {
		case len(path) > 1:
			replace(x[key], path[1:], with, remove)
		case remove:
			delete(x, key)
		default:
			x[key] = with
		}
	case []any:
		if len(path) > 1 {
			replace(x[0], path[1:], with, remove)
		} else {
			x[0] = with
		}
	}
}

// One value of an object of each other kind that is watched is what the API server may let
// through: texts that are no label, name or number, amounts without bounds, nothing.
func TestBroken_AnObjectOfAnyWatchedKindHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	v := newVillage(t)
	keeper := translate.NewKeeper()
	kinds, cases := 0, 0
	for _, x := range watches(v.clients, true) {
		kinds++
		whole := richest(t, x.example)
		eachBreach(reflect.ValueOf(whole).Elem(), kindOf(x), func(path string) {
			v.anew()
			broken := whole.DeepCopyObject().(metav1.Object) //nolint:forcetypeassert // it has metadata
			broken.SetName("broken")
			broken.SetUID("uid-broken")
			broken.SetResourceVersion("100")
			if broken.GetNamespace() != "" {
				broken.SetNamespace("broken")
			}
			cases++
			func() {
				defer func() {
					if fault := recover(); fault != nil {
						t.Errorf("%s: %v", path, fault)
					}
				}()
				keeper.Keep(broken)
				v.Observe(broken)
			}()
			v.served(path)
		})
	}
	if kinds < 20 || cases < 1000 {
		t.Errorf("only %d kinds and %d broken objects", kinds, cases)
	}
}

// eachBreach changes one value below v after the other, and calls the function each time.
func eachBreach(v reflect.Value, path string, call func(path string)) {
	if !v.CanSet() {
		return
	}
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	try := func(with reflect.Value) {
		v.Set(with)
		call(fmt.Sprintf("%s = %.40v", path, with))
		v.Set(was)
	}
	switch v.Interface().(type) {
	case resource.Quantity:
		for _, text := range []string{"0", "-1", "8E", "1n", "123456789012345678901234567890"} {
			try(reflect.ValueOf(resource.MustParse(text)))
		}
		return
	case metav1.Time:
		try(reflect.ValueOf(metav1.Time{}))
		try(reflect.ValueOf(metav1.NewTime(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))))
		return
	case intstr.IntOrString:
		for _, text := range []string{"-1", "2147483647", "?!", "vcpus / 0"} {
			try(reflect.ValueOf(intstr.Parse(text)))
		}
		return
	case metav1.FieldsV1, metav1.MicroTime, metav1.Duration, []metav1.ManagedFieldsEntry:
		return
	}
	switch v.Kind() {
	case reflect.String:
		for _, text := range []string{"", "?!", strings.Repeat("x", 300)} {
			try(reflect.ValueOf(text).Convert(v.Type()))
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		for _, n := range []int64{-1, math.MaxInt32, math.MinInt32} {
			try(reflect.ValueOf(n).Convert(v.Type()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			try(reflect.Zero(v.Type()))
			eachBreach(v.Elem(), path, call)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			try(reflect.Zero(v.Type()))
			try(reflect.AppendSlice(v, v))
			eachBreach(v.Index(0), path+"[0]", call)
		}
	case reflect.Map:
		breakMap(v, try)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "TypeMeta" {
				eachBreach(v.Field(i), path+"."+f.Name, call)
			}
		}
	default:
	}
}

// breakMap tries the map empty, with an absurd key, and with absurd values.
func breakMap(v reflect.Value, try func(reflect.Value)) {
	if v.Len() == 0 {
		return
	}
	try(reflect.Zero(v.Type()))
	first := v.MapKeys()[0]
	with := func(key, value reflect.Value) {
		next := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() {
			next.SetMapIndex(k, v.MapIndex(k))
		}
		next.SetMapIndex(key, value)
		try(next)
	}
	if v.Type().Key().Kind() == reflect.String {
		with(reflect.ValueOf("?! "+strings.Repeat("x", 300)).Convert(v.Type().Key()), v.MapIndex(first))
	}
	switch v.Type().Elem() {
	case reflect.TypeFor[resource.Quantity]():
		for _, text := range []string{"-1", "8E", "1n"} {
			with(first, reflect.ValueOf(resource.MustParse(text)))
		}
	case reflect.TypeFor[string]():
		for _, text := range []string{"", "?!", strings.Repeat("x", 300)} {
			with(first, reflect.ValueOf(text))
		}
	default:
	}
}
