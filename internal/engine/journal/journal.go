package journal

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Journal is what every stage writes to: what became of which pods, when to look
// again, and how much work it was.
type Journal struct {
	Outcomes []plan.Outcome
	Names    []string // ids of the pods in Outcomes; all outcomes share this memory
	Wait     plan.Wait
	Trace    Trace
}

// WaitUntil asks for another Step at time t. The earliest time that is asked for
// wins.
func (j *Journal) WaitUntil(t time.Time, why plan.WaitReason) {
	if j.Wait.Until.IsZero() || t.Before(j.Wait.Until) {
		j.Wait = plan.Wait{Until: t, Why: why}
	}
}

// Trace counts the work of a Step, for benchmarks and for the record.
type Trace struct {
	Pods     int // real pods that needed room
	Declared int64
	Classes  int   // of the demand
	Objects  int   // NodeClaims, nodes, groups and workloads looked at
	Hosts    int   // nodes and NodeClaims whose room was looked at
	Types    int   // rows of the fleet
	Rounds   int   // times that demand was packed
	Work     int64 // fills of the packer
	Tries    int   // tries of the plan so far, the present one included
	Placed   int64 // pods that found room
	Launches int   // of the whole plan, earlier Steps included
	Refused  int64 // pods that found no place
	// Units is the work that the plan has taken so far, in all its tries.
	Units int
	// ChangesTried says that what has changed in a large fleet was looked at, for nodes that may
	// be deleted, before the whole fleet is.
	ChangesTried bool
	// Savings says what the search for savings did in this Step; empty for nothing new.
	Savings string
	// Complete says that the plan is finished; if not, the next Step continues
	// this one.
	Complete bool
}
