package telemetry

import (
	"errors"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

func TestMetrics_CountAWSCallsByResult(t *testing.T) {
	m := NewMetrics("test")
	for _, err := range []error{nil, nil, errors.New("throttled")} {
		m.AWSCall(aws.Call{Service: "EC2", Operation: "CreateFleet", Err: err})
	}
	for result, want := range map[string]float64{"ok": 2, "error": 1} {
		if got := value(t, m, `karpenterd_aws_calls_total{operation="CreateFleet",result="`+result+`",service="EC2"}`); got != want {
			t.Errorf("%s: %v calls, want %v", result, got, want)
		}
	}
}
