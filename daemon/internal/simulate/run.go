package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/forecast"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Options are how a cluster is simulated.
type Options struct {
	Region  string        // "" is that of the nodes
	Nodes   Nodes         // "" is OwnedNodes where NodePools have nodes, else AllNodes
	Now     time.Time     // zero is the newest time that an object says
	For     time.Duration // how long is played
	Scratch bool          // as if no node of a NodePool were there
	Seed    uint64
	Prices  Prices
	Scales  []Scale
	// Advise simulates changes of the NodePools, too: which of them would save more.
	Advise bool
	// With are objects that are put into the cluster for a second forecast; nil for none.
	With []metav1.Object
	// Offers are what the region sells; nil for what Prices says.
	Offers *Offers
	// Settings are those of the daemon that decisions depend on; nil for the defaults.
	Settings *Settings
}

// Settings are those of the daemon that decisions depend on.
type Settings struct {
	Policy   engine.Policy
	Spread   []cluster.Spread // topology spread constraints of pods that declare none
	Overhead catalog.Overhead // what every instance keeps from pods
}

// Run simulates the cluster, until the context ends.
func Run(ctx context.Context, c *Cluster, o Options) (*Report, error) {
	if o.Offers == nil {
		region, err := c.where(o.Region)
		if err != nil {
			return nil, err
		}
		if o.Offers, err = o.Prices.sold(ctx, region, c.Zones()); err != nil {
			return nil, err
		}
	}
	s, err := Prepare(c, o)
	if err != nil {
		return nil, err
	}
	return s.Report(ctx)
}

// Simulation is a cluster that is complete, to be played.
type Simulation struct {
	player player
	report Report // what is known before
}

// Prepare completes the cluster with what stands in for what it does not say. The options have
// Offers.
func Prepare(c *Cluster, o Options) (*Simulation, error) {
	region, err := c.where(o.Region)
	if err != nil {
		return nil, err
	}
	offers := o.Offers
	c.ownSets()
	for _, s := range o.Scales {
		if err := c.scale(s); err != nil {
			return nil, err
		}
	}
	if o.Nodes == "" {
		o.Nodes = c.nodesByDefault()
	}
	c.complete(zonesIn(offers.Market, c.zones()), o.Nodes, offers.Facts)
	c.noteLostPods()
	c.noteTakenOver()
	if o.Nodes == OwnedNodes && len(c.claims) == 0 {
		c.Note("no node is of a NodePool: --nodes all says what the fleet could cost")
	}
	now := o.Now
	if now.IsZero() {
		now = cmp.Or(c.newest, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	return &Simulation{
		player{cluster: c, options: o, now: now, world: c.build(offers.Facts, offers.Market, now, o.Settings), facts: offers.Facts, market: offers.Market},
		Report{Schema: Schema, Region: region, Time: now.UTC().Format(time.RFC3339), Prices: offers.From, Nodes: o.Nodes, Scratch: o.Scratch},
	}, nil
}

// Report plays the cluster, and each variant of it that the options ask for.
func (s *Simulation) Report(ctx context.Context) (*Report, error) {
	p, report := &s.player, s.report
	if err := p.play(ctx, &report.Forecast); err != nil {
		return nil, err
	}
	report.NotCarriedOut = p.cluster.unsupported()
	if p.options.Advise {
		var err error
		if report.Advice, err = p.advise(ctx, &report.Forecast); err != nil {
			return nil, err
		}
		report.Advised = true
	}
	if p.options.With != nil {
		report.With = &Forecast{}
		p.with(p.options.With)
		if err := p.play(ctx, report.With); err != nil {
			return nil, err
		}
	}
	report.Notes = slices.Concat(p.cluster.notes, p.faults)
	return &report, nil
}

// where is the region of the cluster, which the user may have given.
func (c *Cluster) where(given string) (string, error) {
	region := cmp.Or(given, c.region())
	if region == "" {
		return "", errors.New("no node says the region: give it by --region, such as us-east-1")
	}
	if len(c.nodes) == 0 && len(c.pools) == 0 {
		return "", errors.New("the input has neither nodes nor NodePools: give at least the output of kubectl get nodes -o json and of kubectl get pods --all-namespaces -o json")
	}
	if at := c.region(); at != "" && at != region {
		return "", fmt.Errorf("the nodes are in %s, and --region is %s: leave out --region, or correct it", at, region)
	}
	return region, nil
}

// nodesByDefault is all where no NodePool has a node.
func (c *Cluster) nodesByDefault() Nodes {
	if len(c.claims) > 0 {
		return OwnedNodes
	}
	for _, n := range c.nodes {
		if c.pools[n.Labels[v1.LabelNodePool]] != nil {
			return OwnedNodes
		}
	}
	return AllNodes
}

// build makes the world that the daemon would have.
func (c *Cluster) build(facts []catalog.Fact, sold catalog.Market, now time.Time, s *Settings) *world.World {
	w := world.New(facts, sold, func() time.Time { return now })
	if s != nil {
		w.SpreadByDefault(s.Spread)
		w.KeepFromPods(s.Overhead)
	}
	observe := c.distinct(w)
	inOrder(c.classes, observe)
	inOrder(c.pools, observe)
	inOrder(c.claims, observe)
	inOrder(c.nodes, observe)
	inOrder(c.sets, observe)
	inOrder(c.stateful, observe)
	inOrder(c.budgets, observe)
	inOrder(c.others, observe)
	c.foreseeDrift(w, now)
	return w
}

// inOrder calls do with each object, by name.
func inOrder[T metav1.Object](objects map[string]T, do func(metav1.Object)) {
	for _, o := range byName(objects) {
		do(o)
	}
}

// distinct returns what hands objects to the world, in the order in which it is called. Of two of
// one kind with one UID, as where a dump was edited by hand, the second is left out.
func (c *Cluster) distinct(w *world.World) func(metav1.Object) {
	seen := map[string]string{}
	return func(o metav1.Object) {
		if uid := string(o.GetUID()); uid != "" {
			key := fmt.Sprintf("%T %s", o, uid)
			if first, twice := seen[key]; twice {
				note := fmt.Sprintf("%s has the UID of %s and is left out: give it another", strings.TrimPrefix(nameOf(o), "/"), first)
				if !slices.Contains(c.notes, note) {
					c.notes = append(c.notes, note)
				}
				return
			}
			seen[key] = strings.TrimPrefix(nameOf(o), "/")
		}
		w.Observe(o)
	}
}

// noteLostPods notes pods that run on nodes which the input does not have.
func (c *Cluster) noteLostPods() {
	n := 0
	for _, p := range c.pods() {
		if p.Node() != "" && c.nodes[p.Node()] == nil {
			n++
		}
	}
	if n > 0 {
		c.Note("%s on nodes that are not in the input: they do not count", quantity.Count(int64(n), "pod"))
	}
}

// player plays forecasts of one cluster.
type player struct {
	cluster *Cluster
	options Options
	now     time.Time
	world   *world.World
	facts   []catalog.Fact
	market  catalog.Market
	faults  []string
}

// with puts objects into the cluster, which are completed as those that were there.
func (p *player) with(objects []metav1.Object) {
	c := p.cluster
	for _, x := range objects {
		if _, is := x.(*v1.NodePool); is {
			c.withoutStandIns()
		}
		c.Add(x)
		if d, is := x.(*appsv1.Deployment); is {
			c.rollOut(d)
		}
	}
	before := c.notes
	c.notes = nil
	c.complete(zonesIn(p.market, c.zones()), p.options.Nodes, p.facts)
	for _, note := range c.notes {
		if note = "with the changes: " + note; !slices.Contains(before, note) {
			before = append(before, note)
		}
	}
	c.notes = before
	p.world = c.build(p.facts, p.market, p.now, p.options.Settings)
}

func (p *player) play(ctx context.Context, into *Forecast) error {
	q := p.question(ctx)
	q.Scratch = p.options.Scratch
	answer, err := forecast.Play(q)
	if err != nil {
		return fmt.Errorf("simulation: %w", err)
	}
	into.read(answer, p.foreign(), q.For)
	into.Drift = p.drift()
	return nil
}

// question is about the cluster as it is. The context ends the play.
func (p *player) question(ctx context.Context) forecast.Question {
	snapshot, faults := p.world.Snapshot()
	for _, err := range faults {
		text := err.Error()
		if !slices.Contains(p.faults, text) {
			p.faults = append(p.faults, text)
		}
	}
	stop := func() error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before its end: %w", err)
		}
		return nil
	}
	policy := engine.DefaultPolicy()
	if p.options.Settings != nil {
		policy = p.options.Settings.Policy
	}
	return forecast.Question{Snapshot: snapshot, Policy: policy, Now: p.now, Seed: p.options.Seed, For: p.options.For, Stop: stop}
}

// foreign counts the nodes of no NodePool, and what their instances cost.
func (p *player) foreign() (out ForeignNodes) {
	c := p.cluster
	owned := map[string]bool{}
	for _, claim := range c.claims {
		owned[claim.Status.ProviderID] = true
	}
	var cost quantity.Money
	for _, n := range c.nodes {
		if n.Spec.ProviderID != "" && owned[n.Spec.ProviderID] {
			continue
		}
		out.Nodes++
		price := p.market.PriceOf(n.Labels[label.InstanceType], capacityType(n), n.Labels[label.Zone])
		if price == 0 || staysFor(n) != "" {
			out.Unpriced++
			continue
		}
		cost += price
	}
	out.CostPerHour = cents(dollars(cost))
	return out
}

// unsupported lists what of the objects is not carried out.
func (c *Cluster) unsupported() []Uncarried {
	out := slices.Clone(c.uncarried)
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		for _, f := range translate.UnsupportedOf(c.pools[name]) {
			out = append(out, Uncarried{"NodePool " + name, f.Path, f.Effect, f.Remedy})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.classes)) {
		for _, f := range translate.UnsupportedOfClass(c.classes[name]) {
			out = append(out, Uncarried{"EC2NodeClass " + name, f.Path, f.Effect, f.Remedy})
		}
	}
	return out
}
