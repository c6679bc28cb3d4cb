package provider_test

import (
	"maps"
	"slices"
	"testing"
)

// planned gives the digests of the objects that a daemon with the changes has.
func plannedObjects(t *testing.T, changes object) map[string]string {
	t.Helper()
	config := daemonConfig()
	maps.Copy(config, changes)
	h := configured(t, object{"region": testRegion, "eks": object{"cluster_name": unknown{}}})
	wantNoError(t, h.validate("karpenter_daemon", config))
	p := h.resource("karpenter_daemon").plan(config)
	wantNoError(t, p.problems)
	out := map[string]string{}
	for name, value := range attributes(t, attributeOf(t, p.value, "objects")) {
		var digest string
		if err := value.As(&digest); err != nil {
			t.Fatalf("%s is planned as %s", name, value)
		}
		out[name] = digest
	}
	return out
}

const deploymentName = `Deployment "karpenter/karpenterd"`

// The pods hold the credentials of the role that their service account named when they were
// made. So another role must change the pods, too, or they keep one that is gone.
func TestDaemon_AnotherRoleReplacesThePods(t *testing.T) {
	before, after := plannedObjects(t, nil), plannedObjects(t, object{"role_arn": "arn:aws:iam::123456789012:role/other"})
	for _, name := range []string{`ServiceAccount "karpenter/karpenter"`, deploymentName} {
		if before[name] == "" || before[name] == after[name] {
			t.Errorf("%s stays %q", name, before[name])
		}
	}
	for name, digest := range before {
		if name != deploymentName && name != `ServiceAccount "karpenter/karpenter"` && digest != after[name] {
			t.Errorf("%s changes with the role", name)
		}
	}
}

// authority is a certificate, whose key nobody has.
const authority = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJjVENDQVJlZ0F3SUJBZ0lVVW44cDZQV2RxS1RJcVhtS0ZrNittTlhGSmZFd0NnWUlLb1pJemowRUF3SXcKRFRFTE1Ba0dBMVVFQXd3Q1kyRXdJQmNOTWpZeE1USTNNakl5TURRNVdoZ1BNakV5TmpFeE1ETXlNakl3TkRsYQpNQTB4Q3pBSkJnTlZCQU1NQW1OaE1Ga3dFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRW9mS1lxK1JtCjdvbHA2SjVkYW5qRlRSa09xSmt4ODNpRzNPQ2ZPOEFNU2dCd0xaN1prZis0R3huK1ZtUjFPQXZ0V2dYSmlWU2wKMmxqQjJLTUlLOEpEMDZOVE1GRXdIUVlEVlIwT0JCWUVGUENSNXN4QTNmWEg0WXdZTmE3QTliV0plT0QxTUI4RwpBMVVkSXdRWU1CYUFGUENSNXN4QTNmWEg0WXdZTmE3QTliV0plT0QxTUE4R0ExVWRFd0VCL3dRRk1BTUJBZjh3CkNnWUlLb1pJemowRUF3SURTQUF3UlFJaEFNV3lPOTVqeHpNNDV3eGxOWDQyb2lwQmRmVy9vbklGZmVZblRoa1oKZTIyNEFpQmVQRCtQMzlXNGVpRUkzd0ZOczQ3Wnk4T0FjcW5KSTBsaThqYmNOZVNSZmc9PQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="

// everyOption has a value for each attribute that is carried out in the daemon's pods or objects,
// which is not its default.
func everyOption() object {
	return object{
		"cluster_name": "other", "cluster_endpoint": "https://10.0.0.1", "queue_name": "events", "region": "eu-west-1", "log_level": "debug",
		"mode": "shadow", "preference_policy": "Ignore", "landing": "prefer", "min_values_policy": "BestEffort", "node_cost": "0.02", "scheduler_config": "podTopologySpread: {}",
		"use_fips_endpoint": true, "use_dualstack_endpoint": true,
		"pause_disruption": true, "reserved_enis": 1, "vm_memory_overhead_percent": "0.05", "cluster_ca_bundle": authority, "isolated_vpc": true, "log_keys": "hclog", "metrics_port": 9090, "health_probe_port": 9091, "namespace": "nodes",
		"resources": object{"requests": object{"cpu": "1"}, "limits": object{"memory": "2Gi"}},
		"image":     object{"pull_policy": "Always"}, "replicas": 3, "role_arn": "arn:aws:iam::123456789012:role/other", "service_account": "launcher",
		"labels": object{"team": "a"}, "annotations": object{"team": "a"}, "pod_labels": object{"team": "a"}, "pod_annotations": object{"team": "a"},
		"tolerations": list{}, "node_selector": object{"a": "b"}, "priority_class_name": "", "image_pull_secrets": list{"mirror"}, "environment": object{"GOMEMLIMIT": "1GiB"},
		"affinity":              object{"pod_anti_affinity": object{}},
		"pod_disruption_budget": object{"enabled": false}, "metrics_namespaces": list{"monitoring"}, "legacy_api": true,
	}
}

func TestDaemon_EveryAttributeChangesWhatIsDeployed(t *testing.T) {
	h, byDefault := newHarness(t), plannedObjects(t, nil)
	of := everyOption()
	for _, a := range h.schema.ResourceSchemas["karpenter_daemon"].Block.Attributes {
		if a.Computed && !a.Optional || slices.Contains([]string{"wait", "timeouts", "needs", "adopt_definitions"}, a.Name) { // the last says in whose place
			continue
		}
		value, has := of[a.Name]
		if !has {
			t.Errorf("%s: the table of values lacks it", a.Name)
			continue
		}
		config := object{a.Name: value}
		if a.Name == "mode" {
			config["service_account"] = "observer"
		}
		if changed := plannedObjects(t, config); maps.Equal(changed, byDefault) {
			t.Errorf("%s = %v changes nothing", a.Name, value)
		}
	}
}

func TestDaemon_DefaultsMayBeWrittenOut(t *testing.T) {
	written := plannedObjects(t, object{
		"tolerations": list{object{"key": "CriticalAddonsOnly", "operator": "Exists"}}, "priority_class_name": "system-cluster-critical",
		"resources":             object{"requests": object{"cpu": "500m", "memory": "512Mi"}, "limits": object{"memory": "1Gi"}},
		"pod_disruption_budget": object{"max_unavailable": "1"}, "metrics_port": 8080, "health_probe_port": 8081,
		"image": object{"registry": "ghcr.io", "repository": "karpenterd/karpenterd", "digest": releaseDigest, "pull_policy": "IfNotPresent"},
	})
	if byDefault := plannedObjects(t, nil); !maps.Equal(written, byDefault) {
		t.Errorf("the defaults, written out, give\n%v, want\n%v", written, byDefault)
	}
}

func TestDaemon_BudgetThatIsOffIsNotDeployed(t *testing.T) {
	if _, there := plannedObjects(t, object{"pod_disruption_budget": object{"enabled": false}})[`PodDisruptionBudget "karpenter/karpenterd"`]; there {
		t.Error("there is a PodDisruptionBudget")
	}
}
