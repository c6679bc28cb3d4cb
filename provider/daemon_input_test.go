package provider_test

import (
	"maps"
	"testing"
)

// term is a preferred or required term of an affinity, about the label a.
func term(more object) object {
	out := object{"match_expressions": list{object{"key": "a", "operator": "Exists"}}}
	maps.Copy(out, more)
	return out
}

// expression is a required term of node affinity with one expression.
func expression(operator string, values ...any) object {
	e := object{"key": "a", "operator": operator}
	if len(values) > 0 {
		e["values"] = values
	}
	return object{"node_affinity": object{"required": list{object{"match_expressions": list{e}}}}}
}

// TestDaemon_BadInputNamesTheField has configurations that are refused before anything is
// planned, each with one error.
func TestDaemon_BadInputNamesTheField(t *testing.T) {
	h := newHarness(t)
	for name, tt := range map[string]struct {
		attribute string
		value     any
		parts     []string
	}{
		"role":                    {"role_arn", "karpenter", []string{"arn:<partition>:iam"}},
		"cluster":                 {"cluster_name", "a b", []string{"cluster name"}},
		"queue":                   {"queue_name", "https://sqs/queue", []string{"queue name"}},
		"endpoint":                {"cluster_endpoint", "10.0.0.1", []string{`cluster endpoint "10.0.0.1": must be an https URL; without it the daemon asks EKS`}},
		"level":                   {"log_level", "loud", []string{"info"}},
		"replicas":                {"replicas", 0, []string{"at least 1"}},
		"mode":                    {"mode", "watch", []string{`"active" "shadow"`}},
		"landing":                 {"landing", "Bind", []string{`"auto" "bind" "prefer"`}},
		"preferences":             {"preference_policy", "respect", []string{`"Respect" "Ignore"`}},
		"min values":              {"min_values_policy", "Lenient", []string{`"Strict" "BestEffort"`}},
		"reserved interfaces":     {"reserved_enis", 101, []string{"must be between 0 and 100, got: 101"}},
		"memory overhead":         {"vm_memory_overhead_percent", "7.5", []string{"must be the part of an instance's memory from 0 to below 1", "such as 0.075 for 7.5 %"}},
		"certificate authority":   {"cluster_ca_bundle", "x", []string{"is not in base64: give certificates in PEM, in base64"}},
		"log keys":                {"log_keys", "zap", []string{"karpenter", "hclog"}},
		"node cost":               {"node_cost", "five", []string{"must be dollars an hour from 0 to 100, such as 0.005"}},
		"scheduler":               {"scheduler_config", "podTopologySpread: {defaultConstraints: [{maxSkew: 0}]}", []string{"maxSkew is 0: must be 1 or more"}},
		"namespace":               {"namespace", "Karpenter", []string{"lowercase"}},
		"label":                   {"labels", object{"a": "not a value"}, []string{"not a value"}},
		"registry with scheme":    {"image", object{"registry": "https://mirror.example.com"}, []string{"image.registry", `registry "https://mirror.example.com": must be a host such as mirror.example.com or localhost:5000, without https://`}},
		"registry with path":      {"image", object{"registry": "mirror.example.com/team"}, []string{"image.registry", "a path belongs to the repository"}},
		"repository with tag":     {"image", object{"repository": "team/karpenterd:1"}, []string{"image.repository", `repository "team/karpenterd:1"`, "without tag or digest"}},
		"digest as tag":           {"image", object{"tag": releaseDigest}, []string{"image.tag", "a digest has an argument of its own"}},
		"short digest":            {"image", object{"digest": "sha256:abc"}, []string{"image.digest", `digest "sha256:abc": must be sha256: and 64 hexadecimal digits`}},
		"pull policy":             {"image", object{"pull_policy": "always"}, []string{"image.pull_policy", `"IfNotPresent" "Always" "Never"`}},
		"quantity":                {"resources", object{"requests": object{"cpu": "lots"}}, []string{"resources.requests.cpu", `"lots" is not a quantity: write one such as 100, 500m or 64Gi`}},
		"negative quantity":       {"resources", object{"limits": object{"memory": "-1Gi"}}, []string{"resources.limits.memory", `"-1Gi" is negative: write 0 or more`}},
		"request above limit":     {"resources", object{"requests": object{"memory": "2Gi"}}, []string{"resources: the request of memory is 2Gi and its limit 1Gi: a request must not be above its limit"}},
		"m for Mi":                {"resources", object{"requests": object{}, "limits": object{"memory": "512m"}}, []string{"the limit of memory is 512m, and the daemon does not start in less than 64Mi: give bytes with a unit"}},
		"no CPU":                  {"resources", object{"requests": object{}, "limits": object{"cpu": "0"}}, []string{"the limit of cpu is 0: give more, or leave it out"}},
		"toleration's value":      {"tolerations", list{object{"key": "a", "operator": "Exists", "value": "b"}}, []string{"tolerations[0]", `operator Exists has value "b": remove the value, or use operator Equal`}},
		"toleration's key":        {"tolerations", list{object{"key": "a"}, object{"operator": "Equal", "value": "b"}}, []string{"tolerations[1]", "operator Equal has no key: give the taint's key"}},
		"toleration's operator":   {"tolerations", list{object{"key": "a", "operator": "In"}}, []string{"tolerations[0].operator", `"Equal" "Exists"`}},
		"toleration's effect":     {"tolerations", list{object{"key": "a", "operator": "Exists", "effect": "noexecute"}}, []string{"tolerations[0].effect", `"NoSchedule" "PreferNoSchedule" "NoExecute"`}},
		"toleration's seconds":    {"tolerations", list{object{"key": "a", "operator": "Exists", "effect": "NoSchedule", "toleration_seconds": 5}}, []string{"only a toleration of effect NoExecute has seconds"}},
		"own nodes":               {"node_selector", object{"karpenter.sh/nodepool": "default"}, []string{"node_selector: karpenter.sh/nodepool=default: the daemon must not run on nodes that it may delete", "eks.amazonaws.com/nodegroup"}},
		"weight":                  {"affinity", object{"node_affinity": object{"preferred": list{term(object{"weight": 0})}}}, []string{"affinity.node_affinity.preferred[0].weight", "between 1 and 100"}},
		"operator":                {"affinity", expression("Equals", "b"), []string{"affinity.node_affinity.required[0].match_expressions[0].operator", `"Equals" is no operator here`}},
		"operator for nodes only": {"affinity", object{"pod_affinity": object{"required": list{object{"topology_key": "z", "match_expressions": list{object{"key": "a", "operator": "Gt", "values": list{"1"}}}}}}}, []string{`"Gt" is no operator here: write one of ["In" "NotIn" "Exists" "DoesNotExist"]`}},
		"no values":               {"affinity", expression("In"), []string{"match_expressions[0].values", "operator In takes at least one value, and there is none"}},
		"values of Exists":        {"affinity", expression("Exists", "b"), []string{"operator Exists takes no values: remove them"}},
		"two values of Gt":        {"affinity", expression("Gt", "1", "2"), []string{"operator Gt takes one value, and there are 2"}},
		"text for Gt":             {"affinity", expression("Gt", "many"), []string{`operator Gt takes a whole number, and the value is "many"`}},
		"priority class":          {"priority_class_name", "System Critical", []string{"priority_class_name", "lowercase"}},
		"pull secret":             {"image_pull_secrets", list{"My Secret"}, []string{"image_pull_secrets", "My Secret"}},
		"setting in environment":  {"environment", object{"LOG_LEVEL": "debug"}, []string{`environment["LOG_LEVEL"]: LOG_LEVEL is a setting of the daemon that has an attribute: remove it here, and set log_level.`}},
		"pod name in environment": {"environment", object{"POD_NAME": "x"}, []string{"POD_NAME cannot be set: Kubernetes gives each pod its name: remove it"}},
		"no variable":             {"environment", object{"A=B": "x"}, []string{`environment["A=B"]`}},
		"role as annotation":      {"annotations", object{"eks.amazonaws.com/role-arn": "x"}, []string{`annotations["eks.amazonaws.com/role-arn"]`, "remove it here, and set role_arn"}},
		"checksum":                {"pod_annotations", object{"karpenterd.sh/checksum": "x"}, []string{"pod_annotations", "is set by the product: remove it"}},
		"no annotation":           {"annotations", object{"a b": "x"}, []string{`annotations["a b"]`}},
		"pod label":               {"pod_labels", object{"a": "not a value"}, []string{"pod_labels", "not a value"}},
		"low port":                {"metrics_port", 80, []string{"metrics_port", "between 1024 and 65535"}},
		"one port for both":       {"metrics_port", 8081, []string{"health_probe_port: metrics_port is 8081, too: give each its own port"}},
		"nothing unavailable":     {"pod_disruption_budget", object{"max_unavailable": "0"}, []string{"pod_disruption_budget: 0 of 2 replicas allows no eviction, so no node with a replica could be drained: allow at least one"}},
		"all available":           {"pod_disruption_budget", object{"min_available": "100%"}, []string{"pod_disruption_budget: 100% of 2 replicas allows no eviction"}},
		"both numbers":            {"pod_disruption_budget", object{"max_unavailable": "1", "min_available": "1"}, []string{"pod_disruption_budget: both", "keep one"}},
		"no number":               {"pod_disruption_budget", object{"max_unavailable": "half"}, []string{`pod_disruption_budget: "half": must be a whole number such as 1, or a percentage such as 25%`}},
		"numbers of no budget":    {"pod_disruption_budget", object{"enabled": false, "min_available": "1"}, []string{"pod_disruption_budget: a budget that is off has numbers: remove them, or turn it on"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := daemonConfig()
			config[tt.attribute] = tt.value
			diags := h.validate("karpenter_daemon", config)
			wantError(t, diags, append(tt.parts, tt.attribute)...)
		})
	}
}

func TestDaemon_LabelsByWhichItsPodsAreFoundAreRefused(t *testing.T) {
	for _, attribute := range []string{"labels", "pod_labels"} {
		config := daemonConfig()
		config[attribute] = object{"app.kubernetes.io/name": "mine"}
		p := configured(t, object{"region": testRegion}).resource("karpenter_daemon").plan(config)
		wantError(t, p.problems, "app.kubernetes.io/name", "set by the product")
	}
}

func TestDaemon_UnknownValuesAreNotRefused(t *testing.T) {
	for attribute, value := range map[string]any{
		"image": object{"tag": unknown{}}, "tolerations": list{object{"key": unknown{}, "operator": unknown{}, "value": "b"}},
		"resources": object{"requests": object{"memory": unknown{}}, "limits": object{"memory": "1Gi"}}, "affinity": unknown{},
		"pod_disruption_budget": object{"max_unavailable": unknown{}, "min_available": "1"}, "environment": unknown{}, "metrics_port": unknown{},
		"node_selector": object{"a": unknown{}}, "image_pull_secrets": list{unknown{}}, "replicas": unknown{},
	} {
		config := daemonConfig()
		config[attribute] = value
		wantNoError(t, newHarness(t).validate("karpenter_daemon", config))
		p := configured(t, object{"region": testRegion}).resource("karpenter_daemon").plan(config)
		wantNoError(t, p.problems)
		if objects := attributeOf(t, p.value, "objects"); objects.IsKnown() {
			t.Errorf("%s: objects are planned from what is not known: %s", attribute, objects)
		}
	}
}

// A budget without numbers is the one by default.
func TestDaemon_ABudgetWithoutNumbersIsGood(t *testing.T) {
	h := newHarness(t)
	for _, budget := range []object{{}, {"enabled": true}, {"enabled": false}} {
		wantNoError(t, h.validate("karpenter_daemon", with(daemonConfig(), object{"pod_disruption_budget": budget})))
	}
}
