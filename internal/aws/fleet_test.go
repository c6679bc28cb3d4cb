package aws

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

func request() LaunchRequest {
	return LaunchRequest{
		LaunchTemplate: "t", CapacityType: CapacityTypeSpot, ClientToken: "token", Tags: map[string]string{"k": "v"},
		Overrides: []Override{
			{InstanceType: "m7g.large", Zone: "us-west-2a", SubnetID: "subnet-a", ImageID: "ami-arm", Priority: 0.03},
			{InstanceType: "m7i.large", Zone: "us-west-2a", SubnetID: "subnet-a", ImageID: "ami-amd", Priority: 0.04},
			{InstanceType: "m7i.large", Zone: "us-west-2b", SubnetID: "subnet-b", ImageID: "ami-amd", Priority: 0.05},
		},
	}
}

func TestFleetInput_HandsOverTheContextWhereThereIsOne(t *testing.T) {
	r := request()
	if got := fleetInput(r).Context; got != nil {
		t.Errorf("context %q", *got)
	}
	r.Context = "context-1"
	if got := awssdk.ToString(fleetInput(r).Context); got != r.Context {
		t.Errorf("context %q", got)
	}
}

func TestFleetInput_HasEachOverrideWithItsTemplate(t *testing.T) {
	r := request()
	r.LaunchTemplate, r.Overrides[0].LaunchTemplate, r.Overrides[1].LaunchTemplate, r.Overrides[2].LaunchTemplate = "", "b", "a", "b"
	var got []string
	for _, config := range fleetInput(r).LaunchTemplateConfigs {
		for _, o := range config.Overrides {
			got = append(got, *config.LaunchTemplateSpecification.LaunchTemplateName+" "+string(o.InstanceType)+" "+*o.SubnetId)
		}
	}
	if want := []string{"b m7g.large subnet-a", "b m7i.large subnet-b", "a m7i.large subnet-a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := request().Templates(); !slices.Equal(got, []string{"t"}) {
		t.Errorf("templates %q", got)
	}
}

func failure(code, instanceType, subnet string) ec2types.CreateFleetError {
	return ec2types.CreateFleetError{
		ErrorCode: &code, ErrorMessage: awssdk.String("message"),
		LaunchTemplateAndOverrides: &ec2types.LaunchTemplateAndOverridesResponse{
			Overrides: &ec2types.FleetLaunchTemplateOverrides{InstanceType: ec2types.InstanceType(instanceType), SubnetId: &subnet},
		},
	}
}

func keys(failed []OfferingFailure) []string {
	var out []string
	for _, f := range failed {
		out = append(out, f.InstanceType+" "+f.Zone+" "+f.CapacityType)
	}
	return out
}

func TestLaunched_ReadsTheInstanceOfTheFleet(t *testing.T) {
	out := &ec2.CreateFleetOutput{
		Errors: []ec2types.CreateFleetError{failure("InsufficientInstanceCapacity", "m7g.large", "subnet-a")},
		Instances: []ec2types.CreateFleetInstance{{
			InstanceIds: []string{"i-1"}, InstanceType: "m7i.large",
			LaunchTemplateAndOverrides: &ec2types.LaunchTemplateAndOverridesResponse{Overrides: &ec2types.FleetLaunchTemplateOverrides{SubnetId: awssdk.String("subnet-b")}},
		}},
	}
	got, err := launched(request(), out)
	if err != nil {
		t.Fatal(err)
	}
	want := Launched{
		InstanceID: "i-1", InstanceType: "m7i.large", Zone: "us-west-2b", SubnetID: "subnet-b", ImageID: "ami-amd", CapacityType: "spot",
		Failed: []OfferingFailure{{OfferingKey: catalog.OfferingKey{InstanceType: "m7g.large", Zone: "us-west-2a", CapacityType: "spot"}, Code: "InsufficientInstanceCapacity", Message: "message"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLaunched_NamesTheOfferingsWithoutCapacity(t *testing.T) {
	all := []string{"m7g.large us-west-2a spot", "m7i.large us-west-2a spot", "m7i.large us-west-2b spot"}
	tests := []struct {
		name   string
		errors []ec2types.CreateFleetError
		want   []string
	}{
		{"one offering", []ec2types.CreateFleetError{failure("UnfulfillableCapacity", "m7i.large", "subnet-b")}, all[2:]},
		{"the same twice", []ec2types.CreateFleetError{failure("Unsupported", "m7i.large", "subnet-b"), failure("Unsupported", "m7i.large", "subnet-b")}, all[2:]},
		{"a subnet is full", []ec2types.CreateFleetError{failure(codeNoAddresses, "m7i.large", "subnet-a")}, all[:2]},
		{"no role for spot", []ec2types.CreateFleetError{failure(codeNoSpotRole, "m7i.large", "subnet-a")}, all},
		{"no offering is named", []ec2types.CreateFleetError{{ErrorCode: awssdk.String("MaxFleetCountExceeded")}}, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := launched(request(), &ec2.CreateFleetOutput{Errors: tt.errors})
			var lack *InsufficientCapacityError
			if !errors.As(err, &lack) {
				t.Fatalf("got %v, want an *InsufficientCapacityError", err)
			}
			if got := keys(lack.Offerings); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLaunched_OtherErrorsAreNotALackOfCapacity(t *testing.T) {
	lack := failure("InsufficientInstanceCapacity", "m7g.large", "subnet-a")
	tests := map[string]error{
		"UnauthorizedOperation":                       ErrUnauthorized,
		"InvalidLaunchTemplateName.NotFoundException": ErrLaunchTemplateNotFound,
		"RequestLimitExceeded":                        ErrThrottled,
	}
	for code, want := range tests {
		_, err := launched(request(), &ec2.CreateFleetOutput{Errors: []ec2types.CreateFleetError{lack, failure(code, "m7i.large", "subnet-b")}})
		var capacity *InsufficientCapacityError
		if !errors.Is(err, want) || errors.As(err, &capacity) {
			t.Errorf("%s: got %v, want %v", code, err, want)
		}
	}
	if _, err := launched(request(), &ec2.CreateFleetOutput{}); err == nil {
		t.Error("an empty answer is a success")
	}
}

func TestOfProfile_KnowsALaunchThatFailedBecauseOfItsProfile(t *testing.T) {
	for message, want := range map[string]bool{
		"Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name": true,
		`IAM Instance Profile "arn:aws:iam::1:instance-profile/x" has no associated IAM Roles`:          true,
		"Value (x) for parameter keyName is invalid":                                                    false,
	} {
		_, err := launched(LaunchRequest{}, &ec2.CreateFleetOutput{Errors: []ec2types.CreateFleetError{
			{ErrorCode: awssdk.String("InvalidParameterValue"), ErrorMessage: awssdk.String(message)},
		}})
		if got := OfProfile(fmt.Errorf("nodeclaim launch: %w", err)); got != want {
			t.Errorf("%s: %v, want %v", message, got, want)
		}
	}
}

func TestFleetInput_AsksForOneInstanceByPrice(t *testing.T) {
	in := fleetInput(request())
	if in.Type != ec2types.FleetTypeInstant || *in.TargetCapacitySpecification.TotalTargetCapacity != 1 || *in.ClientToken != "token" {
		t.Errorf("got %+v", in)
	}
	if in.SpotOptions.AllocationStrategy != ec2types.SpotAllocationStrategyPriceCapacityOptimized || in.OnDemandOptions != nil {
		t.Error("spot is not allocated by price and capacity")
	}
	if o := in.LaunchTemplateConfigs[0].Overrides; len(o) != 3 || *o[0].Priority != 0.03 || *o[0].ImageId != "ami-arm" {
		t.Errorf("overrides %+v", o)
	}
	r := request()
	r.CapacityType = CapacityTypeOnDemand
	if in := fleetInput(r); in.OnDemandOptions.AllocationStrategy != ec2types.FleetOnDemandAllocationStrategyLowestPrice || in.SpotOptions != nil {
		t.Error("on-demand is not allocated by price")
	}
}

func TestFleetInput_OverridesWithALaunchTemplateOfTheirOwnGetIt(t *testing.T) {
	r := request()
	r.LaunchTemplate, r.Overrides[1].LaunchTemplate = "all", "own"
	got := map[string][]string{}
	for _, c := range fleetInput(r).LaunchTemplateConfigs {
		for _, o := range c.Overrides {
			got[*c.LaunchTemplateSpecification.LaunchTemplateName] = append(got[*c.LaunchTemplateSpecification.LaunchTemplateName], string(o.InstanceType)+" "+awssdk.ToString(o.SubnetId))
		}
	}
	of := func(i int) string { return r.Overrides[i].InstanceType + " " + r.Overrides[i].SubnetID }
	if want := map[string][]string{"all": {of(0), of(2)}, "own": {of(1)}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestReachOf_NamesWhatEachCodeSaysToBeExhausted(t *testing.T) {
	for code, want := range map[string]catalog.Reach{
		"InsufficientInstanceCapacity": catalog.ReachOffering, "UnfulfillableCapacity": catalog.ReachOffering, "Unsupported": catalog.ReachOffering,
		codeNoAddresses: catalog.ReachOffering, "ReservationCapacityExceeded": catalog.ReachOffering,
		"VcpuLimitExceeded": catalog.ReachQuota, "MaxSpotInstanceCountExceeded": catalog.ReachQuota, codeNoSpotRole: catalog.ReachCapacityType,
		"MaxFleetCountExceeded": catalog.ReachAll,
	} {
		_, err := launched(request(), &ec2.CreateFleetOutput{Errors: []ec2types.CreateFleetError{failure(code, "m7i.large", "subnet-b")}})
		var lack *InsufficientCapacityError
		if !errors.As(err, &lack) || lack.Offerings[0].Reach != want {
			t.Errorf("%s: %v", code, err)
		}
	}
}
