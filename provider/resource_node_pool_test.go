package provider_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// poolConfig is a good node pool with the changes.
func poolConfig(changes object) object {
	config := object{
		"name": "spot", "node_class": "default",
		"requirements": list{object{"key": "karpenter.sh/capacity-type", "operator": "In", "values": list{"spot"}}},
	}
	maps.Copy(config, changes)
	return config
}

func requirements(rs ...object) object {
	all := make(list, len(rs))
	for i, r := range rs {
		all[i] = r
	}
	return object{"requirements": all}
}

func TestNodePool_BadInputNamesAttributeAndRemedy(t *testing.T) {
	h := newHarness(t)
	arch := func(values ...any) object {
		return object{"key": "kubernetes.io/arch", "operator": "In", "values": values}
	}
	for name, tt := range map[string]struct {
		change object
		parts  []string
	}{
		"operator":               {requirements(object{"key": "a", "operator": "Is", "values": list{"b"}}), []string{"requirements[0].operator", `"In"`, "NotIn"}},
		"In without values":      {requirements(arch("arm64"), object{"key": "a", "operator": "In"}), []string{"requirements[1]", "at least one value"}},
		"Exists with values":     {requirements(object{"key": "a", "operator": "Exists", "values": list{"b"}}), []string{"requirements[0]", "take no values"}},
		"Gt of a word":           {requirements(object{"key": "a", "operator": "Gt", "values": list{"many"}}), []string{"requirements[0]", "integer"}},
		"key":                    {requirements(object{"key": "a b", "operator": "Exists"}), []string{"requirements[0].key"}},
		"key of the daemon":      {requirements(object{"key": "karpenter.sh/registered", "operator": "Exists"}), []string{"requirements[0]", "karpenter.sh"}},
		"misspelt aws label":     {requirements(object{"key": "karpenter.k8s.aws/instance-famly", "operator": "Exists"}), []string{"requirements[0]", "karpenter.k8s.aws"}},
		"min values of too few":  {requirements(object{"key": "a", "operator": "In", "values": list{"b", "c"}, "min_values": 3}), []string{"requirements[0]", "min_values", "add values or lower"}},
		"no min values":          {requirements(arch("arm64"), object{"key": "a", "operator": "Exists", "min_values": 0}), []string{"requirements[1].min_values", "greater than or equal to 1"}},
		"too many min values":    {requirements(object{"key": "a", "operator": "Exists", "min_values": 51}), []string{"requirements[0].min_values", "less than or equal to 50"}},
		"min of capacity types":  {requirements(object{"key": "karpenter.sh/capacity-type", "operator": "In", "values": list{"spot", "cheap"}, "min_values": 2}), []string{"requirements[0].min_values", "capacity types", "lower"}},
		"contradiction":          {requirements(arch("arm64"), object{"key": "a", "operator": "Exists"}, arch("amd64")), []string{"requirements[0]", "requirements[2]", "kubernetes.io/arch", "no value"}},
		"contradiction of range": {requirements(object{"key": "a", "operator": "Gt", "values": list{"8"}}, object{"key": "a", "operator": "Lt", "values": list{"8"}}), []string{"requirements[0]", "requirements[1]"}},
		"label contradicts":      {object{"labels": object{"karpenter.sh/capacity-type": "on-demand"}}, []string{`labels["karpenter.sh/capacity-type"]`, "requirements[0]"}},
		"label value":            {object{"labels": object{"a": "not a value"}}, []string{"labels", "not a value"}},
		"taint effect":           {object{"taints": list{object{"key": "a", "effect": "Never"}}}, []string{"taints[0].effect", `"PreferNoSchedule"`}},
		"taint given twice":      {object{"taints": list{object{"key": "a", "effect": "NoSchedule"}}, "startup_taints": list{object{"key": "a", "effect": "NoSchedule"}}}, []string{"startup_taints[0]", "Duplicate", "a:NoSchedule"}},
		"grace period":           {object{"termination_grace_period": "1d"}, []string{"termination_grace_period", `"1d"`, "1h30m"}},
		"consolidate after":      {object{"disruption": object{"consolidate_after": "soon"}}, []string{"disruption.consolidate_after", `"soon"`, "Never"}},
		"expire after":           {object{"expire_after": "30d"}, []string{"expire_after", `"30d"`, "Never"}},
		"budget of 101 %":        {budgets(object{"nodes": "101%"}), []string{"disruption.budgets[0].nodes", "101%"}},
		"a second budget":        {budgets(object{"nodes": "1"}, object{"nodes": "many"}), []string{"disruption.budgets[1].nodes", "many"}},
		"budget's bad schedule":  {budgets(object{"nodes": "0", "schedule": "61 * * * *", "duration": "1h"}), []string{"disruption.budgets[0].schedule", "61", "five fields"}},
		"budget's unknown zone":  {budgets(object{"nodes": "0", "schedule": "TZ=Nowhere 0 9 * * *", "duration": "1h"}), []string{"disruption.budgets[0].schedule", "Nowhere"}},
		"schedule alone":         {budgets(object{"nodes": "0", "schedule": "@daily"}), []string{"disruption.budgets", "schedule and duration go together"}},
		"duration alone":         {budgets(object{"nodes": "0", "duration": "1h"}), []string{"disruption.budgets", "schedule and duration go together"}},
		"duration of seconds":    {budgets(object{"nodes": "0", "schedule": "@daily", "duration": "90s"}), []string{"disruption.budgets[0].duration", "1m30s"}},
		"unknown reason":         {budgets(object{"nodes": "0", "reasons": list{"Expired"}}), []string{"disruption.budgets[0].reasons", "Expired", "Drifted"}},
		"no budget":              {budgets(), []string{"budgets", "at least 1"}},
		"consolidation policy":   {object{"disruption": object{"consolidation_policy": "Always"}}, []string{"disruption.consolidation_policy", "WhenEmpty"}},
		"limit":                  {object{"limits": object{"cpu": "lots"}}, []string{`limits["cpu"]`, "lots", "64Gi"}},
		"weight":                 {object{"weight": 101}, []string{"weight", "100"}},
		"static pool's weight":   {object{"replicas": 3, "weight": 1}, []string{"static", "remove weight"}},
		"static pool's limit":    {object{"replicas": 3, "limits": object{"cpu": "10"}}, []string{"static", "only the limit nodes"}},
		"replicas below 0":       {object{"replicas": -1}, []string{"replicas", "greater than or equal to 0"}},
		"name":                   {object{"name": "Spot_Pool"}, []string{"name", "lowercase"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, h.validate("karpenter_node_pool", poolConfig(tt.change)), tt.parts...)
		})
	}
}

func budgets(all ...any) object { return object{"disruption": object{"budgets": all}} }

func TestNodePool_WhatIsUnknownIsNotObjectedTo(t *testing.T) {
	h := newHarness(t)
	for name, change := range map[string]object{
		"nothing unknown":     nil,
		"name and class":      {"name": unknown{}, "node_class": unknown{}},
		"all requirements":    {"requirements": unknown{}},
		"a requirement":       requirements(object{"key": unknown{}, "operator": "In", "values": unknown{}}),
		"an operator":         requirements(object{"key": "a", "operator": unknown{}, "values": list{"b"}}),
		"one of the values":   requirements(object{"key": "a", "operator": "In", "values": list{unknown{}}}),
		"min values":          requirements(object{"key": "a", "operator": "In", "values": list{"b"}, "min_values": unknown{}}),
		"values to be enough": requirements(object{"key": "a", "operator": "In", "values": list{"b", unknown{}}, "min_values": 2}),
		"a taint":             {"taints": list{object{"key": unknown{}, "effect": unknown{}}}},
		"limits":              {"limits": object{"cpu": unknown{}}},
		"a budget's schedule": budgets(object{"nodes": "0", "schedule": unknown{}, "duration": "1h"}),
		"a budget's duration": budgets(object{"nodes": unknown{}, "schedule": "@daily", "duration": unknown{}}),
		"all budgets":         {"disruption": object{"budgets": unknown{}}},
		"durations":           {"expire_after": unknown{}, "termination_grace_period": unknown{}, "disruption": unknown{}},
		"labels and numbers":  {"labels": unknown{}, "weight": unknown{}, "replicas": unknown{}},
	} {
		t.Run(name, func(t *testing.T) {
			wantNoError(t, h.validate("karpenter_node_pool", poolConfig(change)))
		})
	}
	// A known value is checked, even if another value is unknown.
	wantError(t, h.validate("karpenter_node_pool", poolConfig(object{"node_class": unknown{}, "weight": 0})), "weight")
}

func TestNodePool_PlansItsDefaults(t *testing.T) {
	h := configured(t, object{"eks": object{"cluster_name": unknown{}}})
	p := h.resource("karpenter_node_pool").plan(poolConfig(object{"node_class": unknown{}}))
	wantNoError(t, p.problems)
	disruption := attributes(t, attributeOf(t, p.value, "disruption"))
	if got := disruption["consolidation_policy"].String(); got != `tftypes.String<"WhenEmptyOrUnderutilized">` {
		t.Errorf("consolidation_policy is planned as %s", got)
	}
	if got := disruption["budgets"].String(); !strings.Contains(got, `"nodes":tftypes.String<"10%">`) {
		t.Errorf("budgets are planned as %s", got)
	}
	if got := attributeOf(t, p.value, "expire_after").String(); got != `tftypes.String<"720h">` {
		t.Errorf("expire_after is planned as %s", got)
	}
	if got := disruption["consolidate_after"].String(); got != `tftypes.String<"0s">` {
		t.Errorf("consolidate_after is planned as %s", got)
	}
}

// poolInState is a pool that an earlier apply has created.
func poolInState(t *testing.T, changes object) *instance {
	t.Helper()
	i := newHarness(t).resource("karpenter_node_pool")
	p := i.plan(poolConfig(changes))
	wantNoError(t, p.problems)
	state := attributes(t, p.value)
	state["ready"] = tftypes.NewValue(tftypes.Bool, true)
	i.state = tftypes.NewValue(p.value.Type(), state)
	i.identity = p.identity
	return i
}

func TestNodePool_ANewNameReplacesNothingAndIsSaid(t *testing.T) {
	i := poolInState(t, nil)
	p := i.plan(poolConfig(object{"name": "cheap"}))
	wantNoError(t, p.problems)
	if len(p.replace) > 0 {
		t.Errorf("a new name replaces for %v", p.replace)
	}
	if len(p.problems) != 1 || p.problems[0].Severity != tfprotov6.DiagnosticSeverityWarning {
		t.Fatalf("problems %v, want one warning", p.problems)
	}
	for _, part := range []string{`karpenter_node_pool "spot"`, `creates NodePool "cheap"`, `deletes NodePool "spot"`, `all nodes of "spot" are deleted`} {
		if !strings.Contains(p.problems[0].Detail, part) {
			t.Errorf("the warning lacks %q: %s", part, p.problems[0].Detail)
		}
	}
	wantNoError(t, i.plan(poolConfig(object{"name": unknown{}})).problems)
}

func TestNodePool_ProtectionRefusesWhatDeletesThePool(t *testing.T) {
	i := poolInState(t, object{"deletion_protection": true})
	parts := []string{`karpenter_node_pool "spot"`, "deletion_protection is true", "set deletion_protection = false and run terraform apply, then destroy"}
	wantError(t, i.planDestroy().problems, parts...)
	// A replacement deletes without such a plan.
	wantError(t, i.destroy(), append(parts, "-replace", "terraform untaint")...)
	if i.state.IsNull() {
		t.Error("the state is lost")
	}
	wantError(t, i.plan(poolConfig(object{"deletion_protection": true, "name": "cheap"})).problems,
		`karpenter_node_pool "spot"`, "deletion_protection is true", `new name "cheap"`, "Nothing was changed", `set name = "spot"`, "name")
	wantNoError(t, i.plan(poolConfig(object{"deletion_protection": true, "weight": 3})).problems)
	wantNoError(t, i.plan(poolConfig(object{"deletion_protection": false, "name": "cheap"})).problems)
	wantNoError(t, poolInState(t, nil).planDestroy().problems)
}

// The API server refuses such a change.
func TestNodePool_BecomingStaticOrNotIsAReplacement(t *testing.T) {
	h := configured(t, object{"eks": object{"cluster_name": unknown{}}})
	for name, c := range map[string]struct {
		from, to any
		replaces bool
	}{
		"scaled":       {3, 5, false},
		"to no node":   {3, 0, false},
		"made dynamic": {3, nil, true},
		"made static":  {nil, 3, true},
		"not known":    {3, unknown{}, false},
	} {
		config := func(n any) object {
			if n == nil {
				return poolConfig(nil)
			}
			return poolConfig(object{"replicas": n})
		}
		pool := h.resource("karpenter_node_pool")
		before := pool.plan(config(c.from))
		wantNoError(t, before.problems)
		pool.state = before.value
		after := pool.plan(config(c.to))
		wantNoError(t, after.problems)
		if got := len(after.replace) > 0; got != c.replaces {
			t.Errorf("%s: replaces for %v", name, after.replace)
		}
	}
}
