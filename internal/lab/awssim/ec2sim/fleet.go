package ec2sim

import (
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// maxOverrides is how many launch overrides an instant fleet may have in all.
const maxOverrides = 300

type createFleetRequest struct {
	dryRun
	ClientToken string        `q:"ClientToken"`
	Context     string        `q:"Context"` // an opaque label of the requester
	Configs     []fleetConfig `q:"LaunchTemplateConfigs,required"`
	OnDemand    fleetOptions  `q:"OnDemandOptions"`
	Spot        fleetOptions  `q:"SpotOptions"`
	TagSpecs    []tagSpec     `q:"TagSpecification"`
	Target      fleetTarget   `q:"TargetCapacitySpecification,required"`
	Type        string        `q:"Type"`
}

type fleetConfig struct {
	Template  fleetTemplate   `q:"LaunchTemplateSpecification,required"`
	Overrides []fleetOverride `q:"Overrides"`
}

type fleetTemplate struct {
	ID      string `q:"LaunchTemplateId" xml:"launchTemplateId,omitempty"`
	Name    string `q:"LaunchTemplateName" xml:"launchTemplateName,omitempty"`
	Version string `q:"Version" xml:"version,omitempty"`
}

type fleetOverride struct {
	Zone         string   `q:"AvailabilityZone" xml:"availabilityZone,omitempty"`
	ImageID      string   `q:"ImageId" xml:"imageId,omitempty"`
	InstanceType string   `q:"InstanceType" xml:"instanceType,omitempty"`
	Priority     *float64 `q:"Priority" xml:"priority"`
	SubnetID     string   `q:"SubnetId" xml:"subnetId,omitempty"`
}

type fleetOptions struct {
	Strategy string `q:"AllocationStrategy"`
}

type fleetTarget struct {
	Type  string `q:"DefaultTargetCapacityType"`
	Total int    `q:"TotalTargetCapacity,required"`
}

type fleetAnswer struct {
	Errors    set[fleetError]     `xml:"errorSet"`
	FleetID   string              `xml:"fleetId"`
	Instances set[fleetInstances] `xml:"fleetInstanceSet"`
}

type fleetChoice struct {
	Template fleetTemplate `xml:"launchTemplateSpecification"`
	Override fleetOverride `xml:"overrides"`
}

type fleetError struct {
	Code      string      `xml:"errorCode"`
	Message   string      `xml:"errorMessage"`
	Choice    fleetChoice `xml:"launchTemplateAndOverrides"`
	Lifecycle string      `xml:"lifecycle"`
}

type fleetInstances struct {
	Zone         string      `xml:"availabilityZone"`
	IDs          set[string] `xml:"instanceIds"`
	InstanceType string      `xml:"instanceType"`
	Choice       fleetChoice `xml:"launchTemplateAndOverrides"`
	Lifecycle    string      `xml:"lifecycle"`
	Platform     string      `xml:"platform,omitempty"`
	SubnetID     string      `xml:"subnetId"`
}

// createFleet serves fleets of type instant: it launches what it can now, and
// answers with the instances and the errors of the pools that failed.
func createFleet(c *call, in *createFleetRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := c.permit(false, c.creation("CreateFleet", kindFleet, tagsFor(kindFleet, in.TagSpecs), nil)...); err != nil {
		return nil, err
	}
	return c.once(in.ClientToken, in.DryRun, func() (any, error) {
		pools, err := c.fleetPools(in)
		if err != nil {
			return nil, err
		}
		f := &fleet{call: c, id: c.s.newID("fleet"), clientToken: in.ClientToken, tagSpecs: in.TagSpecs}
		f.answer.FleetID = f.id
		if in.Target.Type == spot {
			f.fill(spot, in.Spot.Strategy, in.Target.Total, pools)
		} else {
			f.fill(onDemand, in.OnDemand.Strategy, in.Target.Total, pools)
		}
		if len(f.answer.Instances) > 0 {
			c.s.resources[f.id] = &resource{id: f.id, kind: kindFleet, tags: tagsFor(kindFleet, in.TagSpecs)}
		}
		return f.answer, nil
	})
}

func (in *createFleetRequest) check() error {
	if in.Type != "instant" {
		return wire.Errorf("UnsupportedOperation", "This simulator has fleets of type instant only, not '%s'.", in.Type)
	}
	overrides := 0
	for _, config := range in.Configs {
		overrides += len(config.Overrides)
	}
	if overrides > maxOverrides {
		return wire.Errorf("InvalidParameterValue", "The request has %d launch template overrides; at most %d are allowed.", overrides, maxOverrides)
	}
	if in.Target.Total < 1 {
		return invalidValue("TargetCapacitySpecification.TotalTargetCapacity", in.Target.Total, "It must be positive.")
	}
	if err := oneOf("TargetCapacitySpecification.DefaultTargetCapacityType", in.Target.Type, onDemand, spot); err != nil {
		return err
	}
	if err := oneOf("OnDemandOptions.AllocationStrategy", in.OnDemand.Strategy, "lowest-price", "prioritized"); err != nil {
		return err
	}
	if err := oneOf("SpotOptions.AllocationStrategy", in.Spot.Strategy, "lowest-price", "capacity-optimized-prioritized", "price-capacity-optimized"); err != nil {
		return err
	}
	return checkTagSpecs(in.TagSpecs, kindFleet, kindInstance, kindVolume, kindInterface)
}

// oneOf checks an enumerated parameter; empty is its default.
func oneOf(parameter, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return invalidValue(parameter, value, "The simulator knows "+strings.Join(allowed, ", ")+".")
}

// fleetPools lists the (template, override) pairs to choose from. A template
// that does not exist fails the whole request.
func (c *call) fleetPools(in *createFleetRequest) ([]fleetPool, error) {
	var pools []fleetPool
	for _, config := range in.Configs {
		t, err := c.s.launchable(config.Template)
		if err != nil {
			return nil, err
		}
		if err := c.permit(false, c.access(c.s.existing(t.resource))); err != nil {
			return nil, err
		}
		overrides := config.Overrides
		if len(overrides) == 0 {
			overrides = []fleetOverride{{}}
		}
		for _, override := range overrides {
			pools = append(pools, fleetPool{t, override})
		}
	}
	return pools, c.permit(in.DryRun)
}
