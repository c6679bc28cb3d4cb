package provider_test

import "testing"

// TestTrust_ARoleThatLeavesItsDaemonIsSaidInThePlan changes one of the two resources alone, and
// both together, in the order in which Terraform plans a daemon that refers to the role.
func TestTrust_ARoleThatLeavesItsDaemonIsSaidInThePlan(t *testing.T) {
	cloud, server := startCloud(t), startObjects(t)
	both := with(cloud.config(), object{"kubernetes": object{"host": server.URL, "token": "t"}})
	h := hasty(t, both)
	role := h.resource("karpenter_controller_role")
	roleConfig := object{"cluster_name": "lab", "node_role_arn": "arn:aws:iam::123456789012:role/nodes"}
	wantNoError(t, role.apply(roleConfig))
	daemonOf := object{"cluster_name": "lab", "role_arn": role.text("arn"), "wait": false}
	daemon := h.resource("karpenter_daemon")
	wantNoError(t, daemon.apply(daemonOf))

	for name, tt := range map[string]struct {
		role, daemon object
		warned       []string // by the role
		refused      []string // by the daemon
	}{
		"nothing":                       {nil, nil, nil, nil},
		"identity":                      {object{"identity": "pod_identity"}, nil, []string{"leave role_arn out", "no credentials"}, []string{"role_arn", "pod_identity", "no token"}},
		"identity, followed":            {object{"identity": "pod_identity"}, object{"role_arn": nil}, []string{"leave role_arn out"}, nil},
		"namespace":                     {object{"namespace": "other"}, nil, []string{`set namespace = "other"`}, []string{"namespace", `"karpenter"`, `"other"`}},
		"namespace, followed":           {object{"namespace": "other"}, object{"namespace": "other"}, []string{`set namespace = "other"`}, nil},
		"service account":               {object{"service_account": "other"}, nil, []string{`set service_account = "other"`}, []string{"service_account", `"other"`}},
		"service account, followed":     {object{"service_account": "other"}, object{"service_account": "other"}, []string{`set service_account`}, nil},
		"cluster":                       {object{"cluster_name": "second"}, nil, []string{`set cluster_name = "second"`}, []string{"cluster_name", `"second"`}},
		"the daemon's namespace":        {nil, object{"namespace": "other"}, nil, []string{"namespace", `"other"`}},
		"the daemon's account":          {nil, object{"service_account": "other"}, nil, []string{"service_account"}},
		"the daemon has another role":   {nil, object{"role_arn": "arn:aws:iam::123456789012:role/another", "namespace": "other"}, nil, nil},
		"a role that is not yet known":  {object{"namespace": "other"}, object{"role_arn": unknown{}}, []string{"namespace"}, nil},
		"a namespace that is not known": {object{"namespace": unknown{}}, nil, nil, nil},
		"something else of the role":    {object{"description": "d"}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			next := h.again(both) // a plan is a process of its own
			r, d := *role, *daemon
			r.h, d.h = next, next
			planned := r.plan(with(roleConfig, tt.role))
			wantWarning(t, planned.problems, tt.warned...)
			problems := d.plan(with(daemonOf, tt.daemon)).problems
			if tt.refused == nil {
				wantNoError(t, problems)
				return
			}
			wantError(t, problems, tt.refused...)
		})
	}
}
