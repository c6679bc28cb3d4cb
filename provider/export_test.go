package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/pace"
)

// Services is for the tests outside of the package.
func Services() []string { return services() }

// NewHasty is New with short pauses between tries, for tests in which many calls fail.
func NewHasty(version, imageDigest string) func() provider.Provider {
	return func() provider.Provider {
		return at(pace.Pace{Backoff: time.Millisecond, Propagation: time.Second, QPS: 1000, Patience: time.Second, Lease: 3 * time.Second}, version, imageDigest)
	}
}

// NewBrisk is New with shorter waits for what a test knows not to come.
func NewBrisk(version, imageDigest string) func() provider.Provider {
	return func() provider.Provider {
		return at(pace.Pace{Patience: 10 * time.Second, Stuck: 20 * time.Second, Forced: 15 * time.Second}, version, imageDigest)
	}
}

func at(p pace.Pace, version, imageDigest string) provider.Provider {
	paced, _ := New(version, imageDigest)().(*karpenterProvider)
	paced.pace = p
	return paced
}
