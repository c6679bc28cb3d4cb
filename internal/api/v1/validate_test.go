package v1_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

func TestValidate_NamesWhatTheSchemaCannotCheck(t *testing.T) {
	d := definition(t, v1.NodePoolKind)
	cases := map[string]struct{ old, new, want string }{
		"good object":           {"", "", ""},
		"label value":           {"team: web", `team: "a b"`, `spec.template.metadata.labels[team]: Invalid value: "a b"`},
		"label key":             {"team: web", `"a/b/c": web`, `spec.template.metadata.labels[a/b/c]: Invalid value: "a/b/c"`},
		"taint key":             {"key: spot", `key: "a b"`, `spec.template.spec.taints[0].key: Invalid value: "a b"`},
		"taint value":           {"value: only", `value: "a b"`, `spec.template.spec.taints[0].value: Invalid value: "a b"`},
		"taint given twice":     {"{key: example.com/cni, effect: NoExecute}", "{key: spot, effect: NoSchedule}", `spec.template.spec.startupTaints[0]: Duplicate value: "spot:NoSchedule"`},
		"requirement value":     {"[c, m, r]", `["a b"]`, `spec.template.spec.requirements[1].values[0]: Invalid value: "a b"`},
		"unknown capacity type": {"[spot, on-demand]", "[cheap]", `spec.template.spec.requirements[0].values: Unsupported value: "cheap": supported values: "on-demand", "spot", "reserved"`},
		"capacity types":        {"values: [spot, on-demand]", "minValues: 2, values: [spot, cheap]", `spec.template.spec.requirements[0].minValues: Invalid value: 2: more than the capacity types`},
		"enough of them":        {"values: [spot, on-demand]", "minValues: 2, values: [spot, on-demand, reserved]", ""},
		"label of reservations": {"team: web", "karpenter.k8s.aws/capacity-reservation-id: cr-1", `spec.template.metadata.labels[karpenter.k8s.aws/capacity-reservation-id]: Forbidden: nodes outside a capacity reservation`},
		"label of groups":       {"team: web", "karpenter.k8s.aws/placement-group-id: pg-1", `spec.template.metadata.labels[karpenter.k8s.aws/placement-group-id]: Forbidden: nodes are in no placement group`},
		"requires a group":      {"{key: kubernetes.io/arch,", "{key: karpenter.k8s.aws/placement-group-partition,", `spec.template.spec.requirements[3].key: Forbidden: nodes are in no placement group: remove it`},
		"requires reservations": {"{key: kubernetes.io/arch,", "{key: karpenter.k8s.aws/capacity-reservation-id,", ""},
		"no such minute":        {"consolidateAfter: 30s", `budgets: [{nodes: "0", schedule: "61 * * * *", duration: 1h}]`, `spec.disruption.budgets[0].schedule: Invalid value: "61 * * * *"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stored, _, _ := d.Create(t, strings.Replace(goodNodePool, c.old, c.new, 1))
			var pool v1.NodePool
			crdtest.Into(t, stored, &pool)
			errs := pool.Validate()
			if c.want == "" {
				if len(errs) > 0 {
					t.Errorf("errors %v", errs)
				}
				return
			}
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("errors %v, want one with %q", errs, c.want)
			}
		})
	}
}

// The API server would refuse each NodeClaim of the pool.
func TestValidate_NamesAnnotationsThatNoNodeClaimCanHave(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"fits":      {map[string]string{"a": strings.Repeat("x", 98304-1)}, ""},
		"too large": {map[string]string{"a": strings.Repeat("x", 98304)}, "spec.template.metadata.annotations: Invalid value: \"98305 bytes\": nodes can get 98304 bytes of annotations: remove some"},
		"no key":    {map[string]string{"a b": ""}, "spec.template.metadata.annotations[a b]: Invalid value"},
		"upper":     {map[string]string{"Example.com/A": ""}, ""},
	} {
		p := &v1.NodePool{}
		p.Spec.Template.ObjectMeta.Annotations = c.annotations
		got := ""
		if errs := p.Validate(); len(errs) > 0 {
			got = errs[0].Error()
		}
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
