package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// stateName is the file in a scratch directory that names who owns it.
const stateName = "processes.json"

// state is the content of the state file.
type state struct {
	Owner    identity   `json:"owner"`
	Children []identity `json:"children"`
}

// Set is one laboratory's processes, in a scratch directory of its own.
type Set struct {
	dir    string
	launch chan request

	mu        sync.Mutex
	closed    bool
	owner     identity
	processes []*Process
	ids       map[*Process]identity
}

type request struct {
	spec   Spec
	answer chan<- result
}

type result struct {
	process *Process
	err     error
}

// NewSet takes ownership of the scratch directory dir, which must exist.
func NewSet(dir string) (*Set, error) {
	if !supported {
		return nil, fmt.Errorf("process set create: %w", ErrUnsupported)
	}
	owner, err := identify(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("process set create: %w", err)
	}
	s := &Set{dir: dir, launch: make(chan request), owner: owner, ids: map[*Process]identity{}}
	if err := s.save(); err != nil {
		return nil, fmt.Errorf("process set create: %w", err)
	}
	go s.starter()
	return s, nil
}

// starter starts every child from one thread that lives as long as the set:
// the parent-death signal is tied to the thread, not to the process.
func (s *Set) starter() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for r := range s.launch {
		p, err := launch(r.spec)
		r.answer <- result{p, err}
	}
}

// Start starts a process and remembers it.
func (s *Set) Start(spec Spec) (*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%s start: %w", spec.Name, ErrClosed)
	}
	answer := make(chan result, 1)
	s.launch <- request{spec, answer}
	r := <-answer
	if r.err != nil {
		return nil, r.err
	}
	if id, err := identify(r.process.PID); err == nil { // else it has already ended
		s.ids[r.process] = id
	}
	s.processes = append(s.processes, r.process)
	go s.reap(r.process)
	if err := s.save(); err != nil {
		return nil, fmt.Errorf("%s start: %w", spec.Name, err)
	}
	return r.process, nil
}

// reap waits for a child's end, so that none stays a zombie.
func (s *Set) reap(p *Process) {
	_ = p.cmd.Wait() // the exit status is kept in ProcessState
	s.mu.Lock()
	s.processes = slices.DeleteFunc(s.processes, func(q *Process) bool { return q == p })
	delete(s.ids, p)
	if !s.closed {
		_ = s.save() // a stale line only names a process that is gone
	}
	s.mu.Unlock()
	close(p.done)
}

// save writes the state file; the caller holds the lock (or nobody else knows the set).
func (s *Set) save() error {
	st := state{Owner: s.owner, Children: []identity{}}
	for _, p := range s.processes {
		if id, ok := s.ids[p]; ok {
			st.Children = append(st.Children, id)
		}
	}
	raw, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("process state encode: %w", err)
	}
	temp := filepath.Join(s.dir, stateName+".new")
	if err := os.WriteFile(temp, raw, 0o600); err != nil {
		return fmt.Errorf("process state write: %w", err)
	}
	return os.Rename(temp, filepath.Join(s.dir, stateName))
}

// Find returns the running process of the name.
func (s *Set) Find(name string) (*Process, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// All are the processes that run.
func (s *Set) All() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.processes)
}

// Closing says whether the processes are being stopped, or are.
func (s *Set) Closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close stops what still runs, the youngest first, each within grace.
func (s *Set) Close(grace time.Duration) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	rest := slices.Clone(s.processes)
	s.mu.Unlock()
	for _, p := range slices.Backward(rest) {
		p.Stop(grace)
	}
	close(s.launch) // lets the starting thread go: nothing depends on it any more
}
