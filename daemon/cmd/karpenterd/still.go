package main

import (
	"context"
	"net/http"
	"net/http/pprof"
	"runtime"
)

// stacksMost bounds what a process that stands still logs of its goroutines, in bytes.
const stacksMost = 256 << 10

// unless waits for the error of f, but not any longer once the daemon stands still: the process
// ends then, so that its Lease runs out and another replica works on. Whatever stands still
// would keep an orderly end from coming.
func (d *daemon) unless(ctx context.Context, f func() error) error {
	ended, still := make(chan error, 1), make(chan error, 1)
	go func() { ended <- f() }()
	go func() {
		if err := d.health.Watch(ctx); err != nil {
			still <- err
		}
	}()
	select {
	case err := <-ended:
		return err
	case err := <-still:
		d.tellStacks(err)
		return err
	}
}

// tellStacks logs what the goroutines of a process do that stands still.
func (d *daemon) tellStacks(err error) {
	stacks := make([]byte, stacksMost)
	d.logger.Error("the process ends, as it stands still: please report it", "error", err, "goroutines", string(stacks[:runtime.Stack(stacks, true)]))
}

// profiles serves Go's profiles of the process, as "go tool pprof" reads them.
func profiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}
