package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// The provider has an attribute for each of the Settings, or a reason to have none. So a
// setting that is not among them could not be set by the provider's users.
func TestReadConfig_ReadsTheSettingsAndNoOthers(t *testing.T) {
	asked := map[string]bool{}
	env := environment(nil)
	recording := func(name string) string {
		asked[name] = true
		return env(name)
	}
	if _, err := readConfig(nil, recording); err != nil {
		t.Fatal(err)
	}
	if _, err := memoryLimit(recording); err != nil {
		t.Fatal(err)
	}
	delete(asked, "GOMEMLIMIT") // the Go runtime's
	got, want := slices.Sorted(maps.Keys(asked)), slices.Sorted(slices.Values(install.Settings()))
	if !slices.Equal(got, want) {
		t.Errorf("the daemon reads %v, and the settings are %v", got, want)
	}
}
