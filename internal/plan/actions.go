package plan

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Action is one of Launch, Nominate, Release, Cordon, Delete, Wait. Whoever
// switches over it names them all: an action that nobody carries out would be
// lost without a word.
//
//sumtype:decl
type Action interface{ isAction() }

// Launch asks for one new NodeClaim. Name is unique within the cluster with
// overwhelming probability and the same whenever the same Step is replayed.
type Launch struct {
	Name          string
	Pool, PoolUID string
	Class         string
	CapacityType  string
	Reservation   string   // with capacity type reserved: its id
	Types         []Choice // each holds the content; cheapest first
	Zones         []string // sorted
	Requirements  label.Requirements
	Labels        label.Labels
	Taints        []cluster.Taint
	StartupTaints []cluster.Taint
	Content       quantity.Resources // pods to come and the DaemonSets' share
	Pods          []string           // existing pods it is for, namespace/name, those of a group one after the other
	Declared      int64              // pods it is for that do not exist yet
	Planned       []cluster.Slot     // all that it is for, sorted by kind; the NodeClaim carries it
	Price         quantity.Money     // of the cheapest offering
	// MinValuesRelaxed says that there are fewer different types than the pool's
	// minValues asks for, which the policy allows.
	MinValuesRelaxed bool
	Why              LaunchReason
}

// Choice is an instance type that a launch may become, at its cheapest offering.
type Choice struct {
	Type  string
	Price quantity.Money
}

// Nominate writes the pod's status.nominatedNodeName.
type Nominate struct {
	Pod, PodUID string // namespace/name
	Node        string
}

// Release takes the daemon's startup taint off a node. Without nominations the
// node may get preferences in its place, and lose them with a later Release.
type Release struct {
	Node, NodeUID string
	Taint         cluster.Taint
	Puts, Lifts   []cluster.Taint `json:",omitempty"` // preferences (PreferNoSchedule) of the daemon's own
	Planned       int64           // pods planned for it: nominated just before, unless they cannot be
	GivenUp       int64           // pods that it was kept for and that did not come in time
}

// Cordon taints a node that is about to go, so that nothing new lands on it.
type Cordon struct {
	Node, NodeUID string
	Why           DeleteReason
}

// Delete deletes a NodeClaim: its node is drained, then the instance ends.
type Delete struct {
	Claim, ClaimUID string
	Why             DeleteReason
	Detail          string        // e.g. the kind of an interruption
	Waited          time.Duration // how long the reason has held
	Saves           quantity.Money
}

// Wait asks for another Step at a time even if nothing changes before.
type Wait struct {
	Until time.Time
	Why   WaitReason
}

func (Launch) isAction()   {}
func (Nominate) isAction() {}
func (Release) isAction()  {}
func (Cordon) isAction()   {}
func (Delete) isAction()   {}
func (Wait) isAction()     {}

// DeleteReason says why a NodeClaim goes. The texts are those of Karpenter's
// disruption reasons where it has one.
type DeleteReason string

// The reasons for which the core deletes a NodeClaim.
const (
	Empty               DeleteReason = "Empty"
	Interrupted         DeleteReason = "Interrupted"
	LaunchTimeout       DeleteReason = "LaunchTimeout"
	RegistrationTimeout DeleteReason = "RegistrationTimeout"
	// InitializationTimeout is that of a node that registered, and never became one
	// on which its pods could run.
	InitializationTimeout DeleteReason = "InitializationTimeout"
)

// WaitReason says what a Wait waits for.
type WaitReason string

// The things that the core waits for.
const (
	EmptyLongEnough  WaitReason = "a node to have been empty long enough"
	PlannedPods      WaitReason = "the pods that a node is kept for"
	Company          WaitReason = "more nodes to open together, as pods cannot be nominated"
	Filling          WaitReason = "the scheduler to fill nodes that have opened, as pods cannot be nominated"
	Replacement      WaitReason = "the replacement of an interrupted node"
	CapacityToReturn WaitReason = "capacity that ran out to return"
	MorePods         WaitReason = "more pods that are still arriving"
	LaunchToFinish   WaitReason = "a launch or registration to finish"
	RestOfPlan       WaitReason = "the rest of a plan that is still being made"
)

// LaunchReason says why this launch, with the numbers it was decided on.
type LaunchReason struct {
	Pods        int64 // real and declared pods that found no room
	Considered  int   // instance types compared
	Unavailable int   // of those, offerings left out for lack of capacity
	Best        Choice
	RunnerUp    Choice             // cheapest per unit of work of another family, for comparison; zero if none
	Passed      Choice             // the cheaper type that comes closest to holding them; zero if none
	Lacks       *quantity.Shortage // what Passed lacks
	Replaces    string             // claim that it replaces, where its pods come from an interrupted node
}

// Plan is the result of one Step.
type Plan struct {
	Actions  []Action       // to be carried out in this order
	Outcomes []Outcome      // sorted by group, verdict and place
	Cost     quantity.Money // of the launches, an hour
	// Unnominated says that pods cannot be nominated: the scheduler chooses their
	// nodes by its own scoring.
	Unnominated bool
	Proofs      []Certificate // how much less any plan could cost at best
}
