package provider_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// apiServer answers /version with the given version, has the namespace kube-system,
// and answers 404 to everything else.
func apiServer(t *testing.T, minor int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/namespaces/kube-system" {
			_, _ = fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"1"}}`)
			return
		}
		if r.URL.Path != "/version" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprintf(w, `{"major":"1","minor":"%d+","gitVersion":"v1.%d.2-eks-1"}`, minor, minor)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func daemonConfig() object {
	return object{"cluster_name": "lab", "role_arn": "arn:aws:iam::123456789012:role/karpenter"}
}

func TestDaemon_RefusesAKubernetesVersionThatIsTooOld(t *testing.T) {
	withoutAWS(t)
	h := configured(t, object{"region": testRegion, "kubernetes": object{"host": apiServer(t, 29), "token": "t"}})
	daemon := h.resource("karpenter_daemon")
	wantError(t, daemon.apply(daemonConfig()), `karpenter_daemon "karpenter"`, "v1.29", "must be 1.30 or newer")
	if !daemon.state.IsNull() {
		t.Error("nothing was made and something is in state")
	}
}

// A control plane is upgraded when its owner says so. The apply goes on, here until the server
// that knows no kinds ends it.
func TestDaemon_WarnsOfAKubernetesVersionThatIsNewer(t *testing.T) {
	withoutAWS(t)
	for minor, want := range map[int]string{37: "", 38: `karpenter_daemon "karpenter": kubernetes version "v1.38.2-eks-1" is newer than 1.30 to 1.37`} {
		h := configured(t, object{"region": testRegion, "kubernetes": object{"host": apiServer(t, minor), "token": "t"}})
		problems := h.resource("karpenter_daemon").apply(daemonConfig())
		for _, p := range problems {
			if strings.Contains(p.Detail, "must be 1.30") {
				t.Errorf("1.%d is refused: %s", minor, p.Detail)
			}
		}
		if text := warnings(problems); !strings.Contains(text, want) || strings.Contains(text, "is newer") != (want != "") {
			t.Errorf("1.%d: warnings %q, want %q", minor, text, want)
		}
	}
}

func TestCluster_UnreachableSaysWhatToCheck(t *testing.T) {
	withoutAWS(t)
	h := configured(t, object{"region": testRegion, "kubernetes": object{"host": "http://127.0.0.1:1", "token": "t"}})
	wantError(t, h.resource("karpenter_daemon").apply(daemonConfig()), "127.0.0.1:1", "address")
	wantError(t, h.resource("karpenter_node_pool").apply(poolConfig(nil)), `karpenter_node_pool "spot"`, "127.0.0.1:1", "can be reached")
	h = configured(t, object{"region": testRegion, "kubernetes": object{"config_path": "/nonexistent/kubeconfig"}})
	wantError(t, h.resource("karpenter_node_pool").apply(poolConfig(nil)), "config_path", "/nonexistent/kubeconfig", "KUBE_CONFIG_PATH")
}

func TestDaemon_PlansItsObjectsOffline(t *testing.T) {
	h := configured(t, object{"region": testRegion, "eks": object{"cluster_name": unknown{}}})
	p := h.resource("karpenter_daemon").plan(daemonConfig())
	wantNoError(t, p.problems)
	for attribute, want := range map[string]string{"image_reference": "ghcr.io/karpenterd/karpenterd@" + releaseDigest, "region": testRegion, "id": "karpenter/karpenterd"} {
		var got string
		if err := attributeOf(t, p.value, attribute).As(&got); err != nil || got != want {
			t.Errorf("%s is planned as %q, want %q", attribute, got, want)
		}
	}
	if objects := attributes(t, attributeOf(t, p.value, "objects")); len(objects) < 10 {
		t.Errorf("objects are planned as %v", objects)
	}
	config := daemonConfig()
	config["role_arn"] = unknown{}
	p = h.resource("karpenter_daemon").plan(config)
	wantNoError(t, p.problems)
	if objects := attributeOf(t, p.value, "objects"); objects.IsKnown() {
		t.Errorf("objects are planned from what is not known: %s", objects)
	}
}

// TestDaemon_WithoutRoleIsForPodIdentity leaves out what EKS gives to the service account.
func TestDaemon_WithoutRoleIsForPodIdentity(t *testing.T) {
	h := configured(t, object{"region": testRegion, "eks": object{"cluster_name": unknown{}}})
	account := func(config object) string {
		p := h.resource("karpenter_daemon").plan(config)
		wantNoError(t, p.problems)
		var digest string
		if err := attributes(t, attributeOf(t, p.value, "objects"))[`ServiceAccount "karpenter/karpenter"`].As(&digest); err != nil || digest == "" {
			t.Fatalf("the ServiceAccount is planned as %q: %v", digest, err)
		}
		return digest
	}
	if account(daemonConfig()) == account(object{"cluster_name": "lab"}) {
		t.Error("the ServiceAccount is the same with and without a role")
	}
}

func TestDaemon_PlansItsPoliciesIntoTheDeployment(t *testing.T) {
	h := configured(t, object{"region": testRegion, "eks": object{"cluster_name": unknown{}}})
	deployment := func(changes object) string {
		config := daemonConfig()
		maps.Copy(config, changes)
		p := h.resource("karpenter_daemon").plan(config)
		wantNoError(t, p.problems)
		var digest string
		if err := attributes(t, attributeOf(t, p.value, "objects"))[`Deployment "karpenter/karpenterd"`].As(&digest); err != nil || digest == "" {
			t.Fatalf("the Deployment is planned as %q: %v", digest, err)
		}
		return digest
	}
	byDefault := deployment(nil)
	if named := deployment(object{"preference_policy": "Respect", "landing": "auto", "min_values_policy": "Strict", "node_cost": "0.005", "pause_disruption": false, "use_fips_endpoint": false, "use_dualstack_endpoint": false, "reserved_enis": 0, "vm_memory_overhead_percent": "0.075", "isolated_vpc": false, "log_keys": "karpenter"}); named != byDefault {
		t.Error("Respect, Strict and 0.005 are not the defaults")
	}
	for _, changes := range []object{{"preference_policy": "Ignore"}, {"landing": "prefer"}, {"min_values_policy": "BestEffort"}, {"node_cost": "0"}, {"pause_disruption": true}, {"use_fips_endpoint": true}, {"use_dualstack_endpoint": true}, {"reserved_enis": 1}, {"vm_memory_overhead_percent": "0"}, {"isolated_vpc": true}, {"cluster_ca_bundle": authority}, {"log_keys": "hclog"}, {"scheduler_config": "podTopologySpread: {}"}} {
		if deployment(changes) == byDefault {
			t.Errorf("%v changes nothing", changes)
		}
	}
}

func TestDaemon_ForAnotherClusterThanTheProvidersIsRefused(t *testing.T) {
	withoutAWS(t)
	h := configured(t, object{"region": testRegion, "eks": object{"cluster_name": "other"}})
	wantError(t, h.resource("karpenter_daemon").plan(daemonConfig()).problems, `"lab"`, `"other"`, "cluster_name")
}

func TestDaemon_CallsTheEndpointsThatTheProviderCalls(t *testing.T) {
	withoutAWS(t)
	for name, c := range map[string]struct {
		provider, daemon object
		fips, dual       bool
	}{
		"neither":              {nil, nil, false, false},
		"as the provider":      {object{"use_fips_endpoint": true, "use_dualstack_endpoint": true}, nil, true, true},
		"what the daemon says": {object{"use_fips_endpoint": true}, object{"use_fips_endpoint": false, "use_dualstack_endpoint": true}, false, true},
	} {
		h := configured(t, with(object{"region": testRegion, "eks": object{"cluster_name": "lab"}}, c.provider))
		p := h.resource("karpenter_daemon").plan(with(daemonConfig(), c.daemon))
		wantNoError(t, p.problems)
		for attribute, want := range map[string]bool{"use_fips_endpoint": c.fips, "use_dualstack_endpoint": c.dual} {
			var got bool
			if err := attributeOf(t, p.value, attribute).As(&got); err != nil || got != want {
				t.Errorf("%s: %s is planned as %v, want %v (%v)", name, attribute, got, want, err)
			}
		}
	}
}
