package catalog

import (
	"math"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Worked by hand from the list prices of us-east-1.
func TestHourly_ChargesSizeAndProvisionedPerformance(t *testing.T) {
	cents := func(x float64) quantity.Money { return quantity.Money(math.Round(x * quantity.NanoDollars / 100)) }
	prices := VolumePrices{
		"gp3": cents(8), "gp3-iops": cents(0.5), "gp3-throughput": cents(4), "gp2": cents(10), "st1": cents(4.5), "standard": cents(5),
		"io1": cents(12.5), "io1-iops": cents(6.5), "io2": cents(12.5), "io2-iops": cents(6.5), "io2-iops-32000": cents(4.6), "io2-iops-64000": cents(3.2),
	}
	for _, c := range []struct {
		v       Volume
		monthly float64 // dollars
	}{
		{Volume{Type: "gp3", GiB: 20}, 1.6},
		{Volume{Type: "gp3", GiB: 500, IOPS: 3000, Throughput: 125}, 40},
		{Volume{Type: "gp3", GiB: 100, IOPS: 4000, Throughput: 225}, 8 + 5 + 4},
		{Volume{Type: "gp2", GiB: 100, IOPS: 4000}, 10},
		{Volume{Type: "io1", GiB: 100, IOPS: 1000}, 12.5 + 65},
		{Volume{Type: "io2", GiB: 100, IOPS: 1000}, 12.5 + 65},
		{Volume{Type: "io2", GiB: 100, IOPS: 70_000}, 12.5 + 2080 + 1472 + 192},
		{Volume{Type: "st1", GiB: 1000}, 45},
		{Volume{Type: "standard", GiB: 100}, 5},
		{Volume{Type: "unknown", GiB: 100}, 0},
		{Volume{Type: "gp3", GiB: -1}, 0},
	} {
		if got, want := prices.Hourly(c.v), c.monthly/730*quantity.NanoDollars; math.Abs(float64(got)-want) > 1 {
			t.Errorf("%+v: %d an hour, want %.0f", c.v, got, want)
		}
	}
	if got := prices.Hourly(Volume{Type: "io2", GiB: math.MaxInt64, IOPS: math.MaxInt64}); got <= 0 {
		t.Errorf("a volume beyond reason costs %d", got)
	}
}
