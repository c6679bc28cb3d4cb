package page

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// BenchmarkViewers has three browsers follow a fleet of 2,000 nodes with 40,000 pods, of which a
// tenth changes between two looks. What is required: 2 % of a core, what reads the events included.
func BenchmarkViewers(b *testing.B) {
	w := large(b, 2_000, 20)
	w.remember()
	var inputs [2]engine.Input
	for i := range inputs {
		for j := 0; j < len(w.objects.Nodes); j += 10 {
			w.objects.Nodes[j].Ready = i == 0
		}
		w.step()
		inputs[i] = w.page.input
	}
	server := httptest.NewServer(w.page.Handler())
	b.Cleanup(server.Close)
	ctx, leave := context.WithCancel(b.Context())
	defer leave()
	for range 3 {
		follow(ctx, b, server.URL+Path+"events")
	}
	began, used := time.Now(), processor(b)
	for turn := 0; b.Loop(); turn++ {
		in := inputs[turn%2]
		in.Now = time.Now()
		w.page.Note(in, plan.Plan{})
		time.Sleep(lookEvery / 2)
	}
	b.ReportMetric(100*(processor(b)-used).Seconds()/time.Since(began).Seconds(), "%core")
}

// processor is the time of processors that this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// follow reads events until the context ends.
func follow(ctx context.Context, b *testing.B, address string) {
	b.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return // the benchmark has ended
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
	}()
}
