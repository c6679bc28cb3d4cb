package main

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

func TestMemoryLimit_IsNineTenthsOfTheContainersUnlessTheUserSetsOne(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want int64
		says string
	}{
		"no limit":           {nil, math.MaxInt64, ""},
		"limit":              {map[string]string{install.EnvMemoryLimit: "1073741824"}, 1073741824 / 100 * 90, ""},
		"the user's own":     {map[string]string{install.EnvMemoryLimit: "1073741824", "GOMEMLIMIT": "2GiB"}, math.MaxInt64, ""},
		"not a number":       {map[string]string{install.EnvMemoryLimit: "1Gi"}, 0, install.EnvMemoryLimit},
		"nothing to work in": {map[string]string{install.EnvMemoryLimit: "0"}, 0, "in bytes"},
	} {
		got, err := memoryLimit(func(key string) string { return tc.env[key] })
		if got != tc.want || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %d, %v; want %d and %q", name, got, err, tc.want, tc.says)
		}
	}
}

func TestSetMemory_TellsTheRuntime(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	env := map[string]string{install.EnvMemoryLimit: "8000000000"}
	if err := setMemory(func(key string) string { return env[key] }); err != nil || debug.SetMemoryLimit(-1) != 7_200_000_000 {
		t.Errorf("the limit is %d, %v", debug.SetMemoryLimit(-1), err)
	}
}

func TestBoundGarbage_LeavesItToTheUserWhoSetsGOGC(t *testing.T) {
	const byDefault = 100
	before := debug.SetGCPercent(byDefault)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for gogc, want := range map[string]int{"200": byDefault, "": garbageShare} {
		debug.SetGCPercent(byDefault)
		boundGarbage(func(key string) string { return map[string]string{"GOGC": gogc}[key] })
		if got := debug.SetGCPercent(byDefault); got != want {
			t.Errorf("GOGC=%s: %d %%, want %d", gogc, got, want)
		}
	}
}
