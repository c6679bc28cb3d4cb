package translate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func TestDefaultSpread_ReadsTheSchedulersDefaultConstraints(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []cluster.Spread
	}{
		"nothing":        {"", nil},
		"no constraints": {"podTopologySpread: {defaultingType: List}", nil},
		"yaml": {`
podTopologySpread:
  defaultConstraints:
  - {maxSkew: 1, topologyKey: failure-domain.beta.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, minDomains: 3, nodeTaintsPolicy: Honor}
  - {maxSkew: 5, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: Ignore}
`, []cluster.Spread{
			{Key: label.Zone, MaxSkew: 1, MinDomains: 3, HonorTaints: true, Selector: cluster.PodSelector{Nothing: true}},
			{Key: label.Hostname, MaxSkew: 5, Soft: true, IgnoreAffinity: true, Selector: cluster.PodSelector{Nothing: true}},
		}},
		"json": {
			`{"podTopologySpread": {"defaultConstraints": [{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}], "defaultingType": "List"}}`,
			[]cluster.Spread{{Key: "rack", MaxSkew: 2, Selector: cluster.PodSelector{Nothing: true}}},
		},
	} {
		got, err := translate.DefaultSpread(c.text)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestDefaultSpread_BadConfigIsOneErrorWithItsFieldAndRemedy(t *testing.T) {
	const good = "maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule"
	for name, c := range map[string]struct{ constraints, want string }{
		"skew":           {"{" + strings.Replace(good, "1", "0", 1) + "}", "[0]: maxSkew is 0: must be 1 or more"},
		"no key":         {"{" + strings.Replace(good, "rack", `""`, 1) + "}", `[0]: topologyKey "": name part must be non-empty`},
		"action":         {"{" + strings.Replace(good, "DoNot", "Never", 1) + "}", `[0]: whenUnsatisfiable is "NeverSchedule": give DoNotSchedule or ScheduleAnyway`},
		"selector":       {"{" + good + ", labelSelector: {}}", "[0]: labelSelector and matchLabelKeys follow from each pod's Services and controller: remove them"},
		"label keys":     {"{" + good + ", matchLabelKeys: [a]}", "remove them"},
		"soft minimum":   {"{" + strings.Replace(good, "DoNotSchedule", "ScheduleAnyway", 1) + ", minDomains: 2}", "[0]: minDomains is 2: must be 1 or more, and only with"},
		"no domains":     {"{" + good + ", minDomains: 0}", "[0]: minDomains is 0"},
		"policy":         {"{" + good + ", nodeTaintsPolicy: Heed}", `[0]: nodeTaintsPolicy is "Heed": give Honor or Ignore`},
		"twice":          {"{" + good + "}, {" + good + "}", "[1]: topologyKey rack with whenUnsatisfiable DoNotSchedule is there twice: remove one"},
		"unknown member": {"{" + good + ", skew: 1}", "skew"},
	} {
		_, err := translate.DefaultSpread("podTopologySpread: {defaultConstraints: [" + c.constraints + "]}")
		if err == nil || !strings.HasPrefix(err.Error(), "scheduler config: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"podTopologySpread: {defaultingType: System}":                         `podTopologySpread.defaultingType is "System": give List, or leave it out`,
		"apiVersion: kubescheduler.config.k8s.io/v1\nkind: X\nprofiles: []\n": "is not podTopologySpread.defaultConstraints in JSON or YAML",
		"podTopologySpread: {}\npodTopologySpread: {}\n":                      "podTopologySpread",
		"{": "is not podTopologySpread.defaultConstraints in JSON or YAML",
	} {
		if _, err := translate.DefaultSpread(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", text, err, want)
		}
	}
}
