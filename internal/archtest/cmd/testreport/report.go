package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of `go test -json` (see `go doc test2json`, and `go help
// buildjson` for the build events).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build events
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

// Test2json's actions.
const (
	actionRun         = "run"
	actionPass        = "pass"
	actionFail        = "fail"
	actionSkip        = "skip"
	actionOutput      = "output"
	actionBuildOutput = "build-output"
)

// Of the tests that took longest, the report names so many, and none that took less seconds.
const (
	most        = 10
	worthNaming = 5
)

// test names a test; name is empty for what a package says itself.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + "." + t.name }

type report struct {
	w       io.Writer
	allowed map[string]string

	mu        sync.Mutex
	passed    int
	failed    []test
	skipped   []test
	broken    []string // packages that failed without a failing test
	running   map[test]time.Time
	took      map[test]float64 // seconds, of tests that are no part of another
	inPkg     map[string]int   // tests finished, by package
	unchanged int              // tests that the go tool did not run again
	output    map[test][]string
	build     map[string][]string // compiler output by import path
	lastLine  time.Time
}

func newReport(w io.Writer, allowed map[string]string) *report {
	return &report{
		w: w, allowed: allowed, running: map[test]time.Time{}, took: map[test]float64{}, inPkg: map[string]int{},
		output: map[test][]string{}, build: map[string][]string{}, lastLine: time.Now(),
	}
}

// read consumes events until the stream ends. A line that is no event (a test
// that writes to its parent's file descriptor) is passed through. The part follows the
// names of packages, so that two parts of one package are told apart. A part in which no
// test ran is an error.
func (r *report) read(stream io.Reader, part string) error {
	lines := bufio.NewReader(stream)
	ran := false
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				r.say("%s", strings.TrimRight(line, "\n"))
			} else {
				if e.Package != "" {
					e.Package += part
				}
				ran = ran || e.Action == actionRun
				r.take(e)
			}
		}
		if err == io.EOF && part != "" && !ran {
			return fmt.Errorf("no test ran in part%s", part)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("test events read: %w", err)
		}
	}
}

func (r *report) take(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := test{e.Package, e.Test}
	switch e.Action {
	case actionRun:
		r.running[t] = time.Now()
	case actionOutput:
		r.output[t] = append(r.output[t], e.Output)
	case actionBuildOutput:
		r.build[e.ImportPath] = append(r.build[e.ImportPath], e.Output)
	case actionPass, actionFail, actionSkip:
		if e.Test == "" {
			r.endPackage(e)
			return
		}
		if !strings.Contains(e.Test, "/") {
			r.took[t] = e.Elapsed
		}
		r.endTest(t, e.Action)
	}
}

func (r *report) endTest(t test, action string) {
	delete(r.running, t)
	r.inPkg[t.pkg]++
	switch action {
	case actionPass:
		r.passed++
		delete(r.output, t)
	case actionFail:
		r.failed = append(r.failed, t)
	case actionSkip:
		r.skipped = append(r.skipped, t)
	}
}

// endPackage says how a package went, with the output of what failed in it.
func (r *report) endPackage(e event) {
	// A test that was running when the process died failed, though nobody said so.
	for _, t := range slices.SortedFunc(maps.Keys(r.running), byName) {
		if t.pkg == e.Package && e.Action == actionFail {
			r.endTest(t, actionFail)
		}
	}
	switch {
	case e.Action == actionFail:
		r.line("FAIL  %s", e.Package)
		_, _ = io.WriteString(r.w, strings.Join(r.build[e.FailedBuild], ""))
		before := len(r.failed)
		for _, t := range r.failed {
			if t.pkg == e.Package {
				before--
				_, _ = io.WriteString(r.w, strings.Join(r.output[t], ""))
			}
		}
		_, _ = io.WriteString(r.w, strings.Join(r.output[test{pkg: e.Package}], ""))
		if before == len(r.failed) {
			r.broken = append(r.broken, e.Package)
		}
	case strings.HasSuffix(strings.Join(r.output[test{pkg: e.Package}], ""), "\t(cached)\n"):
		r.line("ok    %s  not changed since %d tests passed", e.Package, r.inPkg[e.Package])
		maps.DeleteFunc(r.took, func(t test, _ float64) bool { return t.pkg == e.Package })
		r.unchanged += r.inPkg[e.Package]
	case r.inPkg[e.Package] > 0:
		r.line("ok    %s  %.1fs  %d tests", e.Package, e.Elapsed, r.inPkg[e.Package])
	}
	delete(r.output, test{pkg: e.Package})
}

func byName(a, b test) int { return strings.Compare(a.String(), b.String()) }

// say writes a line from outside the lock.
func (r *report) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line(format, args...)
}

func (r *report) line(format string, args ...any) {
	r.lastLine = time.Now()
	_, _ = fmt.Fprintf(r.w, format+"\n", args...)
}

// showSignsOfLife names what is running whenever nothing has been written for
// the given time. The function returned ends it.
func (r *report) showSignsOfLife(every time.Duration) (stop func()) {
	done := make(chan struct{})
	var stopped sync.WaitGroup
	stopped.Go(func() {
		tick := time.NewTicker(every / 5)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				r.signOfLife(now, every)
			}
		}
	})
	return func() { close(done); stopped.Wait() }
}

func (r *report) signOfLife(now time.Time, every time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.lastLine) < every {
		return
	}
	if len(r.running) == 0 {
		r.line("      ... compiling")
		return
	}
	// The innermost of the running tests are the last of their names.
	names := slices.SortedFunc(maps.Keys(r.running), byName)
	newest := names[0]
	for _, t := range names {
		if !r.running[t].Before(r.running[newest]) {
			newest = t
		}
	}
	r.line("      ... %d running, %s for %.0fs", len(names), newest, now.Sub(r.running[newest]).Seconds())
}

// summary ends the report and tells whether all is well.
func (r *report) summary() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ok := len(r.failed) == 0 && len(r.broken) == 0
	r.slowest()
	for _, t := range r.skipped {
		pkg, _, _ := strings.Cut(t.pkg, " (") // whatever part ran it
		if why, allowed := r.allowed[test{pkg, t.name}.String()]; allowed {
			r.line("skipped, allowed (%s): %s", why, t)
			continue
		}
		ok = false
		r.line("skipped, not allowed: %s: %s", t, r.reason(t))
	}
	for _, t := range r.failed {
		r.line("failed: %s", t)
	}
	for _, p := range r.broken {
		r.line("failed outside any test: %s", p)
	}
	if r.passed == 0 && ok {
		ok = false
		r.line("no test ran")
	}
	if r.unchanged > 0 {
		r.line("%d tests were not run again: what they read is as it was when they passed", r.unchanged)
	}
	r.line("%d passed, %d failed, %d skipped", r.passed, len(r.failed)+len(r.broken), len(r.skipped))
	return ok
}

// slowest names the tests that took longest, and what they took: there is most to gain.
func (r *report) slowest() {
	slow := slices.SortedFunc(maps.Keys(r.took), func(a, b test) int {
		return cmp.Or(cmp.Compare(r.took[b], r.took[a]), byName(a, b))
	})
	slow = slices.DeleteFunc(slow, func(t test) bool { return r.took[t] < worthNaming })
	for i, t := range slow[:min(most, len(slow))] {
		if i == 0 {
			r.line("slowest tests:")
		}
		r.line("%7.1fs  %s", r.took[t], t)
	}
}

// reason is what a test said when it was skipped, on one line.
func (r *report) reason(t test) string {
	var said []string
	for _, line := range r.output[t] {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
