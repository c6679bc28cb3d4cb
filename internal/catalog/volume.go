package catalog

import "github.com/karpenterd/terraform-provider-karpenter/internal/quantity"

// PublicIPv4 is what a public IPv4 address costs, in nano-dollars an hour. It is the
// same in every region.
const PublicIPv4 quantity.Money = quantity.NanoDollars / 200 // $0.005

// hoursPerMonth is how AWS counts a month in prices.
const hoursPerMonth = 730

// Volume types of EBS.
const (
	GP2 = "gp2"
	GP3 = "gp3"
	IO1 = "io1"
	IO2 = "io2"
)

// The items that VolumePrices has beside the volume types.
const (
	gp3IOPS       = "gp3-iops"       // above those included
	gp3Throughput = "gp3-throughput" // a MiB/s above those included
	io1IOPS       = "io1-iops"
	io2IOPS       = "io2-iops"
	io2IOPSOver32 = "io2-iops-32000" // above 32,000
	io2IOPSOver64 = "io2-iops-64000" // above 64,000
)

// What each gp3 volume includes.
const (
	gp3IncludedIOPS       = 3000
	gp3IncludedThroughput = 125
)

// VolumePrices are the list prices of EBS volumes in a region, in nano-dollars a
// month: of a GiB by volume type, and of provisioned performance. What has no price
// counts as free. Requests to standard volumes have a price, too; they are left out,
// because nobody knows them before.
type VolumePrices map[string]quantity.Money

// Volume is an EBS volume.
type Volume struct {
	Type             string
	GiB              int64
	IOPS, Throughput int64 // provisioned; 0 means what the type includes
}

// Hourly is what the volume costs an hour.
func (p VolumePrices) Hourly(v Volume) quantity.Money {
	monthly := p.of(v.Type, v.GiB)
	switch v.Type {
	case GP3:
		monthly = monthly.Add(p.of(gp3IOPS, v.IOPS-gp3IncludedIOPS)).Add(p.of(gp3Throughput, v.Throughput-gp3IncludedThroughput))
	case IO1:
		monthly = monthly.Add(p.of(io1IOPS, v.IOPS))
	case IO2:
		monthly = monthly.Add(p.of(io2IOPS, min(v.IOPS, 32_000))).Add(p.of(io2IOPSOver32, min(v.IOPS, 64_000)-32_000)).Add(p.of(io2IOPSOver64, v.IOPS-64_000))
	}
	return monthly / hoursPerMonth
}

func (p VolumePrices) of(item string, n int64) quantity.Money {
	return p[item].Times(max(0, n))
}
