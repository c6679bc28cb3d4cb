package proc

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func startSleeper(t *testing.T, s *Set, dir string, script string) *Process {
	t.Helper()
	p, err := s.Start(Spec{Name: "sleeper", Path: "/bin/sh", Args: []string{"-c", script}, LogFile: filepath.Join(dir, "sleeper.log")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// foreign starts a process that no set knows, as a crash would have left it.
func foreign(t *testing.T) (identity, <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id, done
}

func writeState(t *testing.T, dir string, st state) {
	t.Helper()
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, stateName), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSet_CloseLeavesNoProcess(t *testing.T) {
	dir := t.TempDir()
	s, err := NewSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	polite := startSleeper(t, s, dir, "exec sleep 60")
	stubborn := startSleeper(t, s, dir, "trap '' TERM; echo ready; while :; do sleep 1; done")
	waitForText(t, filepath.Join(dir, "sleeper.log"), "ready")
	s.Close(100 * time.Millisecond)
	for _, p := range []*Process{polite, stubborn} {
		if _, err := identify(p.PID); err == nil {
			t.Errorf("process %d still runs after Close", p.PID)
		}
	}
	if got := polite.ExitCode(); got != 128+15 {
		t.Errorf("polite exit code = %d, want 143 (SIGTERM)", got)
	}
	if got := stubborn.ExitCode(); got != 128+9 {
		t.Errorf("stubborn exit code = %d, want 137 (SIGKILL)", got)
	}
	if _, err := s.Start(Spec{Name: "late", Path: "/bin/true", LogFile: filepath.Join(dir, "late.log")}); err == nil {
		t.Error("a closed set started a process")
	}
}

func waitForText(t *testing.T, path, text string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), text) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s never said %q", path, text)
}

func TestSweep_KillsChildrenOfADeadOwner(t *testing.T) {
	root := t.TempDir()
	child, done := foreign(t)
	dir := filepath.Join(root, "lab-1")
	writeState(t, dir, state{Owner: identity{PID: os.Getpid(), Start: 1}, Children: []identity{child}})
	removed, err := Sweep(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(removed) != 1 || removed[0] != dir {
		t.Errorf("removed = %v, want %s", removed, dir)
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the child still runs")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("scratch directory is still there: %v", err)
	}
}

func TestSweep_NeverKillsAStrangerWithTheSameID(t *testing.T) {
	root := t.TempDir()
	stranger, done := foreign(t)
	recorded := stranger
	recorded.Start-- // the process that was recorded started earlier
	writeState(t, filepath.Join(root, "lab-1"), state{Owner: identity{PID: os.Getpid(), Start: 1}, Children: []identity{recorded}})
	if _, err := Sweep(root); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
		t.Fatal("the stranger was killed")
	default:
	}
	if !stranger.alive() {
		t.Error("the stranger was killed")
	}
}

func TestSweep_LeavesALivingLaboratoryAlone(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "lab-1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := NewSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(time.Second)
	p := startSleeper(t, s, dir, "exec sleep 60")
	removed, err := Sweep(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(removed) != 0 || !p.Running() {
		t.Errorf("removed %v, child running %v; want nothing touched", removed, p.Running())
	}
}

func TestParseStat_CommandNamesMayHoldParentheses(t *testing.T) {
	line := "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 0 0"
	st, start, err := parseStat(line)
	if err != nil || st != "S" || start != 987654 {
		t.Errorf("parseStat = %q, %d, %v; want S, 987654", st, start, err)
	}
	if _, _, err := parseStat("42 no name"); err == nil {
		t.Error("a line without a name was accepted")
	}
}
