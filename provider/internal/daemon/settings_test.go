package daemon

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// TestDaemon_EverySettingIsAnAttribute compares the daemon's settings with the attributes.
// What has none has a reason.
func TestDaemon_EverySettingIsAnAttribute(t *testing.T) {
	attributes, without := settingAttributes(), settingsWithout()
	var described resource.SchemaResponse
	New().Schema(t.Context(), resource.SchemaRequest{}, &described)
	for _, setting := range install.Settings() {
		attribute, has := attributes[setting]
		if has == (without[setting] != "") {
			t.Errorf("%s: attribute %q, reason to have none %q; want one of both", setting, attribute, without[setting])
		}
		if _, described := described.Schema.GetAttributes()[attribute]; has && !described {
			t.Errorf("%s: karpenter_daemon has no attribute %q", setting, attribute)
		}
		delete(attributes, setting)
		delete(without, setting)
	}
	if len(attributes)+len(without) > 0 {
		t.Errorf("no settings of the daemon: %v %v", attributes, without)
	}
}
