package shadow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// Every is the shortest time between two looks.
	Every = time.Minute
	// share is how many times as long as a look takes the next one waits at least, so that the
	// shadow of a large cluster takes one twentieth of a core.
	share = 19
	// saveEvery is how often the history is written. A shadow that ends writes it, too, and one that
	// began less than this ago at each look: who has installed it asks for the report soon.
	saveEvery = 10 * time.Minute
	// ahead is how much of the future a look plays.
	ahead = time.Hour
	// mostWaits is how many looks a node may take to be comparable; then it is left out.
	mostWaits = 10
	// listed is how many comparisons View has.
	listed = 50
)

// errFault is a panic.
var errFault = errors.New("look at the cluster: a fault of the daemon, whose log has more")

// nameLabel names the program of a pod.
const nameLabel = "app.kubernetes.io/name"

// Config is what a Keeper works with.
type Config struct {
	Region    string
	Namespace string // of the shadow
	Settings  simulate.Settings
	Store     Store
	Logger    hclog.Logger
	// Publish is told of each look.
	Publish func(View)
}

// Keeper has the objects of a cluster, and looks at them. Run, Look and Save are for one goroutine,
// the others for any.
type Keeper struct {
	Config

	mu      sync.Mutex
	cluster *simulate.Cluster
	offers  simulate.Offers
	groups  []market.Group
	view    View

	since time.Time      // of the first look; nodes that are older were there before
	last  time.Time      // when the last look was
	nodes simulate.Nodes // which may be replaced, as the first look has found
	// young has, for each node that is to be compared, how many looks have seen it ready; done is
	// those that need no comparison any more. A node that is gone is in neither.
	young map[string]int
	done  map[string]bool
	saved time.Time
	// read says that the view has what an earlier shadow has kept: before, nothing is written.
	read bool
}

// View is what a shadow knows.
type View struct {
	Time time.Time `json:"time"`
	// Report is the last look, as "karpenterd simulate -o json" writes it.
	Report *simulate.Report `json:"report,omitempty"`
	// Failed says why the last look has failed; "" if it has not.
	Failed string `json:"failed,omitempty"`
	// Took is how long the last look took, in seconds.
	Took float64 `json:"tookSeconds"`
	// Compared are the last comparisons, the newest first.
	Compared []Compared `json:"compared,omitempty"`
	History  History    `json:"history,omitempty"`
}

// Compared is a comparison, when it was made and how long the daemon took for its side.
type Compared struct {
	simulate.Comparison

	Time time.Time `json:"time"`
	// Seconds bounds how long the daemon takes to decide what to launch: what the whole
	// comparison took.
	Seconds float64 `json:"seconds"`
}

// New makes a Keeper of an empty cluster.
func New(c Config) *Keeper {
	return &Keeper{Config: c, cluster: simulate.NewCluster(), young: map[string]int{}, done: map[string]bool{}}
}

// Keep reduces an object to what decisions read, and returns what is kept in its place.
func (k *Keeper) Keep(o metav1.Object) metav1.Object { return k.cluster.Keep(o) }

// Observe takes an object as it is now. The shadow's own pods would not be there without it.
func (k *Keeper) Observe(o metav1.Object) {
	if _, pod := o.(*translate.CompactPod); pod && o.GetNamespace() == k.Namespace && o.GetLabels()[nameLabel] == install.DefaultName {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cluster.Add(o)
}

// Forget removes an object that was deleted.
func (k *Keeper) Forget(o metav1.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cluster.Remove(o)
}

// Sell says what the region sells.
func (k *Keeper) Sell(facts []catalog.Fact, m catalog.Market) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.offers.Facts, k.offers.Market = facts, m
}

// Answered says of which group of facts AWS has said what it sells.
func (k *Keeper) Answered(groups []market.Group) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.groups = slices.Clone(groups)
}

// sold is what the region sells, and where the prices are from.
func (k *Keeper) sold() *simulate.Offers {
	out, embedded := k.offers, simulate.Embedded(k.offers.Market)
	var from []string
	for _, g := range k.groups {
		switch {
		case !g.Priced:
		case g.Answered.IsZero():
			from = append(from, g.Name+": "+embedded)
		default:
			from = append(from, g.Name+": AWS, "+g.Answered.UTC().Format(time.RFC3339))
		}
	}
	if out.From = strings.Join(from, "; "); out.From == "" {
		out.From = embedded
	}
	return &out
}

// Zones are those of the cluster.
func (k *Keeper) Zones() []catalog.Zone {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cluster.Zones()
}

// NodePools lists the NodePools.
func (k *Keeper) NodePools() []*v1.NodePool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cluster.NodePools()
}

// NodeClaims lists the NodeClaims.
func (k *Keeper) NodeClaims() []*v1.NodeClaim {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cluster.NodeClaims()
}

// View is what is known now.
func (k *Keeper) View() View {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.view
	out.Compared, out.History = slices.Clone(out.Compared), slices.Clone(out.History)
	return out
}

// Run looks until the context ends, and saves then.
func (k *Keeper) Run(ctx context.Context, working func() func()) error {
	for {
		begun := time.Now()
		done := working()
		k.Look(ctx, begun)
		done()
		wait := max(Every, share*time.Since(begun))
		select {
		case <-ctx.Done():
			return k.Save(context.WithoutCancel(ctx), time.Now())
		case <-time.After(wait):
		}
	}
}

// Look simulates the cluster as it is, and compares the nodes that the other program has launched.
// What goes wrong is logged and in the View; the next look may succeed.
func (k *Keeper) Look(ctx context.Context, now time.Time) {
	k.mu.Lock()
	cluster, offers := k.cluster.Clone(), k.sold()
	k.mu.Unlock()
	if k.since.IsZero() {
		k.since = now
	}
	if k.nodes == "" {
		k.nodes = simulate.AllNodes
		if cluster.HasNodePools() {
			k.nodes = simulate.OwnedNodes
		}
	}
	launched := k.launched(cluster.Nodes())
	seen, err := k.simulate(ctx, cluster, offers, launched, now)
	if ctx.Err() != nil {
		return
	}
	k.note(now, seen, err)
	k.Publish(k.View())
	if now.Sub(k.since) < saveEvery || now.Sub(k.saved) >= saveEvery {
		if err := k.Save(ctx, now); err != nil && ctx.Err() == nil {
			k.Logger.Warn("the history could not be kept; trying again", "error", err)
		}
	}
}

// launched are the nodes to compare: those that are younger than the first look and that an
// earlier look has seen ready. By then their pods are on them.
func (k *Keeper) launched(nodes map[string]simulate.WatchedNode) (out []string) {
	gone := func(name string) bool { _, there := nodes[name]; return !there }
	maps.DeleteFunc(k.young, func(name string, _ int) bool { return gone(name) })
	maps.DeleteFunc(k.done, func(name string, _ bool) bool { return gone(name) })
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		switch {
		case k.done[name] || n.Made.Before(k.since):
		case k.young[name] > 0:
			out = append(out, name)
			k.young[name]++
		case n.Ready:
			k.young[name] = 1
		}
	}
	return out
}

// seen is what a look has found.
type seen struct {
	report   *simulate.Report
	history  *simulate.Forecast // for the pods that run
	compared *Compared          // nil where there was nothing to compare
	fault    error              // of the comparison
}

// simulate plays the cluster, and what the daemon would have launched for the pods of the nodes. A
// panic is an error: the next look may be of a cluster without what is at fault.
func (k *Keeper) simulate(ctx context.Context, cluster *simulate.Cluster, offers *simulate.Offers, launched []string, now time.Time) (out seen, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			k.Logger.Error("a look at the cluster has failed by a fault of the daemon", "fault", fault, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errFault, fault)
		}
	}()
	s, err := simulate.Prepare(cluster, simulate.Options{Region: k.Region, Nodes: k.nodes, Now: now, For: ahead, Seed: 1, Offers: offers, Settings: &k.Settings})
	if err != nil {
		return out, fmt.Errorf("look at the cluster: %w", err)
	}
	report, err := s.Report(ctx)
	if err != nil {
		return out, err
	}
	history := &report.Forecast
	if !history.SamePods() {
		if history, err = s.Running(ctx); err != nil {
			return out, err
		}
	}
	out.report, out.history = report, history
	if len(launched) > 0 {
		begun := time.Now()
		var c simulate.Comparison
		if c, out.fault = s.Compare(ctx, launched); out.fault == nil {
			out.compared = &Compared{Comparison: c, Time: now, Seconds: time.Since(begun).Seconds()}
		}
	}
	return out, nil
}

// note remembers the look.
func (k *Keeper) note(now time.Time, s seen, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := &k.view
	said := v.Failed
	v.Time, v.Took, v.Failed = now, time.Since(now).Seconds(), ""
	if err != nil {
		if v.Failed = err.Error(); v.Failed != said {
			k.Logger.Warn("the cluster could not be simulated; trying again", "error", err)
		}
	}
	if s.report == nil {
		return
	}
	var since time.Duration
	if !k.last.IsZero() {
		since = now.Sub(k.last)
	}
	k.last = now
	v.History.look(now, since, k.nodes, s.history, k.settle(s, v))
	v.Report = s.report
	v.Report.Observed = v.History.Observed()
}

// settle takes what was compared off the list, and gives up what cannot be compared. It returns
// what of it counts.
func (k *Keeper) settle(s seen, v *View) Launches {
	var c simulate.Comparison
	if s.compared != nil {
		c = s.compared.Comparison
	}
	if s.fault != nil {
		k.Logger.Warn("nodes that another program has launched could not be compared; trying again", "error", s.fault)
	}
	for _, name := range slices.Concat(c.Nodes, c.LeftOut) {
		delete(k.young, name)
		k.done[name] = true
	}
	givenUp := 0
	for name, looks := range k.young {
		if looks > mostWaits {
			delete(k.young, name)
			k.done[name] = true
			givenUp++
		}
	}
	if len(c.Nodes) > 0 {
		v.Compared = append([]Compared{*s.compared}, v.Compared[:min(len(v.Compared), listed-1)]...)
		k.Logger.Info("another program has launched nodes", "pods", c.Pods,
			"nodes", c.Theirs.Nodes, "dollars_per_hour", c.Theirs.CostPerHour, "types", c.Theirs.Types, "seconds_after_the_last_pod", c.WaitedSeconds,
			"would_launch", c.Ours.Nodes, "would_cost_dollars_per_hour", c.Ours.CostPerHour, "would_launch_types", c.Ours.Types, "would_decide_within_seconds", s.compared.Seconds)
	}
	if len(c.LeftOut) > 0 {
		k.Logger.Info("another program has launched nodes, with pods for which the daemon would have no place", "nodes", c.LeftOut)
	}
	return launchesOf(c, givenUp)
}

// Save writes the history, after what an earlier shadow has kept was read.
func (k *Keeper) Save(ctx context.Context, now time.Time) error {
	if !k.read {
		before, err := k.Store.Load(ctx)
		if err != nil {
			return err
		}
		k.mu.Lock()
		k.view.History = before.then(k.view.History)
		k.mu.Unlock()
		k.read = true
	}
	if err := k.Store.Save(ctx, k.View().History); err != nil {
		return err
	}
	k.saved = now
	return nil
}
