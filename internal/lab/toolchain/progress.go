package toolchain

import (
	"bytes"
	"fmt"
	"io"
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

// progress reports a running `go build -v`. It is the command's standard
// error: the go tool names there each module it downloads and each package it
// compiles, and everything else is what went wrong.
type progress struct {
	w        io.Writer
	terminal bool
	title    string
	start    time.Time

	mu         sync.Mutex
	downloaded int
	compiled   int
	last       string
	partial    []byte
	complaints []string
	stop       chan struct{}
	stopped    sync.WaitGroup
}

func startProgress(w io.Writer, title string) *progress {
	p := &progress{w: w, terminal: isTerminal(w), title: title, start: time.Now(), stop: make(chan struct{})}
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

// Write takes the go tool's standard error.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partial = append(p.partial, b...)
	for {
		line, rest, ok := bytes.Cut(p.partial, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		p.partial = rest
		p.take(string(line))
	}
}

func (p *progress) take(line string) {
	switch {
	case line == "":
	case strings.HasPrefix(line, "go: downloading "):
		p.downloaded++
		p.last = strings.Fields(line)[2]
	case !strings.ContainsAny(line, " \t:#"):
		p.compiled++
		p.last = line
	default:
		p.complaints = append(p.complaints, line)
	}
}

func (p *progress) show() {
	p.mu.Lock()
	line := fmt.Sprintf("%4.0fs  %s: ", time.Since(p.start).Seconds(), p.title)
	if p.downloaded > 0 {
		line += fmt.Sprintf("%d modules downloaded, ", p.downloaded)
	}
	line += fmt.Sprintf("%d packages compiled", p.compiled)
	if p.last != "" {
		line += ", " + p.last
	}
	p.mu.Unlock()
	if p.terminal {
		line = line[:min(len(line), lineWidth)]
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		return
	}
	_, _ = fmt.Fprintln(p.w, line)
}

// end stops the reports and leaves one line that says what it took, unless
// nothing had to be done.
func (p *progress) end(err error) {
	close(p.stop)
	p.stopped.Wait()
	if p.terminal {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
	if err == nil && p.compiled == 0 && time.Since(p.start) < logEvery {
		return
	}
	verdict := "done"
	if err != nil {
		verdict = "failed"
	}
	_, _ = fmt.Fprintf(p.w, "%4.0fs  %s: %s, %d packages compiled\n", time.Since(p.start).Seconds(), p.title, verdict, p.compiled)
}

// complaint is the end of what the go tool said went wrong.
func (p *progress) complaint() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.complaints
	if len(p.partial) > 0 {
		lines = append(lines, string(p.partial))
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
