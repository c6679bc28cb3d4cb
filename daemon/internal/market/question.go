package market

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The groups of facts.
const (
	groupTypes     = "instance types"
	groupOfferings = "offerings"
	groupOnDemand  = "on-demand prices"
	groupSpot      = "spot prices"
)

// groups lists all groups in the order of messages.
func groups() []string { return []string{groupTypes, groupOfferings, groupOnDemand, groupSpot} }

// question is about one group of what AWS says.
type question struct {
	every   time.Duration
	ask     func(ctx context.Context, now time.Time, into *catalog.Live) error
	entries func(of *catalog.Live) int
	copy    func(to, from *catalog.Live)
	listed  int // entries of the daemon's own table

	tried, answered time.Time // the end of the last try, and the begin of the last that AWS answered
	failures        int       // since then
	err             error     // of the last try
	said            string    // what was logged last
	asking          bool      // somebody waits for the answer
	urgent          bool      // it is time to ask, whenever the last answer came
}

// reply is what came of a question about a group.
type reply struct {
	name  string
	asked time.Time
	live  catalog.Live // the group alone
	err   error
}

func questions(c Cloud, table catalog.Market) map[string]*question {
	return map[string]*question{
		groupTypes: {
			every: typesEvery, listed: len(table.Offered),
			ask: func(ctx context.Context, _ time.Time, into *catalog.Live) (err error) {
				into.Types, err = c.InstanceTypes(ctx)
				return err
			},
			entries: func(l *catalog.Live) int { return len(l.Types) },
			copy:    func(to, from *catalog.Live) { to.Types = from.Types },
		},
		groupOfferings: {
			every: typesEvery, listed: sum(table.Offered, func(in []int) int { return len(in) }),
			ask: func(ctx context.Context, _ time.Time, into *catalog.Live) (err error) {
				into.Zones, err = c.AllInstanceTypeZones(ctx)
				return err
			},
			entries: func(l *catalog.Live) int { return sum(l.Zones, func(in []string) int { return len(in) }) },
			copy:    func(to, from *catalog.Live) { to.Zones = from.Zones },
		},
		groupOnDemand: {
			every: typesEvery, listed: len(table.OnDemand),
			ask: func(ctx context.Context, _ time.Time, into *catalog.Live) (err error) {
				into.OnDemand, err = c.OnDemandPrices(ctx)
				return err
			},
			entries: func(l *catalog.Live) int { return len(l.OnDemand) },
			copy:    func(to, from *catalog.Live) { to.OnDemand = from.OnDemand },
		},
		groupSpot: {
			every: spotEvery, listed: sum(table.Spot, func(in []quantity.Money) int { return len(in) }),
			ask: func(ctx context.Context, now time.Time, into *catalog.Live) (err error) {
				into.Spot, err = c.SpotPrices(ctx, now)
				return err
			},
			entries: func(l *catalog.Live) int {
				return sum(l.Spot, func(in map[string]quantity.Money) int { return len(in) })
			},
			copy: func(to, from *catalog.Live) { to.Spot = from.Spot },
		},
	}
}

// sum counts the entries of all types.
func sum[T any](by map[string]T, of func(T) int) (n int) {
	for _, x := range by {
		n += of(x)
	}
	return n
}

// due says whether it is time to ask.
func (q *question) due(now time.Time) bool {
	switch {
	case q.asking:
		return false
	case now.Before(q.tried): // the clock went back
		return true
	case q.err != nil:
		return now.Sub(q.tried) >= min(retryEvery<<min(q.failures-1, mostDoublings), q.every)
	}
	return q.urgent || q.answered.IsZero() || now.Sub(q.answered) >= q.every
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// usable returns the error of an answer that does not count. One whose entries could not all
// be read counts, if it has enough others: a short answer would take nodes off the market.
func usable(err error, entries, least int) error {
	if err != nil && !errors.Is(err, aws.ErrUnread) {
		return err
	}
	if entries == 0 || entries < least {
		return fmt.Errorf("%d entries, where at least %d were expected: %w", entries, max(1, least), errShort)
	}
	return err
}
