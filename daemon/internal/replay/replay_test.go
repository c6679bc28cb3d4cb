package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// fleet is an input with so many pods that wait, each with labels of its own.
func fleet(t *testing.T, pods int) engine.Input {
	t.Helper()
	size := quantity.Resources{MilliCPU: 4000, MemoryBytes: 16 << 30, PodSlots: 30}
	o := cluster.Objects{Pools: []cluster.Pool{{Name: "p", UID: "p", Class: "c", Ready: true}}, Classes: []cluster.Class{{Name: "c", Ready: true}}}
	for i := range 800 {
		name := fmt.Sprintf("m%03d.large", i)
		o.Classes[0].Types = append(o.Classes[0].Types, catalog.InstanceType{
			Name: name, Capacity: size, Allocatable: size, Labels: label.FromMap(map[string]string{label.InstanceType: name}),
			Offerings: []catalog.Offering{{Zone: "a", CapacityType: label.OnDemand, Price: quantity.Money(i), Available: true}},
		})
	}
	for i := range pods {
		name := fmt.Sprintf("web-%05d", i)
		o.Pods = append(o.Pods, cluster.Pod{
			Namespace: "default", Name: name, UID: fmt.Sprintf("%x", i*7919), Labels: label.FromMap(map[string]string{"job": fmt.Sprintf("%d", i*104729)}),
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: 100, PodSlots: 1}}, Unschedulable: true,
		})
	}
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Input{Snapshot: s, Policy: engine.DefaultPolicy(), Now: time.Unix(1_000_000, 0), Seed: 7, WorkLimit: 16}
}

// atFault panics where the pod waits.
func atFault(pod string) Decide {
	return func(in engine.Input) engine.Output {
		if _, there := in.Snapshot.Pod(pod); there {
			panic("out of range")
		}
		return engine.Output{}
	}
}

// keep has a Keeper keep the record of a decision, and returns what was kept and logged.
func keep(t *testing.T, in engine.Input, decide Decide) (packed [][]byte, log string) {
	t.Helper()
	_, fault := Try(decide, in)
	if fault == nil {
		t.Fatal("the decision does not panic")
	}
	var out bytes.Buffer
	k := &Keeper{
		Version: "test", Decide: decide, Where: "configmap x/y", Logger: hclog.New(&hclog.LoggerOptions{Output: &out}),
		Write: func(_ context.Context, p []byte) error { packed = append(packed, p); return nil },
	}
	k.Panicked(t.Context(), in, fault)
	k.Panicked(t.Context(), in, fault)
	k.Wait()
	return packed, out.String()
}

func TestKeeper_ADecisionThatPanicsLeavesARecordThatPanicsInTheSameWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		decide := atFault("default/web-01234")
		in := fleet(t, 3000)
		_, first := Try(decide, in)
		packed, log := keep(t, in, decide)
		if len(packed) != 1 || len(packed[0]) > Most || !strings.Contains(log, "configmap x/y") {
			t.Fatalf("%d records, log:\n%s", len(packed), log)
		}
		r, err := Unpack(packed[0])
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Input()
		if err != nil {
			t.Fatal(err)
		}
		fault := Replay(decide, again)
		if fault == nil || fault.Says != first.Says || fault.At() != first.At() || !strings.Contains(fault.At(), "replay_test.go:") || !r.Replays {
			t.Errorf("replay: %v at %q, want at %q", fault, fault.At(), first.At())
		}
		if len(r.Objects.Pods) != 1 || len(r.Objects.Classes) > 0 || r.Seed != 7 || !r.Now.Equal(in.Now) {
			t.Errorf("%d pods, %d classes are left, seed %d, at %s", len(r.Objects.Pods), len(r.Objects.Classes), r.Seed, r.Now)
		}
	})
}

// What does not fit is not written, and nobody waits for it.
func TestKeeper_ARecordThatCannotBeMadeSmallerIsNotWrittenIfItIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := 20_000
		packed, log := keep(t, fleet(t, pods), func(in engine.Input) engine.Output {
			time.Sleep(5 * time.Second)
			if len(in.Snapshot.Pods()) == pods {
				panic("out of range")
			}
			return engine.Output{}
		})
		if len(packed) > 0 || !strings.Contains(log, "could not be kept") || !strings.Contains(log, "too large") {
			t.Errorf("%d records, log:\n%s", len(packed), log)
		}
	})
}

// A cluster where every decision panics has one record an hour.
func TestKeeper_KeepsOneRecordAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		decide, n := atFault("default/web-00000"), 0
		in := fleet(t, 1)
		_, fault := Try(decide, in)
		k := &Keeper{Decide: decide, Logger: hclog.NewNullLogger(), Write: func(context.Context, []byte) error { n++; return errors.New("away") }}
		for range 180 {
			k.Panicked(t.Context(), in, fault)
			k.Wait()
			time.Sleep(time.Minute)
		}
		if n != 3 {
			t.Errorf("%d records in three hours, want 3", n)
		}
	})
}

// A daemon that starts again, or is elected, does not overwrite the record of the one before.
func TestKeeper_ARecordOfTheLastHourStaysWhicheverDaemonMadeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		decide := atFault("default/web-00000")
		in := fleet(t, 1)
		in.Now = time.Now()
		_, fault := Try(decide, in)
		var kept []byte
		n := 0
		for _, pause := range []time.Duration{59 * time.Minute, time.Minute, 0} {
			k := &Keeper{
				Decide: decide, Logger: hclog.NewNullLogger(), Read: func(context.Context) ([]byte, error) { return kept, nil },
				Write: func(_ context.Context, p []byte) error { kept = p; n++; return nil },
			}
			k.Panicked(t.Context(), in, fault)
			k.Wait()
			if want := map[time.Duration]int{59 * time.Minute: 1, time.Minute: 1, 0: 2}[pause]; n != want {
				t.Errorf("%d records, want %d", n, want)
			}
			time.Sleep(pause)
			in.Now = time.Now()
		}
	})
}

// The record is for who mends the daemon; to make it must not end the daemon.
func TestKeeper_APanicWhileTheRecordIsMadeEndsNothing(t *testing.T) {
	var out bytes.Buffer
	in := fleet(t, 1)
	k := &Keeper{
		Decide: func(engine.Input) engine.Output { return engine.Output{} }, Logger: hclog.New(&hclog.LoggerOptions{Output: &out}),
		Write: func(context.Context, []byte) error { panic("too bad") },
	}
	k.Panicked(t.Context(), in, &FaultError{Says: "x"})
	k.Wait()
	if !strings.Contains(out.String(), "too bad") {
		t.Errorf("log:\n%s", out.String())
	}
}

// A search in which each decision takes long ends all the same, and at once when the daemon ends.
func TestKeeper_TheSearchForASmallerRecordIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := fleet(t, 4)
		const decision = 5 * time.Second
		slow := func(engine.Input) engine.Output { time.Sleep(decision); return engine.Output{} }
		k := &Keeper{Decide: slow, Logger: hclog.NewNullLogger(), Write: func(context.Context, []byte) error { return nil }}
		began := time.Now()
		k.Panicked(t.Context(), in, &FaultError{Says: "x"})
		k.Wait()
		if took := time.Since(began); took > smallerWithin+decision {
			t.Errorf("it took %s", took)
		}
		time.Sleep(every)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		k.Panicked(ctx, in, &FaultError{Says: "x"})
		k.Wait()
		if took := time.Since(began); took > decision {
			t.Errorf("it took %s after the daemon has ended", took)
		}
	})
}

func TestRecord_HasNoEnvironmentSecretOrAnnotation(t *testing.T) {
	const secret = "hunter2"
	w := world.New(nil, catalog.Market{}, time.Now)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "default", UID: "u", ResourceVersion: "1", Annotations: map[string]string{"note": secret, "karpenter.sh/do-not-disrupt": secret},
	}}
	pod.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "main", Image: secret, Command: []string{secret}, Args: []string{secret}, Env: []corev1.EnvVar{{Name: "PASSWORD", Value: secret}},
			EnvFrom:   []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		}},
		Volumes:          []corev1.Volume{{Name: secret, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: secret}}, ServiceAccountName: secret,
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Message: secret}
	w.Observe(pod)
	s, _ := w.Snapshot()
	packed, _ := keep(t, engine.Input{Snapshot: s}, atFault("default/web"))
	if len(packed) != 1 {
		t.Fatal("no record")
	}
	r, err := gzip.NewReader(bytes.NewReader(packed[0]))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(plain, []byte(secret)) || !bytes.Contains(plain, []byte("web")) {
		t.Errorf("the record has a secret, or lacks the pod:\n%q", plain)
	}
}

// Whatever the engine is given as a value comes back as it was.
func TestRecord_NothingOfTheObjectsIsLost(t *testing.T) {
	var r Record
	fill(t, reflect.ValueOf(&r.Objects).Elem())
	fill(t, reflect.ValueOf(&r.Policy).Elem())
	fill(t, reflect.ValueOf(&r.Memory.Memory).Elem())
	packed, err := Pack(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, r) {
		t.Errorf("got  %+v\nwant %+v", got, r)
	}
}

// fill gives each exported field a value other than zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *label.Requirement:
		r, err := label.NewRequirement("x", label.NotIn, "1", "2")
		gte, _ := label.NewRequirement("x", label.Gte, "3")
		if *x = r.Intersect(gte); err != nil {
			t.Fatal(err)
		}
		return
	case **time.Location:
		zone, err := time.LoadLocation("Europe/Berlin")
		if *x = zone; err != nil {
			t.Fatal(err)
		}
		return
	case *time.Time:
		*x = time.Unix(1_000, 0).UTC()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(3)
	default:
		t.Fatalf("%s cannot be recorded", v.Type())
	}
}
