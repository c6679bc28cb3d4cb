package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// SpotPrices returns the spot prices of Linux instances, by instance type and zone name.
// EC2 answers with the prices in force at the time since, and with all changes after it:
// of each type and zone the newest price counts. With the present time there is one answer
// for each. EC2 keeps two lists of Linux prices (with and without "Amazon VPC"); if a zone
// is in both, the higher price counts. A type and zone without entry has no spot market.
//
// Prices are in the currency of the partition, as those of OnDemandPrices are.
//
// A record that cannot be read, or whose price is not above zero, is left out. The error is
// an *UnreadError then, and the prices that come with it are those of all other records.
// With every other error there are no prices.
func (c *Clients) SpotPrices(ctx context.Context, since time.Time) (map[string]map[string]quantity.Money, error) {
	// Without an EndTime the answer reaches to the present.
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(c.ec2, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"}, StartTime: &since, MaxResults: awssdk.Int32(1000),
	})
	newest := spotHistory{}
	var unread unreadEntries
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "spot prices list")
		}
		for i := range page.SpotPriceHistory {
			unread.note(newest.add(&page.SpotPriceHistory[i]))
		}
	}
	return newest.prices(), unread.err("spot prices list")
}

// spotHistory has the newest price of each list of prices.
type spotHistory map[spotKey]spotRecord

type spotKey struct {
	instanceType, zone string
	product            ec2types.RIProductDescription
}

type spotRecord struct {
	price quantity.Money
	at    time.Time
}

func (h spotHistory) add(p *ec2types.SpotPrice) error {
	key := spotKey{string(p.InstanceType), awssdk.ToString(p.AvailabilityZone), p.ProductDescription}
	if key.instanceType == "" || key.zone == "" {
		return fmt.Errorf("spot price %q has instance type %q and zone %q", awssdk.ToString(p.SpotPrice), key.instanceType, key.zone)
	}
	price, err := quantity.ParseMoney(awssdk.ToString(p.SpotPrice))
	if err == nil && price == 0 {
		err = errors.New("is zero")
	}
	if err != nil {
		return fmt.Errorf("spot price of %s in %s: %w", key.instanceType, key.zone, err)
	}
	record := spotRecord{price, awssdk.ToTime(p.Timestamp)}
	have, known := h[key]
	if !known || record.at.After(have.at) || record.at.Equal(have.at) && record.price > have.price {
		h[key] = record
	}
	return nil
}

func (h spotHistory) prices() map[string]map[string]quantity.Money {
	out := map[string]map[string]quantity.Money{}
	for key, record := range h {
		if out[key.instanceType] == nil {
			out[key.instanceType] = map[string]quantity.Money{}
		}
		out[key.instanceType][key.zone] = max(out[key.instanceType][key.zone], record.price)
	}
	return out
}
