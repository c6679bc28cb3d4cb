package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCompilers_KeepAllCoresInUseAndDoNotSwampThem(t *testing.T) {
	for _, tc := range []struct{ cores, builds, each int }{
		{1, 1, 1}, {2, 1, 2}, {8, 1, 8}, {1, 2, 2}, {2, 2, 2}, {4, 2, 3}, {8, 2, 5}, {8, 3, 5}, {16, 2, 9},
	} {
		if got := compilers(tc.cores, tc.builds); got != tc.each {
			t.Errorf("%d cores, %d builds: %d compilers each, want %d", tc.cores, tc.builds, got, tc.each)
		}
	}
}

func TestCompilerEnv_SparesCollectionsOnlyWhereThereIsMemoryAndNobodyHasChosen(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "50MiB")
	if got := compilerEnv(1, 1); got != nil {
		t.Errorf("with GOMEMLIMIT set: %v, want nothing", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	if got := compilerEnv(1<<20, 1); got != nil {
		t.Errorf("a million compilers: %v, want nothing: no machine has memory for all", got)
	}
}

func TestMemoryAvailable_IsWhatLinuxSaysAndNothingElsewhere(t *testing.T) {
	meminfo := filepath.Join(t.TempDir(), "meminfo")
	if err := os.WriteFile(meminfo, []byte("MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := memoryAvailable(meminfo); got != 8000000<<10 {
		t.Errorf("memory = %d, want 8000000 kB", got)
	}
	if got := memoryAvailable(meminfo + ".none"); got != 0 {
		t.Errorf("memory = %d without the file, want 0", got)
	}
}

func TestJobs_TheLongestBuildIsFirst(t *testing.T) {
	s := &survey{modules: map[string]*absent{
		"controlplane": {build: []Tool{Etcd, APIServer, ControllerManager, Scheduler, Kwok}},
		"helm":         {build: []Tool{Helm}},
		"dev":          {},
	}, ready: Ready{Programs: map[string]string{Daemon: "/d", Provider: "/p"}}}
	var takes []int
	for _, j := range s.jobs() {
		takes = append(takes, j.takes)
	}
	if len(takes) != 3 || !slices.IsSortedFunc(takes, func(a, b int) int { return b - a }) {
		t.Errorf("jobs take %v, want the three with something to build, the longest first", takes)
	}
}
