package cluster

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// full is a shape with two of everything. No two parts share memory.
func full() Shape {
	reqs := func(values ...string) label.Requirements {
		var out []label.Requirement
		for _, v := range values {
			out = append(out, label.Is(v, v))
		}
		return label.All(out...)
	}
	selector := func() PodSelector { return PodSelector{Match: reqs("app")} }
	term := func() PodTerm {
		return PodTerm{Weight: 2, Key: "zone", Selector: selector(), Namespaces: []string{"a", "b"}, InNamespaces: PodSelector{Match: reqs("team")}}
	}
	return Shape{
		Requests:        quantity.Resources{MilliCPU: 2, MemoryBytes: 3, EphemeralBytes: 4, PodSlots: 5, Extended: []quantity.Amount{{Name: "gpu", Count: 2}}},
		Selector:        reqs("arch", "os"),
		NodeAffinity:    []label.Requirements{reqs("x"), reqs("y", "z")},
		Preferred:       []Preference{{Weight: 2, Node: reqs("p")}, {Weight: 3, Node: reqs("q")}},
		Tolerations:     []Toleration{{Key: "a", Value: "b", Effect: "c"}, {Key: "d", Exists: true}},
		Priority:        2,
		Spread:          []Spread{{Key: "zone", MaxSkew: 2, MinDomains: 2, Selector: selector()}, {Key: "host", MaxSkew: 3}},
		PodAffinity:     []PodTerm{term(), {Key: "host", InNamespaces: PodSelector{Nothing: true}}},
		PodAntiAffinity: []PodTerm{{Key: "host"}, term()},
		Ports:           []HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 2}, {Protocol: "UDP", Port: 3}},
		Volumes:         [][]label.Requirements{{reqs("v"), reqs("w")}, {reqs("u")}},
		Gang:            Gang{Name: "g", Size: 2},
		Unsupported:     []string{"one", "two"},
	}
}

// mutants changes every part below v, one at a time, calls f, and changes the
// part back. It fails the test on a kind of field that it does not know, so that
// a new field cannot be left out of the key unnoticed.
func mutants(t *testing.T, path string, v reflect.Value, f func(path string)) {
	t.Helper()
	with := func(x any) {
		old := reflect.ValueOf(v.Interface())
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
		f(path)
		v.Set(old)
	}
	if r, ok := v.Interface().(label.Requirement); ok {
		other, err := label.NewRequirement(r.Key(), label.NotIn, "else")
		if err != nil {
			t.Fatal(err)
		}
		with(other)
		with(label.Is(r.Key()+"x", "v"))
		return
	}
	switch v.Kind() {
	case reflect.String:
		with(v.String() + "x")
	case reflect.Int32, reflect.Int64:
		with(v.Int() + 1)
		with(-v.Int() - 7)
	case reflect.Bool:
		with(!v.Bool())
	case reflect.Struct:
		for i := range v.NumField() {
			mutants(t, path+"."+v.Type().Field(i).Name, v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			mutants(t, path, v.Index(i), f)
		}
		if v.Len() > 0 {
			with(v.Slice(1, v.Len()).Interface())
			with(reflect.Append(v.Slice3(0, v.Len(), v.Len()), v.Index(0)).Interface())
		}
	default:
		t.Fatalf("%s is a %v: say here how to change it", path, v.Kind())
	}
}

func TestShapeKey_CoversEveryField(t *testing.T) {
	s := full()
	key, seen := s.Key(), map[string]string{}
	mutants(t, "Shape", reflect.ValueOf(&s).Elem(), func(path string) {
		if path == "Shape.Spread.MinDomains" && slices.ContainsFunc(s.Spread, func(c Spread) bool { return c.MinDomains < 0 }) ||
			path == "Shape.Spread.MinDomains" && s.Spread[1].MinDomains == 1 {
			return // MinDomains of 1 or less means the same as 0
		}
		k := s.Key()
		if k == key {
			t.Errorf("a change of %s leaves the key as it is", path)
		}
		if other, ok := seen[k]; ok && other != path {
			t.Errorf("changes of %s and %s make one key", path, other)
		}
		seen[k] = path
	})
	if len(seen) < 100 {
		t.Errorf("only %d changes were tried", len(seen))
	}
	if s.Key() != key {
		t.Error("the test did not change everything back")
	}
}

func TestShapeKey_OneForAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := full(), full()
		b.NodeAffinity = rapid.Permutation(b.NodeAffinity).Draw(t, "affinity")
		b.Preferred = rapid.Permutation(b.Preferred).Draw(t, "preferred")
		b.Tolerations = rapid.Permutation(b.Tolerations).Draw(t, "tolerations")
		b.Spread = rapid.Permutation(b.Spread).Draw(t, "spread")
		b.PodAffinity = rapid.Permutation(b.PodAffinity).Draw(t, "together")
		b.PodAntiAffinity = rapid.Permutation(b.PodAntiAffinity).Draw(t, "apart")
		b.Ports = rapid.Permutation(b.Ports).Draw(t, "ports")
		b.Volumes = rapid.Permutation(b.Volumes).Draw(t, "volumes")
		for i := range b.Volumes {
			b.Volumes[i] = rapid.Permutation(b.Volumes[i]).Draw(t, "alternatives")
		}
		b.Unsupported = rapid.Permutation(b.Unsupported).Draw(t, "unsupported")
		if a.Key() != b.Key() {
			t.Fatalf("%s and %s", a.Key(), b.Key())
		}
		if x, y := a.canonical(), b.canonical(); !reflect.DeepEqual(x, y) || x.Key() != a.Key() {
			t.Fatalf("%+v and %+v", x, y)
		}
	})
}

func TestShapeKey_EqualExactlyForEqualShapes(t *testing.T) {
	equal := 0
	rapid.Check(t, func(t *rapid.T) {
		d := dice(rapid.SliceOfN(rapid.ByteRange(0, 11), 6, 6).Draw(t, "one"))
		e := slices.Clone(d)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			e[rapid.IntRange(0, 5).Draw(t, "at")] = rapid.ByteRange(0, 11).Draw(t, "other")
		}
		a, b := d.shape(), e.shape()
		if same := reflect.DeepEqual(a.canonical(), b.canonical()); same != (a.Key() == b.Key()) {
			t.Fatalf("equal %v, keys %s and %s", same, a.Key(), b.Key())
		} else if same {
			equal++
		}
	})
	if equal == 0 {
		t.Error("no two shapes were equal")
	}
}

func TestShapeKey_OrdersByCPUThenMemory(t *testing.T) {
	var last string
	for _, r := range []quantity.Resources{{}, {MemoryBytes: 1}, {MilliCPU: 9}, {MilliCPU: 10}, {MilliCPU: 10, MemoryBytes: 1 << 33}, {MilliCPU: 10, MemoryBytes: 1 << 34}, {MilliCPU: 100}} {
		key := Shape{Requests: r}.Key()
		if key <= last {
			t.Errorf("%v comes before what is smaller", r)
		}
		last = key
	}
}
