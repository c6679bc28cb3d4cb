package provider_test

import (
	"strings"
	"testing"
)

// TestControllerRole_WhatUsersAddIsAllowedAndGoes gives the role a key, parameters and
// statements, imports it, and takes all of them away.
func TestControllerRole_WhatUsersAddIsAllowedAndGoes(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	role := h.resource("karpenter_controller_role")
	const key, parameter = "arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab", "arn:aws:ssm:us-west-2:123456789012:parameter/images/*"
	without := object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "queue_arn": testQueue}
	with := object{
		"cluster_name": testCluster, "node_role_arn": testNodeRole, "queue_arn": testQueue, "queue_kms_key_arn": key, "ami_ssm_parameter_arns": list{parameter},
		"additional_policy_statements": list{`{"Version":"2012-10-17","Statement":{"Sid":"More","Effect":"Allow","Action":"ec2:DescribeVpcs","Resource":"*"}}`},
	}
	additional := "arn:aws:iam::" + testAccount + ":policy/" + theirControllerRole + "-" + testRegion + "-Additional"
	allowed := func() string {
		t.Helper()
		found, err := cloud.clients.GetRole(t.Context(), theirControllerRole)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, arn := range found.ManagedPolicies {
			policy, err := cloud.clients.GetPolicy(t.Context(), arn)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, policy.Document)
		}
		return strings.Join(all, "\n")
	}
	wantNoError(t, role.apply(without))
	for range 2 {
		wantNoError(t, role.apply(with))
		role.settled(with)
		for _, part := range []string{`"kms:Decrypt"],"Resource":["` + key, parameter, `"ec2:DescribeVpcs"`} {
			if !strings.Contains(allowed(), part) {
				t.Errorf("the policies lack %s", part)
			}
		}
		copied, diags := h.imported("karpenter_controller_role", testCluster+","+theirControllerRole)
		wantNoError(t, diags)
		for _, attribute := range []string{"queue_kms_key_arn", "ami_ssm_parameter_arns", "policies"} {
			if is, want := attributeOf(t, copied.state, attribute), attributeOf(t, role.state, attribute); !is.Equal(want) {
				t.Errorf("the import has %s %s, want %s", attribute, is, want)
			}
		}
		if got := attributeOf(t, copied.state, "additional_policy_statements").String(); !strings.Contains(got, "DescribeVpcs") {
			t.Errorf("the import has the statements %s", got)
		}
		wantNoError(t, role.apply(without))
		role.settled(without)
		for _, part := range []string{"kms:Decrypt", parameter, "ec2:DescribeVpcs"} {
			if strings.Contains(allowed(), part) {
				t.Errorf("the policies still have %s", part)
			}
		}
		if _, err := cloud.clients.GetPolicy(t.Context(), additional); err == nil {
			t.Error("the policy with the statements is left")
		}
	}
	wantNoError(t, role.destroy())
}

func TestControllerRole_RefusesStatementsThatCannotWork(t *testing.T) {
	h := newHarness(t)
	for name, bad := range map[string]struct {
		config object
		says   []string
	}{
		"key without queue": {object{"queue_kms_key_arn": "arn:aws:kms:us-west-2:123456789012:key/x"}, []string{"queue_arn"}},
		"alias":             {object{"queue_arn": testQueue, "queue_kms_key_arn": "arn:aws:kms:us-west-2:123456789012:alias/x"}, []string{"key/"}},
		"parameter":         {object{"ami_ssm_parameter_arns": list{"/images/x"}}, []string{"parameter/"}},
		"principal":         {object{"additional_policy_statements": list{`{"Effect":"Allow","Principal":"*","Action":"a","Resource":"*"}`}}, []string{"must not have a Principal"}},
	} {
		bad.config["cluster_name"], bad.config["node_role_arn"] = testCluster, testNodeRole
		t.Run(name, func(t *testing.T) { wantError(t, h.validate("karpenter_controller_role", bad.config), bad.says...) })
	}
}

func TestNodeRole_SystemsManagerIsASwitch(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	role := h.resource("karpenter_node_role")
	has := func() bool {
		t.Helper()
		found, err := cloud.clients.GetRole(t.Context(), theirNodeRole)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(found.ManagedPolicies, " "), "AmazonSSMManagedInstanceCore")
	}
	on, off := object{"cluster_name": testCluster}, object{"cluster_name": testCluster, "attach_ssm_policy": false}
	for _, step := range []struct {
		config object
		want   bool
	}{{off, false}, {on, true}, {off, false}} {
		wantNoError(t, role.apply(step.config))
		role.settled(step.config)
		if has() != step.want {
			t.Errorf("with %v the policy is attached: %v", step.config, has())
		}
	}
	copied, diags := h.imported("karpenter_node_role", testCluster+","+theirNodeRole)
	wantNoError(t, diags)
	copied.settled(off)
}
