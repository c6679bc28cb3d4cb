package main

import (
	"context"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
)

// stacksMost bounds what a process that stands still logs of its goroutines, in bytes.
const stacksMost = 256 << 10

// watch ends the process when it stands still, so that its Lease runs out and another replica
// works on: whatever stands still would keep an orderly end from coming.
func (d *daemon) watch(ctx context.Context) {
	err := d.health.Watch(ctx)
	if err == nil {
		return
	}
	stacks := make([]byte, stacksMost)
	d.logger.Error("the process ends, as it stands still: please report it", "error", err, "goroutines", string(stacks[:runtime.Stack(stacks, true)]))
	os.Exit(exitFailed)
}

// profiles serves Go's profiles of the process, as "go tool pprof" reads them.
func profiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}
