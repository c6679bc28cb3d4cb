package main

import (
	"fmt"
	"io"
	"log"

	ec2instancesinfo "github.com/LeanerCloud/ec2-instances-info"
	"github.com/aws/amazon-vpc-resource-controller-k8s/pkg/aws/vpc"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
	"github.com/aws/karpenter-provider-aws/pkg/providers/pricing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// Where the tables are from. Versions are those of go.mod; dates are the
// tables' own.
func tableSources() []catalog.Source {
	return []catalog.Source{
		{Group: "branch interfaces", Date: "2026-09-02", Text: "amazon-vpc-resource-controller-k8s v1.8.2, limits table"},
		{Group: "network bandwidth", Date: "2026-07-06", Text: "karpenter-provider-aws v1.14.1, table of EC2's documentation; EC2 API for types that it lacks"},
	}
}

const (
	homeRegion     = "us-east-1"
	homeText       = "karpenter-provider-aws v1.14.1, on-demand table of us-east-1"
	homeDate       = "2026-07-06"
	referenceText  = "ec2instances.info data (MIT licence, (c) 2013 Garret Heaton)"
	referenceDate  = "2025-05-28"
	derivedNote    = "; where us-east-1 changed since, or for newer types, the us-east-1 price of " + homeDate + " times the ratio of the two regions (of the type, else the median of its family, category or all), marked ~"
	spotEstimation = "estimated: on-demand price times the part that spot cost (of the type, else the median of its family, category or all) in " + referenceText + ", spread over the zones from the region's lowest to its highest"
)

func branchENIs(name string) int {
	if l, known := vpc.Limits[name]; known && l.IsTrunkingCompatible {
		return l.BranchInterface
	}
	return 0
}

func bandwidth(name string) (mbps int, documented bool) {
	n, documented := instancetype.InstanceTypeBandwidthMegabits[name]
	return int(n), documented
}

// tables holds dollars an hour: home has the home region's newer prices,
// reference older ones of every region together with what spot cost then.
type tables struct {
	home      map[string]float64
	reference map[string]map[string]reference // by region, instance type
}

type reference struct{ onDemand, spotMin, spotMax float64 }

func loadTables() (tables, error) {
	t := tables{home: map[string]float64{}, reference: map[string]map[string]reference{}}
	for name, price := range pricing.InitialOnDemandPricesAWS[homeRegion] {
		t.home[string(name)] = price
	}
	log.SetOutput(io.Discard) // the module announces each load
	data, err := ec2instancesinfo.Data()
	if err != nil {
		return t, fmt.Errorf("reference prices load: %w", err)
	}
	for _, i := range *data {
		for region, p := range i.Pricing {
			if p.Linux.OnDemand <= 0 {
				continue
			}
			if t.reference[region] == nil {
				t.reference[region] = map[string]reference{}
			}
			t.reference[region][i.InstanceType] = reference{p.Linux.OnDemand, p.Linux.SpotMin, p.Linux.SpotMax}
		}
	}
	return t, nil
}
