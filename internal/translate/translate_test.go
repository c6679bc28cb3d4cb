package translate_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"), "nvidia.com/gpu": resource.MustParse("2")},
		}}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func TestPod_RequestsCountSidecarsOverheadAndOneSlot(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	got, ok := translate.Pod(pod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("250m")}}}}
		p.Spec.Overhead = corev1.ResourceList{"memory": resource.MustParse("64Mi")}
	}), translate.Lookups{})
	want := quantity.Resources{MilliCPU: 1250, MemoryBytes: 1<<30 + 64<<20, PodSlots: 1}.Extend("nvidia.com/gpu", 2)
	if !ok || got.Shape.Requests.Compare(want) != 0 {
		t.Errorf("requests = %v, want %v", got.Shape.Requests, want)
	}
}

func TestPod_LeavesOutWhatIsNotOurs(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"finished":         func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
		"failed":           func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"foreignScheduler": func(p *corev1.Pod) { p.Spec.SchedulerName = "mine" },
		"gated":            func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}} },
	} {
		if _, ok := translate.Pod(pod(change), translate.Lookups{}); ok {
			t.Errorf("%s: the pod is taken for demand", name)
		}
	}
	// A pod on a node takes room, whichever scheduler put it there.
	if _, ok := translate.Pod(pod(func(p *corev1.Pod) { p.Spec.SchedulerName, p.Spec.NodeName = "mine", "n" }), translate.Lookups{}); !ok {
		t.Error("a bound pod of another scheduler takes no room")
	}
}

func TestPod_OfAnotherSchedulerIsDemandOnceThatSchedulerFoundNoNode(t *testing.T) {
	found := func(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SchedulerName = "batch"
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: status, Reason: reason}}
		}
	}
	gated := func(p *corev1.Pod) {
		found(corev1.ConditionFalse, corev1.PodReasonUnschedulable)(p)
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"no node":           {found(corev1.ConditionFalse, corev1.PodReasonUnschedulable), true},
		"an error":          {found(corev1.ConditionFalse, corev1.PodReasonSchedulerError), false},
		"gates":             {found(corev1.ConditionFalse, corev1.PodReasonSchedulingGated), false},
		"a gate since then": {gated, false},
		"a node":            {found(corev1.ConditionTrue, ""), false},
	} {
		got, ours := translate.Pod(pod(tc.change), translate.Lookups{})
		if ours != tc.want || ours && !(got.Unschedulable && got.OtherScheduler) {
			t.Errorf("%s: demand is %v, want %v: %+v", name, ours, tc.want, got)
		}
	}
	for _, name := range []string{"", corev1.DefaultSchedulerName} {
		if got, ours := translate.Pod(pod(func(p *corev1.Pod) { p.Spec.SchedulerName = name }), translate.Lookups{}); !ours || got.OtherScheduler {
			t.Errorf("scheduler %q: %v, %+v", name, ours, got)
		}
	}
}

func TestPod_TellsItsOwnNominationFromTheSchedulers(t *testing.T) {
	nominated := func(manager string) cluster.Pod {
		p, _ := translate.Pod(pod(func(p *corev1.Pod) {
			p.Status.NominatedNodeName = "n"
			p.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: manager, Subresource: "status",
				FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
			}}
		}), translate.Lookups{})
		return p
	}
	if !nominated(translate.FieldManager).NominatedByUs || nominated("kube-scheduler").NominatedByUs {
		t.Error("nominations are attributed wrongly")
	}
}

func TestNodeClaim_RoundTripKeepsTheDecision(t *testing.T) {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "pu"}}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{
		{Key: label.CapacityType, Operator: "In", Values: []string{"spot", "on-demand"}},
		{Key: label.Arch, Operator: "In", Values: []string{"amd64"}},
	}
	l := plan.Launch{
		Name: "p-x", Pool: "p", Class: "c", CapacityType: "spot", Zones: []string{"a", "b"},
		Types: []plan.Choice{{Type: "m5.large"}, {Type: "c5.large"}}, Labels: label.FromMap(map[string]string{label.NodePool: "p"}),
		Content: quantity.Resources{MilliCPU: 1500, MemoryBytes: 1 << 30, PodSlots: 3},
		Planned: []cluster.Slot{{Kind: "1x2.3", Count: 2}, {Kind: "4y.5", Count: 1}},
	}
	claim := translate.NodeClaim(l, pool, v1.AwaitingPodsTaint())
	got, err := translate.Claim(claim)
	if err != nil {
		t.Fatal(err)
	}
	want := "karpenter.sh/capacity-type In [spot] and karpenter.sh/nodepool In [p] and kubernetes.io/arch In [amd64] and " +
		"node.kubernetes.io/instance-type In [c5.large m5.large] and topology.kubernetes.io/zone In [a b]"
	if got.Requirements.String() != want || got.Requests.Compare(l.Content) != 0 || got.Pool != "p" || got.Class != "c" {
		t.Errorf("claim = %+v\nrequirements %s\nwant         %s", got, got.Requirements, want)
	}
	if !slices.Equal(got.Planned, l.Planned) {
		t.Errorf("planned for %v, want %v", got.Planned, l.Planned)
	}
	claim.Annotations[v1.AnnotationPlanned] = "nothing a=-1 b=many c=2 d="
	if got, err := translate.Claim(claim); err != nil || !slices.Equal(got.Planned, []cluster.Slot{{Kind: "c", Count: 2}}) {
		t.Errorf("an annotation that cannot be read as a whole: %v, %v", got.Planned, err)
	}
	if len(claim.Spec.StartupTaints) != 1 || len(pool.Spec.Template.Spec.StartupTaints) != 0 {
		t.Error("the daemon's startup taint is missing, or was added to the pool")
	}
}

func TestInterruption_RoundTripAndOneClearError(t *testing.T) {
	noticed := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	in := cluster.Interruption{Reason: "spot_interrupted", Noticed: noticed, Deadline: noticed.Add(2 * time.Minute)}
	got, err := translate.ParseInterruption(translate.FormatInterruption(in))
	if err != nil || *got != in {
		t.Errorf("round trip = %+v, %v", got, err)
	}
	for _, bad := range []string{"", "soon spot now", "2026-01-02T03:04:05Z spot"} {
		if _, err := translate.ParseInterruption(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestLimits_ZeroIsALimit(t *testing.T) {
	got := translate.Limits(corev1.ResourceList{"nodes": resource.MustParse("0"), "cpu": resource.MustParse("1500m")})
	want := []quantity.Amount{{Name: "cpu", Count: 1500}, {Name: "nodes", Count: 0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("limits = %v, want %v", got, want)
	}
}

// Karpenter takes values with Exists and DoesNotExist, and does not look at them.
func TestPool_ValuesOfExistsDoNotCount(t *testing.T) {
	var pool v1.NodePool
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{
		{Key: "a", Operator: corev1.NodeSelectorOpExists, Values: []string{"x"}},
		{Key: "b", Operator: corev1.NodeSelectorOpDoesNotExist, Values: []string{"x"}},
	}
	got := translate.Pool(&pool)
	if !got.Ready || !got.Requirements.Admits("a", "y") || got.Requirements.Admits("b", "x") {
		t.Errorf("%+v", got)
	}
}

func TestPool_InvalidOneIsNotReadyAndSaysWhy(t *testing.T) {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: "k", Operator: "Gt", Values: []string{"many"}}}
	if got := translate.Pool(p); got.Ready || got.NotReady != `nodepool p requirements[0]: requirement k Gt: "many" is not a whole number` {
		t.Errorf("pool = %+v", got)
	}
}

func TestMoves_SaysTheSameAsThePodThatPodReads(t *testing.T) {
	yes, now := true, metav1.Now()
	for name, change := range map[string]func(*corev1.Pod){
		"running":     func(*corev1.Pod) {},
		"finished":    func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"terminating": func(p *corev1.Pod) { p.DeletionTimestamp = &now },
		"static":      func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} },
		"of a node":   func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Controller: &yes}} },
		"daemon": func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
		},
		"job": func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: &yes}} },
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: corev1.PodSpec{NodeName: "n", SchedulerName: "another"}}
		change(p)
		read, ours := translate.Pod(p, translate.Lookups{})
		if want := ours && read.Moves(); translate.Moves(p) != want {
			t.Errorf("%s: moves = %v, want %v", name, !want, want)
		}
	}
}

func TestPool_DecidesTheTenancyOfItsNodes(t *testing.T) {
	in := func(operator corev1.NodeSelectorOperator, values ...string) []v1.Requirement {
		return []v1.Requirement{{Key: label.Tenancy, Operator: operator, Values: values}}
	}
	for name, c := range map[string]struct {
		requirements []v1.Requirement
		label        string
		want         string // "" if the pool is not ready
	}{
		"no word of it":          {nil, "", label.SharedTenancy},
		"dedicated":              {in(corev1.NodeSelectorOpIn, label.Dedicated), "", label.Dedicated},
		"not default":            {in(corev1.NodeSelectorOpNotIn, label.SharedTenancy), "", label.Dedicated},
		"either, as Karpenter":   {in(corev1.NodeSelectorOpIn, label.Dedicated, label.SharedTenancy), "", label.SharedTenancy},
		"by the label":           {nil, label.Dedicated, label.Dedicated},
		"either, and the label":  {in(corev1.NodeSelectorOpExists), label.Dedicated, label.Dedicated},
		"host":                   {in(corev1.NodeSelectorOpIn, "host"), "", ""},
		"none":                   {in(corev1.NodeSelectorOpDoesNotExist), "", ""},
		"label that contradicts": {in(corev1.NodeSelectorOpIn, label.Dedicated), label.SharedTenancy, ""},
	} {
		p := &v1.NodePool{}
		p.Spec.Template.Spec.Requirements = c.requirements
		if c.label != "" {
			p.Spec.Template.ObjectMeta.Labels = map[string]string{label.Tenancy: c.label}
		}
		got := translate.Pool(p)
		tenancy, _ := got.Labels.Get(label.Tenancy)
		if got.Ready != (c.want != "") || c.want != "" && tenancy != c.want || c.want == "" && !strings.Contains(got.NotReady, "dedicated hosts are not supported") {
			t.Errorf("%s: tenancy %q, ready %v (%s); want %q", name, tenancy, got.Ready, got.NotReady, c.want)
		}
	}
}

// The labels of the template that instances decide are requirements, as with Karpenter, in
// whatever spelling. Others are only labels.
func TestPool_ALabelThatInstancesDecideIsARequirement(t *testing.T) {
	for key, want := range map[string]string{
		label.Arch: label.Arch, "beta.kubernetes.io/arch": label.Arch, "beta.kubernetes.io/os": label.OS,
		"beta.kubernetes.io/instance-type": label.InstanceType, label.InstanceType: label.InstanceType,
		label.Zone: label.Zone, "failure-domain.beta.kubernetes.io/zone": label.Zone, "topology.ebs.csi.aws.com/zone": label.Zone,
		label.ZoneID: label.ZoneID, "failure-domain.beta.kubernetes.io/region": label.Region, label.CapacityType: label.CapacityType,
		"karpenter.k8s.aws/instance-family": "karpenter.k8s.aws/instance-family",
		"team":                              "", "node.kubernetes.io/team": "", "karpenter.k8s.aws/ec2nodeclass": "",
	} {
		pool := &v1.NodePool{}
		pool.Spec.Template.ObjectMeta.Labels = map[string]string{key: "x"}
		got := translate.Pool(pool)
		if !got.Ready {
			t.Errorf("%s: %s", key, got.NotReady)
		}
		if want == "" && len(got.Requirements) > 0 || want != "" && (len(got.Requirements) != 1 || !got.Requirements.Admits(want, "x") || got.Requirements.Admits(want, "y")) {
			t.Errorf("%s: requirements %v", key, got.Requirements)
		}
	}
	pool := &v1.NodePool{}
	pool.Spec.Template.ObjectMeta.Labels = map[string]string{label.Zone: "a"}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: label.Zone, Operator: "In", Values: []string{"a", "b"}}}
	if got := translate.Pool(pool).Requirements; !got.Admits(label.Zone, "a") || got.Admits(label.Zone, "b") {
		t.Errorf("with a requirement of two zones: %v", got)
	}
}
