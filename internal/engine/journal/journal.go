package journal

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Journal is what every stage writes to: what became of which pods, when to look
// again, and how much work it was.
type Journal struct {
	Outcomes []plan.Outcome
	Names    []string // of pods that have an outcome, in memory that all outcomes share
	Wait     plan.Wait
	Trace    Trace
}

// WaitUntil asks for another Step at t; the earliest wins.
func (j *Journal) WaitUntil(t time.Time, why plan.WaitReason) {
	if j.Wait.Until.IsZero() || t.Before(j.Wait.Until) {
		j.Wait = plan.Wait{Until: t, Why: why}
	}
}

// Trace counts the work of a Step, for benchmarks and for the record.
type Trace struct {
	Pods     int // real pods that needed room
	Declared int64
	Classes  int // groups among them
	Objects  int // claims, nodes, groups and workloads looked at
	Hosts    int // of them those that could take pods
	Types    int // kinds of new node that can be launched
	Rounds   int // times that demand was packed
	Work     int64
	Tries    int // times that the Step was planned anew for the sake of a gang
	Placed   int64
	Launches int // of the whole plan, those of Steps before included
	Refused  int64
	// Units is the work that the plan has taken so far, all tries together.
	Units int
	// Complete says that the plan is made; else the next Step goes on with it.
	Complete bool
}
