package market

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestOnce_IsTheCatalogueOfAKeeperThatHasAsked(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), sweepWait)
	facts, m, listed, err := Once(t.Context(), r, k.Facts, k.Market, r.zones, r.now)
	if err != nil || !listed {
		t.Fatal(listed, err)
	}
	if diff := cmp.Diff(r.facts, facts) + cmp.Diff(r.market, m); diff != "" {
		t.Errorf("(-of the keeper +once):\n%s", diff)
	}
	if m.OnDemand["m5.large"] != 90 || m.PriceOf("m5.large", "spot", "us-west-2a") != 30 {
		t.Errorf("prices %v, spot %v", m.OnDemand, m.Spot)
	}
}

func TestOnce_NamesEveryQuestionWithoutAnAnswer(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	r.fails[groupSpot], r.fails[groupTypes] = &aws.UnauthorizedError{Action: "ec2:DescribeSpotPriceHistory"}, aws.ErrCredentials
	_, _, _, err := Once(t.Context(), r, k.Facts, k.Market, r.zones, r.now)
	if !errors.Is(err, aws.ErrCredentials) || !errors.Is(err, aws.ErrUnauthorized) || !strings.Contains(err.Error(), groupSpot+" ask") || strings.Contains(err.Error(), groupOfferings) {
		t.Errorf("%v", err)
	}
	r.fails, r.spot = map[string]error{}, nil
	if _, _, _, err := Once(t.Context(), r, k.Facts, k.Market, r.zones, r.now); !errors.Is(err, errShort) {
		t.Errorf("an empty answer: %v", err)
	}
}

// Of the regions that have no Price List, the table's prices count, as with a Keeper.
func TestOnce_ARegionMayHaveNoPriceList(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	r.fails[groupOnDemand] = aws.ErrNoPriceList
	_, m, listed, err := Once(t.Context(), r, k.Facts, k.Market, r.zones, r.now)
	if want := (map[string]quantity.Money{"m5.large": 100}); err != nil || listed || !cmp.Equal(m.OnDemand, want) {
		t.Errorf("listed %v, %v, %v", listed, m.OnDemand, err)
	}
}
