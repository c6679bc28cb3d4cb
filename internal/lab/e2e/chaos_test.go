//go:build lab

package e2e

import (
	"os"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/chaos"
)

// TestChaos_AFixedSeedBreaksNoInvariant is one round; "make chaos" has as many as there is time for.
func TestChaos_AFixedSeedBreaksNoInvariant(t *testing.T) {
	if err := chaos.Run(t.Context(), chaos.Options{Seed: 6, Minutes: 1, Out: os.Stderr}); err != nil {
		t.Error(err)
	}
}
