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
	// listed is how many comparisons View has.
	listed = 50
)

// errFault is a panic.
var errFault = errors.New("look at the cluster: a fault of the daemon, whose log has more")

// Config is what a Keeper works with.
type Config struct {
	Region   string
	Settings simulate.Settings
	Store    Store
	Logger   hclog.Logger
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

	since time.Time       // of the first look; nodes that are older were there before
	last  time.Time       // when the last look was
	ready map[string]bool // nodes that the last look has seen ready; true for those that are compared
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
	return &Keeper{Config: c, cluster: simulate.NewCluster()}
}

// Keep reduces an object to what decisions read, and returns what is kept in its place.
func (k *Keeper) Keep(o metav1.Object) metav1.Object { return k.cluster.Keep(o) }

// Observe takes an object as it is now.
func (k *Keeper) Observe(o metav1.Object) {
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
	launched := k.launched(cluster.ReadyNodes(), now)
	report, compared, err := k.simulate(ctx, cluster, offers, launched, now)
	if ctx.Err() != nil {
		return // it was cut short: Run saves what there is
	}
	k.mu.Lock()
	k.note(now, report, compared, err)
	view := k.view
	k.mu.Unlock()
	if ctx.Err() == nil {
		k.tell(compared, err)
	}
	k.Publish(view)
	if now.Sub(k.since) < saveEvery || now.Sub(k.saved) >= saveEvery {
		if err := k.Save(ctx, now); err != nil && ctx.Err() == nil {
			k.Logger.Warn("the history could not be kept; trying again", "error", err)
		}
	}
}

// launched are the nodes to compare: each of those that are younger than the first look, once,
// at the second look that sees it ready. By then its pods are on it.
func (k *Keeper) launched(ready map[string]time.Time, now time.Time) []string {
	if k.since.IsZero() {
		k.since = now
	}
	was := k.ready
	k.ready = map[string]bool{}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(ready)) {
		compared, before := was[name]
		k.ready[name] = compared || ready[name].Before(k.since)
		if before && !k.ready[name] {
			out, k.ready[name] = append(out, name), true
		}
	}
	return out
}

// simulate plays the cluster, and what the daemon would have launched for the pods of the nodes. A
// panic is an error: the next look may be of a cluster without what is at fault.
func (k *Keeper) simulate(ctx context.Context, cluster *simulate.Cluster, offers *simulate.Offers, launched []string, now time.Time) (report *simulate.Report, compared *Compared, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			k.Logger.Error("a look at the cluster has failed by a fault of the daemon", "fault", fault, "stack", string(debug.Stack()))
			report, compared, err = nil, nil, fmt.Errorf("%w: %v", errFault, fault)
		}
	}()
	s, err := simulate.Prepare(cluster, simulate.Options{Region: k.Region, Now: now, For: ahead, Seed: 1, Offers: offers, Settings: &k.Settings})
	if err != nil {
		return nil, nil, fmt.Errorf("look at the cluster: %w", err)
	}
	report, err = s.Report(ctx)
	if err != nil || len(launched) == 0 {
		return report, nil, err
	}
	begun := time.Now()
	c, some, err := s.Compare(ctx, launched)
	if err != nil || !some {
		return report, nil, err
	}
	return report, &Compared{Comparison: c, Time: now, Seconds: time.Since(begun).Seconds()}, nil
}

// note remembers the look.
func (k *Keeper) note(now time.Time, report *simulate.Report, compared *Compared, err error) {
	v := &k.view
	v.Time, v.Took, v.Failed = now, time.Since(now).Seconds(), ""
	if err != nil {
		v.Failed = err.Error()
	}
	if report == nil {
		return
	}
	v.Report = report
	var since time.Duration
	if !k.last.IsZero() {
		since = now.Sub(k.last)
	}
	k.last = now
	var c *simulate.Comparison
	if compared != nil {
		c = &compared.Comparison
		v.Compared = append([]Compared{*compared}, v.Compared[:min(len(v.Compared), listed-1)]...)
	}
	v.History.look(now, since, &report.Forecast, c)
	report.Observed = v.History.Observed()
}

// tell logs what is new.
func (k *Keeper) tell(c *Compared, err error) {
	switch {
	case err != nil:
		k.Logger.Warn("the cluster could not be simulated; trying again", "error", err)
	case c != nil && c.Unplaced > 0:
		k.Logger.Info("another program has launched nodes, with pods for which the daemon would have no place", "nodes", c.Theirs.Nodes, "pods", c.Pods, "without_place", c.Unplaced)
	case c != nil:
		k.Logger.Info("another program has launched nodes", "pods", c.Pods,
			"nodes", c.Theirs.Nodes, "dollars_per_hour", c.Theirs.CostPerHour, "types", c.Theirs.Types, "seconds_after_the_last_pod", c.WaitedSeconds,
			"would_launch", c.Ours.Nodes, "would_cost_dollars_per_hour", c.Ours.CostPerHour, "would_launch_types", c.Ours.Types, "would_decide_within_seconds", c.Seconds)
	}
}

// Save writes the history, after what an earlier shadow has kept was read.
func (k *Keeper) Save(ctx context.Context, now time.Time) error {
	k.saved = now
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
	return k.Store.Save(ctx, k.View().History)
}
