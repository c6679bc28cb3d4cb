//go:build lab

package page

import (
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/browser"
)

// BenchmarkBrowser shows a fleet of 2,000 nodes with 40,000 pods in a browser, of which a tenth
// changes every two seconds, and scrolls through it. What is required: 60 frames a second, that is
// 17 ms for a frame, with a processor in place of a graphics card.
func BenchmarkBrowser(b *testing.B) {
	w := large(b, 2_000, 20)
	w.step()
	server := httptest.NewServer(w.page.Handler())
	b.Cleanup(server.Close)
	began := time.Now()
	page := browser.Open(b, server.URL+Path, "daemon/internal/page/web")
	page.Reads(".status", "Live")
	opened := time.Since(began)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for turn := 0; ; turn++ {
			select {
			case <-stop:
				return
			case <-time.After(lookEvery):
			}
			for i := turn % 10; i < len(w.objects.Nodes); i += 10 {
				w.objects.Nodes[i].Ready = turn%2 == 0
			}
			w.now = w.now.Add(lookEvery)
			w.step()
		}
	}()
	type found struct {
		Middle float64 `json:"middle"`
		Worst  float64 `json:"worst"`
		Late   float64 `json:"late"`
		Heap   float64 `json:"heap"`
		Cells  float64 `json:"cells"`
	}
	var f found
	for b.Loop() {
		f = browser.Ask[found](page, `new Promise((done) => {
			const took = []; let last = performance.now(), y = 0, step = 40;
			const frame = (now) => {
				took.push(now - last); last = now;
				y += step; if (y > document.documentElement.scrollHeight - innerHeight || y < 0) step = -step;
				scrollTo(0, y);
				if (took.length < 600) return requestAnimationFrame(frame);
				took.sort((a, b) => a - b);
				done({ middle: took[300], worst: took[599], late: took.filter((x) => x > 25).length / 6, heap: performance.memory.usedJSHeapSize / 1e6, cells: document.querySelectorAll(".cell").length });
			};
			requestAnimationFrame(frame);
		})`)
	}
	b.ReportMetric(float64(opened.Milliseconds()), "ms/open")
	b.ReportMetric(f.Middle, "ms/frame")
	b.ReportMetric(f.Worst, "ms/worst-frame")
	b.ReportMetric(f.Late, "%late-frames")
	b.ReportMetric(f.Heap, "MB-heap")
	b.ReportMetric(f.Cells, "cells")
	page.Picture("page-large", os.Getenv(picturesVariable))
}
