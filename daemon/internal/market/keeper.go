package market

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

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
	// retryEvery is how soon a question that failed is asked again; the pause doubles.
	retryEvery = time.Minute
	// unknownEvery is how often at most a type that nobody knows is asked for.
	unknownEvery = time.Hour
	// mostDoublings bounds the pauses between tries that fail; they are not longer than
	// between answers, either.
	mostDoublings = 6
	// askWait is how long an answer of many pages may take, and sweepWait how long a sweep
	// waits for answers.
	askWait, sweepWait = 2 * time.Minute, 5 * time.Second
	// replyLasts is how old a question may be whose reply is taken. A Keeper that sweeps takes all
	// sooner; one that waits to be elected may have had a reply for days.
	replyLasts = askWait + time.Minute
	// leastPart is which part of the last answer, or of the daemon's own table, an answer
	// must have to count.
	leastPart = 2
	// saveEvery is how often the answers are kept at most.
	saveEvery = 30 * time.Minute
)

// Cloud is the part of package aws that a Keeper uses.
type Cloud interface {
	InstanceTypes(ctx context.Context) ([]catalog.Fact, error)
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

// Keeper keeps the catalogue. Ahead, Begin and Sweep are for one goroutine at a time, State for any.
type Keeper struct {
	Config
	asked   map[string]*question // by group
	replies chan reply           // of those that are being asked
	live    catalog.Live
	zones   []catalog.Zone       // with which the world's market was made
	unknown map[string]time.Time // types that nobody knew, by when they were asked for
	saved   time.Time
	unsaved bool
	guessed guesses // of the market that the world has

	mu    sync.Mutex
	state State
}

// New makes a Keeper that has asked nothing.
func New(c Config) *Keeper {
	return &Keeper{Config: c, asked: questions(c.Cloud, c.Market), unknown: map[string]time.Time{}, replies: make(chan reply, len(groups()))}
}

// Ahead begins to ask AWS for what an earlier daemon has not kept, so that Begin waits the
// less, and does not wait itself.
func (k *Keeper) Ahead(ctx context.Context) {
	if !k.restore(ctx) {
		k.unsaved = k.ask(ctx, 0)
	}
}

// Begin gives the world what an earlier daemon has kept; where it has kept less than all,
// also what AWS answers within the wait. It is called before the first decision.
func (k *Keeper) Begin(ctx context.Context, wait time.Duration) {
	if !k.restore(ctx) {
		k.unsaved = k.ask(ctx, wait) || k.unsaved
	}
	k.sell()
}

// Sweep asks what it is time to ask, and gives the world what is new. It returns only what
// kept it from storing the answers; what AWS does not answer is logged, and State says it.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) error {
	k.seekUnknown(now)
	news := k.ask(ctx, sweepWait)
	if news || !slices.Equal(k.zones, k.World.Zones()) {
		k.sell()
	}
	k.unsaved = k.unsaved || news
	k.note()
	if k.unsaved && (k.saved.IsZero() || now.Sub(k.saved) >= saveEvery) {
		k.saved = now // also where it fails: the log has it once each time
		if err := k.Store.save(ctx, k.keep()); err != nil {
			return err
		}
		k.unsaved = false
	}
	return nil
}

// ask asks all that is due, each question on its own, and takes what is answered within the
// wait. It says whether there are news. What takes longer is taken later.
func (k *Keeper) ask(ctx context.Context, wait time.Duration) (news bool) {
	for len(k.replies) > 0 { // before it is seen what is due: some may be too old
		news = k.take(<-k.replies) || news
	}
	now := k.Now()
	for _, name := range groups() {
		q := k.asked[name]
		if !q.due(now) {
			continue
		}
		q.asking, q.urgent = true, false
		least := q.listed / leastPart
		if last := q.entries(&k.live); last > 0 {
			least = last / leastPart
		}
		go func() {
			limited, cancel := context.WithTimeout(ctx, askWait)
			defer cancel()
			r := reply{name: name, asked: now}
			err := q.ask(limited, now, &r.live)
			r.err = usable(err, q.entries(&r.live), least)
			k.replies <- r
		}()
	}
	limit := time.NewTimer(wait)
	defer limit.Stop()
	for slices.ContainsFunc(groups(), func(name string) bool { return k.asked[name].asking }) {
		select {
		case r := <-k.replies:
			news = k.take(r) || news
		case <-limit.C:
			return news
		case <-ctx.Done():
			return news
		}
	}
	return news
}

// take takes a reply, and says whether it is an answer. One to a question of long ago is dropped,
// so that it is time to ask again.
func (k *Keeper) take(r reply) bool {
	q, now := k.asked[r.name], k.Now()
	if q.asking = false; now.Sub(r.asked) > replyLasts {
		return false
	}
	q.tried = now
	unread := errors.Is(r.err, aws.ErrUnread)
	if said := text(r.err); said != q.said {
		switch q.said = said; {
		case unread:
			k.Logger.Warn("AWS gave entries that cannot be read; they are left out", "asked_for", r.name, "error", r.err)
		case errors.Is(r.err, ErrNotAsked):
			k.Logger.Info("AWS is not asked; the daemon's own table counts", "asked_for", r.name, "why", said)
		case said != "":
			k.Logger.Warn("AWS does not say what it sells; the last answer counts, or the daemon's own table", "asked_for", r.name, "error", r.err)
		}
	}
	if r.err != nil && !unread {
		q.err, q.failures = r.err, q.failures+1
		return false
	}
	q.err, q.failures, q.answered = nil, 0, r.asked
	if now.Before(r.asked) { // the clock went back
		q.answered = now
	}
	q.copy(&k.live, &r.live)
	return true
}

// sell gives the world the catalogue.
func (k *Keeper) sell() {
	k.zones = k.World.Zones()
	facts, market := k.live.Over(k.Facts, k.Market, k.zones)
	k.guessed = guessesOf(facts, market)
	k.World.Sell(facts, market)
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
			if label.Canonical(r.Key) == label.InstanceType && r.Operator == corev1.NodeSelectorOpIn {
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
