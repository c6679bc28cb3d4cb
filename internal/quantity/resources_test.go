package quantity_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestCount_OneThingIsSingular(t *testing.T) {
	for n, want := range map[int64]string{0: "0 pods", 1: "1 pod", 2: "2 pods"} {
		if got := quantity.Count(n, "pod"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := (quantity.Resources{MilliCPU: 500, PodSlots: 1}).String(); got != "500m cpu, 1 pod" {
		t.Errorf("one pod slot: %s", got)
	}
}
