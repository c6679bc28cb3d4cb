package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func in(key string, values ...any) object {
	return object{"key": key, "operator": "In", "values": values}
}

// TestNodePool_RequirementsThatNoInstanceTypeMeetsAreAnError plans pools for which no node
// can be launched. The error names the lines that contradict each other.
func TestNodePool_RequirementsThatNoInstanceTypeMeetsAreAnError(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	family := func(names ...any) object { return in("karpenter.k8s.aws/instance-family", names...) }
	for name, tt := range map[string]struct {
		change object
		parts  []string
	}{
		"family and architecture": {
			requirements(in("karpenter.sh/capacity-type", "on-demand"), family("m5", "c5"), in("kubernetes.io/arch", "arm64")),
			[]string{"requirements[1] (karpenter.k8s.aws/instance-family In [c5 m5])", "requirements[2] (kubernetes.io/arch In [arm64])", "Correct or remove one"},
		},
		"label and requirement": {
			object{"labels": object{"kubernetes.io/arch": "arm64", "team": "a"}, "requirements": list{in("node.kubernetes.io/instance-type", "m5.large")}},
			[]string{`labels["kubernetes.io/arch"]`, "requirements[0]"},
		},
		"size": {requirements(family("m5"), object{"key": "karpenter.k8s.aws/instance-cpu", "operator": "Lt", "values": list{"2"}}), []string{"requirements[0]", "requirements[1]"}},
		"three together": {
			requirements(in("karpenter.k8s.aws/instance-category", "g", "m"), in("kubernetes.io/arch", "arm64"), object{"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Exists"}, in("karpenter.k8s.aws/instance-family", "g5", "m7g")),
			[]string{"requirements[1]", "requirements[2]", "requirements[3]"},
		},
		"one alone": {requirements(object{"key": "karpenter.k8s.aws/instance-cpu", "operator": "Lt", "values": list{"1"}}), []string{"requirements[0]", "no instance type has such a label"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, h.resource("karpenter_node_pool").plan(poolConfig(tt.change)).problems, tt.parts...)
		})
	}
}

// TestNodePool_DoubtfulChoicesAreWarnings plans pools that may work, but not as meant.
func TestNodePool_DoubtfulChoicesAreWarnings(t *testing.T) {
	h := configured(t, object{"region": testRegion})
	for name, tt := range map[string]struct {
		change object
		want   string // "": nothing
	}{
		"good":             {nil, ""},
		"one type on spot": {requirements(in("node.kubernetes.io/instance-type", "m5.large"), in("karpenter.sh/capacity-type", "spot")), "Few instance types for spot"},
		"few on spot":      {requirements(in("karpenter.sh/capacity-type", "spot", "on-demand"), in("karpenter.k8s.aws/instance-family", "m5")), "fewer than 15"},
		"few on demand":    {requirements(in("karpenter.sh/capacity-type", "on-demand"), in("karpenter.k8s.aws/instance-family", "m5")), ""},
		"one zone":         {requirements(in("topology.kubernetes.io/zone", "us-west-2a")), "zone us-west-2a"},
		"two zones":        {requirements(in("topology.kubernetes.io/zone", "us-west-2a", "us-west-2b")), ""},
		"misspelt type":    {requirements(in("node.kubernetes.io/instance-type", "m5.larg")), `"m5.larg". Check the spelling`},
		"newer type":       {requirements(in("karpenter.k8s.aws/instance-family", "m19g", "m5"), in("kubernetes.io/arch", "arm64")), `"m19g"`},
		"newer family": {
			requirements(in("karpenter.k8s.aws/instance-category", "m"), object{"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Exists"}), "unless there is a newer type",
		},
		"newer generation": {
			requirements(in("karpenter.k8s.aws/instance-category", "m"), object{"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": list{"40"}}), "unless there is a newer type",
		},
		"reserved":           {requirements(in("karpenter.sh/capacity-type", "reserved"), in("karpenter.k8s.aws/instance-family", "m5")), ""},
		"cpu below":          {object{"limits": object{"cpu": "1"}, "requirements": list{in("node.kubernetes.io/instance-type", "m5.large", "m5.xlarge")}}, "has 2 vCPUs"},
		"memory below":       {object{"limits": object{"memory": "4Gi"}, "requirements": list{in("node.kubernetes.io/instance-type", "m5.large")}}, "has 8192Mi"},
		"no cpu at all":      {object{"limits": object{"cpu": "0"}, "requirements": list{in("node.kubernetes.io/instance-type", "m5.large")}}, ""},
		"too few min values": {requirements(object{"key": "karpenter.k8s.aws/instance-family", "operator": "Exists", "min_values": 3}, in("node.kubernetes.io/instance-type", "m5.large", "m6i.large")), "leave 2 values"},
		"own label":          {requirements(in("example.com/team", "a")), ""},
		"not known yet":      {requirements(object{"key": "kubernetes.io/arch", "operator": "In", "values": unknown{}}, in("node.kubernetes.io/instance-type", "m5.larg")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			problems := h.resource("karpenter_node_pool").plan(poolConfig(tt.change)).problems
			var texts []string
			for _, p := range problems {
				if p.Severity != tfprotov6.DiagnosticSeverityWarning || p.Attribute == nil {
					t.Errorf("no warning at an attribute: %+v", p)
				}
				texts = append(texts, p.Summary+": "+p.Detail)
			}
			all := strings.Join(texts, "\n")
			if tt.want == "" && all != "" || !strings.Contains(all, tt.want) || len(texts) > 1 {
				t.Errorf("warnings %q, want %q", all, tt.want)
			}
		})
	}
}

// TestNodePool_InARegionThatTheTableLacksOnlyInstanceTypesAreJudged plans for a region whose
// prices and offerings only AWS knows.
func TestNodePool_InARegionThatTheTableLacksOnlyInstanceTypesAreJudged(t *testing.T) {
	h := configured(t, object{"region": "cn-north-1"})
	m5 := in("karpenter.k8s.aws/instance-family", "m5")
	if problems := h.resource("karpenter_node_pool").plan(poolConfig(requirements(m5, in("karpenter.sh/capacity-type", "spot")))).problems; len(problems) > 0 {
		t.Errorf("nothing is known of what the region sells, and yet %+v", problems[0])
	}
	wantError(t, h.resource("karpenter_node_pool").plan(poolConfig(requirements(m5, in("kubernetes.io/arch", "arm64")))).problems, "requirements[0]", "requirements[1]")
}
