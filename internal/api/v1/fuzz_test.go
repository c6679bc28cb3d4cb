package v1_test

import (
	"bytes"
	"encoding/json"
	"testing"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// NillableDuration never panics on JSON, and what it accepts it writes so that it
// reads it again.
func FuzzNillableDuration(f *testing.F) {
	for _, s := range []string{`"Never"`, `"1h30m"`, `"0s"`, `"-1s"`, `"9223372036854775807ns"`, `"9999999999999h"`, `null`, `1`, `""`, `"never"`, `{}`, `"1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d v1.NillableDuration
		if err := json.Unmarshal(data, &d); err != nil {
			if d != (v1.NillableDuration{}) {
				t.Fatalf("%q is refused and leaves %+v", data, d)
			}
			return
		}
		if d.Never && d.Duration != 0 {
			t.Fatalf("%q is %+v", data, d)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again v1.NillableDuration
		if err := json.Unmarshal(text, &again); err != nil || again != d {
			t.Fatalf("%q is %+v, written as %s it is %+v, %v", data, d, text, again, err)
		}
	})
}

// A NodePool of any JSON that decodes can be checked and copied.
func FuzzNodePool(f *testing.F) {
	f.Add([]byte(`{"spec":{"weight":1,"limits":{"cpu":"1e3","nodes":"-1"},"disruption":{"consolidateAfter":"Never","budgets":[{"nodes":"10%"}]},"template":{"spec":{"expireAfter":"720h","requirements":[{"key":"a","operator":"In","values":["b"],"minValues":2}]}}}}`))
	f.Add([]byte(`{"spec":{"template":{"spec":{"requirements":[{"key":"","operator":"Gt"},{"key":"a","operator":"?","minValues":-1}]}}}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p v1.NodePool
		if json.Unmarshal(data, &p) != nil {
			return
		}
		before, err := json.Marshal(&p)
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", data, err)
		}
		after, err := json.Marshal(p.DeepCopy())
		if err != nil || !bytes.Equal(before, after) {
			t.Fatalf("copy of %s is %s, %v", before, after, err)
		}
		for _, fault := range p.Validate() {
			if fault.Field == "" {
				t.Fatalf("%s: a fault of no field: %v", data, fault)
			}
		}
	})
}
