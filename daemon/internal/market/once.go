package market

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// Once asks AWS one time all that a Keeper asks, and returns the catalogue that the Keeper would
// give to the world. Facts and table are those that are compiled in, and zones those that the
// account names. Every question must be answered but that for on-demand prices where AWS has no
// Price List: listed says whether there is one.
//
// The error has one error for each question without an answer, in the order of the groups.
func Once(ctx context.Context, cloud Cloud, facts []catalog.Fact, table catalog.Market, zones []catalog.Zone, now time.Time) (_ []catalog.Fact, _ catalog.Market, listed bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	asked, answers, faults := questions(cloud, table), make([]catalog.Live, len(groups())), make([]error, len(groups()))
	var all sync.WaitGroup
	for i, name := range groups() {
		all.Go(func() {
			q := asked[name]
			err := q.ask(ctx, now, &answers[i])
			faults[i] = usable(err, q.entries(&answers[i]), q.listed/leastPart)
		})
	}
	all.Wait()
	var live catalog.Live
	listed = true
	for i, name := range groups() {
		switch err := faults[i]; {
		case err == nil, errors.Is(err, aws.ErrUnread):
			asked[name].copy(&live, &answers[i])
			faults[i] = nil
		case name == groupOnDemand && errors.Is(err, aws.ErrNoPriceList):
			listed, faults[i] = false, nil
		default:
			faults[i] = fmt.Errorf("%s ask: %w", name, err)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, catalog.Market{}, false, err
	}
	facts, sold := live.Over(facts, table, zones)
	return facts, sold, listed, nil
}
