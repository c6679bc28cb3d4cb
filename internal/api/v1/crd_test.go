package v1_test

import (
	"reflect"
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

func TestCases_KarpentersObjectsAreAcceptedAndItsErrorsRefusedByName(t *testing.T) {
	for _, kind := range []string{v1.NodePoolKind, v1.NodeClaimKind} {
		crdtest.Run(t, definition(t, kind))
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
