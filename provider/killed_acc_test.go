//go:build lab

package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// An apply is killed while a call of it is held, with all its processes: nothing of it is in
// the state. The next apply goes on, a change works, and a destroy leaves nothing.

// TestAccKilled_TheNextApplyGoesOn kills the command line tool itself.
func TestAccKilled_TheNextApplyGoesOn(t *testing.T) {
	tool, program := openTofu(t), build(t, releaseDigest)
	for _, s := range awsSweeps() {
		switch s.kind {
		case "karpenter_controller_role", "karpenter_node_role", "karpenter_interruption_queue":
			t.Run(s.kind, func(t *testing.T) { tool.killedApplies(t, program, s) })
		}
	}
	t.Run("karpenter_daemon", func(t *testing.T) {
		withoutAWS(t)
		tool.killedApplies(t, program, startServers(t).sweepOfDaemon())
	})
}

// TestKilled_ADaemonIsTakenUpWithAllItsObjects kills the creation of a daemon in a cluster
// where nobody else has made the namespace or a definition.
func TestKilled_ADaemonIsTakenUpWithAllItsObjects(t *testing.T) {
	withoutAWS(t)
	c := startServers(t)
	before := c.everything(t)
	s := c.sweepOfDaemon()
	first := s.begin(t, operation{name: "create", to: s.first})
	first.gate.counts = s.writes // how often a wait reads depends on time
	calls, target := first.record()
	seen := map[string]bool{}
	for _, n := range makers(t.Name(), calls, s.writes) {
		t.Run(fmt.Sprintf("%d-%s", n, strings.ReplaceAll(calls[n-1], " ", "-")), func(t *testing.T) {
			again := first.onceMore(t)
			again.gate.counts = s.writes
			again.play(n, calls[n-1], killedAfter, target, seen)
			if after := c.everything(t); !slices.Equal(before, after) {
				t.Errorf("before the apply the cluster had %v, after the destroy it has %v", before, after)
			}
		})
	}
}

// makers are the numbers of the calls that make something: a share of them, or all.
func makers(name string, calls []string, writes func(string) bool) []int {
	var all []int
	for i, call := range calls {
		if writes(call) {
			all = append(all, i+1)
		}
	}
	return share.Of(name, max(1, len(all)/2), all)
}

// killedApplies kills an apply of the first configuration at each of the calls, and goes on.
func (c cli) killedApplies(t *testing.T, program string, s *sweep) {
	t.Helper()
	sc := s.setting(t)
	sc.gate.counts = s.writes
	initial := sc.look()
	begin := func() (dir string, declare func(object)) {
		dir = c.workspace(t, program, "")
		return dir, func(config object) {
			text, err := json.Marshal(object{
				"terraform": object{"required_providers": object{"karpenter": object{"source": "karpenterd/karpenter"}}},
				"provider":  object{"karpenter": sc.config}, "resource": object{s.kind: object{"this": config}},
			})
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, "main.tf.json"), text, 0o600))
		}
	}
	dir, declare := begin()
	declare(s.first)
	sc.gate.watch(0, "", nil)
	c.mustRun(t, dir, "apply", "-auto-approve")
	calls, _ := sc.gate.open()
	target := sc.look()
	c.mustRun(t, dir, "destroy", "-auto-approve")
	killed := 0
	for _, n := range makers(t.Name(), calls, s.writes) {
		t.Run(fmt.Sprintf("%d-%s", n, strings.ReplaceAll(calls[n-1], " ", "-")), func(t *testing.T) {
			dir, declare := begin()
			declare(s.first)
			if !c.killedApply(t, dir, sc.gate, n) {
				c.mustRun(t, dir, "destroy", "-auto-approve")
				return
			}
			killed++
			if said := c.mustRun(t, dir, "apply", "-auto-approve"); !strings.Contains(said, "was cut off has left it") {
				t.Errorf("nothing says that something was taken up: %s", said)
			}
			if d := differs(target, sc.look()); d != "" {
				t.Errorf("the next apply does not make what an apply that is not killed makes: %s", d)
			}
			declare(s.second)
			c.mustRun(t, dir, "apply", "-auto-approve")
			c.mustRun(t, dir, "plan", "-detailed-exitcode") // exit 2: there is something to do
			c.mustRun(t, dir, "destroy", "-auto-approve")
			if d := differs(initial, sc.look()); d != "" {
				t.Errorf("after the destroy there is not what was there before: %s", d)
			}
		})
	}
	if killed == 0 {
		t.Error("no apply was killed")
	}
}

// mustRun runs a command that has to succeed.
func (c cli) mustRun(t *testing.T, dir, command string, args ...string) string {
	t.Helper()
	said, err := c.run(t, dir, command, args...)
	if err != nil {
		t.Fatalf("%s %s: %v: %s", c.name, command, err, said)
	}
	return said
}

// killedApply applies, and kills the tool and its providers as soon as call n is carried
// out. The lock on the state goes as the guide says. It says whether there was such a call: after a
// conflict, a write is made once more, so that one apply makes more calls than another.
func (c cli) killedApply(t *testing.T, dir string, g *gate, n int) bool {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), c.path, "apply", "-no-color", "-input=false", "-auto-approve")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, c.env(dir), &said, &said
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, 10*time.Second
	started := make(chan struct{})
	g.watch(n, killedAfter, func() {
		<-started
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	must(t, cmd.Start())
	close(started)
	err := cmd.Wait()
	calls, hit := g.open()
	if !hit && err == nil && len(calls) < n {
		t.Logf("this apply made %d calls only", len(calls))
		return false
	}
	if !hit || err == nil {
		t.Fatalf("the apply was not killed (%v): %s", err, &said)
	}
	if err := os.Remove(filepath.Join(dir, ".terraform.tfstate.lock.info")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return true
}
