package provider_test

import (
	"strings"
	"testing"
)

// TestDaemon_AnEntryThatSomebodyRenamesIsNamedInThePlan renames entries of lists in the Deployment, and
// adds one that is like none of the daemon's.
func TestDaemon_AnEntryThatSomebodyRenamesIsNamedInThePlan(t *testing.T) {
	container := func(o object) object {
		return field(o, "spec", "template", "spec").(object)["containers"].(list)[0].(object)
	}
	for name, tt := range map[string]struct {
		change func(container object)
		says   []string // empty: no warning
	}{
		"container": {func(c object) { c["name"] = "other" }, []string{`Deployment "karpenter/karpenterd"`, "containers: karpenterd is now other", "kubectl edit deployment karpenterd --namespace karpenter"}},
		"variable":  {func(c object) { c["env"].(list)[0].(object)["name"] = "OTHER" }, []string{"containers[karpenterd].env: CLUSTER_NAME is now OTHER", "leaves those with the other keys"}},
		"port":      {func(c object) { c["ports"].(list)[0].(object)["containerPort"] = 9 }, []string{"containers[karpenterd].ports: 8080/TCP is now 9/TCP"}},
		"value":     {func(c object) { c["env"].(list)[0].(object)["value"] = "other" }, nil},
		"addition":  {func(c object) { c["env"] = append(c["env"].(list), object{"name": "THEIRS", "value": "x"}) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := startObjects(t)
			daemon := c.installed(t, daemonConfig())
			c.change(deploymentPath, func(o object) object { tt.change(container(o)); return o })
			said := daemon.read()
			if !strings.Contains(warnings(said), "Entries have other keys") != (len(tt.says) == 0) {
				t.Errorf("the plan says: %s", warnings(said))
			}
			if len(tt.says) > 0 {
				wantWarning(t, said, tt.says...)
			}
		})
	}
}
