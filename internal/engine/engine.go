package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Input is all that a Step may look at.
type Input struct {
	Snapshot cluster.Snapshot
	Events   []string // hints about what changed; never change a result
	Memory   Memory
	Policy   Policy
	Now      time.Time
	Seed     uint64 // names of new NodeClaims come from it
}

// Output is all that a Step has to say.
type Output struct {
	Plan   plan.Plan
	Memory Memory
	Trace  Trace
}

// Trace counts the work of a Step, for benchmarks and for the record.
type Trace struct {
	Pods     int // real pods that needed room
	Declared int64
	Classes  int // distinct shapes among them
	Hosts    int // nodes and NodeClaims that could take pods
	Types    int // kinds of new node that were compared
	Rounds   int // rounds of packing
	Placed   int64
	Launches int
	Refused  int64
}

// Policy holds the settings of the core. The zero value of a field means its
// default; see DefaultPolicy.
type Policy struct {
	// StartupTaint is the daemon's own: it stays on a node until the pods that
	// the node was made for are nominated.
	StartupTaint cluster.Taint
	// OnDemandTolerance and SpotTolerance are how much dearer, in thousandths,
	// an alternative type of a launch may be than the best one.
	OnDemandTolerance, SpotTolerance int64
	// IgnorePreferences leaves out what pods only prefer: preferred affinities and
	// spread constraints with ScheduleAnyway.
	IgnorePreferences bool
	// BestEffortMinValues lets a launch have fewer values than a pool's minValues
	// where there are not as many; else nothing is launched.
	BestEffortMinValues bool
	// SoftMaxMilliCPU is the node size that is not exceeded unless a pod needs
	// it: beyond about 32 vCPU a larger node saves next to nothing and takes
	// more pods with it when it goes.
	SoftMaxMilliCPU int64
	// ReleaseWait is how long a ready node is kept for pods that are declared
	// and do not come.
	ReleaseWait time.Duration
	// DeclaredPatience is how long a declared replica counts as demand without
	// any progress of its controller.
	DeclaredPatience time.Duration
	// ArrivalPatience is the least time for which a node that has not had any of
	// its pods yet does not count as empty.
	ArrivalPatience time.Duration
	// LaunchTimeout and RegistrationTimeout end NodeClaims that do not come up.
	LaunchTimeout, RegistrationTimeout time.Duration
	// DrainReserve is the part of an interruption notice that is kept for
	// draining, at most half of the notice.
	DrainReserve time.Duration
}

// DefaultPolicy returns the settings that the daemon starts with. The tolerances
// are those of Karpenter's users' habit of flexible fleets; the timeouts are
// Karpenter's.
func DefaultPolicy() Policy {
	return Policy{
		StartupTaint:        cluster.Taint{Key: "karpenterd.sh/awaiting-pods", Effect: cluster.NoSchedule},
		OnDemandTolerance:   50,
		SpotTolerance:       200,
		SoftMaxMilliCPU:     32_000,
		ReleaseWait:         3 * time.Second,
		DeclaredPatience:    30 * time.Second,
		ArrivalPatience:     20 * time.Second,
		LaunchTimeout:       5 * time.Minute,
		RegistrationTimeout: 15 * time.Minute,
		DrainReserve:        60 * time.Second,
	}
}

// Step decides. It never fails: what cannot be done is said in the plan's
// outcomes.
func Step(in Input) Output {
	s := &step{in: in, memory: in.Memory.next(in.Snapshot, in.Now)}
	s.gatherDemand()
	s.gatherHosts()
	s.assign()
	s.provision()
	s.release()
	s.retire()
	return s.output()
}

// step is the working state of one Step.
type step struct {
	in     Input
	memory Memory

	classes []demandClass // sorted by priority, then key
	hosts   []host        // sorted by readiness, then name

	launches []plan.Action
	nominate []plan.Action // with the releases that belong to them, in order
	retired  []plan.Action
	outcomes []plan.Outcome
	wait     plan.Wait
	trace    Trace
}

// waitUntil asks for another Step at t; the earliest wins.
func (s *step) waitUntil(t time.Time, why plan.WaitReason) {
	if s.wait.Until.IsZero() || t.Before(s.wait.Until) {
		s.wait = plan.Wait{Until: t, Why: why}
	}
}

func (s *step) output() Output {
	actions := slices.Concat(s.launches, s.nominate, s.retired)
	if !s.wait.Until.IsZero() {
		actions = append(actions, s.wait)
	}
	slices.SortFunc(s.outcomes, func(a, b plan.Outcome) int { return strings.Compare(a.Pod, b.Pod) })
	return Output{Plan: plan.Plan{Actions: actions, Outcomes: s.outcomes}, Memory: s.memory, Trace: s.trace}
}
