package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
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

// What a conversion and the guide From Karpenter say of a setting is what the daemon does: it reads
// those that are called carried out, and no other one of Karpenter's.
func TestSettings_ThoseOfKarpenterThatAreCalledCarriedOutAreRead(t *testing.T) {
	for _, s := range legacy.Settings() {
		if s.Gate != "" {
			continue
		}
		if read := slices.Contains(install.Settings(), s.Variable); read != (s.Here != "") {
			t.Errorf("%s: read by the daemon: %v; in the list of package legacy: carried out by %q", s.Variable, read, s.Here)
		}
	}
}
