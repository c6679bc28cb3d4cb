package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// spotHistoryKept is how long EC2 keeps spot prices. Anything older is made up.
const spotHistoryKept = 90 * 24 * time.Hour

// spotHistory returns the price in force per type and offered zone; nothing if
// the endpoint has no history.
func (s ec2Source) spotHistory(ctx context.Context, m catalog.Market, now time.Time) (map[string][]quantity.Money, error) {
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(s.client, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
		StartTime:           &now,
	})
	found := map[string][]quantity.Money{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("spot price history describe: %w", err)
		}
		for _, p := range page.SpotPriceHistory {
			if now.Sub(aws.ToTime(p.Timestamp)) > spotHistoryKept {
				continue
			}
			price, err := quantity.ParseMoney(aws.ToString(p.SpotPrice))
			if err != nil {
				return nil, fmt.Errorf("spot price of %s: %w", p.InstanceType, err)
			}
			name := string(p.InstanceType)
			at := slices.IndexFunc(m.Offered[name], func(z int) bool { return m.Zones[z].Name == aws.ToString(p.AvailabilityZone) })
			if at < 0 {
				continue
			}
			if found[name] == nil {
				found[name] = make([]quantity.Money, len(m.Offered[name]))
			}
			found[name][at] = price
		}
	}
	return found, nil
}
