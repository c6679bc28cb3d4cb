package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/tools/record"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/page"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// The reconciler of classes learns of a profile that is wrong from launches.
func TestWitness_TellsOfLaunchesThatFailBecauseOfTheProfileAndOfNoOther(t *testing.T) {
	var told []string
	w := witness{
		Recorder: &telemetry.Recorder{
			Logger: hclog.NewNullLogger(), Events: record.NewFakeRecorder(9), Metrics: telemetry.NewMetrics("test"),
		},
		profileFailed: func(class string) { told = append(told, class) }, page: &page.Page{},
	}
	c := &v1.NodeClaim{}
	c.Spec.NodeClassRef.Name = "default"
	w.LaunchFailed(c, errors.New("instance launch: throttled"))
	if len(told) > 0 {
		t.Errorf("told of %q", told)
	}
	w.LaunchFailed(c, fmt.Errorf("instance launch: %w", &smithy.GenericAPIError{
		Code: "InvalidParameterValue", Message: "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
	}))
	if len(told) != 1 || told[0] != "default" {
		t.Errorf("told of %q, want the class", told)
	}
}
