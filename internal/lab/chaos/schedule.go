package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/faults"
)

// Event is one thing that happens in a run.
type Event struct {
	At    time.Duration // after the round began
	Fault string        // a fault of the laboratory; empty: a Deployment is scaled
	With  []string      // its parameters, names and values in turn
	For   time.Duration // how long it is in force; zero: it happens once

	Draw     uint64 // draws the instance, for faults of one
	App      int    // which Deployment is scaled
	Replicas int    // to how many
}

// String is the event on one line.
func (e Event) String() string {
	at := fmt.Sprintf("%5.1fs", e.At.Seconds())
	if e.Fault == "" {
		return fmt.Sprintf("%s  Deployment %d to %d replicas", at, e.App, e.Replicas)
	}
	text := at + "  " + e.Fault
	for pair := range slices.Chunk(e.With, 2) {
		text += " " + strings.Join(pair, "=")
	}
	if e.For > 0 {
		text += " for " + e.For.String()
	}
	return text
}

// Round is the events of one round, by their time.
type Round []Event

// Schedule is a run.
type Schedule []Round

// Events counts the events.
func (s Schedule) Events() (n int) {
	for _, r := range s {
		n += len(r)
	}
	return n
}

// String lists the events by round.
func (s Schedule) String() string {
	var b strings.Builder
	for i, r := range s {
		fmt.Fprintf(&b, "round %d\n", i+1)
		for _, e := range r {
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	return b.String()
}

// kind is a fault that is drawn.
type kind struct {
	fault string
	with  func(*rand.Rand) []string // parameters; nil for none
	lasts bool                      // it is in force for a while
	on    target                    // what the fault happens to
}

type target int

const (
	nothing target = iota // in particular
	anInstance
	aSpotInstance
	aNode
)

func with(parameters ...string) func(*rand.Rand) []string {
	return func(*rand.Rand) []string { return parameters }
}

// oneOf draws one of several parameter lists.
func oneOf(lists ...[]string) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string { return lists[r.IntN(len(lists))] }
}

// kinds are the faults that are drawn, with parameters that a bad day has.
func kinds() []kind {
	services := func(more ...string) func(*rand.Rand) []string {
		var lists [][]string
		for _, s := range []string{"ec2", "iam", "ssm", "sqs", "pricing", "sts", "eks"} {
			lists = append(lists, append([]string{"service", s}, more...))
		}
		return oneOf(lists...)
	}
	return []kind{
		{"aws-error", services(), true, nothing},
		{"aws-error", with("share", "0.3"), true, nothing},
		{"aws-denied", oneOf([]string{"service", "ec2", "action", "CreateFleet"}, []string{"service", "ec2", "action", "TerminateInstances"}, []string{"service", "ec2", "action", "DescribeInstances"}), true, nothing},
		{"aws-slow", services("least", "500ms", "most", "3s"), true, nothing},
		{"aws-silent", services(), true, nothing},
		{"aws-lost-answer", oneOf([]string{"action", "CreateFleet", "share", "0.5"}, []string{"action", "TerminateInstances", "share", "0.5"}, []string{"action", "CreateLaunchTemplate"}), true, nothing},
		{"aws-expire", nil, false, nothing},
		{"iam-lag", with("most", "5s"), true, nothing},
		{"queue-unreliable", with("lost", "0.3", "repeated", "0.3", "late", "5s"), true, nothing},
		{"capacity-storm", oneOf([]string{}, []string{"keep", "c6a.xlarge,m6a.xlarge,r6a.xlarge"}), true, nothing},
		{"quota", oneOf([]string{"capacity-type", "on-demand", "vcpus", "0"}, []string{"capacity-type", "spot", "vcpus", "8"}), true, nothing},
		{"full-subnet", nil, true, nothing},
		{"kms-refused", nil, true, nothing},
		{"api-server-restart", with("down", "2s"), false, nothing},
		{"etcd-slow", nil, true, nothing},
		{"partition", nil, true, nothing},
		{"network-silent", nil, true, nothing},
		{"watch-behind", with("delay", "2s"), true, nothing},
		{"webhook", oneOf([]string{"does", "deny", "resource", "nodeclaims"}, []string{"does", "hang", "resource", "nodeclaims"}, []string{"does", "deny", "resource", "nodeclaims/status"}, []string{"does", "deny", "resource", "nodes"}, []string{"does", "deny", "resource", "pods/eviction"}), true, nothing},
		{"never-joins", nil, true, nothing},
		{"late-joins", with("boot", "10s"), true, nothing},
		{"joins-twice", nil, true, nothing},
		{"daemon-kill", oneOf([]string{"which", "leader"}, []string{"which", "all"}), false, nothing},
		{"daemon-freeze", oneOf([]string{"which", "leader"}, []string{"which", "all"}), true, nothing},
		{"node-not-ready", nil, true, aNode},
		{"node-hung", nil, true, aNode},
		{"spot-warning", nil, false, aSpotInstance},
		{"rebalance", nil, false, aSpotInstance},
		{"retirement", nil, false, anInstance},
		{"instance-terminated", nil, false, anInstance},
		{"instance-stopped", nil, false, anInstance},
	}
}

const (
	// storm is how long faults begin in a round, longest how long one is in force at most.
	storm, longest = 40 * time.Second, 20 * time.Second
	// faultsEach and scalesEach are how many events a round has at most.
	faultsEach, scalesEach = 12, 6
	// mostReplicas is how many pods a Deployment has at most.
	mostReplicas = 12
)

// Draw draws a schedule of so many rounds.
func Draw(seed uint64, rounds int) Schedule {
	r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // no secret
	all := kinds()
	out := make(Schedule, rounds)
	for i := range out {
		for range 1 + r.IntN(faultsEach) {
			k := all[r.IntN(len(all))]
			e := Event{At: upTo(r, storm), Fault: k.fault, Draw: r.Uint64()}
			if k.with != nil {
				e.With = k.with(r)
			}
			if k.lasts {
				e.For = time.Second + upTo(r, longest)
			}
			out[i] = append(out[i], e)
		}
		for range 1 + r.IntN(scalesEach) {
			out[i] = append(out[i], Event{At: upTo(r, storm), App: r.IntN(apps), Replicas: r.IntN(mostReplicas + 1)})
		}
		slices.SortStableFunc(out[i], func(a, b Event) int { return int(a.At - b.At) })
	}
	return out
}

// upTo draws a duration, to a tenth of a second.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most))).Truncate(100 * time.Millisecond)
}

// undrawn are the faults of a laboratory that no schedule has: EC2 always throttles, and the
// others are what wider ones do, too.
func undrawn() []string { return []string{"aws-throttle", "no-capacity", "no-spot-role"} }

// matches says where the faults that are drawn are not those that the laboratory has.
func matches(known []faults.Known) error {
	var drawn, has []string
	for _, k := range kinds() {
		drawn = append(drawn, k.fault)
	}
	for _, k := range known {
		has = append(has, k.Name)
		if !slices.Contains(drawn, k.Name) && !slices.Contains(undrawn(), k.Name) {
			return fmt.Errorf("fault %s of the laboratory is never drawn", k.Name)
		}
	}
	for _, name := range append(drawn, undrawn()...) {
		if !slices.Contains(has, name) {
			return fmt.Errorf("fault %s is drawn, and the laboratory has none of that name", name)
		}
	}
	return nil
}

// targetOf is what the fault of the event happens to.
func (e Event) targetOf() target {
	for _, k := range kinds() {
		if k.fault == e.Fault {
			return k.on
		}
	}
	return nothing
}

// Shorten cuts a schedule that fails down: it leaves rounds out, then events, for as long as what
// is left fails and there are tries.
func Shorten(s Schedule, tries int, fails func(Schedule) bool) Schedule {
	for size := len(s) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(s) && len(s) > 1 && tries > 0; {
			less := append(slices.Clone(s[:from]), s[from+size:]...)
			if tries--; fails(less) {
				s = less
			} else {
				from += size
			}
		}
	}
	for i := range s {
		for at := len(s[i]) - 1; at >= 0 && tries > 0; at-- {
			less := slices.Clone(s)
			less[i] = append(slices.Clone(s[i][:at]), s[i][at+1:]...)
			if tries--; fails(less) {
				s = less
			}
		}
	}
	return s
}
