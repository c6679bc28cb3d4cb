package market

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	// Every is how often a Keeper looks what it is time to ask.
	Every = 10 * time.Second
	// typesEvery is how often types, offerings and on-demand prices are asked for, as
	// Karpenter does.
	typesEvery = 12 * time.Hour
	// spotEvery is how often spot prices are asked for. EC2 changes them gradually.
	spotEvery = 10 * time.Minute
	// retryEvery is how soon a question that failed is asked again.
	retryEvery = time.Minute
	// unknownEvery is how often at most a type that nobody knows is asked for.
	unknownEvery = time.Hour
	// askWait is how long an answer of many pages may take.
	askWait = 2 * time.Minute
	// saveEvery is how often the answers are kept at most.
	saveEvery = 30 * time.Minute
)

// Cloud is the part of package aws that a Keeper uses.
type Cloud interface {
	InstanceTypes(ctx context.Context, names []string) ([]catalog.Fact, error)
	AllInstanceTypeZones(ctx context.Context) (map[string][]string, error)
	OnDemandPrices(ctx context.Context) (map[string]quantity.Money, error)
	SpotPrices(ctx context.Context, since time.Time) (map[string]map[string]quantity.Money, error)
}

// World is what the catalogue is for.
type World interface {
	Sell(facts []catalog.Fact, market catalog.Market)
	Zones() []catalog.Zone
	NodePools() []*v1.NodePool
	NodeClaims() []*v1.NodeClaim
}

// Config is what a Keeper works with.
type Config struct {
	Cloud  Cloud
	World  World
	Store  Store
	Logger hclog.Logger
	Now    func() time.Time
	// Facts and Market are the table that is compiled into the daemon.
	Facts  []catalog.Fact
	Market catalog.Market
	// Report is told of each group after each sweep.
	Report func([]Group)
}

// Keeper keeps the catalogue. Begin and Sweep are for one goroutine, State for any.
type Keeper struct {
	Config
	asked   map[string]*question // by group
	live    catalog.Live
	zones   []catalog.Zone       // with which the world's market was made
	unknown map[string]time.Time // types that nobody knew, by when they were asked for
	saved   time.Time
	unsaved bool

	mu    sync.Mutex
	state State
}

// The groups of facts.
const (
	groupTypes     = "instance types"
	groupOfferings = "offerings"
	groupOnDemand  = "on-demand prices"
	groupSpot      = "spot prices"
)

// groups lists all groups in the order of messages.
func groups() []string { return []string{groupTypes, groupOfferings, groupOnDemand, groupSpot} }

// question is about one group.
type question struct {
	every           time.Duration
	ask             func(ctx context.Context, now time.Time) (answer func(*catalog.Live), err error)
	tried, answered time.Time
	err             error // of the last try
	urgent          bool  // it is time to ask, whenever the last answer came
}

// New makes a Keeper that has asked nothing.
func New(c Config) *Keeper {
	k := &Keeper{Config: c, unknown: map[string]time.Time{}}
	k.asked = map[string]*question{
		groupTypes: {every: typesEvery, ask: func(ctx context.Context, _ time.Time) (func(*catalog.Live), error) {
			facts, err := c.Cloud.InstanceTypes(ctx, nil)
			return func(l *catalog.Live) { l.Types = facts }, k.usable(err, len(facts))
		}},
		groupOfferings: {every: typesEvery, ask: func(ctx context.Context, _ time.Time) (func(*catalog.Live), error) {
			zones, err := c.Cloud.AllInstanceTypeZones(ctx)
			return func(l *catalog.Live) { l.Zones = zones }, k.usable(err, len(zones))
		}},
		groupOnDemand: {every: typesEvery, ask: func(ctx context.Context, _ time.Time) (func(*catalog.Live), error) {
			prices, err := c.Cloud.OnDemandPrices(ctx)
			return func(l *catalog.Live) { l.OnDemand = prices }, k.usable(err, len(prices))
		}},
		groupSpot: {every: spotEvery, ask: func(ctx context.Context, now time.Time) (func(*catalog.Live), error) {
			prices, err := c.Cloud.SpotPrices(ctx, now)
			return func(l *catalog.Live) { l.Spot = prices }, k.usable(err, len(prices))
		}},
	}
	return k
}

// usable returns nil if the answer counts: also where some of its entries could not be read.
// An empty one does not count: it would take every node off the market.
func (k *Keeper) usable(err error, entries int) error {
	if errors.Is(err, aws.ErrUnread) && entries > 0 {
		k.Logger.Warn("AWS gave entries that cannot be read; they are left out", "error", err)
		return nil
	}
	if err == nil && entries == 0 {
		return errEmpty
	}
	return err
}

// Begin gives the world what an earlier daemon has kept; where it has kept nothing, what
// AWS answers within the wait. It is called before the first decision.
func (k *Keeper) Begin(ctx context.Context, wait time.Duration) {
	if k.restore(ctx) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	k.unsaved = k.ask(ctx)
	k.sell()
	for _, q := range k.asked {
		if q.err != nil { // perhaps the wait was short
			q.tried, q.err = time.Time{}, nil
		}
	}
}

// Sweep asks what it is time to ask, and gives the world what is new. It returns only what
// kept it from storing the answers; what AWS does not answer is logged once, and State says it.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) error {
	k.seekUnknown(now)
	news := k.ask(ctx)
	if news || !slices.Equal(k.zones, k.World.Zones()) {
		k.sell()
	}
	k.unsaved = k.unsaved || news
	k.note()
	if k.unsaved && now.Sub(k.saved) >= saveEvery {
		k.saved = now // also where it fails: the log has it once each time
		if err := k.Store.save(ctx, k.keep()); err != nil {
			return err
		}
		k.unsaved = false
	}
	return nil
}

// due says whether it is time to ask.
func (q *question) due(now time.Time) bool {
	switch {
	case now.Before(q.tried), now.Before(q.answered): // the clock went back
		return true
	case q.err != nil:
		return now.Sub(q.tried) >= retryEvery
	}
	return q.urgent || q.answered.IsZero() || now.Sub(q.answered) >= q.every
}

// ask asks all that is due at the same time, and says whether there are news.
func (k *Keeper) ask(ctx context.Context) (news bool) {
	now := k.Now()
	limited, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	var asking sync.WaitGroup
	answers := make([]func(*catalog.Live), len(groups()))
	for i, name := range groups() {
		if q := k.asked[name]; q.due(now) {
			asking.Go(func() {
				was := q.err
				q.tried, q.urgent = now, false
				if answers[i], q.err = q.ask(limited, now); q.err == nil {
					q.answered = now
				} else if answers[i] = nil; was == nil && ctx.Err() == nil {
					k.Logger.Warn("AWS does not say what it sells; the last answer counts, or the daemon's own table", "asked_for", name, "error", q.err)
				}
			})
		}
	}
	asking.Wait()
	for _, answer := range answers {
		if answer != nil {
			answer(&k.live)
			news = true
		}
	}
	return news
}

// sell gives the world the catalogue.
func (k *Keeper) sell() {
	k.zones = k.World.Zones()
	k.World.Sell(k.live.Over(k.Facts, k.Market, k.zones))
}

// seekUnknown makes it time to ask again for all but spot prices if a NodePool or a
// NodeClaim names an instance type that nobody knows: EC2 may have it since the last answer.
func (k *Keeper) seekUnknown(now time.Time) {
	maps.DeleteFunc(k.unknown, func(_ string, asked time.Time) bool { return now.Sub(asked) >= unknownEvery })
	known := map[string]bool{}
	for _, list := range [][]catalog.Fact{k.Facts, k.live.Types} {
		for i := range list {
			known[list[i].Name] = true
		}
	}
	fresh := false
	for name := range k.named() {
		if _, asked := k.unknown[name]; name != "" && !known[name] && !asked {
			k.unknown[name], fresh = now, true
		}
	}
	if !fresh {
		return
	}
	for _, name := range groups() {
		if q := k.asked[name]; q.every == typesEvery {
			q.urgent = true
		}
	}
}

// named returns the instance types that NodePools ask for by name, and those of NodeClaims.
func (k *Keeper) named() map[string]bool {
	out := map[string]bool{}
	for _, p := range k.World.NodePools() {
		for _, r := range p.Spec.Template.Spec.Requirements {
			if label.Canonical(r.Key) == label.InstanceType && string(r.Operator) == string(label.In) {
				for _, name := range r.Values {
					out[name] = true
				}
			}
		}
	}
	for _, c := range k.World.NodeClaims() {
		out[c.Labels[label.InstanceType]] = true
	}
	return out
}
