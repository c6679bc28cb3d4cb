package plan

import "time"

// DeleteReason says why a NodeClaim is deleted. Where Karpenter has such a disruption
// reason, the text is Karpenter's: conditions, Events, metrics and budgets have it.
type DeleteReason string

// The reasons for which a NodeClaim is deleted. What follows from each is in its Traits.
const (
	Empty         DeleteReason = "Empty"
	Underutilized DeleteReason = "Underutilized"
	Drifted       DeleteReason = "Drifted"
	Expired       DeleteReason = "Expired"
	// PoolDeleted is the reason for the nodes of a NodePool that is being deleted.
	PoolDeleted DeleteReason = "PoolDeleted"
	// Surplus is the reason for a node that a static pool has beyond spec.replicas.
	Surplus DeleteReason = "Surplus"
	// ReplacementUnused is the reason for a replacement that runs nothing when its move ends
	// before the nodes are deleted that it was for. No budget bounds it: no extra node stays.
	ReplacementUnused DeleteReason = "ReplacementUnused"
	Interrupted       DeleteReason = "Interrupted"
	LaunchTimeout     DeleteReason = "LaunchTimeout"
	// RegistrationTimeout is the reason for an instance that did not join the cluster in time.
	RegistrationTimeout DeleteReason = "RegistrationTimeout"
	// InitializationTimeout is the reason for a node that registered and did not
	// become ready for its pods in time.
	InitializationTimeout DeleteReason = "InitializationTimeout"
	// DeletedAlready is the reason of a NodeClaim that somebody else deleted.
	DeletedAlready DeleteReason = "Deleted"
)

// Traits are what follows from a reason. Who has to know it asks for a trait and not for the
// reason by name, so that a new reason is one more case of DeleteReason.Traits.
type Traits struct {
	// Voluntary says that nothing forces the daemon: the pods have other places first, and
	// all can be taken back until the NodeClaim is deleted.
	Voluntary bool
	// Budgets says that the budgets of the NodePool bound it, and that a pause of the whole
	// daemon holds it back.
	Budgets bool
	// InBudgets says that Karpenter has the reason, so that `reasons` of a budget can name it.
	InBudgets bool
	// AsksNode says that a node which must not be disrupted stays.
	AsksNode bool
	// AsksPods says that pods which must not be disrupted, and their PodDisruptionBudgets,
	// keep the node. The drain obeys them whatever the reason is.
	AsksPods bool
	// UntilGrace says that they do not where the NodeClaim has a terminationGracePeriod: the
	// drain waits for them, and the grace period bounds the wait.
	UntilGrace bool
	// Asked says that a user asked for the end of the node: it is deleted also if its pods
	// have no other place.
	Asked bool
	// WithPool says that the NodePool is being deleted.
	WithPool bool
	// Expires says that the node's life ends: with a terminationGracePeriod, nothing holds
	// the node from expireAfter on.
	Expires bool
	// Precedence orders the reasons of nodes that are due: the highest is carried out first. It
	// is 0 for reasons for which no node is due.
	Precedence int
	// Saves says that the node goes to save money.
	Saves bool
	// Empty says that the reason holds only while no pod runs there that needs another place.
	Empty bool
	// Notice says that EC2 takes the instance at the deadline of a notice. Metrics name the
	// kind of the notice, as Karpenter's do.
	Notice bool
	// Lacks is the condition of the NodeClaim that did not come in time; "" for none.
	Lacks string
	Pace  Pace
}

// Pace is how a drain treats the replicas of a controller that no PodDisruptionBudget
// selects: a user who wrote none did not ask for all of them to be evicted at once.
type Pace int

const (
	// AllAtOnce evicts all replicas at once: something forces the daemon to, or a user does.
	AllAtOnce Pace = iota
	// Patient evicts a few replicas at a time, and waits for their successors no longer
	// than a bound: a user asked for the end of the node, and it may be that no other node
	// takes its pods.
	Patient
	// Careful evicts a few replicas at a time, and none while too many are not ready, for
	// however long and for whatever reason: nothing forces the daemon, and an outage must
	// not follow from a saving.
	Careful
)

// The conditions of a NodeClaim on its way up.
const launched, registered, initialized = "Launched", "Registered", "Initialized"

// Reasons lists all reasons.
func Reasons() []DeleteReason {
	return []DeleteReason{
		Empty, Underutilized, Drifted, Expired, PoolDeleted, Surplus, ReplacementUnused,
		Interrupted, LaunchTimeout, RegistrationTimeout, InitializationTimeout, DeletedAlready,
	}
}

// Traits returns what follows from the reason. A text that is no reason here, as a condition
// by another version may have it, gets the utmost care.
func (r DeleteReason) Traits() Traits {
	switch r {
	case Empty:
		return Traits{Voluntary: true, Budgets: true, InBudgets: true, AsksNode: true, AsksPods: true, Saves: true, Empty: true, Pace: Careful}
	case Underutilized:
		return Traits{Voluntary: true, Budgets: true, InBudgets: true, AsksNode: true, AsksPods: true, Saves: true, Pace: Careful}
	case Drifted:
		return Traits{Voluntary: true, Budgets: true, InBudgets: true, AsksNode: true, AsksPods: true, UntilGrace: true, Precedence: 1, Pace: Careful}
	case Expired:
		return Traits{Voluntary: true, Budgets: true, AsksNode: true, AsksPods: true, UntilGrace: true, Expires: true, Precedence: 2, Pace: Careful}
	case PoolDeleted:
		return Traits{Voluntary: true, Budgets: true, AsksNode: true, AsksPods: true, UntilGrace: true, Asked: true, WithPool: true, Precedence: 3, Pace: Patient}
	case Surplus:
		return Traits{Voluntary: true, Asked: true, Precedence: 4, Pace: Patient}
	case ReplacementUnused:
		return Traits{Voluntary: true, AsksNode: true, AsksPods: true, Empty: true, Pace: Careful}
	case Interrupted:
		return Traits{Notice: true}
	case LaunchTimeout:
		return Traits{Lacks: launched}
	case RegistrationTimeout:
		return Traits{Lacks: registered}
	case InitializationTimeout:
		return Traits{Lacks: initialized}
	case DeletedAlready:
		return Traits{Asked: true}
	}
	return careful()
}

// careful are the traits of a reason that nobody knows: what follows from it, others may
// still take back.
func careful() Traits {
	return Traits{Voluntary: true, Budgets: true, AsksNode: true, AsksPods: true, Pace: Careful}
}

// Announced returns what follows from the reason for which a node was announced and which
// alone disrupts it. What forced the daemon does not hold any more, such as a notice that
// cannot be read now: then the node gets the utmost care.
func (r DeleteReason) Announced() Traits {
	if t := r.Traits(); t.Voluntary {
		return t
	}
	return careful()
}

// PodsKeep says whether pods and their PodDisruptionBudgets may keep a node with this
// terminationGracePeriod; 0 is none.
func (t Traits) PodsKeep(grace time.Duration) bool { return t.AsksPods && !(t.UntilGrace && grace > 0) }

// EvictsToSave says whether pods are evicted to save money.
func (t Traits) EvictsToSave() bool { return t.Saves && !t.Empty }

// NeverJoined says whether the node did not join the cluster in time.
func (t Traits) NeverJoined() bool { return t.Lacks == launched || t.Lacks == registered }
