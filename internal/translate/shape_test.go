package translate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func word(t testing.TB, l translate.Lookups, change func(*corev1.Pod)) cluster.Pod {
	t.Helper()
	p, ok := translate.Pod(pod(change), l)
	if !ok {
		t.Fatal("the pod is left out")
	}
	return p
}

// inspect renders a shape one field a line.
func inspect(s cluster.Shape) string {
	var b strings.Builder
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Slice {
			fmt.Fprintf(&b, "%s: %+v\n", v.Type().Field(i).Name, f)
			continue
		}
		for j := range f.Len() {
			fmt.Fprintf(&b, "%s[%d]: %+v\n", v.Type().Field(i).Name, j, f.Index(j))
		}
	}
	return b.String()
}

func TestPod_EverythingAPodAsksForIsRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "rich.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p corev1.Pod
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	got, ok := translate.Pod(&p, storage())
	if !ok {
		t.Fatal("the pod is left out")
	}
	golden := filepath.Join("testdata", "rich.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(inspect(got.Shape)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if inspect(got.Shape) != string(want) {
		t.Errorf("shape:\n%s\nwant:\n%s", inspect(got.Shape), want)
	}
}

func TestPod_LabelsAreThoseThatSelectorsSee(t *testing.T) {
	got := word(t, translate.Lookups{}, func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web", "failure-domain.beta.kubernetes.io/zone": "a"}
	})
	want := label.FromMap(map[string]string{"app": "web", label.Zone: "a"})
	if got.Labels.Compare(want) != 0 {
		t.Errorf("labels %v, want %v", got.Labels, want)
	}
}

func TestPod_RequestsWhileAResizeIsUnderWayAreTheLarger(t *testing.T) {
	resized := func(reason string) quantity.Resources {
		return word(t, translate.Lookups{}, func(p *corev1.Pod) {
			p.Spec.Containers[0].Name = "c"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name:               "c",
				Resources:          &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}},
				AllocatedResources: corev1.ResourceList{"cpu": resource.MustParse("2")},
			}}
			if reason != "" {
				p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("9")
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason}}
			}
		}).Shape.Requests
	}
	if got := resized("").MilliCPU; got != 3000 {
		t.Errorf("shrinking from 3 to 1: %dm are taken", got)
	}
	if got := resized(corev1.PodReasonDeferred).MilliCPU; got != 9000 {
		t.Errorf("growing from 3 to 9, deferred: %dm are taken", got)
	}
	if got := resized(corev1.PodReasonInfeasible).MilliCPU; got != 3000 {
		t.Errorf("growing from 3 to 9, infeasible: %dm are taken", got)
	}
}

func TestPod_ThatBelongsToItsNodeIsOneShapeWithItsSiblings(t *testing.T) {
	on := func(node string) cluster.Pod {
		return word(t, translate.Lookups{}, func(p *corev1.Pod) {
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", UID: "d", Controller: &yes}}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{node}}}}},
			}}}
		})
	}
	a, b := on("a"), on("b")
	if !a.Pinned || a.Shape.Key() != b.Shape.Key() {
		t.Errorf("shapes differ: %s and %s", a.Shape.Key(), b.Shape.Key())
	}
}

func TestPod_WhatCannotBeReadIsNamedAndHoldsUpThatPodOnly(t *testing.T) {
	near := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near", Values: []string{"x"}}}}
	none := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "NotIn"}}}
	const use = `: unknown operator "Near"; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte`
	required := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	for want, change := range map[string]func(*corev1.Pod){
		"required podAffinity[0]: labelSelector: requirement app" + use: func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: near}}}}
		},
		"preferred podAntiAffinity[0]: namespaceSelector: labelSelector: requirement app" + use: func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{NamespaceSelector: near}},
			}}}
		},
		"topologySpreadConstraints[0]: labelSelector: requirement app NotIn: needs at least one value": func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, LabelSelector: none}}
		},
		"topologySpreadConstraints[0]: maxSkew is 0: must be 1 or more": func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: "z"}}
		},
		"required nodeAffinity[0]: matchFields spec.x: only metadata.name can be matched": func(p *corev1.Pod) {
			p.Spec.Affinity = required(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "spec.x", Operator: "In", Values: []string{"n"}}}})
		},
		"required nodeAffinity has only empty terms, which select no node": func(p *corev1.Pod) {
			p.Spec.Affinity = required(corev1.NodeSelectorTerm{})
		},
		`annotation karpenterd.sh/gang-size is "0": give a whole number of 1 or more`: func(p *corev1.Pod) {
			p.Annotations = map[string]string{v1.AnnotationGang: "g", v1.AnnotationGangSize: "0"}
		},
		"resourceClaims": func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} },
	} {
		if got := word(t, translate.Lookups{}, change).Shape.Unsupported; !reflect.DeepEqual(got, []string{want}) {
			t.Errorf("unsupported = %q, want %q", got, want)
		}
	}
}

func TestPodTerm_NamespacesAreThePodsOwnOnlyWhereNoneAreNamed(t *testing.T) {
	term := func(change func(*corev1.PodAffinityTerm)) cluster.PodTerm {
		p := word(t, translate.Lookups{}, func(p *corev1.Pod) {
			in := corev1.PodAffinityTerm{TopologyKey: "z"}
			change(&in)
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{in}}}
		})
		return p.Shape.PodAffinity[0]
	}
	if got := term(func(*corev1.PodAffinityTerm) {}); !reflect.DeepEqual(got.Namespaces, []string{"default"}) || !got.InNamespaces.Nothing || !got.Selector.Nothing {
		t.Errorf("neither: %+v", got)
	}
	if got := term(func(t *corev1.PodAffinityTerm) { t.Namespaces = []string{"b", "a", "b"} }); !reflect.DeepEqual(got.Namespaces, []string{"a", "b"}) || !got.InNamespaces.Nothing {
		t.Errorf("a list: %+v", got)
	}
	got := term(func(t *corev1.PodAffinityTerm) {
		t.NamespaceSelector, t.LabelSelector = &metav1.LabelSelector{}, &metav1.LabelSelector{}
	})
	if len(got.Namespaces) != 0 || got.InNamespaces.Nothing || got.Selector.Nothing || !got.InNamespaces.Selects(nil) {
		t.Errorf("empty selectors: %+v", got)
	}
}

func TestPodTerm_WhatTheServerMergedStaysWhenLabelsChange(t *testing.T) {
	p := word(t, translate.Lookups{}, func(p *corev1.Pod) {
		p.Labels = map[string]string{"rev": "new"}
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			MatchLabelKeys: []string{"rev"},
			LabelSelector:  &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rev", Operator: "In", Values: []string{"old"}}}},
		}}}}
	})
	if got := p.Shape.PodAffinity[0].Selector.Match.String(); got != "rev In [old]" {
		t.Errorf("selector %s", got)
	}
}

func TestGang_IsNamedByAnnotationThenFieldThenLabel(t *testing.T) {
	group := "field"
	got := word(t, translate.Lookups{}, func(p *corev1.Pod) { p.Labels = map[string]string{v1.LabelPodGroup: "label"} }).Shape.Gang
	if got != (cluster.Gang{Name: "label"}) {
		t.Errorf("label only: %+v", got)
	}
	both := func(p *corev1.Pod) {
		p.Labels = map[string]string{v1.LabelPodGroup: "label"}
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	if got := word(t, translate.Lookups{}, both).Shape.Gang; got != (cluster.Gang{Name: "field"}) {
		t.Errorf("field and label: %+v", got)
	}
	got = word(t, translate.Lookups{}, func(p *corev1.Pod) {
		both(p)
		p.Annotations = map[string]string{v1.AnnotationGang: "ours", v1.AnnotationGangSize: "4"}
	}).Shape.Gang
	if got != (cluster.Gang{Name: "ours", Size: 4}) {
		t.Errorf("all: %+v", got)
	}
}

func TestSpreadByDefault_SelectsWhatServicesAndControllerSelect(t *testing.T) {
	l := translate.Lookups{
		Spread: []cluster.Spread{{Key: label.Zone, MaxSkew: 5}},
		Services: func(string) []*corev1.Service {
			return []*corev1.Service{
				{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
				{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "other"}}},
				{}, // without a selector it selects nothing
			}
		},
		Selector: func(_ string, ref metav1.OwnerReference) (*metav1.LabelSelector, bool) {
			return &metav1.LabelSelector{MatchLabels: map[string]string{"hash": "1"}}, ref.UID == "rs"
		},
	}
	yes := true
	got := word(t, l, func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web", "hash": "1"}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "rs", Controller: &yes}}
	}).Shape.Spread
	if len(got) != 1 || got[0].Key != label.Zone || got[0].Selector.Match.String() != "app In [web] and hash In [1]" {
		t.Errorf("spread = %+v", got)
	}
	if got := word(t, l, nil).Shape.Spread; len(got) != 0 {
		t.Errorf("a pod that nothing selects is spread: %+v", got)
	}
	own := word(t, l, func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web"}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway}}
	}).Shape.Spread
	if len(own) != 1 || own[0].Key != "rack" || !own[0].Soft || !own[0].Selector.Nothing {
		t.Errorf("the pod's own constraints: %+v", own)
	}
}

func TestPod_OtherSpellingsOfAKeyMeanTheCanonicalOneWhereverPodsNameIt(t *testing.T) {
	for other, key := range map[string]string{
		"topology.ebs.csi.aws.com/zone":            label.Zone,
		"failure-domain.beta.kubernetes.io/zone":   label.Zone,
		"failure-domain.beta.kubernetes.io/region": label.Region,
		"beta.kubernetes.io/arch":                  label.Arch,
		"beta.kubernetes.io/os":                    label.OS,
		"beta.kubernetes.io/instance-type":         label.InstanceType,
	} {
		near := corev1.PodAffinityTerm{TopologyKey: other, LabelSelector: &metav1.LabelSelector{}}
		s := word(t, translate.Lookups{}, func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{other: "x"}
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: other, MaxSkew: 1, LabelSelector: &metav1.LabelSelector{}}}
			p.Spec.Affinity = &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{in(other, "x")}},
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: in(other, "x")}},
				},
				PodAffinity:     &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near}},
				PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: near}}},
			}
		}).Shape
		for where, reqs := range map[string]label.Requirements{"nodeSelector": s.Selector, "required": s.NodeAffinity[0], "preferred": s.Preferred[0].Node} {
			if !reqs.Admits(key, "x") || reqs.Admits(key, "y") {
				t.Errorf("%s in %s: %v", other, where, reqs)
			}
		}
		for where, got := range map[string]string{"spread": s.Spread[0].Key, "podAffinity": s.PodAffinity[0].Key, "podAntiAffinity": s.PodAntiAffinity[0].Key} {
			if got != key {
				t.Errorf("%s of %s is over %s", other, where, got)
			}
		}
	}
}

// unreadable lists node selector terms that the kube-scheduler cannot read.
func unreadable() map[string]corev1.NodeSelectorTerm {
	term := func(op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "cpus", Operator: op, Values: values}}}
	}
	return map[string]corev1.NodeSelectorTerm{
		"a bound that is no number": term(corev1.NodeSelectorOpGt, "four"),
		"a bound below zero":        term(corev1.NodeSelectorOpLt, "-1"),
		"two bounds":                term(corev1.NodeSelectorOpGt, "1", "2"),
		"no values":                 term(corev1.NodeSelectorOpIn),
		"a value that no label has": term(corev1.NodeSelectorOpNotIn, "not a value"),
		"an operator of others":     term("Near", "1"),
	}
}

func TestPod_ATermThatCannotBeReadDoesNotMatterWhereAnotherOneIsMet(t *testing.T) {
	for name, bad := range unreadable() {
		for _, terms := range [][]corev1.NodeSelectorTerm{{bad, in(label.Arch, "amd64")}, {in(label.Arch, "amd64"), bad, {}}} {
			got := word(t, translate.Lookups{}, requires(terms...)).Shape
			if len(got.Unsupported) > 0 || len(got.NodeAffinity) != 1 || !got.NodeAffinity[0].Admits(label.Arch, "amd64") {
				t.Errorf("%s: unsupported %q, alternatives %v", name, got.Unsupported, got.NodeAffinity)
			}
		}
		if got := word(t, translate.Lookups{}, requires(bad, corev1.NodeSelectorTerm{})).Shape; len(got.Unsupported) != 1 {
			t.Errorf("%s, and no other: unsupported %q", name, got.Unsupported)
		}
	}
}

func requires(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

func TestPod_WhatItOnlyPrefersAndCannotBeReadKeepsItOffNoNode(t *testing.T) {
	for name, bad := range unreadable() {
		got := word(t, translate.Lookups{}, func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 2, Preference: bad}, {Weight: 1, Preference: in(label.Arch, "amd64")},
			}}}
		}).Shape
		if len(got.Unsupported) > 0 || len(got.Preferred) != 1 || got.Preferred[0].Weight != 1 {
			t.Errorf("%s: unsupported %q, preferred %v", name, got.Unsupported, got.Preferred)
		}
	}
}

// The scheduler's filters read all of a pod's affinity to other pods before the first node,
// and the spreads that they carry out.
func TestPod_ASelectorOfPodsThatCannotBeReadKeepsThePodOffUnlessItIsASoftSpread(t *testing.T) {
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	near := corev1.PodAffinityTerm{TopologyKey: label.Zone, LabelSelector: bad}
	spread := func(when corev1.UnsatisfiableConstraintAction) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: label.Zone, MaxSkew: 1, WhenUnsatisfiable: when, LabelSelector: bad}}
		}
	}
	for name, tc := range map[string]struct {
		change  func(*corev1.Pod)
		refused int
	}{
		"required affinity": {func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{near}}}
		}, 1},
		"preferred anti-affinity": {func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: near}},
			}}
		}, 1},
		"hard spread": {spread(corev1.DoNotSchedule), 1},
		"soft spread": {spread(corev1.ScheduleAnyway), 0},
	} {
		if got := word(t, translate.Lookups{}, tc.change).Shape; len(got.Unsupported) != tc.refused {
			t.Errorf("%s: unsupported %q, want %d", name, got.Unsupported, tc.refused)
		}
	}
}
