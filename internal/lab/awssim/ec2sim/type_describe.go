package ec2sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

type offeringItem struct {
	Type         string `xml:"instanceType" filter:"instance-type"`
	Location     string `xml:"location" filter:"location"`
	LocationType string `xml:"locationType"`
}

func (o offeringItem) key() string { return o.Type + "/" + o.Location }

type describeOfferingsRequest struct {
	listing
	LocationType string `q:"LocationType"`
}

func describeInstanceTypeOfferings(c *call, in *describeOfferingsRequest) (any, error) {
	if err := oneOf("LocationType", in.LocationType, "region", "availability-zone", "availability-zone-id"); err != nil {
		return nil, err
	}
	kind := cmp.Or(in.LocationType, "region")
	var items []offeringItem
	for _, t := range c.s.types {
		for _, location := range c.s.locations(t, kind) {
			items = append(items, offeringItem{t.Name, location, kind})
		}
	}
	return list[offeringItem, offeringItem]{set: "instanceTypeOfferingSet", item: itself[offeringItem], minPage: 5, maxPage: 1000, defaultPage: 1000}.page(c, in.listing, items)
}

func (s *Service) locations(t *Type, kind string) []string {
	if kind == "region" {
		return []string{s.cfg.Region}
	}
	var out []string
	for _, name := range t.Zones {
		if kind == "availability-zone-id" {
			name = s.zone(name).ID
		}
		out = append(out, name)
	}
	return out
}

type spotPriceItem struct {
	Zone      string `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID    string `xml:"availabilityZoneId" filter:"availability-zone-id"`
	Type      string `xml:"instanceType" filter:"instance-type"`
	Product   string `xml:"productDescription" filter:"product-description"`
	Price     string `xml:"spotPrice" filter:"spot-price"`
	Timestamp string `xml:"timestamp" filter:"timestamp"`
}

func (p spotPriceItem) key() string { return p.Type + "/" + p.Zone }

type describeSpotPricesRequest struct {
	listing
	Products []string  `q:"ProductDescription"`
	Start    time.Time `q:"StartTime"` // prices never change: the one in force is the answer
}

func describeSpotPriceHistory(c *call, in *describeSpotPricesRequest) (any, error) {
	items := slices.DeleteFunc(c.s.spotPrices(), func(p spotPriceItem) bool { return len(in.Products) > 0 && !slices.Contains(in.Products, p.Product) })
	return list[spotPriceItem, spotPriceItem]{set: "spotPriceHistorySet", item: itself[spotPriceItem], minPage: 1, defaultPage: 1000}.page(c, in.listing, items)
}

func (s *Service) spotPrices() []spotPriceItem {
	var items []spotPriceItem
	since := stamp(s.cfg.Now().Truncate(time.Hour))
	for _, t := range s.types {
		for _, zone := range slices.Sorted(maps.Keys(t.Spot)) {
			if price := t.Spot[zone]; price > 0 {
				items = append(items, spotPriceItem{zone, s.zone(zone).ID, t.Name, "Linux/UNIX", decimal(price), since})
			}
		}
	}
	return items
}

// decimal renders a price in dollars with six decimals, as EC2 does.
func decimal(price quantity.Money) string {
	micro := (int64(price) + 500) / 1000
	return fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000)
}
