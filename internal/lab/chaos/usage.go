package chaos

import (
	"context"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

// usage is what a process of the daemon uses.
type usage struct {
	goroutines, bytes float64
}

// flat holds each process of the daemon to what it used in its first calm.
func (r *run) flat(ctx context.Context, seen *observer) {
	for _, p := range r.lab.Processes.All() {
		if !strings.HasSuffix(p.Name, "/"+install.DefaultName) {
			continue
		}
		url, err := deploy.MetricsURL(p.PID)
		if err != nil {
			continue // it has just ended
		}
		now, err := readUsage(ctx, url)
		if err != nil {
			continue // it has just begun
		}
		first, known := r.first[p.PID]
		if !known {
			r.first[p.PID] = now
			continue
		}
		if now.goroutines > grows*first.goroutines+moreGoroutines || now.bytes > grows*first.bytes+moreBytes {
			seen.violated("%s has %.0f goroutines and %.0f MB, and had %.0f and %.0f in its first calm", p.Name, now.goroutines, now.bytes/(1<<20), first.goroutines, first.bytes/(1<<20))
		}
	}
}

// readUsage reads the metrics of the Go runtime and of the process.
func readUsage(ctx context.Context, url string) (usage, error) {
	values, err := deploy.Metrics(ctx, url, "go_goroutines", "process_resident_memory_bytes")
	if err != nil {
		return usage{}, err
	}
	return usage{values[0], values[1]}, nil
}
