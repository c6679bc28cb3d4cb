package main

import (
	"fmt"
	"io"
	"log"

	ec2instancesinfo "github.com/LeanerCloud/ec2-instances-info"
	"github.com/aws/amazon-vpc-resource-controller-k8s/pkg/aws/vpc"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// sources says where the tables of the types are from. The version of the limits is that of
// go.mod. The table of bandwidths has no day of its own: the release's prices are about as old.
func (t tables) sources() []catalog.Source {
	return []catalog.Source{
		{Group: "branch interfaces", Date: "2026-09-02", Text: "amazon-vpc-resource-controller-k8s v1.8.2, limits table"},
		t.karpenter.source("network bandwidth", t.homeDate, "table of EC2's documentation; EC2 API for types that it lacks"),
	}
}

const (
	homeRegion     = "us-east-1"
	referenceText  = "ec2instances.info data (MIT licence, (c) 2013 Garret Heaton)"
	referenceDate  = "2025-05-28"
	derivedNote    = "; where us-east-1 changed since, or for newer types, the us-east-1 price of %s times the ratio of the two regions (of the type, else the median of its family, category or all), marked ~"
	spotEstimation = "estimated: on-demand price times the part that spot cost (of the type, else the median of its family, category or all) in " + referenceText + ", spread over the zones from the region's lowest to its highest"
)

func branchENIs(name string) int {
	if l, known := vpc.Limits[name]; known && l.IsTrunkingCompatible {
		return l.BranchInterface
	}
	return 0
}

// tables holds dollars an hour: home has the home region's newer prices,
// reference older ones of every region together with what spot cost then.
// bandwidth is in megabits a second.
type tables struct {
	karpenter karpenter
	bandwidth map[string]int
	home      map[string]float64
	homeDate  string
	reference map[string]map[string]reference // by region, instance type
}

type reference struct{ onDemand, spotMin, spotMax float64 }

func loadTables(k karpenter) (tables, error) {
	t, err := publishedTables(k)
	if err != nil {
		return t, err
	}
	t.reference = map[string]map[string]reference{}
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

// publishedTables are those of Karpenter alone: the reference takes seconds to be read.
func publishedTables(k karpenter) (tables, error) {
	t := tables{karpenter: k, home: map[string]float64{}}
	var err error
	if t.bandwidth, err = k.bandwidth(); err != nil {
		return t, err
	}
	date, published, err := k.prices("zz_generated.pricing_aws.go")
	if err != nil {
		return t, err
	}
	if len(published[homeRegion]) == 0 {
		return t, fmt.Errorf("%w: no prices of %s", errTable, homeRegion)
	}
	t.homeDate = date
	for name, price := range published[homeRegion] {
		t.home[name] = float64(price) / quantity.NanoDollars
	}
	return t, nil
}
