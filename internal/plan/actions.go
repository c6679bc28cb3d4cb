package plan

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Action is one of Launch, Nominate, Bind, Release, Close, Disrupt, Restore, Delete, Wait. Every switch
// over an Action names all of them, so that no action is left out unnoticed.
//
//sumtype:decl
type Action interface{ isAction() }

// Launch asks for one new NodeClaim. A replay of the same Step gives the same Name.
// Two Steps give different Names with overwhelming probability.
type Launch struct {
	Name          string
	Pool, PoolUID string
	Class         string
	CapacityType  string
	Reservation   string   // id of the capacity reservation; set with capacity type reserved
	Types         []Choice // each holds Content; cheapest first
	Zones         []string // sorted
	Requirements  label.Requirements
	Labels        label.Labels
	Taints        []cluster.Taint
	StartupTaints []cluster.Taint
	Content       quantity.Resources // requests of the planned pods and of the DaemonSets
	Pods          []string           // planned pods that exist, namespace/name; pods of one group are neighbours
	Declared      int64              // number of planned pods that do not exist yet
	Planned       []cluster.Slot     // all planned pods, sorted by kind; an annotation of the NodeClaim records them
	Price         quantity.Money     // of the cheapest offering, an hour
	// MinValuesRelaxed says that Types has fewer different values than the pool's
	// minValues ask for. The min-values policy allows that.
	MinValuesRelaxed bool
	Move             *cluster.Move // what the new node replaces; nil for nothing
	Why              LaunchReason
}

// Choice is an instance type that a launch may become, at its cheapest offering.
type Choice struct {
	Type  string
	Price quantity.Money
	// StandIn says that the price stands in for one that nobody knows.
	StandIn bool `json:",omitempty"`
}

// costs is the price as texts have it.
func (c Choice) costs() string {
	if c.StandIn {
		return c.Price.Dollars() + " (a stand-in, as nobody knows the price)"
	}
	return c.Price.Dollars()
}

// Nominate writes the pod's status.nominatedNodeName.
type Nominate struct {
	Pod, PodUID string // namespace/name
	Node        string
}

// Bind binds an evicted pod that is back to its place on a closed node, which the scheduler
// does not look at; see Close.
type Bind struct {
	Pod, PodUID   string // namespace/name
	Node, NodeUID string
}

// Release takes the daemon's startup taint off a node. It may also put preferences on a
// node; a later Release lifts them.
type Release struct {
	Node, NodeUID string
	Taint         cluster.Taint
	Puts, Lifts   []cluster.Taint `json:",omitempty"` // the daemon's own preferences (PreferNoSchedule)
	Planned       int64           // pods planned for the node; the same plan nominates them
	GivenUp       int64           // pods that the node was kept for and that did not come in time
}

// Close puts the daemon's startup taint back on an open node for a moment, while evicted
// pods come back: each is bound to the place that the plan has for it (see Bind), and
// a Release opens the node again.
type Close struct {
	Node, NodeUID string
	Taint         cluster.Taint
}

// Disrupt says that a node is about to be deleted: first by the condition
// DisruptionReason of its NodeClaim, then by the taint karpenter.sh/disrupted, so that
// nothing new lands on the node. Restore takes both back; after a Delete nothing does.
type Disrupt struct {
	Claim, ClaimUID string
	Node, NodeUID   string
	Why             DeleteReason
	Detail          string         // e.g. the kind of an interruption, or the move
	Saves           quantity.Money // an hour
}

// Restore takes back what was written about a node that stays after all, as far as the
// daemon wrote it: the condition and taint of Disrupt, and the annotation of a move.
type Restore struct {
	Claim, ClaimUID string
	Node, NodeUID   string
	Why             string // for people
}

// Delete deletes a NodeClaim: its node is drained, then the instance ends.
type Delete struct {
	Claim, ClaimUID string
	Node            string // "" where there is none
	Why             DeleteReason
	Detail          string        // e.g. the kind of an interruption
	Waited          time.Duration // how long the reason has held; 0 where the NodeClaim is deleted at once, as it is not up or its pool is terminated
	Saves           quantity.Money
	// Checked says that the node and its pods are to be looked at once more before: if a pod
	// is not in Pods, or the node or a pod that the reason asks is protected now, nothing is
	// deleted, and the next plan decides.
	Checked bool
	Pods    []string // UIDs of the pods that need another place, sorted; of a Checked deletion
}

// Wait asks for another Step at a time even if nothing changes before.
type Wait struct {
	Until time.Time
	Why   WaitReason
}

// WaitUntil returns the actions with a Wait until the time, unless they ask for an earlier
// Step.
func WaitUntil(actions []Action, at time.Time, why WaitReason) []Action {
	for i, a := range actions {
		if w, ok := a.(Wait); ok {
			if at.Before(w.Until) {
				actions = slices.Clone(actions)
				actions[i] = Wait{Until: at, Why: why}
			}
			return actions
		}
	}
	return append(slices.Clip(actions), Wait{Until: at, Why: why})
}

func (Launch) isAction()   {}
func (Nominate) isAction() {}
func (Bind) isAction()     {}
func (Release) isAction()  {}
func (Close) isAction()    {}
func (Disrupt) isAction()  {}
func (Restore) isAction()  {}
func (Delete) isAction()   {}
func (Wait) isAction()     {}

// WaitReason says what a Wait waits for.
type WaitReason string

// The things that the core waits for.
const (
	EmptyLongEnough  WaitReason = "a node to have been empty long enough"
	QuietLongEnough  WaitReason = "no pod to have come to a node or left it for long enough"
	BudgetToOpen     WaitReason = "the window of a disruption budget"
	NodeToExpire     WaitReason = "a node to expire"
	LastLook         WaitReason = "pods that were bound before a node was tainted"
	Replacements     WaitReason = "the nodes that replace others to be ready"
	NextSweep        WaitReason = "the next search for nodes that may be deleted"
	PlannedPods      WaitReason = "the pods that a node is kept for"
	RulesMet         WaitReason = "the nodes that pods with rules need beside their own"
	RoomOnTheWay     WaitReason = "room to come free on nodes that are on their way"
	Replacement      WaitReason = "the replacement of an interrupted node"
	CapacityToReturn WaitReason = "capacity that ran out to return"
	NodesToComeUp    WaitReason = "another node for pods whose last nodes did not come up"
	MorePods         WaitReason = "more pods that are still arriving"
	LaunchToFinish   WaitReason = "a launch or registration to finish"
	StaticNodes      WaitReason = "nodes that static pools lack to be launched"
	RefusedNode      WaitReason = "a node where the scheduler has refused the pods to be tried again"
	RestOfPlan       WaitReason = "the rest of a plan that is still being made"
)

// LaunchReason says why the core chose this launch, with the numbers that it
// compared.
type LaunchReason struct {
	Pods        int64 // existing and declared pods that found no room
	Considered  int   // offers compared; an offer is an instance type of one pool and capacity type
	Unavailable int   // offerings left out because their capacity ran out a moment ago
	Best        Choice
	RunnerUp    Choice             // cheapest of the launch's Types that is of another family than Best; zero if none
	Passed      Choice             // the cheaper type that comes closest to holding the pods; zero if none
	Lacks       *quantity.Shortage // what Passed lacks; Free is without the DaemonSets' share
	Static      int64              `json:",omitempty"` // spec.replicas of the static pool that lacks a node; 0 for another pool
	Replaces    string             // interrupted NodeClaim that this launch replaces; "" if none
}

// Plan is the result of one Step.
type Plan struct {
	Actions  []Action       // to be carried out in this order
	Outcomes []Outcome      // sorted by group, verdict and place
	Cost     quantity.Money // of the launches' instances, an hour
	Extra    Extra          // what the launches cost beside their instances
	Proofs   []Certificate  // lower bounds of what any plan costs
	LeftOut  []LeftOut      `json:",omitempty"` // nodes that are left out from now on
	Lacking  []Lacking      `json:",omitempty"` // static pools that cannot have all their nodes, by name
}
