package v1_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/crdtest"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

const goodNodePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    metadata:
      labels: {team: web, example.com/tier: "1"}
    spec:
      taints: [{key: spot, value: only, effect: NoSchedule}]
      startupTaints: [{key: example.com/cni, effect: NoExecute}]
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
      - {key: kubernetes.io/arch, operator: Exists}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      terminationGracePeriod: 1h30m
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}
  limits: {cpu: 100, memory: 1Ti, nodes: 10}
  weight: 10
`

const goodNodeClaim = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: default-x7k2p
spec:
  requirements:
  - {key: karpenter.sh/nodepool, operator: In, values: [default]}
  - {key: node.kubernetes.io/instance-type, operator: In, values: [c7g.large, m7g.large]}
  resources: {requests: {cpu: 1500m, memory: 2Gi, pods: "5"}}
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
status:
  conditions: [{type: Launched, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}]
`

func definition(t *testing.T, kind string) *crdtest.Definition {
	t.Helper()
	for _, doc := range v1.CRDs() {
		if d := crdtest.Parse(t, doc); d.CRD.Spec.Names.Kind == kind {
			return d
		}
	}
	t.Fatalf("no definition of kind %s", kind)
	return nil
}

func TestCRDs_NamesAndColumnsAreKarpenters(t *testing.T) {
	for kind, columns := range map[string]string{
		v1.NodePoolKind:  "NodeClass Nodes Ready Age Weight CPU Memory",
		v1.NodeClaimKind: "Type Capacity Zone Node Ready Age ImageID ID NodePool NodeClass Drifted",
	} {
		spec := definition(t, kind).CRD.Spec
		if spec.Group != v1.Group || spec.Scope != "Cluster" || len(spec.Names.Categories) != 1 || spec.Names.Categories[0] != "karpenter" {
			t.Errorf("%s: group %s, scope %s, categories %v", kind, spec.Group, spec.Scope, spec.Names.Categories)
		}
		if version := spec.Versions[0]; len(spec.Versions) != 1 || version.Name != v1.Version || !version.Served || !version.Storage {
			t.Errorf("%s: versions %+v", kind, spec.Versions)
		}
		var names []string
		for _, c := range spec.Versions[0].AdditionalPrinterColumns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != columns {
			t.Errorf("%s: columns %q, want %q", kind, got, columns)
		}
	}
}

func TestNodePool_GoodObjectIsKeptWholeAndDefaulted(t *testing.T) {
	d := definition(t, v1.NodePoolKind)
	stored, pruned, errs := d.Create(t, goodNodePool)
	if len(errs) > 0 || len(pruned) > 0 {
		t.Fatalf("errors %v, pruned %v", errs, pruned)
	}
	var pool v1.NodePool
	crdtest.Into(t, stored, &pool)
	if got := pool.Spec.Disruption.ConsolidateAfter; got != (v1.NillableDuration{Duration: 30 * time.Second}) {
		t.Errorf("consolidateAfter %v, want 30s", got)
	}
	if got := pool.Spec.Template.Spec.TerminationGracePeriod.Duration; got != 90*time.Minute {
		t.Errorf("terminationGracePeriod %v, want 1h30m", got)
	}
	if got := pool.Spec.Limits[v1.ResourceNodes]; got.Value() != 10 {
		t.Errorf("limits.nodes %v, want 10", got)
	}
	bare := strings.NewReplacer("  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}\n", "",
		"      terminationGracePeriod: 1h30m\n", "").Replace(goodNodePool)
	stored, _, _ = d.Create(t, bare)
	var defaulted v1.NodePool
	crdtest.Into(t, stored, &defaulted)
	want := v1.Disruption{ConsolidationPolicy: v1.ConsolidationWhenEmptyOrUnderutilized, Budgets: []v1.Budget{{Nodes: "10%"}}}
	if got := defaulted.Spec.Disruption; !reflect.DeepEqual(got, want) {
		t.Errorf("default disruption %+v, want %+v", got, want)
	}
	if defaulted.Spec.Template.Spec.TerminationGracePeriod != nil {
		t.Errorf("terminationGracePeriod has a default")
	}
}

func TestNodePool_BadObjectIsRefusedByName(t *testing.T) {
	d := definition(t, v1.NodePoolKind)
	const requirement = `{key: kubernetes.io/arch, operator: Exists}`
	cases := map[string]struct{ old, new, want string }{
		"budget of 101 %":        {"consolidateAfter: 30s", `budgets: [{nodes: "101%"}]`, `spec.disruption.budgets[0].nodes: Invalid value: "101%"`},
		"budget below 0":         {"consolidateAfter: 30s", `budgets: [{nodes: "-1"}]`, `spec.disruption.budgets[0].nodes: Invalid value: "-1"`},
		"schedule alone":         {"consolidateAfter: 30s", `budgets: [{nodes: "0", schedule: "@daily"}]`, `schedule and duration go together: set both or neither`},
		"duration alone":         {"consolidateAfter: 30s", `budgets: [{nodes: "0", duration: 8h}]`, `schedule and duration go together: set both or neither`},
		"no cron expression":     {"consolidateAfter: 30s", `budgets: [{nodes: "0", schedule: daily, duration: 8h}]`, `spec.disruption.budgets[0].schedule: Invalid value: "daily"`},
		"duration in seconds":    {"consolidateAfter: 30s", `budgets: [{nodes: "0", schedule: "@daily", duration: 30s}]`, `spec.disruption.budgets[0].duration: Invalid value: "30s"`},
		"unknown reason":         {"consolidateAfter: 30s", `budgets: [{nodes: "0", reasons: [Expired]}]`, `spec.disruption.budgets[0].reasons[0]: Unsupported value: "Expired"`},
		"bad expireAfter":        {"terminationGracePeriod: 1h30m", "expireAfter: later", `spec.template.spec.expireAfter: Invalid value: "later"`},
		"minValues of too few":   {"operator: In, values: [c, m, r]", "operator: In, minValues: 4, values: [c, m, r]", `spec.template.spec.requirements[1]: Invalid value: operator In with minValues needs at least that many values: add values or lower minValues`},
		"minValues of no values": {requirement, `{key: kubernetes.io/arch, operator: In, minValues: 2, values: []}`, `operator In needs at least one value`},
		"minValues of none":      {requirement, `{key: kubernetes.io/arch, operator: Exists, minValues: 0}`, `spec.template.spec.requirements[3].minValues: Invalid value: 0: spec.template.spec.requirements[3].minValues in body should be greater than or equal to 1`},
		"minValues over 50":      {requirement, `{key: kubernetes.io/arch, operator: Exists, minValues: 51}`, `spec.template.spec.requirements[3].minValues: Invalid value: 51: spec.template.spec.requirements[3].minValues in body should be less than or equal to 50`},
		"minValues as text":      {requirement, `{key: kubernetes.io/arch, operator: Exists, minValues: "2"}`, `spec.template.spec.requirements[3].minValues`},
		"unsupported policy":     {"WhenEmpty,", "WhenUnderutilized,", `spec.disruption.consolidationPolicy: Unsupported value: "WhenUnderutilized": supported values: "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"`},
		"bad consolidateAfter":   {"consolidateAfter: 30s", "consolidateAfter: soon", `spec.disruption.consolidateAfter: Invalid value: "soon"`},
		"bad grace period":       {"1h30m", "Never", `spec.template.spec.terminationGracePeriod: Invalid value: "Never"`},
		"bad operator":           {requirement, `{key: kubernetes.io/arch, operator: Is}`, `spec.template.spec.requirements[3].operator: Unsupported value: "Is"`},
		"In without values":      {requirement, `{key: kubernetes.io/arch, operator: In}`, `operator In needs at least one value`},
		"Exists with values":     {requirement, `{key: kubernetes.io/arch, operator: Exists, values: [arm64]}`, `operators Exists and DoesNotExist take no values: remove them`},
		"Gt of a word":           {`values: ["4"]`, `values: [four]`, `operators Gt, Lt, Gte and Lte need exactly one value, an integer of 0 or more`},
		"malformed key":          {requirement, `{key: "a b", operator: Exists}`, `spec.template.spec.requirements[3].key: Invalid value: "a b"`},
		"requires the pool":      {requirement, `{key: karpenter.sh/nodepool, operator: Exists}`, `label karpenter.sh/nodepool is the pool itself`},
		"requires a hostname":    {requirement, `{key: kubernetes.io/hostname, operator: Exists}`, `label kubernetes.io/hostname names one node`},
		"restricted domain":      {requirement, `{key: sub.karpenter.sh/x, operator: Exists}`, `labels of domain karpenter.sh are set by the daemon`},
		"unknown AWS label":      {requirement, `{key: karpenter.k8s.aws/instance-colour, operator: Exists}`, `not a label of domain karpenter.k8s.aws that nodes have`},
		"restricted label":       {"team: web", "karpenter.sh/nodepool: x", `labels of domain karpenter.sh are set by the daemon`},
		"bad label value":        {"team: web", `team: "` + strings.Repeat("x", 64) + `"`, `a label's value has at most 63 characters`},
		"bad taint effect":       {"value: only, effect: NoSchedule", "value: only, effect: Never", `effect must be NoSchedule, PreferNoSchedule or NoExecute`},
		"empty taint key":        {"key: spot,", `key: "",`, `key must not be empty`},
		"other node class kind":  {"kind: EC2NodeClass", "kind: Other", `group must be karpenter.k8s.aws and kind EC2NodeClass`},
		"weight over 100":        {"weight: 10", "weight: 101", `spec.weight: Invalid value: 101`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(goodNodePool, c.old, c.new, 1)
			if bad == goodNodePool {
				t.Fatalf("%q is not in the good object", c.old)
			}
			_, pruned, errs := d.Create(t, bad)
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("errors %v, want one with %q", errs, c.want)
			}
			if len(pruned) > 0 {
				t.Errorf("pruned unseen: %v", pruned)
			}
		})
	}
}

func TestNodePool_LookalikeDomainIsNotRestricted(t *testing.T) {
	d := definition(t, v1.NodePoolKind)
	good := strings.Replace(goodNodePool, "team: web", "notkarpenter.sh/team: web", 1)
	if _, _, errs := d.Create(t, good); len(errs) > 0 {
		t.Errorf("errors %v", errs)
	}
}

func TestRules_KnowEveryInstanceLabel(t *testing.T) {
	d := definition(t, v1.NodePoolKind)
	for _, key := range []string{
		awsv1.LabelNodeClass, awsv1.LabelInstanceCategory, awsv1.LabelInstanceGeneration, awsv1.LabelInstanceFamily,
		awsv1.LabelInstanceSize, awsv1.LabelInstanceCapabilityFlex, awsv1.LabelInstanceCPU, awsv1.LabelInstanceCPUManufacturer,
		awsv1.LabelInstanceCPUSustainedClockSpeed, awsv1.LabelInstanceMemory, awsv1.LabelInstanceEBSBandwidth,
		awsv1.LabelInstanceNetworkBandwidth, awsv1.LabelInstanceLocalNVMe, awsv1.LabelInstanceGPUName,
		awsv1.LabelInstanceGPUManufacturer, awsv1.LabelInstanceGPUCount, awsv1.LabelInstanceGPUMemory,
		awsv1.LabelInstanceAcceleratorName, awsv1.LabelInstanceAcceleratorMaker, awsv1.LabelInstanceAcceleratorCount,
		awsv1.LabelInstanceHypervisor, awsv1.LabelInstanceEncryptionInTransit, awsv1.LabelInstanceTenancy, awsv1.LabelZoneID,
	} {
		object := strings.NewReplacer("kubernetes.io/arch", key, "team: web", key+": web").Replace(goodNodePool)
		if _, _, errs := d.Create(t, object); len(errs) > 0 {
			t.Errorf("label %s: %v", key, errs)
		}
	}
}

// A requirement may be on the labels of a reservation. A template may not have
// such a label: nodes outside the reservation would have it, too.
func TestRequirement_MayBeOnTheLabelsOfReservations(t *testing.T) {
	pools, claims := definition(t, v1.NodePoolKind), definition(t, v1.NodeClaimKind)
	for _, key := range []string{
		"karpenter.k8s.aws/capacity-reservation-id", "karpenter.k8s.aws/capacity-reservation-type", "karpenter.k8s.aws/capacity-reservation-interruptible",
	} {
		if _, _, errs := pools.Create(t, strings.Replace(goodNodePool, "kubernetes.io/arch", key, 1)); len(errs) > 0 {
			t.Errorf("pool with %s: %v", key, errs)
		}
		if _, _, errs := claims.Create(t, strings.Replace(goodNodeClaim, "{key: karpenter.sh/nodepool, operator: In, values: [default]}", "{key: "+key+", operator: Exists}", 1)); len(errs) > 0 {
			t.Errorf("claim with %s: %v", key, errs)
		}
		if _, _, errs := pools.Create(t, strings.Replace(goodNodePool, "team: web", key+": web", 1)); len(errs) == 0 {
			t.Errorf("a template may have the label %s", key)
		}
	}
}

func TestMinValues_IsKeptByPoolAndClaimWithEveryOperator(t *testing.T) {
	pools, claims := definition(t, v1.NodePoolKind), definition(t, v1.NodeClaimKind)
	for with, want := range map[string]int{
		"operator: In, values: [a, b], minValues: 2": 2, "operator: NotIn, values: [a], minValues: 50": 50,
		"operator: Exists, minValues: 3": 3, `operator: Gt, values: ["4"], minValues: 2`: 2, `operator: Lte, values: ["4"], minValues: 1`: 1,
	} {
		requirement := "{key: example.com/x, " + with + "}"
		stored, pruned, errs := pools.Create(t, strings.Replace(goodNodePool, "{key: kubernetes.io/arch, operator: Exists}", requirement, 1))
		var pool v1.NodePool
		crdtest.Into(t, stored, &pool)
		if got := pool.Spec.Template.Spec.Requirements[3].MinValues; len(errs) > 0 || len(pruned) > 0 || got == nil || *got != want {
			t.Errorf("pool with %s: minValues %v, errors %v, pruned %v", with, got, errs, pruned)
		}
		stored, pruned, errs = claims.Create(t, strings.Replace(goodNodeClaim, "{key: karpenter.sh/nodepool, operator: In, values: [default]}", requirement, 1))
		var claim v1.NodeClaim
		crdtest.Into(t, stored, &claim)
		if got := claim.Spec.Requirements[0].MinValues; len(errs) > 0 || len(pruned) > 0 || got == nil || *got != want {
			t.Errorf("claim with %s: minValues %v, errors %v, pruned %v", with, got, errs, pruned)
		}
	}
}

func TestNodeClaim_SpecIsImmutable(t *testing.T) {
	d := definition(t, v1.NodeClaimKind)
	if _, pruned, errs := d.Create(t, goodNodeClaim); len(errs) > 0 || len(pruned) > 0 {
		t.Fatalf("good object: errors %v, pruned %v", errs, pruned)
	}
	status := strings.Replace(goodNodeClaim, "status:", "status:\n  nodeName: ip-10-0-1-7", 1)
	if errs := d.Update(t, goodNodeClaim, status); len(errs) > 0 {
		t.Errorf("change of status: %v", errs)
	}
	changed := strings.Replace(goodNodeClaim, "cpu: 1500m", "cpu: 2", 1)
	errs := d.Update(t, goodNodeClaim, changed)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "spec is immutable") {
		t.Errorf("change of spec: %v, want that it is immutable", errs)
	}
}

func TestNodeClaim_LivesThirtyDaysUnlessItSaysOtherwise(t *testing.T) {
	d := definition(t, v1.NodeClaimKind)
	for line, want := range map[string]v1.NillableDuration{
		"":                         {Duration: 720 * time.Hour},
		"\n  expireAfter: Never":   {Never: true},
		"\n  expireAfter: 1h30m5s": {Duration: time.Hour + 30*time.Minute + 5*time.Second},
	} {
		stored, _, errs := d.Create(t, strings.Replace(goodNodeClaim, "spec:", "spec:"+line, 1))
		var claim v1.NodeClaim
		crdtest.Into(t, stored, &claim)
		if len(errs) > 0 || claim.Spec.ExpireAfter == nil || *claim.Spec.ExpireAfter != want {
			t.Errorf("%q: %v, %v, want %v", line, claim.Spec.ExpireAfter, errs, want)
		}
	}
}

func TestNodePool_IsStaticFromItsFirstDayOrNever(t *testing.T) {
	d := definition(t, v1.NodePoolKind)
	static := strings.NewReplacer("  weight: 10", "  replicas: 3").Replace(goodNodePool)
	limits := regexp.MustCompile(`(?m)^  limits: .*$`)
	static = limits.ReplaceAllString(static, `  limits: {nodes: "5"}`)
	dynamic := limits.ReplaceAllString(strings.Replace(goodNodePool, "  weight: 10\n", "", 1), `  limits: {nodes: "5"}`)
	stored, _, errs := d.Create(t, static)
	var pool v1.NodePool
	crdtest.Into(t, stored, &pool)
	if len(errs) > 0 || pool.Spec.Replicas == nil || *pool.Spec.Replicas != 3 || len(pool.Validate()) > 0 {
		t.Fatalf("%v, %+v", errs, pool.Spec.Replicas)
	}
	const never = "a NodePool is static or it is not"
	for name, c := range map[string]struct{ from, to, want string }{
		"scaled":          {static, strings.Replace(static, "replicas: 3", "replicas: 0", 1), ""},
		"made dynamic":    {static, dynamic, never},
		"made static":     {dynamic, static, never},
		"another limit":   {static, limits.ReplaceAllString(static, `  limits: {nodes: "5", cpu: "10"}`), "has only the limit nodes"},
		"only cpu":        {static, limits.ReplaceAllString(static, `  limits: {cpu: "10"}`), "has only the limit nodes"},
		"no limit":        {static, limits.ReplaceAllString(static, ""), ""},
		"a weight":        {static, strings.Replace(static, "replicas: 3", "replicas: 3\n  weight: 10", 1), "has no weight"},
		"fewer than none": {static, strings.Replace(static, "replicas: 3", "replicas: -1", 1), "spec.replicas: Invalid value: -1"},
	} {
		errs := d.Update(t, c.from, c.to)
		if text := fmt.Sprint(errs); c.want == "" && len(errs) > 0 || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v, want %q", name, errs, c.want)
		}
	}
}

func TestNodePool_ScalesAsKubectlScaleDoes(t *testing.T) {
	for _, version := range definition(t, v1.NodePoolKind).CRD.Spec.Versions {
		if s := version.Subresources.Scale; s == nil || s.SpecReplicasPath != ".spec.replicas" || s.StatusReplicasPath != ".status.nodes" {
			t.Errorf("%+v", s)
		}
	}
}

func TestAddToScheme_KnowsKindsAndLists(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"NodePool", "NodePoolList", "NodeClaim", "NodeClaimList"} {
		if !scheme.Recognizes(v1.GroupVersion().WithKind(kind)) {
			t.Errorf("scheme does not know %s", kind)
		}
	}
}
