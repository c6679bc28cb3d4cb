package controlplane

import (
	"maps"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestAudit_TellsWhoAskedForWhat(t *testing.T) {
	c := plane(t)
	text := `{"verb":"get","userAgent":"launcher","user":{"username":"lab-administrator"},"objectRef":{"resource":"nodes"}}
{"verb":"patch","userAgent":"karpenterd","user":{"username":"system:serviceaccount:karpenter:daemon"},"objectRef":{"resource":"nodeclaims","apiGroup":"karpenter.sh","subresource":"status"}}
{"verb":"patch","userAgent":"karpenterd","user":{"username":"system:serviceaccount:karpenter:daemon"},"objectRef":{"resource":"nodeclaims","apiGroup":"karpenter.sh","subresource":"status"}}
{"verb":"list","userAgent":"other","user":{"username":"system:serviceaccount:other:daemon"},"objectRef":{"resource":"pods"}}
{"verb":"get","userAgent":"karpenterd","user":{"username":"system:serviceaccount:karpenter:daemon"}}
{"verb":"cut`
	if err := os.WriteFile(c.auditFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	agents, err := c.AdminUserAgents()
	if err != nil || !maps.Equal(agents, map[string]int{"launcher": 1}) {
		t.Errorf("the administrator's agents are %v, %v", agents, err)
	}
	requests, err := c.RequestsOf("karpenter", "daemon")
	if want := map[Request]bool{{"patch", "karpenter.sh", "nodeclaims", "status"}: true, {Verb: "get"}: true}; err != nil || !maps.Equal(requests, want) {
		t.Errorf("requests %v, %v, want %v", requests, err, want)
	}
	if err := yaml.Unmarshal([]byte(auditPolicy), &map[string]any{}); err != nil {
		t.Errorf("the policy: %v", err)
	}
}
