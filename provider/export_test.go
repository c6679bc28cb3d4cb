package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider"
)

// Services is for the tests outside of the package.
func Services() []string { return services() }

// NewHasty is New with short pauses between tries, for tests in which many calls fail.
func NewHasty(version, imageDigest string) func() provider.Provider {
	return func() provider.Provider {
		hasty, _ := New(version, imageDigest)().(*karpenterProvider)
		hasty.pace = pace{backoff: time.Millisecond, propagation: time.Second, qps: 1000, patience: time.Second}
		return hasty
	}
}

// Settings gives, for each setting of the daemon, its attribute or why it has none.
func Settings() (attributes, without map[string]string) {
	return settingAttributes(), settingsWithout()
}
