package main

import (
	"fmt"
	"math"
	"runtime/debug"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// memoryShare is how much of the container's limit the Go runtime may use, in
// percent. The rest is for memory that the runtime does not count: the pages of the
// executable and the kernel's buffers.
const memoryShare = 90

// garbageShare is how much garbage may pile up before the Go runtime collects it, in
// percent of what is in use. What the daemon knows of a large cluster is in use for long,
// and the runtime's own 100 % would double it. With 40 %, collecting took a third of the processor
// time of a daemon with 2,000 nodes.
const garbageShare = 60

// boundGarbage tells the Go runtime how much garbage may pile up. GOGC wins, if the user
// has set it. While the daemon reads the cluster for the first time, almost everything is
// garbage, and to collect it often would delay the first decision: so boundGarbage comes
// after that, and before the cluster is translated for decisions.
func boundGarbage(env func(string) string) {
	if env("GOGC") == "" {
		debug.SetGCPercent(garbageShare)
	}
}

// setMemory tells the Go runtime the memory limit, so that it collects garbage before
// the kernel kills the daemon. GOMEMLIMIT wins, if the user has set it.
func setMemory(env func(string) string) error {
	limit, err := memoryLimit(env)
	if err != nil {
		return err
	}
	if limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit)
	}
	return nil
}

// memoryLimit is the runtime's limit in bytes; math.MaxInt64 is no limit.
func memoryLimit(env func(string) string) (int64, error) {
	text := env(install.EnvMemoryLimit)
	if text == "" || env("GOMEMLIMIT") != "" {
		return math.MaxInt64, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("setting $%s is %q: give the container's memory limit in bytes, or unset it", install.EnvMemoryLimit, text)
	}
	return limit / 100 * memoryShare, nil
}
