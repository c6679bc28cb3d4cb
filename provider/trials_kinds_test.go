package provider_test

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// allTrials are the trials of each resource, with a world of its own.
func allTrials() []func(t *testing.T) *trials {
	return append(awsTrials(), trialsOfClass, trialsOfPool, trialsOfDaemon)
}

// awsTrials are those of resources in AWS.
func awsTrials() []func(t *testing.T) *trials {
	return []func(t *testing.T) *trials{trialsOfControllerRole, trialsOfNodeRole, trialsOfProfile, trialsOfTags, trialsOfQueue, trialsOfSpotRole}
}

const boundaryPolicyToo = "boundary-2"

// trialsInAWS are trials in a simulated AWS that has what roles refer to.
func trialsInAWS(t *testing.T, kind string) (*trials, *cloud) {
	t.Helper()
	cloud := startCloud(t)
	must(t, nodesRole(t.Context(), cloud))
	for _, name := range []string{boundaryPolicy, boundaryPolicyToo} {
		_, err := cloud.clients.CreatePolicy(t.Context(), aws.Policy{Name: name, Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`})
		must(t, err)
	}
	tags := [2]any{object{"env": "a", "old": "x"}, object{"env": "b"}}
	return &trials{kind: kind, h: hasty(t, cloud.config()), cloud: cloud, oneIn: 2, values: map[string][2]any{"tags": tags}}, cloud
}

// ofRoles are the values of what all roles have.
func (s *trials) ofRoles() {
	s.values["description"] = [2]any{"one", "two"}
	s.values["permissions_boundary"] = [2]any{policyARN(boundaryPolicy), policyARN(boundaryPolicyToo)}
	s.values["max_session_duration"] = [2]any{7200, 43200}
	s.values["additional_policy_arns"] = [2]any{list{policyARN(boundaryPolicy), policyARN(boundaryPolicyToo)}, list{policyARN(boundaryPolicyToo)}}
	s.values["name"], s.values["path"] = [2]any{"other"}, [2]any{"/other/"}
	s.replaces = []string{"name", "path"}
}

func trialsOfControllerRole(t *testing.T) *trials {
	t.Helper()
	s, _ := trialsInAWS(t, "karpenter_controller_role")
	s.ofRoles()
	s.base = object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	s.values["identity"] = [2]any{"pod_identity", "irsa"}
	s.values["namespace"], s.values["service_account"] = [2]any{"one", "two"}, [2]any{"one", "two"}
	s.values["node_role_arns"] = [2]any{list{testNodeRole + "-2", testNodeRole + "-3"}, list{testNodeRole + "-2"}}
	s.values["queue_arn"] = [2]any{testQueue, testQueue + "-2"}
	s.values["queue_kms_key_arn"] = [2]any{"arn:aws:kms:us-west-2:123456789012:key/a", "arn:aws:kms:us-west-2:123456789012:key/b"}
	s.beside = map[string]object{"queue_kms_key_arn": {"queue_arn": testQueue}}
	s.values["ami_ssm_parameter_arns"] = [2]any{list{"arn:aws:ssm:us-west-2:123456789012:parameter/a"}, list{"arn:aws:ssm:us-west-2:123456789012:parameter/b"}}
	s.values["additional_policy_statements"] = [2]any{
		list{`{"Effect":"Allow","Action":"ec2:DescribeVpcs","Resource":"*"}`, `{"Effect":"Deny","Action":"ec2:*","Resource":"*"}`}, list{`{"Effect":"Allow","Action":["ec2:DescribeVpcs"],"Resource":"*"}`},
	}
	return s
}

func trialsOfNodeRole(t *testing.T) *trials {
	t.Helper()
	s, _ := trialsInAWS(t, "karpenter_node_role")
	s.ofRoles()
	s.base = object{"cluster_name": testCluster}
	s.values["existing_role_arn"] = [2]any{"arn:aws:iam::" + testAccount + ":role/nodes"}
	s.replaces = append(s.replaces, "existing_role_arn")
	s.values["attach_cni_policy"], s.values["attach_ssm_policy"] = [2]any{false, true}, [2]any{false, true}
	s.values["access_entry.create"] = [2]any{false, true}
	s.values["access_entry.type"] = [2]any{"EC2_WINDOWS", "EC2"}
	return s
}

func trialsOfProfile(t *testing.T) *trials {
	t.Helper()
	s, _ := trialsInAWS(t, "karpenter_instance_profile")
	s.base = object{"name": "ours", "role": "nodes"}
	s.values["path"] = [2]any{"/other/"}
	s.replaces = []string{"path"}
	return s
}

func trialsOfTags(t *testing.T) *trials {
	t.Helper()
	s, cloud := trialsInAWS(t, "karpenter_discovery_tags")
	one, two := list{cloud.vpc.SubnetIDs[0]}, list{cloud.vpc.SubnetIDs[1]}
	groups := list{cloud.vpc.ClusterSecurityGroupID}
	s.base = object{"cluster_name": testCluster, "subnet_ids": one}
	s.values["subnet_ids"], s.values["security_group_ids"] = [2]any{one, two}, [2]any{groups, groups}
	s.beside = map[string]object{"subnet_ids": {"security_group_ids": groups}}
	s.values["shared"] = [2]any{true}
	s.replaces = []string{"shared"}
	return s
}

func trialsOfQueue(t *testing.T) *trials {
	t.Helper()
	s, _ := trialsInAWS(t, "karpenter_interruption_queue")
	s.base = object{"cluster_name": testCluster}
	s.values["name"] = [2]any{"other"}
	s.replaces = []string{"name"}
	s.values["kms_key_id"] = [2]any{"alias/one", "alias/two"}
	s.values["kms_data_key_reuse_period_seconds"] = [2]any{60, 300}
	s.beside = map[string]object{"kms_data_key_reuse_period_seconds": {"kms_key_id": "alias/one"}}
	s.values["additional_policy_statements"] = [2]any{list{onlyOurOrg, auditors}, list{awsspec.SingleStatement(auditors)}}
	return s
}

func trialsOfSpotRole(t *testing.T) *trials {
	t.Helper()
	s, _ := trialsInAWS(t, spotRoleKind)
	s.base = object{}
	s.values["delete_on_destroy"] = [2]any{true, false}
	return s
}

func trialsOfClass(t *testing.T) *trials {
	t.Helper()
	const amount, other = "20Gi", "30Gi"
	return &trials{
		kind: "karpenter_node_class", h: startObjects(t).provider(t), byType: true, oneIn: 8,
		base: classConfig(object{"wait": false}),
		values: map[string][2]any{
			"block_device_mappings.ebs.volume_size": {amount, other},
			"instance_store_policy":                 {"RAID0", "RAID0"},
			"kubelet.system_reserved":               {object{"cpu": "100m", "memory": "1Gi"}, object{"cpu": "200m"}},
			"kubelet.kube_reserved":                 {object{"cpu": "100m", "memory": "1Gi"}, object{"cpu": "200m"}},
			"kubelet.eviction_hard":                 {object{"memory.available": "5%"}, object{"memory.available": "6%"}},
			"kubelet.eviction_soft":                 {object{"memory.available": "5%"}, object{"memory.available": "6%"}},
			"kubelet.eviction_soft_grace_period":    {object{"memory.available": "1m"}, object{"memory.available": "2m"}},
			"kubelet.max_pods":                      {"110", "58"},
			"kubelet.extra":                         {object{"imageMaximumGCAge": "12h", "featureGates": object{"a": true}}, object{"registryPullQPS": 7}},
			"kubelet.cluster_dns":                   {list{"10.0.0.10"}, list{"10.0.0.11"}},
		},
		beside: map[string]object{
			"block_device_mappings":               {"block_device_mappings": list{object{"ebs": object{"encrypted": true}}}},
			"capacity_reservation_selector_terms": {"capacity_reservation_selector_terms": list{object{}}},
		},
		untried: map[string]string{
			"instance_profile": "either it or role is set: TestAccNodeClass_RoleAndProfile",
			"role":             "either it or instance_profile is set",
			"wait":             "waits for a daemon, which there is none of here: wait_test.go",
		},
	}
}

func trialsOfPool(t *testing.T) *trials {
	t.Helper()
	return &trials{
		kind: "karpenter_node_pool", h: startObjects(t).provider(t), byType: true, oneIn: 6,
		base: poolConfig(object{"wait": false}),
		values: map[string][2]any{
			"termination_grace_period": {"1h", "2h"}, "expire_after": {"24h", "Never"},
			"limits":                          {object{"cpu": "10", "memory": "20Gi"}, object{"cpu": "20"}},
			"disruption.consolidation_policy": {"WhenEmpty", "Balanced"}, "disruption.consolidate_after": {"30s", "Never"},
			"disruption.budgets.schedule": {"@daily", "@weekly"}, "disruption.budgets.duration": {"1h", "2h"}, "disruption.budgets.reasons": {list{"Empty", "Drifted"}, list{"Empty"}},
			"on_destroy": {"orphan", "drain"}, "on_timeout": {"force", "orphan"}, "replicas": {3},
			"deletion_protection": {true, false},
		},
		beside: map[string]object{
			"disruption.budgets":  {"disruption": object{"budgets": list{object{"nodes": "1", "schedule": "@daily", "duration": "1h"}}}},
			"taints":              {"taints": list{object{"key": "a", "effect": "NoSchedule"}}},
			"startup_taints":      {"startup_taints": list{object{"key": "a", "effect": "NoSchedule"}}},
			"requirements.values": {"requirements": list{object{"key": "a", "operator": "In", "values": list{"x"}}}},
		},
		replaces: []string{"replicas"},
		untried:  map[string]string{"wait": "waits for a daemon, which there is none of here: wait_test.go"},
	}
}

func trialsOfDaemon(t *testing.T) *trials {
	t.Helper()
	values := map[string][2]any{}
	of := everyOption()
	for _, name := range []string{
		"cluster_endpoint", "queue_name", "log_level", "preference_policy", "landing", "min_values_policy", "node_cost", "scheduler_config", "pause_disruption", "metrics_port", "health_probe_port",
		"role_arn", "service_account", "labels", "annotations", "pod_labels", "pod_annotations", "node_selector", "priority_class_name", "image_pull_secrets", "environment", "replicas",
		"use_fips_endpoint", "use_dualstack_endpoint", "reserved_enis", "vm_memory_overhead_percent", "cluster_ca_bundle", "isolated_vpc", "log_keys",
	} {
		values[name] = [2]any{of[name], of[name]}
	}
	values["image.pull_policy"], values["region"] = [2]any{"Always", "Never"}, [2]any{"eu-west-1", "eu-west-2"}
	values["image.registry"], values["image.repository"] = [2]any{"mirror.example.com", "other.example.com"}, [2]any{"a/b", "c/d"}
	values["image.tag"], values["image.digest"] = [2]any{"v1", "v2"}, [2]any{releaseDigest, releaseDigest}
	values["resources.requests.cpu"], values["resources.requests.memory"] = [2]any{"1", "2"}, [2]any{"768Mi", "1Gi"}
	values["resources.limits.cpu"], values["resources.limits.memory"] = [2]any{"1", "2"}, [2]any{"2Gi", "3Gi"}
	values["pod_disruption_budget.enabled"] = [2]any{false, true}
	values["pod_disruption_budget.max_unavailable"], values["pod_disruption_budget.min_available"] = [2]any{"50%", "1"}, [2]any{"1", "50%"}
	values["metrics_namespaces"] = [2]any{list{"monitoring"}, list{}}
	values["legacy_api"] = [2]any{true, false}
	values["needs"] = [2]any{list{"a"}, list{"b"}}
	server := startObjects(t)
	return &trials{
		kind: "karpenter_daemon", h: hasty(t, with(startCloud(t).config(), object{"kubernetes": object{"host": server.URL, "token": "t"}})),
		base: with(daemonConfig(), object{"wait": false}), values: values, stays: true, oneIn: 16,
		before: func() { server.leads("karpenterd-abc", time.Now()) },
		untried: map[string]string{
			"mode":              "a shadow needs a service account of its own: TestDaemon_AShadowStandsBesideKarpenterAndBecomesTheDaemonInPlace",
			"affinity":          "provider/internal/convert tries each field, both ways",
			"tolerations":       "provider/internal/convert tries each field, both ways",
			"adopt_definitions": "needs definitions of somebody else: adopt_acc_test.go",
			"namespace":         "moves the daemon, which needs a cluster: TestAccDaemon_AnotherNamespaceMovesItWhilePoolsStay",
			"wait":              "waits for pods: daemon_health_test.go",
		},
	}
}
