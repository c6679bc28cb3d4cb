package catalog

import "testing"

func TestQuotaOf_NamesTheQuotaThatServiceQuotasHas(t *testing.T) {
	standard := QuotaOf("m5.large")
	for quota, types := range map[string][]string{
		standard:      {"a1.large", "c6gn.large", "d3en.xlarge", "h1.2xlarge", "i4i.large", "im4gn.large", "is4gen.large", "m7i-flex.large", "r7iz.metal-16xl", "t3.nano", "z1d.large"},
		"G and VT":    {"g4dn.xlarge", "gr6.4xlarge", "vt1.3xlarge"},
		"F":           {"f2.6xlarge"},
		"P":           {"p4d.24xlarge", "p5.48xlarge"},
		"X":           {"x1e.xlarge", "x2gd.large"},
		"Inf":         {"inf2.xlarge"},
		"Trn":         {"trn1.2xlarge"},
		"DL":          {"dl1.24xlarge"},
		"HPC":         {"hpc7a.12xlarge"},
		"High Memory": {"u-6tb1.metal", "u7i-12tb.224xlarge"},
		"mac":         {"mac2.metal"},
	} {
		for _, x := range types {
			if got := QuotaOf(x); got != quota {
				t.Errorf("%s counts against %q, want %q", x, got, quota)
			}
		}
	}
}

func TestScope_CoversWhatTheReachSays(t *testing.T) {
	tried := OfferingKey{CapacityType: "spot", InstanceType: "m5.large", Zone: "a"}
	for reach, covered := range map[Reach][5]bool{
		ReachOffering:     {true, false, false, false, false},
		ReachQuota:        {true, true, true, false, false},
		ReachCapacityType: {true, true, true, true, false},
		ReachAll:          {true, true, true, true, true},
	} {
		for i, k := range []OfferingKey{
			tried,
			{CapacityType: "spot", InstanceType: "m5.large", Zone: "b"},
			{CapacityType: "spot", InstanceType: "c7g.large", Zone: "a"},
			{CapacityType: "spot", InstanceType: "p5.48xlarge", Zone: "a"},
			{CapacityType: "on-demand", InstanceType: "m5.large", Zone: "a"},
		} {
			if got := tried.Scope(reach).Covers(k); got != covered[i] {
				t.Errorf("reach %d covers %v: %v", reach, k, got)
			}
		}
	}
}
