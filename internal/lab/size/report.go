package size

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// What is required of the default cluster, and what is better.
const (
	peakRequired, peakGoal       = int64(400) << 20, int64(250) << 20
	soonRequired, soonGoal       = 8 * time.Second, 5 * time.Second
	killedRequired, killedGoal   = 20 * time.Second, 16 * time.Second
	endedRequired, endedGoal     = 3 * time.Second, time.Second
	calmRequired, calmGoal       = 0.05, 0.02 // of a core
	busyRequired, busyGoal       = 0.30, 0.10
	latencyRequired, latencyGoal = 500 * time.Millisecond, 100 * time.Millisecond
)

// findings are what one run found.
type findings struct {
	Options
	pod, managed      int   // bytes of JSON of one pod, and of its managedFields
	limit             int64 // bytes, of the daemon's container
	elected, decided  time.Duration
	atDecision, later usage
	// The API server shares the processors.
	serverBefore, serverThen usage
	calm, busy               float64 // of a core
	latencies                []time.Duration
	afterKill, afterEnd      time.Duration
}

// row is one figure, beside what is required of it where something is.
type row struct{ what, measured, required string }

// judged is a row with a requirement and a goal, both upper bounds; one that is not measured is
// left out.
func judged[T int64 | float64 | time.Duration](what string, measured, required, goal T, text func(T) string) []row {
	if measured == 0 {
		return nil
	}
	verdict := "missed"
	switch {
	case measured <= goal:
		verdict = "met, goal met"
	case measured <= required:
		verdict = "met, goal missed"
	}
	return []row{{what, text(measured), fmt.Sprintf("at most %s, goal %s: %s", text(required), text(goal), verdict)}}
}

func (f findings) rows() []row {
	var latency time.Duration
	if len(f.latencies) > 0 {
		latency = slices.Max(f.latencies)
	}
	return slices.Concat(
		judged("resident memory, peak", f.later.peak, peakRequired, peakGoal, mib),
		[]row{
			{fmt.Sprintf("resident memory, %s after", f.Watch), mib(f.later.resident), ""},
			{"resident memory, at first decision", mib(f.atDecision.resident), ""},
			{"limit of its container", mib(f.limit), ""},
			{"elected after", seconds(f.elected), ""},
		},
		judged("decided once after", f.decided, soonRequired, soonGoal, seconds),
		[]row{
			{"processor time until then", seconds(f.atDecision.processor), ""},
			{fmt.Sprintf("processor time, %s after", f.Watch), seconds(f.later.processor), ""},
			{"the API server's until then", seconds(f.serverThen.processor - f.serverBefore.processor), ""},
		},
		judged(fmt.Sprintf("of a core, %d pods a second change", calm), f.calm, calmRequired, calmGoal, percent),
		judged(fmt.Sprintf("of a core, %d pods a second change, %d never run", busy, stuckPods), f.busy, busyRequired, busyGoal, percent),
		judged(fmt.Sprintf("a pod's request to EC2 meanwhile, longest of %d", len(f.latencies)), latency, latencyRequired, latencyGoal, millis),
		judged("decided again, leader killed", f.afterKill, killedRequired, killedGoal, seconds),
		judged("decided again, leader told to end", f.afterEnd, endedRequired, endedGoal, seconds),
	)
}

// report prints the figures beside what is required; it judges in words, and a
// figure that is missed is no error.
func (f findings) report(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\n%d nodes, %d of them of NodeClaims; %d bound pods of %d apps, %.1f KB of JSON each, %.1f KB of it managedFields; %d ReplicaSets\n\n",
		f.Nodes, f.claimed(), f.Pods, f.Apps, float64(f.pod)/1000, float64(f.managed)/1000, f.Apps*(revisions+1))
	if err != nil {
		return err
	}
	return table(w, f.rows())
}

func mib(bytes int64) string { return fmt.Sprintf("%d MB", bytes>>20) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
