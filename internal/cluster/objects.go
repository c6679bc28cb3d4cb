package cluster

import (
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Owner is the controller of a pod; the zero value means none.
type Owner struct{ Kind, Name, UID string }

// Pod is one pod that takes room on a node, or that its scheduler still has to place.
type Pod struct {
	UID, Namespace, Name string
	Labels               label.Labels // what the selectors of other pods see
	Owner                Owner
	OwnedSince           time.Time // when its Controller was created; zero where nobody knows
	Shape                Shape
	Node                 string // where it is bound; "" while pending
	Created              time.Time
	Unschedulable        bool   // the scheduler tried and found no room
	OtherScheduler       bool   // another scheduler than the default one places it: nobody else nominates or binds it
	Nominated            string // status.nominatedNodeName
	NominatedByUs        bool   // the daemon wrote Nominated; the core leaves other nominations alone
	Deleting             bool
	Returns              bool      // it is Deleting, and its StatefulSet creates it anew, under the same name, when it is deleted
	DeletionCost         int32     // what its annotation pod-deletion-cost says
	DoNotDisrupt         bool      // for ever
	ProtectedUntil       time.Time // must not be disrupted before; zero where that does not matter
	NotReady             bool      // its condition Ready is not True
	NotStarted           bool      // its phase is Pending: no PodDisruptionBudget is asked
	Pinned               bool      // mirror or DaemonSet pod: belongs to its node, never rescheduled
	Volumes              bool      // has PersistentVolumeClaims: the scheduler has to choose its node, as it binds them
}

// ID is namespace/name.
func (p Pod) ID() string { return p.Namespace + "/" + p.Name }

// Moves says whether the pod needs another place when its node is deleted.
func (p *Pod) Moves() bool { return !p.Pinned && !p.Deleting }

// Lost says whether nothing creates the pod anew when its node is deleted: it has no
// controller.
func (p *Pod) Lost() bool { return p.Moves() && p.Owner == Owner{} }

// Controller names what creates the pod anew; "" for nothing. All ReplicaSets of a
// Deployment are one: in a rollout, pods of the new one come in place of those of the old
// one. So are those of a Rollout of Argo.
func (p *Pod) Controller() string {
	if p.Owner.Kind == "ReplicaSet" {
		for _, key := range [...]string{"pod-template-hash", "rollouts-pod-template-hash"} {
			if hash, has := p.Labels.Get(key); has {
				if name, ok := strings.CutSuffix(p.Owner.Name, "-"+hash); ok {
					return p.Namespace + "/" + name
				}
			}
		}
	}
	return p.Owner.UID
}

// NominatedByOthers says whether somebody else than the daemon chose the node of
// the pending pod, as the scheduler does when it preempts. If the node takes pods,
// what the pod requests of it is not free for others.
func (p *Pod) NominatedByOthers() bool {
	return p.Nominated != "" && !p.NominatedByUs && p.Node == "" && !p.Deleting && !p.Pinned
}

// Node is one Node object.
type Node struct {
	Name, UID    string
	Labels       label.Labels
	Taints       []Taint
	Allocatable  quantity.Resources
	Ready        bool
	Cordoned     bool // by a user: spec.unschedulable
	Disrupted    bool // has the taint of nodes that are about to be deleted
	DoNotDisrupt bool // must not be removed, empty or not; for ever
	// ProtectedUntil is when the same ends that a duration asks for; zero for none.
	ProtectedUntil time.Time
	Stays          bool // must not be removed to save money (do-not-consolidate)
	Deleting       bool
	Claim          string // name of its NodeClaim; "" for nodes that are not ours
	Created        time.Time
}

// Interruption is a notice that the cloud takes an instance away.
type Interruption struct {
	Reason   string    // spot_interrupted, scheduled_change, ...
	Noticed  time.Time // when the daemon learned of it
	Deadline time.Time // when EC2 takes the instance
}

// Claim is one NodeClaim. Before the launch, InstanceID is empty, Allocatable is
// zero, and Capacity is that of the smallest type that the NodeClaim may become.
type Claim struct {
	Name, UID, Pool, Class string
	Labels                 label.Labels // template labels, and the instance's once launched
	Requirements           label.Requirements
	Taints, StartupTaints  []Taint
	Requests               quantity.Resources // of the pods and DaemonSets that it was created for
	Planned                []Slot             // the pods that it was created for, by kind
	InstanceID             string
	InstanceType           string
	Zone, CapacityType     string
	Reservation            string // with capacity type reserved: its id
	Capacity, Allocatable  quantity.Resources
	Node                   string
	Launched               bool
	LaunchedAt             time.Time
	Registered             bool
	Initialized            bool
	InitializedAt          time.Time
	Deleting               bool
	ReplicasLate           bool // its drain evicts no more replicas of a controller, as too many are not ready
	Ending                 bool // its instance is being terminated
	Interruption           *Interruption
	Disrupting             *Disrupting   // nil where nothing disrupts it
	Drift                  *Drift        // nil where it is as its pool and class ask for
	Move                   *Move         // nil where it replaces nothing
	LastPodEvent           time.Time     // when the last pod came to its node or left it; zero if unknown
	ExpiresAt              time.Time     // zero for never
	Grace                  time.Duration // terminationGracePeriod; 0 for none
	Created                time.Time
}

// Slot is a number of pods of one kind; see Group.Kind.
type Slot struct {
	Kind  string
	Count int64
}

// Pool is one NodePool.
type Pool struct {
	Name, UID  string
	Generation int64  // of the object: it grows with each change of its spec
	Class      string // name of its EC2NodeClass
	Weight     int32  // higher is tried first; 0 where unset
	// Static says that the pool keeps Replicas nodes whatever the pods need, and
	// launches no node for them.
	Static        bool
	Replicas      int64
	Labels        label.Labels
	Requirements  label.Requirements
	Taints        []Taint
	StartupTaints []Taint
	Limits        []quantity.Amount // by name; the name "nodes" counts nodes
	MinValues     []MinValues       // sorted by key
	Disruption    Disruption
	Ready         bool
	NotReady      string // why the pool is not ready, where Ready is false
	Deleting      bool
	Terminate     bool // where Deleting: its nodes are deleted at once, and nothing replaces them first
}

// MinValues asks that the types of one launch have at least Count different
// values of the label.
type MinValues struct {
	Key   string
	Count int
}

// Namespace is a namespace's labels, which namespace selectors look at.
type Namespace struct {
	Name   string
	Labels label.Labels
}

// Class is an EC2NodeClass applied to the instance-type catalogue. It has the
// types with their capacity under this class's image and settings, and with
// their offerings in the zones of its subnets.
type Class struct {
	Name       string
	Generation int64 // as of a Pool
	Ready      bool
	NotReady   string
	Types      []catalog.InstanceType // sorted by name
	// Volumes and Address are what a node of the class costs an hour beside its
	// instance: the EBS volumes that it is launched with, and its public IPv4
	// address; zero where it gets none.
	Volumes, Address quantity.Money
}

// DaemonSet puts one pod on every node that its shape allows. The shape is that
// of the DaemonSet's newest live pod, if there is one, with the node affinity of
// the template.
type DaemonSet struct {
	UID, Namespace, Name string
	Shape                Shape
}

// ID is namespace/name.
func (d DaemonSet) ID() string { return d.Namespace + "/" + d.Name }

// Workload is a controller whose declared replicas do not all exist yet.
type Workload struct {
	UID, Kind, Namespace, Name string
	Missing                    int64        // replicas declared and not yet created
	Labels                     label.Labels // of the pods to come
	Shape                      Shape        // of the pods to come
}

// ID is kind/namespace/name.
func (w Workload) ID() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }
