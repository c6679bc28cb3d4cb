package main

import (
	"fmt"
	"math"
	"runtime/debug"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// memoryShare is how much of the container's limit the Go runtime may take, in
// percent. The rest is for what it does not count: the program's own pages and the
// kernel's buffers.
const memoryShare = 90

// setMemory tells the Go runtime how much memory there is, so that it collects
// garbage before the kernel ends the daemon. What the user has set by GOMEMLIMIT
// stands.
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

// memoryLimit is what the runtime is to keep to, in bytes; none is the largest
// number.
func memoryLimit(env func(string) string) (int64, error) {
	text := env(install.EnvMemoryLimit)
	if text == "" || env("GOMEMLIMIT") != "" {
		return math.MaxInt64, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("setting $%s is %q: give the container's memory limit in bytes, or leave it out", install.EnvMemoryLimit, text)
	}
	return limit / 100 * memoryShare, nil
}
