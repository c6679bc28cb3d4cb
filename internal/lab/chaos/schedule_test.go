package chaos

import (
	"reflect"
	"slices"
	"testing"
)

func TestDraw_IsTheSameForTheSameSeed(t *testing.T) {
	a, b, other := Draw(7, 5), Draw(7, 5), Draw(8, 5)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, other) {
		t.Errorf("seed 7 draws\n%s\nthen\n%s\nand seed 8\n%s", a, b, other)
	}
}

func TestDraw_DrawsEachFaultSooner(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		for _, round := range Draw(seed, 3) {
			for i, e := range round {
				seen[e.Fault] = true
				if e.For > longest+1e9 || e.At > storm || i > 0 && e.At < round[i-1].At {
					t.Errorf("seed %d: %s", seed, e)
				}
			}
		}
	}
	for _, k := range kinds() {
		if !seen[k.fault] {
			t.Errorf("%s is never drawn in 50 runs", k.fault)
		}
	}
}

func TestShorten_LeavesWhatFails(t *testing.T) {
	s := Draw(3, 8)
	culprit := s[5][1]
	culprit.Fault = "the culprit"
	s[5][1] = culprit
	runs := 0
	short := Shorten(s, 100, func(s Schedule) bool {
		runs++
		return slices.ContainsFunc(s, func(r Round) bool {
			return slices.ContainsFunc(r, func(e Event) bool { return e.Fault == culprit.Fault })
		})
	})
	if short.Events() != 1 || short[0][0].Fault != culprit.Fault {
		t.Errorf("shortened to\n%s in %d runs", short, runs)
	}
	if got := Shorten(s, 0, func(Schedule) bool { t.Error("run without a try"); return true }); got.Events() != s.Events() {
		t.Errorf("shortened to %d events without a try", got.Events())
	}
}
