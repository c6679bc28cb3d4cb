package label

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func anyRequirement(t *rapid.T, key string) Requirement {
	op := rapid.SampledFrom([]Operator{In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte}).Draw(t, "op")
	var values []string
	switch op {
	case Exists, DoesNotExist:
	case In, NotIn:
		values = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "1", "2", "3", "4"}), 1, 4).Draw(t, "values")
	case Gt, Lt, Gte, Lte:
		values = []string{strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "bound"))}
	}
	r, err := NewRequirement(key, op, values...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRequirement_IntersectionAdmitsExactlyWhatBothAdmit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRequirement(t, "k"), anyRequirement(t, "k")
		both := a.Intersect(b)
		admitted := both.AdmitsAbsence()
		for _, v := range []string{"a", "b", "c", "0", "1", "2", "3", "4", "5", "6"} {
			if got, want := both.Admits(v), a.Admits(v) && b.Admits(v); got != want {
				t.Fatalf("(%v) and (%v) = %v admits %q: %v, want %v", a, b, both, v, got, want)
			}
			admitted = admitted || both.Admits(v)
		}
		if both.AdmitsAbsence() != (a.AdmitsAbsence() && b.AdmitsAbsence()) {
			t.Fatalf("(%v) and (%v): absence", a, b)
		}
		if both.Contradicts() && admitted {
			t.Fatalf("%v contradicts, yet admits something", both)
		}
		if both.Compare(b.Intersect(a)) != 0 {
			t.Fatalf("(%v) and (%v) is not commutative", a, b)
		}
	})
}

func TestRequirement_AbsenceSatisfiesNotInAndDoesNotExistOnly(t *testing.T) {
	for op, want := range map[Operator]bool{In: false, NotIn: true, Exists: false, DoesNotExist: true, Gt: false, Lt: false, Gte: false, Lte: false} {
		var values []string
		if op != Exists && op != DoesNotExist {
			values = []string{"1"}
		}
		r, err := NewRequirement("k", op, values...)
		if err != nil {
			t.Fatal(err)
		}
		if _, unmet := All(r).Unmet(Labels(nil)); unmet == want {
			t.Errorf("%v on a node without the label: unmet = %v", r, unmet)
		}
	}
}

func TestNewRequirement_NamesWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		op     Operator
		values []string
		want   string
	}{
		{In, nil, "requirement k In: needs at least one value"},
		{Exists, []string{"x"}, `requirement k Exists: takes no values, has ["x"]`},
		{Gt, []string{"1", "2"}, "requirement k Gt: needs exactly one value, has 2"},
		{Lt, []string{"many"}, `requirement k Lt: "many" is not a whole number`},
		{"Near", nil, `requirement k: unknown operator "Near"; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte`},
	} {
		_, err := NewRequirement("k", tc.op, tc.values...)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s %v: %v, want %s", tc.op, tc.values, err, tc.want)
		}
	}
}

func TestRequirement_OtherSpellingsOfAKeyMeanTheCanonicalOne(t *testing.T) {
	for other, key := range map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   Zone,
		"topology.ebs.csi.aws.com/zone":            Zone,
		"failure-domain.beta.kubernetes.io/region": Region,
		"beta.kubernetes.io/arch":                  Arch,
		"beta.kubernetes.io/os":                    OS,
		"beta.kubernetes.io/instance-type":         InstanceType,
	} {
		r, err := NewRequirement(other, In, "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, unmet := All(r, Is(other, "x")).Unmet(FromMap(map[string]string{key: "x"})); unmet {
			t.Errorf("%s is not met by the label %s", other, key)
		}
	}
}

func TestRequirements_OnePerKeyAndOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var reqs []Requirement
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			reqs = append(reqs, anyRequirement(t, rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key")))
		}
		shuffled := rapid.Permutation(reqs).Draw(t, "shuffled")
		if a, b := All(reqs...), All(shuffled...); a.Compare(b) != 0 || len(a) > 2 {
			t.Fatalf("%v and %v", a, b)
		}
	})
}

func TestLabels_MergePrefersTheSecond(t *testing.T) {
	a := FromMap(map[string]string{"a": "1", "b": "1"})
	b := FromMap(map[string]string{"b": "2", "c": "2"})
	if got, want := a.Merge(b), FromMap(map[string]string{"a": "1", "b": "2", "c": "2"}); got.Compare(want) != 0 {
		t.Errorf("merge = %v, want %v", got, want)
	}
	if v, _ := a.With("b", "3").Get("b"); v != "3" {
		t.Errorf("with = %s", v)
	}
	if v, _ := a.Get("b"); v != "1" {
		t.Errorf("the receiver changed: %s", v)
	}
}
