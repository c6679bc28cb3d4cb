package bench

import (
	"slices"
	"testing"
)

func TestShaped_HasThePodsAndTheSeedDecides(t *testing.T) {
	for seed := range uint64(5) {
		got := Shaped(seed, 300, 10_000)
		var pods int64
		for _, d := range got {
			pods += d.Count
			if d.Count < 1 || d.MilliCPU < 50 || d.MilliCPU > 15_000 || d.MiB < 64 || d.MiB > 15*15*1024 {
				t.Errorf("seed %d: %+v is out of the shape", seed, d)
			}
		}
		if pods != 10_000 {
			t.Errorf("seed %d: %d pods, want 10000", seed, pods)
		}
		if !slices.Equal(got, Shaped(seed, 300, 10_000)) || slices.Equal(got, Shaped(seed+1, 300, 10_000)) {
			t.Errorf("seed %d: equal seeds must give equal demand, and others another", seed)
		}
	}
}

func TestFile_HasTenThousandPods(t *testing.T) {
	for name, want := range map[string]int64{"w1_300x10k.csv": 10_000, "w4_kbench10k.csv": 10_000} {
		rows, err := File(name)
		if err != nil {
			t.Fatal(err)
		}
		var pods int64
		for _, d := range rows {
			pods += d.Count
		}
		if pods != want {
			t.Errorf("%s: %d pods, want %d", name, pods, want)
		}
	}
	if _, err := File("none.csv"); err == nil {
		t.Error("a file that is not there must be an error")
	}
}
