package toolchain

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"
)

// How often progress is shown: a terminal gets one line that changes, anything
// else (a log) gets a new line now and then, never a silent minute.
const (
	terminalEvery = time.Second
	logEvery      = 15 * time.Second
	lineWidth     = 79
)

// progress reports all that is built and downloaded side by side, on one line. As a
// writer it takes what else is to be said meanwhile, in whole lines.
type progress struct {
	w        io.Writer
	terminal bool
	start    time.Time

	mu      sync.Mutex
	parts   []*part
	last    *part // what was heard of last
	stop    chan struct{}
	stopped sync.WaitGroup
}

// part is one go build or one download. Of a build it is the standard error: the go
// tool names there each module it downloads and each package it compiles, and
// everything else is what went wrong.
type part struct {
	all        *progress
	downloaded int // modules
	compiled   int // packages
	expected   int // packages in all; 0: not known
	got, size  int64
	last       string
	partial    []byte
	complaints []string
}

func startProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: isTerminal(w), start: time.Now(), stop: make(chan struct{})}
	every := logEvery
	if p.terminal {
		every = terminalEvery
	}
	p.stopped.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				p.show()
			}
		}
	})
	return p
}

func (p *progress) part() *part {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := &part{all: p}
	p.parts = append(p.parts, one)
	return one
}

// Write says something beside the line that changes.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.w.Write(b)
}

func (p *progress) clear() {
	if p.terminal {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Write takes the go tool's standard error.
func (t *part) Write(b []byte) (int, error) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.partial = append(t.partial, b...)
	for {
		line, rest, ok := bytes.Cut(t.partial, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		t.partial = rest
		t.take(string(line))
	}
}

func (t *part) take(line string) {
	switch {
	case line == "":
		return
	case strings.HasPrefix(line, "go: downloading "):
		t.downloaded++
		t.last = strings.Fields(line)[2]
	case !strings.ContainsAny(line, " \t:#"):
		t.compiled++
		t.last = line
	default:
		t.complaints = append(t.complaints, line)
		return
	}
	t.all.last = t
}

// expect says how many packages are still to be compiled.
func (t *part) expect(left int) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.expected = t.compiled + left
}

// fetched says how much of a download has come.
func (t *part) fetched(name string, got, size int64) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.got, t.size, t.last = got, max(got, size), name // a size that is not known is -1
	t.all.last = t
}

// dropped forgets a download that came to nothing: what it was about is built.
func (t *part) dropped() {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.got, t.size = 0, 0
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line(time.Since(p.start))
	p.clear()
	if p.terminal {
		_, _ = fmt.Fprint(p.w, line[:min(len(line), lineWidth)])
		return
	}
	_, _ = fmt.Fprintln(p.w, line)
}

// line is the state of everything after so much time.
func (p *progress) line(after time.Duration) string {
	var done, downloaded, expected int
	var got, size int64
	known := true
	for _, t := range p.parts {
		done, downloaded, got, size = done+t.compiled, downloaded+t.downloaded, got+t.got, size+t.size
		expected += max(t.expected, t.compiled)
		known = known && (t.expected > 0 || t.compiled == 0)
	}
	var said []string
	if downloaded > 0 {
		said = append(said, fmt.Sprintf("%d modules downloaded", downloaded))
	}
	if size > 0 {
		said = append(said, fmt.Sprintf("%d of %d MB downloaded", got>>20, size>>20))
	}
	switch {
	case known && expected > done:
		said = append(said, fmt.Sprintf("%d of %d packages compiled", done, expected))
	case done > 0 || size == 0:
		said = append(said, fmt.Sprintf("%d packages compiled", done))
	}
	if known && expected > done {
		said = append(said, left(after, done, expected))
	}
	if p.last != nil && p.last.last != "" {
		said = append(said, p.last.last)
	}
	return fmt.Sprintf("%4.0fs  %s", after.Seconds(), strings.Join(said, ", "))
}

// left says how long the rest takes if it goes on like this. At first only small
// packages of the standard library have been compiled, of which nothing follows.
func left(after time.Duration, done, expected int) string {
	if done*20 < expected {
		return "some minutes left"
	}
	rest := after * time.Duration(expected-done) / time.Duration(done)
	if rest < time.Minute {
		return "less than a minute left"
	}
	return fmt.Sprintf("about %.0f min left", math.Ceil(rest.Minutes()))
}

// end stops the reports and leaves one line that says what it took, unless
// nothing was done.
func (p *progress) end(err error) {
	close(p.stop)
	p.stopped.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	compiled := 0
	for _, t := range p.parts {
		compiled += t.compiled
	}
	took := time.Since(p.start)
	if compiled == 0 && took < logEvery {
		return
	}
	verdict := "ready"
	if err != nil {
		verdict = "failed"
	}
	_, _ = fmt.Fprintf(p.w, "%4.0fs  %s, %d packages compiled\n", took.Seconds(), verdict, compiled)
}

// complaint is the end of what the go tool said went wrong.
func (t *part) complaint() string {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	lines := t.complaints
	if len(t.partial) > 0 {
		lines = append(lines, string(t.partial))
	}
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
