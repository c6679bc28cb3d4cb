package cluster

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Policy says which nodes of a pool may be deleted to save money
// (spec.disruption.consolidationPolicy).
type Policy string

// The policies. Balanced is WhenEmptyOrUnderutilized for savings that are worth what they
// disturb: a share of the pool's cost at least half as large as the share of its pods'
// disruption.
const (
	WhenEmpty                Policy = "WhenEmpty"
	WhenEmptyOrUnderutilized Policy = "WhenEmptyOrUnderutilized"
	Balanced                 Policy = "Balanced"
)

// Disruption says when and how many nodes of a pool may be deleted. Interruptions,
// unhealthy nodes and what users delete do not ask it.
type Disruption struct {
	Policy Policy
	// Never says that no node is deleted to save money (consolidateAfter: Never).
	Never bool
	// After is how long no pod may have come to a node or left it, before the
	// node may be deleted to save money (consolidateAfter).
	After time.Duration
	// Budgets bound how many nodes are deleted at once. All of them hold; none is no bound.
	Budgets []Budget
	// Paused says that the pool's annotation forbids all voluntary disruption.
	Paused bool
}

// Budget bounds how many nodes of a pool are disrupted at once, for some reasons, at
// all times or at some.
type Budget struct {
	Reasons []string // Empty, Underutilized, Drifted, Expired; sorted; none is all reasons
	// Most is the bound: a number of nodes or, if Percent, hundredths of the pool's
	// nodes, rounded up.
	Most    int64
	Percent bool
	// Schedule says when the budget's windows begin, and Duration how long each is;
	// without a Schedule the budget always holds.
	Schedule *Schedule
	Duration time.Duration
	// Invalid says why the budget cannot be read. Such a budget allows nothing.
	Invalid string
}

// Schedule is the times of a cron expression: a minute is one of them if its bit is
// set in each field. If both Days and Weekdays are restricted, one of the two is
// enough, as in cron.
type Schedule struct {
	Minutes, Hours, Days, Months, Weekdays uint64 // bits 0-59, 0-23, 1-31, 1-12, 0-6 (0 is Sunday)
	AnyDay, AnyWeekday                     bool   // the field is *
	Zone                                   *time.Location
	Text                                   string // as the user wrote it
}

// writtenSchedule is a Schedule as records of decisions have it.
type writtenSchedule struct {
	Schedule

	Zone string // its name
}

// GobEncode writes the schedule for a record of a decision; see package replay.
func (s Schedule) GobEncode() ([]byte, error) {
	w := writtenSchedule{Schedule: s}
	if s.Zone != nil {
		w.Zone = s.Zone.String()
	}
	w.Schedule.Zone = nil
	return json.Marshal(w) //nolint:wrapcheck // it cannot fail
}

// GobDecode reads what GobEncode wrote.
func (s *Schedule) GobDecode(data []byte) error {
	var w writtenSchedule
	err := json.Unmarshal(data, &w)
	if *s = w.Schedule; err == nil && w.Zone != "" {
		s.Zone, err = time.LoadLocation(w.Zone)
	}
	if err != nil {
		return fmt.Errorf("schedule read: %w", err)
	}
	return nil
}

// Disrupting is what the condition DisruptionReason of a NodeClaim says.
type Disrupting struct {
	Reason string
	Since  time.Time
}

// Drift is what the condition Drifted of a NodeClaim says.
type Drift struct {
	Reason string
	Since  time.Time
}

// Move says which nodes the node of a NodeClaim replaces. The NodeClaim carries the
// move in an annotation, so that a daemon that starts anew continues with it.
type Move struct {
	ID       string // the same for all replacements of the move
	Index    int    // which of Count replacements this one is, from 0
	Count    int
	Reason   string
	Sources  []Source // sorted by name
	Deadline time.Time
}

// Source is a NodeClaim that a move takes away.
type Source struct{ Claim, UID string }

// PodBudget is a PodDisruptionBudget.
type PodBudget struct {
	UID, Namespace, Name string
	Selector             PodSelector
	Allowed              int64 // status.disruptionsAllowed
	// EvictsNotReady says that pods that are not ready are evicted even if Allowed is 0.
	EvictsNotReady bool
}

// Evicts says whether the API evicts the pod now, which the budget selects.
func (b *PodBudget) Evicts(p *Pod) bool { return b.Allowed > 0 || b.EvictsFreely(p) }

// EvictsFreely says whether the API evicts the pod, which the budget selects, whatever
// Allowed is, and does not count it.
func (b *PodBudget) EvictsFreely(p *Pod) bool { return p.NotStarted || p.NotReady && b.EvictsNotReady }

// ID is namespace/name.
func (b PodBudget) ID() string { return b.Namespace + "/" + b.Name }

// Selects says whether the budget is about pods of the namespace with these labels.
func (b *PodBudget) Selects(namespace string, l label.Labels) bool {
	return b.Namespace == namespace && b.Selector.Selects(l)
}

// OrdinaryPod is what evicting a pod without priority and deletion cost costs.
const OrdinaryPod = 1000

// EvictionCost is what evicting the pod costs, in thousandths of an ordinary one. The
// formula is Karpenter's: one, a deletion cost in units of 2^27 and a priority in units of
// 2^25, at most ten. It is never less than nothing.
func (p *Pod) EvictionCost() int64 {
	more := int64(p.DeletionCost)*OrdinaryPod/(1<<27) + int64(p.Shape.Priority)*OrdinaryPod/(1<<25)
	return min(max(OrdinaryPod+more, 0), 10*OrdinaryPod)
}

// Protected says whether the node must not be disrupted voluntarily now.
func (n *Node) Protected(now time.Time) bool { return n.DoNotDisrupt || now.Before(n.ProtectedUntil) }

// Protected says whether the pod must not be disrupted voluntarily now.
func (p *Pod) Protected(now time.Time) bool { return p.DoNotDisrupt || now.Before(p.ProtectedUntil) }
