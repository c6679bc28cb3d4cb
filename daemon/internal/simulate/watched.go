package simulate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/forecast"
)

// A cluster that is watched changes, and is simulated again and again: what a simulation
// completes, it completes in a copy.

// Keep reduces an object to what decisions read, and returns what is kept in its place.
func (c *Cluster) Keep(object metav1.Object) metav1.Object { return c.keeper.Compact(object) }

// Remove removes the object with the kind and name of this one.
func (c *Cluster) Remove(object metav1.Object) {
	name := nameOf(object)
	switch object.(type) {
	case *corev1.Node:
		delete(c.nodes, object.GetName())
	case *v1.NodePool:
		delete(c.pools, object.GetName())
	case *v1.NodeClaim:
		delete(c.claims, object.GetName())
	case *awsv1.EC2NodeClass:
		delete(c.classes, object.GetName())
	case *appsv1.Deployment:
		delete(c.deployments, name)
	case *appsv1.ReplicaSet:
		delete(c.sets, name)
	case *appsv1.StatefulSet:
		delete(c.stateful, name)
	case *policyv1.PodDisruptionBudget:
		delete(c.budgets, name)
	default:
		delete(c.others, fmt.Sprintf("%T %s", object, name))
	}
}

// Clone returns a copy. What a simulation of the copy changes in it, the cluster does not see.
func (c *Cluster) Clone() *Cluster {
	out := *c
	out.nodes, out.pools, out.classes = copies(c.nodes, (*corev1.Node).DeepCopy), copies(c.pools, (*v1.NodePool).DeepCopy), copies(c.classes, (*awsv1.EC2NodeClass).DeepCopy)
	out.budgets, out.claims, out.deployments = copies(c.budgets, (*policyv1.PodDisruptionBudget).DeepCopy), maps.Clone(c.claims), maps.Clone(c.deployments)
	out.sets, out.stateful = copies(c.sets, shallow), copies(c.stateful, shallow)
	out.others, out.numbers = maps.Clone(c.others), maps.Clone(c.numbers)
	out.notes, out.uncarried = slices.Clone(c.notes), slices.Clone(c.uncarried)
	return &out
}

func copies[T any](all map[string]*T, one func(*T) *T) map[string]*T {
	out := make(map[string]*T, len(all))
	for name, x := range all {
		out[name] = one(x)
	}
	return out
}

func shallow[T any](x *T) *T {
	y := *x
	return &y
}

// Zones are those of the subnets of EC2NodeClasses, and of nodes, sorted.
func (c *Cluster) Zones() []catalog.Zone {
	ids := map[string]string{}
	for _, zone := range c.zones() {
		ids[zone] = ""
	}
	for _, class := range c.classes {
		for _, s := range class.Status.Subnets {
			ids[s.Zone] = s.ZoneID
		}
	}
	var out []catalog.Zone
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		out = append(out, catalog.Zone{Name: name, ID: ids[name]})
	}
	return out
}

// NodePools lists the NodePools by name, and NodeClaims the NodeClaims.
func (c *Cluster) NodePools() []*v1.NodePool { return byName(c.pools) }

// NodeClaims lists the NodeClaims by name.
func (c *Cluster) NodeClaims() []*v1.NodeClaim { return byName(c.claims) }

func byName[T any](all map[string]T) []T {
	out := make([]T, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// WatchedNode is what a watcher has to know of a node.
type WatchedNode struct {
	Made  time.Time
	Ready bool
}

// Nodes lists the nodes by name.
func (c *Cluster) Nodes() map[string]WatchedNode {
	out := make(map[string]WatchedNode, len(c.nodes))
	for name, n := range c.nodes {
		x := WatchedNode{Made: n.CreationTimestamp.Time}
		for _, condition := range n.Status.Conditions {
			x.Ready = x.Ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}
		out[name] = x
	}
	return out
}

// HasNodePools says whether the cluster has NodePools of its own.
func (c *Cluster) HasNodePools() bool { return len(c.pools) > 0 }

// Running is the forecast for the pods that run: those that wait are left out of both sides.
func (s *Simulation) Running(ctx context.Context) (*Forecast, error) {
	q := s.player.question(ctx)
	q.Running = true
	answer, err := forecast.Play(q)
	if err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	out := &Forecast{}
	out.read(answer, s.player.foreign(), q.For)
	return out, nil
}

// SamePods says whether as many pods run then as now, but for those that are lost.
func (f *Forecast) SamePods() bool {
	return f.Then.Pods+f.Then.PodsElsewhere+int64(len(f.WouldRemove.LostPods)) == f.Now.Pods+f.Now.PodsElsewhere
}

// Comparison is what another program has launched for pods, and what the daemon would have
// launched for the same pods.
type Comparison struct {
	Nodes   []string `json:"nodes"` // that are compared
	Pods    int64    `json:"pods"`
	LeftOut []string `json:"leftOut,omitempty"` // nodes with pods for which the daemon has no place
	Theirs  Side     `json:"theirs"`
	Ours    Side     `json:"ours"`
	// WaitedSeconds is how long after the last of its pods the other program made each of its
	// NodeClaims; for the nodes whose NodeClaim says it.
	WaitedSeconds []float64 `json:"waitedSeconds,omitempty"`
}

// Side is the nodes of one of the two.
type Side struct {
	Nodes       int      `json:"nodes"`           // how many there are
	CostPerHour float64  `json:"costPerHour"`     // of their instances
	Types       []string `json:"types,omitempty"` // of the nodes, sorted
}

// compareFor is how long the daemon has in a comparison to give each pod a place. Its clock moves
// one second with each plan, so this bounds the plans.
const compareFor = 10 * time.Minute

// Compare says what the daemon would have launched for the pods on these nodes, which another
// program has launched. Other nodes stay as they are. A node cannot be compared, and is in neither
// list of the answer, while it has no pods that move or is not initialized, while another node of
// its NodePool is being drained, whose pods may be about to come, and if it may not be replaced or
// nobody knows its price.
func (s *Simulation) Compare(ctx context.Context, nodes []string) (out Comparison, err error) {
	q := s.player.question(ctx)
	q.For, q.Policy.PauseDisruption = compareFor, true
	claims := s.atRest(q.Snapshot, nodes)
	for len(claims) > 0 {
		q.Remade = slices.Sorted(maps.Keys(claims))
		answer, err := forecast.Play(q)
		if err != nil {
			return out, fmt.Errorf("comparison: %w", err)
		}
		homeless := nodesOf(q.Snapshot, answer)
		if len(homeless) == 0 {
			s.compared(&out, q.Snapshot, claims, answer)
			return out, nil
		}
		before := len(claims)
		maps.DeleteFunc(claims, func(_, node string) bool { return homeless[node] })
		if len(claims) == before { // the pods are of none of them
			break
		}
		out.LeftOut = append(out.LeftOut, slices.Sorted(maps.Keys(homeless))...)
	}
	return out, nil
}

// atRest are the nodes that can be compared, by NodeClaim.
func (s *Simulation) atRest(snapshot cluster.Snapshot, nodes []string) map[string]string {
	draining := map[string]bool{}
	for c := range snapshot.EachClaim() {
		n, up := snapshot.Node(c.Node)
		draining[c.Pool] = draining[c.Pool] || c.Deleting || c.Disrupting != nil || up && (n.Disrupted || n.Cordoned)
	}
	out, price := map[string]string{}, forecast.PricesOf(snapshot)
	for c := range snapshot.EachClaim() {
		state, up := snapshot.State(c.Node)
		if up && c.Initialized && slices.Contains(nodes, c.Node) && !draining[c.Pool] && state.CountMoving() > 0 && price(c) > 0 {
			out[c.Name] = c.Node
		}
	}
	return out
}

// nodesOf are the nodes on which the pods run that get no place in the answer.
func nodesOf(snapshot cluster.Snapshot, a forecast.Answer) map[string]bool {
	out := map[string]bool{}
	add := func(pods []string) {
		for _, id := range pods {
			if p, there := snapshot.Pod(id); there {
				out[p.Node] = true
			}
		}
	}
	for _, o := range a.Waiting {
		add(o.Pods)
	}
	add(a.Unsettled)
	return out
}

// compared fills in both sides.
func (s *Simulation) compared(out *Comparison, snapshot cluster.Snapshot, claims map[string]string, answer forecast.Answer) {
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		node := claims[name]
		out.Nodes = append(out.Nodes, node)
		if state, up := snapshot.State(node); up {
			out.Pods += state.CountMoving()
		}
		out.Theirs.Nodes++
		claim := s.player.cluster.claims[name]
		out.Theirs.Types = append(out.Theirs.Types, claim.Labels[label.InstanceType])
		if waited, known := s.player.cluster.waited(claim); known {
			out.WaitedSeconds = append(out.WaitedSeconds, waited.Seconds())
		}
	}
	out.Theirs.CostPerHour = cents(dollars(answer.Remade))
	for _, l := range answer.Launches {
		out.Ours.Nodes++
		out.Ours.CostPerHour = cents(out.Ours.CostPerHour + dollars(l.Price))
		out.Ours.Types = append(out.Ours.Types, l.Type)
	}
	slices.Sort(out.Theirs.Types)
	slices.Sort(out.Ours.Types)
	slices.Sort(out.Nodes)
}

// waited is how long after the last pod on the node of the NodeClaim, of those that are older than
// the NodeClaim, the NodeClaim was made. A NodeClaim in place of another is older than its pods.
func (c *Cluster) waited(claim *v1.NodeClaim) (d time.Duration, known bool) {
	if madeUp(claim) {
		return 0, false
	}
	var last time.Time
	for _, p := range c.pods() {
		if p.Node() == claim.Status.NodeName && !ofDaemonSet(p) && !p.CreationTimestamp.After(claim.CreationTimestamp.Time) && p.CreationTimestamp.After(last) {
			last = p.CreationTimestamp.Time
		}
	}
	return claim.CreationTimestamp.Sub(last), !last.IsZero()
}

func ofDaemonSet(p metav1.Object) bool {
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet"
}
