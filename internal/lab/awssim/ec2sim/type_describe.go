package ec2sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

type describeInstanceTypesRequest struct {
	listing
	Names []string `q:"InstanceType"`
}

type typesAnswer struct {
	Types     set[typeItem] `xml:"instanceTypeSet"`
	NextToken string        `xml:"nextToken,omitempty"`
}

func typeView() view[*Type] {
	text := func(get func(*Type) string) func(*Type) []string {
		return func(t *Type) []string { return one(get(t)) }
	}
	yes := func(get func(*Type) bool) func(*Type) []string {
		return func(t *Type) []string { return oneBool(get(t)) }
	}
	number := func(get func(*Type) int64) func(*Type) []string {
		return func(t *Type) []string { return oneInt(get(t)) }
	}
	return view[*Type]{
		key: func(t *Type) string { return t.Name },
		fields: map[string]func(*Type) []string{
			"bare-metal":                                   yes(func(t *Type) bool { return t.BareMetal }),
			"burstable-performance-supported":              yes(func(t *Type) bool { return t.Burstable }),
			"current-generation":                           yes(func(t *Type) bool { return t.CurrentGeneration }),
			"hypervisor":                                   text(func(t *Type) string { return t.Hypervisor }),
			"instance-storage-supported":                   yes(func(t *Type) bool { return t.NVMeGB > 0 }),
			"instance-type":                                text(func(t *Type) string { return t.Name }),
			"memory-info.size-in-mib":                      number(func(t *Type) int64 { return t.MemoryMiB }),
			"network-info.efa-supported":                   yes(func(t *Type) bool { return t.EFAs > 0 }),
			"network-info.encryption-in-transit-supported": yes(func(t *Type) bool { return t.EncryptionInTransit }),
			"network-info.maximum-network-interfaces":      number(func(t *Type) int64 { return int64(t.ENIs * max(t.Cards, 1)) }),
			"processor-info.supported-architecture":        text(func(t *Type) string { return t.Arch }),
			"supported-root-device-type":                   func(*Type) []string { return one("ebs") },
			"supported-usage-class":                        func(t *Type) []string { return t.UsageClasses },
			"supported-virtualization-type":                func(*Type) []string { return one("hvm") },
			"vcpu-info.default-vcpus":                      number(func(t *Type) int64 { return int64(t.VCPU) }),
		},
		minPage: 5, maxPage: 100, defaultPage: 100,
	}
}

func describeInstanceTypes(c *call, in *describeInstanceTypesRequest) (any, error) {
	found, err := pick(in.Names, c.s.types, notFound("InvalidInstanceType", "The following supplied instance types do not exist: [%s]"))
	if err != nil {
		return nil, err
	}
	page, next, err := typeView().list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := typesAnswer{NextToken: next}
	for _, t := range page {
		out.Types = append(out.Types, t.item())
	}
	return out, nil
}

type offeringItem struct {
	Type         string `xml:"instanceType"`
	Location     string `xml:"location"`
	LocationType string `xml:"locationType"`
}

type describeOfferingsRequest struct {
	listing
	LocationType string `q:"LocationType"`
}

type offeringsAnswer struct {
	Offerings set[offeringItem] `xml:"instanceTypeOfferingSet"`
	NextToken string            `xml:"nextToken,omitempty"`
}

func describeInstanceTypeOfferings(c *call, in *describeOfferingsRequest) (any, error) {
	if err := oneOf("LocationType", in.LocationType, "region", "availability-zone", "availability-zone-id"); err != nil {
		return nil, err
	}
	kind := in.LocationType
	if kind == "" {
		kind = "region"
	}
	var items []offeringItem
	for _, t := range c.s.types {
		for _, location := range c.s.locations(t, kind) {
			items = append(items, offeringItem{t.Name, location, kind})
		}
	}
	page, next, err := view[offeringItem]{
		key: func(o offeringItem) string { return o.Type + "/" + o.Location },
		fields: map[string]func(offeringItem) []string{
			"instance-type": func(o offeringItem) []string { return one(o.Type) },
			"location":      func(o offeringItem) []string { return one(o.Location) },
		},
		minPage: 5, maxPage: 1000, defaultPage: 1000,
	}.list(c, in.listing, items)
	if err != nil {
		return nil, err
	}
	return offeringsAnswer{Offerings: page, NextToken: next}, nil
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
	Zone      string `xml:"availabilityZone"`
	ZoneID    string `xml:"availabilityZoneId"`
	Type      string `xml:"instanceType"`
	Product   string `xml:"productDescription"`
	Price     string `xml:"spotPrice"`
	Timestamp string `xml:"timestamp"`
}

type describeSpotPricesRequest struct {
	listing
	Zone     string    `q:"AvailabilityZone"`
	ZoneID   string    `q:"AvailabilityZoneId"`
	Types    []string  `q:"InstanceType"`
	Products []string  `q:"ProductDescription"`
	Start    time.Time `q:"StartTime"`
	End      time.Time `q:"EndTime"`
}

type spotPricesAnswer struct {
	NextToken string             `xml:"nextToken,omitempty"`
	Prices    set[spotPriceItem] `xml:"spotPriceHistorySet"`
}

// describeSpotPriceHistory shows the present prices only: prices here never
// change, so that whatever the period is, the price in force is the answer.
func describeSpotPriceHistory(c *call, in *describeSpotPricesRequest) (any, error) {
	if !in.End.IsZero() && in.End.Before(in.Start) {
		return nil, wire.Errorf("InvalidParameterValue", "The end time must not be before the start time.")
	}
	items := c.s.spotPrices()
	items = slices.DeleteFunc(items, func(p spotPriceItem) bool {
		return in.Zone != "" && p.Zone != in.Zone || in.ZoneID != "" && p.ZoneID != in.ZoneID ||
			len(in.Types) > 0 && !slices.Contains(in.Types, p.Type) || len(in.Products) > 0 && !slices.Contains(in.Products, p.Product)
	})
	page, next, err := view[spotPriceItem]{
		key: func(p spotPriceItem) string { return p.Type + "/" + p.Zone },
		fields: map[string]func(spotPriceItem) []string{
			"availability-zone":    func(p spotPriceItem) []string { return one(p.Zone) },
			"availability-zone-id": func(p spotPriceItem) []string { return one(p.ZoneID) },
			"instance-type":        func(p spotPriceItem) []string { return one(p.Type) },
			"product-description":  func(p spotPriceItem) []string { return one(p.Product) },
			"spot-price":           func(p spotPriceItem) []string { return one(p.Price) },
			"timestamp":            func(p spotPriceItem) []string { return one(p.Timestamp) },
		},
		minPage: 1, defaultPage: 1000,
	}.list(c, in.listing, items)
	if err != nil {
		return nil, err
	}
	return spotPricesAnswer{Prices: page, NextToken: next}, nil
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
	fraction := strconv.FormatInt(micro%1_000_000, 10)
	return strconv.FormatInt(micro/1_000_000, 10) + "." + strings.Repeat("0", 6-len(fraction)) + fraction
}
