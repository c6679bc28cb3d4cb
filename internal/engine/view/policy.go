package view

import (
	"cmp"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Hindrances is what the daemon learns while it runs: what it cannot do at present, and how
// the scheduler of its cluster reads what versions read differently.
type Hindrances struct {
	// CannotBind says that the daemon may not bind pods. No node is closed for evicted pods
	// then.
	CannotBind bool
	// TaintReader names a pod of a controller that acts on the taints of nodes; empty if there
	// is none. Unless Landing says otherwise, no node is closed for evicted pods then.
	TaintReader string
	// CloudAway says that the cloud does not answer. NodeClaims cannot come up and
	// instances cannot be terminated meanwhile, so no timeout ends a NodeClaim, and
	// nothing is disrupted but for an interruption.
	CloudAway bool
	// Back is when the daemon began to decide, the cloud answered again or the clock jumped, zero
	// for never: what came up before could not show it. No timeout ends a NodeClaim before
	// BackGrace is over then.
	Back time.Time
	// Jumped is by how much the clock jumped ahead at JumpedAt, the last time that it did; zero for
	// never. NodeClaims from before have so much more time.
	Jumped   time.Duration
	JumpedAt time.Time
	// ExactNamespaces says that the cluster's scheduler looks at the labels of each namespace
	// for a namespace selector of pod affinity, as from Kubernetes 1.37 on. Older ones take
	// some selectors for such of every namespace; see topology.Known.Build.
	ExactNamespaces bool
}

// Policy holds the settings of the core. The zero value of a field means its
// default, where the field does not say what else; see WithDefaults.
type Policy struct {
	// StartupTaint is the daemon's own taint. It stays on a node until the pods
	// that the node was launched for are nominated.
	StartupTaint cluster.Taint
	// OnDemandTolerance and SpotTolerance are how much dearer than the best type,
	// in thousandths, another type of the same launch may be. Zero allows no
	// dearer type.
	OnDemandTolerance, SpotTolerance int64
	Hindrances
	// PauseDisruption says that no node is deleted for a reason that budgets bound, as
	// if the annotation of every pool said so.
	PauseDisruption bool
	// IgnorePreferences leaves out what pods only prefer: preferred affinities,
	// spreads with ScheduleAnyway, and PreferNoSchedule taints.
	IgnorePreferences bool
	// BestEffortMinValues lets a launch have fewer values than a pool's minValues
	// if there are not enough. Without it nothing is launched then.
	BestEffortMinValues bool
	// SoftMaxMilliCPU is the node size that is exceeded only if a pod needs it.
	// Beyond about 32 vCPU a larger node saves next to nothing, and takes more pods
	// with it when it is deleted. Zero is no limit.
	SoftMaxMilliCPU int64
	// NodeCost is what each node costs an hour beside its instance, its volumes and
	// its public address: licences, and the load that a node puts on the API. It
	// counts where plans are compared, and in bounds; prices are shown without it.
	// Zero is no cost.
	NodeCost quantity.Money
	// MostUnlaunched is how many NodeClaims of a pool wait for their launch at a time; further ones
	// are made when some are launched. If the first launches fail, the others have not been made in
	// vain. It is no less than what is asked of EC2 together, so that nothing comes later. Zero is no
	// limit.
	MostUnlaunched int64
	// ReleaseWait is how long a ready node with pods is kept for declared pods
	// while no controller makes progress. The node is kept for ten times as long at
	// most.
	ReleaseWait time.Duration
	// DeclaredPatience is how long a declared replica counts as demand while its
	// controller makes no progress.
	DeclaredPatience time.Duration
	// ArrivalPatience is the least time for which a node that has not had any of
	// its pods yet does not count as empty.
	ArrivalPatience time.Duration
	// LaunchTimeout and RegistrationTimeout end NodeClaims that do not come up. A
	// node that has registered has RegistrationTimeout once more to become ready
	// for its pods.
	LaunchTimeout, RegistrationTimeout time.Duration
	// BackGrace is what NodeClaims have at least to come up after Hindrances.Back.
	BackGrace time.Duration
	Moves
	Searches
	// DrainReserve is the part of an interruption notice that is kept for draining,
	// at most half of the notice.
	DrainReserve time.Duration
}

// Moves says when pods move to save money, and how.
type Moves struct {
	// LeastSaving is what a move of pods must save an hour. Moving one pod costs PodMove an
	// hour at least.
	LeastSaving, PodMove quantity.Money
	// A move must pay back within the time for which its saving is expected to last; see
	// moves/horizon.go. PayBack is the longest such time. To move a pod costs what an average
	// pod of the fleet is worth in MoveTime, and a new node its price in MoveTime.
	PayBack, MoveTime time.Duration
	// Landing is how evicted pods come to their places; see package landing.
	Landing plan.LandingWay
	// MostClosed is how many nodes a cluster has at most in which nodes are closed for evicted
	// pods, unless Landing asks for it: as many as the daemon may write at once. In a larger
	// fleet a hole costs less, and the writes cost more.
	MostClosed int
}

// Searches bounds the work of a search of the fleet for nodes to take away.
type Searches struct {
	// SweepTrials is how many trials a search makes at most; see package consolidate.
	SweepTrials int
	// WholeTries is how many nodes whose pods have rules about other pods are tried after a
	// search, each by a plan for it alone.
	WholeTries int
}

// DefaultPolicy returns the settings that the daemon starts with. The tolerances
// follow how users of Karpenter set up flexible fleets; the timeouts are
// Karpenter's.
func DefaultPolicy() Policy {
	return Policy{
		StartupTaint:        cluster.Taint{Key: "karpenterd.sh/awaiting-pods", Effect: cluster.NoSchedule},
		OnDemandTolerance:   50,
		SpotTolerance:       200,
		SoftMaxMilliCPU:     32_000,
		NodeCost:            quantity.NanoDollars / 200, // $0.005
		ReleaseWait:         3 * time.Second,
		DeclaredPatience:    30 * time.Second,
		ArrivalPatience:     20 * time.Second,
		LaunchTimeout:       5 * time.Minute,
		RegistrationTimeout: 15 * time.Minute,
		BackGrace:           2 * time.Minute, // a kubelet tries to register every 7 s, and a node is ready within a minute
		DrainReserve:        60 * time.Second,
		Moves: Moves{
			LeastSaving: quantity.NanoDollars / 200,   // $0.005
			PodMove:     quantity.NanoDollars / 5_000, // $0.0002
			PayBack:     3 * time.Hour,
			MoveTime:    30 * time.Minute,
			Landing:     plan.LandAuto,
			MostClosed:  300,
		},
		Searches: Searches{SweepTrials: 10_000, WholeTries: 100},
	}
}

// WithDefaults returns the policy with the default of each field that has no value
// and needs one.
func (p Policy) WithDefaults() Policy {
	d := DefaultPolicy()
	p.StartupTaint = cmp.Or(p.StartupTaint, d.StartupTaint)
	p.ReleaseWait = cmp.Or(p.ReleaseWait, d.ReleaseWait)
	p.DeclaredPatience = cmp.Or(p.DeclaredPatience, d.DeclaredPatience)
	p.ArrivalPatience = cmp.Or(p.ArrivalPatience, d.ArrivalPatience)
	p.LaunchTimeout = cmp.Or(p.LaunchTimeout, d.LaunchTimeout)
	p.RegistrationTimeout = cmp.Or(p.RegistrationTimeout, d.RegistrationTimeout)
	p.BackGrace = cmp.Or(p.BackGrace, d.BackGrace)
	p.DrainReserve = cmp.Or(p.DrainReserve, d.DrainReserve)
	p.LeastSaving = cmp.Or(p.LeastSaving, d.LeastSaving)
	p.PodMove = cmp.Or(p.PodMove, d.PodMove)
	p.PayBack = cmp.Or(p.PayBack, d.PayBack)
	p.MoveTime = cmp.Or(p.MoveTime, d.MoveTime)
	p.Landing = cmp.Or(p.Landing, d.Landing)
	p.MostClosed = cmp.Or(p.MostClosed, d.MostClosed)
	p.SweepTrials = cmp.Or(p.SweepTrials, d.SweepTrials)
	p.WholeTries = cmp.Or(p.WholeTries, d.WholeTries)
	return p
}
