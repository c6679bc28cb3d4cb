package view

import (
	"cmp"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// Policy holds the settings of the core. The zero value of a field means its
// default, where the field does not say what else; see WithDefaults.
type Policy struct {
	// StartupTaint is the daemon's own: it stays on a node until the pods that
	// the node was made for are nominated.
	StartupTaint cluster.Taint
	// OnDemandTolerance and SpotTolerance are how much dearer, in thousandths,
	// an alternative type of a launch may be than the best one. Zero allows none that
	// is dearer.
	OnDemandTolerance, SpotTolerance int64
	// CannotNominate says that the daemon may not write the nominations of pods:
	// none are asked for, and plans are made for the scheduler's own scoring.
	CannotNominate bool
	// IgnorePreferences leaves out what pods only prefer: preferred affinities,
	// spread constraints with ScheduleAnyway, and taints PreferNoSchedule.
	IgnorePreferences bool
	// BestEffortMinValues lets a launch have fewer values than a pool's minValues
	// where there are not as many; else nothing is launched.
	BestEffortMinValues bool
	// SoftMaxMilliCPU is the node size that is not exceeded unless a pod needs
	// it: beyond about 32 vCPU a larger node saves next to nothing and takes
	// more pods with it when it goes. Zero is no limit.
	SoftMaxMilliCPU int64
	// ReleaseWait is how long a ready node that has pods is kept for pods that
	// are declared while no controller makes progress, and a tenth of how long it
	// is kept at most.
	ReleaseWait time.Duration
	// DeclaredPatience is how long a declared replica counts as demand without
	// any progress of its controller.
	DeclaredPatience time.Duration
	// ArrivalPatience is the least time for which a node that has not had any of
	// its pods yet does not count as empty.
	ArrivalPatience time.Duration
	// LaunchTimeout and RegistrationTimeout end NodeClaims that do not come up. A
	// node that has registered has as long again to become ready for its pods.
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
	p.DrainReserve = cmp.Or(p.DrainReserve, d.DrainReserve)
	return p
}
