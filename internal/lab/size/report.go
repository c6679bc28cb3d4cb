package size

import (
	"fmt"
	"io"
	"time"
)

// What is required of the default cluster.
const (
	peakRequired = int64(450) << 20
	peakGoal     = int64(250) << 20
	soonRequired = 10 * time.Second
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
}

// report prints the figures beside what is required; it judges in words, and a
// figure that is missed is no error.
func (f findings) report(w io.Writer) error {
	peak := "missed"
	switch {
	case f.later.peak <= peakGoal:
		peak = "met, goal met"
	case f.later.peak <= peakRequired:
		peak = "met, goal missed"
	}
	soon := "missed"
	if f.decided <= soonRequired {
		soon = "met"
	}
	_, err := fmt.Fprintf(w, `
%d nodes, %d of them of NodeClaims; %d bound pods of %d apps, %.1f KB of JSON each, %.1f KB of it managedFields; %d ReplicaSets

                                     measured   required
resident memory, peak                %8s   at most %s, goal %s: %s
resident memory, %s after        %8s
resident memory, at first decision   %8s
limit of its container               %8s
elected after                        %8s
decided once after                   %8s   at most %s: %s
processor time until then            %8s
processor time, %s after         %8s
the API server's until then          %8s
`,
		f.Nodes, f.claimed(), f.Pods, f.Apps, float64(f.pod)/1000, float64(f.managed)/1000, f.Apps*(revisions+1),
		mib(f.later.peak), mib(peakRequired), mib(peakGoal), peak,
		f.Watch, mib(f.later.resident), mib(f.atDecision.resident), mib(f.limit),
		seconds(f.elected), seconds(f.decided), soonRequired, soon,
		seconds(f.atDecision.processor), f.Watch, seconds(f.later.processor), seconds(f.serverThen.processor-f.serverBefore.processor))
	return err
}

func mib(bytes int64) string { return fmt.Sprintf("%d MB", bytes>>20) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
