package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Comparison is one case, decided by Karpenter's scheduler and by the engine on the
// same machine, one after the other.
type Comparison struct {
	Measured time.Time
	Machine  Machine
	Seed     uint64 // of the pods
	Theirs   Side
	Ours     Side
}

// Machine is where something was measured.
type Machine struct {
	CPU   string // the model
	Cores int
}

// Side is what one of the two made of a case, in a process of its own.
type Side struct {
	Figures

	Version   string
	Cold      time.Duration // the first decision of the process: nothing is remembered
	Warm      time.Duration // the median of the later ones, each on input prepared anew
	Allocated uint64        // bytes, by the first decision

	// Of a fleet that was scaled in: all decisions together, how many of them were
	// carried out, and whether there was still something to do when time was over.
	Total    time.Duration `json:",omitempty"`
	Commands int           `json:",omitempty"`
	Cut      bool          `json:",omitempty"`
}

// Comparisons are what is known of each case, by its name. They hold for the
// machine that made them, so no file of them is part of the source.
type Comparisons map[string]Comparison

// ReadComparisons reads what `make bench-peer` has written. A file that is not
// there has none.
func ReadComparisons(path string) (Comparisons, error) {
	text, err := os.ReadFile(path) //nolint:gosec // G304: the file is the caller's to choose
	if errors.Is(err, fs.ErrNotExist) {
		return Comparisons{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("comparisons read: %w", err)
	}
	all := Comparisons{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("comparisons read %s: %w", path, err)
	}
	return all, nil
}

// Write puts the comparisons into the file. Cases that it has and these lack stay.
func (c Comparisons) Write(path string) error {
	all, err := ReadComparisons(path)
	if err != nil {
		return err
	}
	for name, one := range c {
		all[name] = one
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("comparisons write: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("comparisons write: %w", err)
	}
	return nil
}

// Peer says what Karpenter made of the case, when, and on which machine if it was
// not this one.
func (c Comparisons) Peer(name string, here Machine) string {
	one, ok := c[name]
	switch {
	case ok && one.Machine != here:
		return fmt.Sprintf("%s, on another machine (%s)", one.peer(), one.Machine)
	case ok:
		return one.peer()
	case slices.ContainsFunc(Compared(), func(x Case) bool { return x.Name == name }) || ComparedFleets()[name] > 0:
		return "run make bench-peer"
	}
	return "-"
}

func (c Comparison) peer() string {
	text := fmt.Sprintf("%s, %s", c.Theirs, c.Measured.UTC().Format(time.DateOnly))
	if c.Theirs.Version != "" {
		text += ", " + c.Theirs.Version
	}
	return text
}

// String says what a side took and made.
func (s Side) String() string {
	if s.Total > 0 {
		text := fmt.Sprintf("%s for %d commands, %s each, then $%.2f/h, %d nodes", Span(s.Total), s.Commands, Span(s.Warm), s.Dollars(), s.Nodes)
		if s.Cut {
			text += ", and not at its end"
		}
		return text
	}
	text := fmt.Sprintf("%s cold, %s warm, %.1f MB, $%.2f/h, %d nodes", Span(s.Cold), Span(s.Warm), float64(s.Allocated)/1e6, s.Dollars(), s.Nodes)
	if s.Satisfied > 0 {
		text += fmt.Sprintf(", preferences of weight %d met", s.Satisfied)
	}
	for _, k := range Kinds() {
		if n := s.Unplaced[k]; n > 0 {
			text += fmt.Sprintf(", %d unplaced (%s)", n, k)
		}
	}
	return text
}

// Dollars is the cost an hour.
func (s Side) Dollars() float64 { return float64(s.Cost) / quantity.NanoDollars }

// Span is a time that somebody reads.
func Span(d time.Duration) string {
	if d > time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
}

func (m Machine) String() string { return fmt.Sprintf("%d x %s", m.Cores, m.CPU) }

// Here is this machine.
func Here() Machine {
	m := Machine{CPU: runtime.GOARCH, Cores: runtime.NumCPU()}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m // another system: the architecture must do
	}
	for line := range strings.Lines(string(text)) {
		if key, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(model)
			break
		}
	}
	return m
}

// Decide has the engine decide on the case as the peer is asked to: once with
// nothing remembered, and a few times more with what the daemon has in memory by
// then. The process must be a fresh one. What proves the bound is checked.
func (c Case) Decide(seed uint64) (Side, error) {
	setting, err := c.Setting()
	if err != nil {
		return Side{}, err
	}
	base, err := Index(setting)
	if err != nil {
		return Side{}, err
	}
	var s Side
	if s.Cold, err = c.measure(base, seed, &s); err != nil {
		return Side{}, err
	}
	base = base.warmed()
	var warm []time.Duration
	const times, enough = 5, 5 * time.Second
	for begun := time.Now(); len(warm) == 0 || len(warm) < times && time.Since(begun) < enough; {
		took, err := c.measure(base, seed, nil)
		if err != nil {
			return Side{}, err
		}
		warm = append(warm, took)
	}
	slices.Sort(warm)
	s.Warm = warm[len(warm)/2]
	return s, nil
}

// measure times one Step on input prepared anew, and reads its figures into s if
// that is given.
func (c Case) measure(base Base, seed uint64, s *Side) (time.Duration, error) {
	in, pods, err := c.Prepare(base, seed)
	if err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	out := engine.Step(in)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if s == nil {
		return took, nil
	}
	s.Figures, s.Allocated = ReadOutput(pods, out), after.TotalAlloc-before.TotalAlloc
	return took, Prove(in, out)
}
