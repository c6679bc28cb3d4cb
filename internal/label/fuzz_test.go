package label_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// NewRequirement never panics. The requirements that it accepts obey the
// algebra: a conjunction admits exactly what both sides admit, in either order,
// and contradicts only where it admits neither a probe nor absence.
func FuzzNewRequirement(f *testing.F) {
	f.Add("k", "In", "a b", "NotIn", "b c", "b")
	f.Add("k", "Gt", "9223372036854775807", "Lt", "-9223372036854775808", "0")
	f.Add("k", "Gte", "-9223372036854775808", "Lte", "9223372036854775807", "+5")
	f.Add("k", "Exists", "", "DoesNotExist", "", "")
	f.Add("beta.kubernetes.io/arch", "In", "", "Gt", "x", "amd64")
	f.Fuzz(func(t *testing.T, key, op1, values1, op2, values2, probe string) {
		a, err1 := label.NewRequirement(key, label.Operator(op1), strings.Fields(values1)...)
		b, err2 := label.NewRequirement(key, label.Operator(op2), strings.Fields(values2)...)
		for _, err := range []error{err1, err2} {
			if err != nil && !strings.Contains(err.Error(), key) {
				t.Fatalf("error %q does not name the key %q", err, key)
			}
		}
		if err1 != nil || err2 != nil {
			return
		}
		both, other := a.Intersect(b), b.Intersect(a)
		probes := append(append(strings.Fields(values1), strings.Fields(values2)...), probe)
		if some, ok := both.Some(); ok {
			probes = append(probes, some)
			if !both.Admits(some) {
				t.Fatalf("%s gives %q as a value and does not admit it", both, some)
			}
		}
		for _, v := range probes {
			want := a.Admits(v) && b.Admits(v)
			if both.Admits(v) != want || other.Admits(v) != want {
				t.Fatalf("%q: %s %v, %s %v, together %v and %v", v, a, a.Admits(v), b, b.Admits(v), both.Admits(v), other.Admits(v))
			}
			if want && both.Contradicts() {
				t.Fatalf("%s admits %q and contradicts", both, v)
			}
		}
		if both.AdmitsAbsence() != (a.AdmitsAbsence() && b.AdmitsAbsence()) || both.AdmitsAbsence() && both.Contradicts() {
			t.Fatalf("%s and %s: %s", a, b, both)
		}
		if !bytes.Equal(both.AppendKey(nil), other.AppendKey(nil)) {
			t.Fatalf("the order decides: %s, %s", both, other)
		}
		if !bytes.Equal(a.Intersect(a).AppendKey(nil), a.AppendKey(nil)) && !a.Contradicts() {
			t.Fatalf("%s and itself is %s", a, a.Intersect(a))
		}
		_ = both.String()
	})
}
