package sim

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Mode says which means of the core a run may use.
type Mode int

// The modes.
const (
	Full            Mode = iota // nominations, and declared replicas are shown to the core
	NominationsOnly             // nominations; only pods that exist are demand
)

// String names the mode.
func (m Mode) String() string {
	return [...]string{"nominations and look-ahead", "nominations only"}[m]
}

// Workload is a Deployment: Replicas pods of one shape.
type Workload struct {
	Namespace, Name string
	Labels          label.Labels
	Shape           cluster.Shape
	Replicas        int64
	DoNotDisrupt    bool // of all its pods
}

// Scale sets the replicas of a workload. Where there are more pods, the controller
// deletes those that do not run, then those of the lowest deletion cost, then any.
type Scale struct {
	At       time.Duration
	Workload string
	Replicas int64
}

// Rollout replaces all pods of a workload, as a Deployment with maxSurge 25 % and
// maxUnavailable 0 does. The new pods have the same labels.
type Rollout struct {
	At       time.Duration
	Workload string
}

// CronJob makes a Job every Every, first at First: Replicas pods of the Workload, each
// of which ends Takes after it was bound.
type CronJob struct {
	Workload

	First, Every, Takes time.Duration
}

// PodBudget is a PodDisruptionBudget. Its controller allows as many evictions as leave
// MaxUnavailable of the selected workloads' replicas not ready.
type PodBudget struct {
	Namespace, Name string
	Selector        cluster.PodSelector
	MaxUnavailable  int64
}

// Sample is what a run looks like at a time.
type Sample struct {
	At      time.Duration
	Cost    quantity.Money // of all instances, an hour
	Waiting int            // pods that are not bound
	Ready   int            // pods of workloads that are ready and not being deleted
	Input   engine.Input   // what a Step would be given
}

// Outage makes launches fail for lack of capacity. An empty field of the
// offering stands for any value. Where neither type nor zone are given, the cloud says that
// the whole capacity type is out, as without the role for spot, or everything, as where a
// quota is used up.
type Outage struct {
	From, To time.Duration
	Offering catalog.OfferingKey
}

func (o Outage) meets(key catalog.OfferingKey) bool {
	meets := func(want, have string) bool { return want == "" || want == have }
	return meets(o.Offering.InstanceType, key.InstanceType) && meets(o.Offering.Zone, key.Zone) && meets(o.Offering.CapacityType, key.CapacityType)
}

func (o Outage) reach() catalog.Reach {
	switch {
	case o.Offering.InstanceType != "" || o.Offering.Zone != "":
		return catalog.ReachOffering
	case o.Offering.CapacityType != "":
		return catalog.ReachCapacityType
	}
	return catalog.ReachAll
}

// Pause forbids voluntary disruption for a while: that of the pool by its annotation or,
// where Pool is empty, all of it by the daemon's setting.
type Pause struct {
	From, To time.Duration
	Pool     string
}

// PoolDeletion deletes a pool: its nodes are deleted, within its budgets or, with Terminate,
// at once.
type PoolDeletion struct {
	At        time.Duration
	Pool      string
	Terminate bool
}

// Resize sets spec.replicas of a static pool.
type Resize struct {
	At       time.Duration
	Pool     string
	Replicas int64
}

// Drift lets so many thousandths of the NodeClaims drift that are up then.
type Drift struct {
	At    time.Duration
	Share int64
}

// Short makes machines lack so many thousandths of what the catalogue says that pods can use
// of the resources that the kubelet knows. An empty Type stands for every instance type.
type Short struct {
	Type     string
	Resource string
	Permille int64
}

// Config is one run. Zero durations and rates mean their defaults.
type Config struct {
	Seed       uint64
	Workloads  []Workload
	Pools      []cluster.Pool
	Classes    []cluster.Class
	DaemonSets []cluster.DaemonSet
	Policy     engine.Policy
	Mode       Mode

	// Running is what runs when the run begins: NodeClaims with their nodes, which are
	// up, and pods on these nodes whose owner is named as a workload.
	Running    cluster.Objects
	Scales     []Scale
	Rollouts   []Rollout
	CronJobs   []CronJob
	PodBudgets []PodBudget
	Pauses     []Pause
	Drifts     []Drift
	Deletions  []PoolDeletion
	Resizes    []Resize

	// ExpireAfter and TerminationGracePeriod are those of the nodes that are launched; 0 is
	// never, and none.
	ExpireAfter, TerminationGracePeriod time.Duration

	// Rate is how many pods a second all controllers create together; default 100.
	// Each controller creates some 20 a second, in batches of 1, 2, 4 and so on as
	// the ReplicaSet controller does. So Rate/20 controllers work at a time.
	Rate int64
	// InSequence declares a workload when its controller gets to it. Otherwise all
	// workloads are declared at the start.
	InSequence bool

	Boot        time.Duration // from the launch until the node registers; default 40 s
	Jitter      time.Duration // added to each boot, uniformly from zero; default a tenth of Boot
	Fleet       time.Duration // how long the launch call takes; default 1.5 s
	Starting    time.Duration // from registered until ready; default 1 s
	Gather      time.Duration // the daemon's loop waits this long after a change; default 10 ms
	Act         time.Duration // until the first action of a plan is carried out; default 15 ms
	Write       time.Duration // from one action of a plan to the next; zero: all in the same moment
	AttemptTime time.Duration // one attempt of the scheduler; default 1 ms
	Settle      time.Duration // how long to watch after all pods run; default 60 s
	Limit       time.Duration // the longest run; default 30 min
	// Quiet ends the run once nothing has changed for so long and nothing is to come,
	// in place of Settle; 0 for Settle.
	Quiet     time.Duration
	Grace     time.Duration // from a pod's deletion until it is removed; default 0
	React     time.Duration // from a pod's deletion until its controller notices; default 100 ms
	Detach    time.Duration // from the end of a drain's last pod until its volumes are detached; default 0
	Terminate time.Duration // from then until the instance is terminated; default 1 s
	PodStart  time.Duration // from a pod's binding until it is ready; default 0
	// Bind is how long a binding is on its way: the scheduler has chosen a node, and
	// nobody else knows; default 0.
	Bind time.Duration
	Down time.Duration // from a restart of the daemon until it decides again; default 10 s

	// Seen gets what each Step decides; may be nil.
	Seen func(engine.Output)
	// Called gets the answer of each launch call: when it came, and whether an instance was
	// launched; may be nil.
	Called func(at time.Duration, launched bool)
	// Sampled gets a Sample every Every; may be nil.
	Sampled func(Sample)
	Every   time.Duration

	Shorts  []Short
	Outages []Outage
	// Gated lets launch calls of a pool through few at a time, as the daemon does. Without it
	// every call is made at once: it changes when nodes come, which most runs are not about.
	Gated  bool
	Deaths []time.Duration // times at which the oldest node that runs pods dies
	// Stillborn is how many thousandths of the instances never join.
	Stillborn int64
	// Restarts are times at which the daemon starts anew: of a plan that it is carrying
	// out, a drawn part is done, and its memory is lost.
	Restarts []time.Duration

	// Decide makes the decisions; nil for engine.Step.
	Decide func(engine.Input) engine.Output
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	if c.Rate == 0 {
		c.Rate = 100
	}
	set(&c.Boot, 40*time.Second)
	set(&c.Jitter, c.Boot/10)
	set(&c.Fleet, 1500*time.Millisecond)
	set(&c.Starting, time.Second)
	set(&c.Gather, 10*time.Millisecond)
	set(&c.Act, 15*time.Millisecond)
	set(&c.AttemptTime, time.Millisecond)
	set(&c.Settle, time.Minute)
	set(&c.Limit, 30*time.Minute)
	set(&c.React, 100*time.Millisecond)
	set(&c.Terminate, time.Second)
	set(&c.Down, 10*time.Second)
	if c.Decide == nil {
		c.Decide = engine.Step
	}
	return c
}
