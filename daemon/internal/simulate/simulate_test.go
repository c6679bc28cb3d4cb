package simulate

import (
	"bytes"
	"flag"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

var update = flag.Bool("update", false, "write the golden texts")

func hour() Options { return Options{For: time.Hour, Seed: 1} }

func run(t *testing.T, c *Cluster, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := valid(t, b.Bytes()); err != nil {
		t.Error(err)
	}
	return r
}

// Somebody reads these texts before deciding: each change of them is looked at.
func TestReport_OfNodeGroupsReadsAsItsGoldenTexts(t *testing.T) {
	t.Parallel()
	r := run(t, groups(), hour())
	for name, write := range map[string]func(io.Writer) error{"groups.txt": r.WriteTable, "groups.md": r.WriteMarkdown, "groups.json": r.WriteJSON, "groups.html": r.WriteHTML} {
		golden(t, name, write)
	}
}

func TestReport_TheSameInputGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	var texts [2]bytes.Buffer
	for i := range texts {
		if err := run(t, crowd(60, 1200), hour()).WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("two runs differ")
	}
}

func TestRun_AHalfEmptyClusterIsCheaperAndEveryPodStillRuns(t *testing.T) {
	t.Parallel()
	r := run(t, crowd(60, 1200), hour())
	if r.Now.Pods != 1200 || r.Then.Pods != 1200 || len(r.CannotBePlaced) > 0 || r.SavingPercent() < 30 || r.Then.CostPerHour < r.Then.BoundPerHour || !r.Settled {
		t.Errorf("%+v", r.Forecast)
	}
}

func TestRun_WithoutNodePoolsAllNodesMayBeReplaced(t *testing.T) {
	t.Parallel()
	if r := run(t, groups(), hour()); r.Nodes != AllNodes || r.Now.Nodes != 9 || r.Foreign.Nodes != 0 {
		t.Errorf("nodes %s, %+v", r.Nodes, r.Now)
	}
	o := hour()
	o.Nodes = OwnedNodes
	if r := run(t, groups(), o); r.Now.Nodes != 0 || r.Foreign.Nodes != 9 || r.Foreign.CostPerHour != 9*0.384 || r.WouldRemove.Nodes != 0 {
		t.Errorf("owned: %+v, foreign %+v", r.Now, r.Foreign)
	}
}

// owned is groups as a NodePool's, which has no NodeClaims in the input.
func owned(change func(*v1.NodePool)) *Cluster {
	c := groups()
	p := standInPool()
	p.Name, p.UID = "general", "general"
	if change != nil {
		change(p)
	}
	c.Add(p)
	class := standInClass(standInName)
	c.Add(class)
	for _, n := range c.nodes {
		n.Labels[v1.LabelNodePool], n.Labels[label.CapacityType] = "general", label.OnDemand
	}
	return c
}

func TestRun_NodesOfAPoolCountWithoutTheirNodeClaims(t *testing.T) {
	t.Parallel()
	r := run(t, owned(nil), hour())
	if r.Nodes != OwnedNodes || r.Now.Nodes != 9 || r.WouldRemove.Nodes == 0 || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "9 nodes of NodePools without a NodeClaim") }) {
		t.Errorf("%+v, notes %q", r.Forecast, r.Notes)
	}
}

func TestRun_FromScratchLaunchesTheWholeFleet(t *testing.T) {
	t.Parallel()
	o := hour()
	o.Scratch = true
	r := run(t, crowd(60, 1200), o)
	if r.Now.Nodes != 60 || r.Then.Pods != 1200 || r.WouldRemove.Nodes != 0 || r.Then.GapPercent > 10 {
		t.Errorf("now %+v, then %+v", r.Now, r.Then)
	}
}

func TestRun_WithAnotherPoolTellsTheDifference(t *testing.T) {
	t.Parallel()
	spot := standInPool()
	spot.Spec.Template.Spec.Requirements[2].Values = []string{label.Spot}
	spot.Name, spot.UID = "general", "general"
	o := hour()
	o.With = []metav1.Object{spot}
	r := run(t, owned(nil), o)
	if r.With == nil || r.With.Then.CostPerHour >= r.Then.CostPerHour {
		t.Fatalf("with spot: %+v", r.With)
	}
	if slices.ContainsFunc(r.WouldLaunch, func(l Launches) bool { return l.CapacityType == label.Spot }) ||
		!slices.ContainsFunc(r.With.WouldLaunch, func(l Launches) bool { return l.CapacityType == label.Spot }) {
		t.Errorf("launches %+v, with spot %+v", r.WouldLaunch, r.With.WouldLaunch)
	}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil || !strings.Contains(b.String(), "WITH THE CHANGES: WOULD LAUNCH") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A Deployment has no ReplicaSet where no controller has seen it.
func TestRun_WithADeploymentItsPodsCount(t *testing.T) {
	t.Parallel()
	c, o := owned(nil), hour()
	o.With = []metav1.Object{deploymentOf(c.sets["shop/web-6d4cf56db6"], "batch", 5)}
	if r := run(t, c, o); r.With.Then.Pods != r.Then.Pods+5 || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "with the changes: 1 Deployment") }) {
		t.Errorf("%d pods, with it %d; notes %q", r.Then.Pods, r.With.Then.Pods, r.Notes)
	}
}

// Advice changes what NodePools allow, and says what that saves; the pools stay as they are.
func TestRun_AdvisesChangesThatAreWorthIt(t *testing.T) {
	t.Parallel()
	c, o := crowd(60, 1200), hour()
	narrow := standInPool()
	narrow.Name, narrow.UID = "general", "general"
	narrow.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationWhenEmpty
	narrow.Spec.Template.Spec.Requirements = append(narrow.Spec.Template.Spec.Requirements, v1.Requirement{Key: label.InstanceType, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.2xlarge", "m5.4xlarge"}})
	c.Add(narrow)
	o.Nodes, o.Advise = AllNodes, true
	r := run(t, c, o)
	var changes []string
	for i, a := range r.Advice {
		changes = append(changes, a.Change)
		if a.SavesPerHour <= 0 || a.Percent < worthwhile || a.Mind == "" || !slices.Equal(a.NodePools, []string{"general"}) || i > 0 && a.SavesPerHour > r.Advice[i-1].SavesPerHour {
			t.Errorf("%+v", a)
		}
	}
	all := strings.Join(changes, "\n")
	if !strings.Contains(all, "consolidate as soon") || strings.Contains(all, "arm64") { // there is no m5 for arm64
		t.Errorf("advised:\n%s", all)
	}
	if got := c.pools["general"]; got.Spec.Disruption.ConsolidationPolicy != v1.ConsolidationWhenEmpty || len(got.Spec.Template.Spec.Requirements) != 6 {
		t.Errorf("the pool has become %+v", got.Spec)
	}
	var b bytes.Buffer
	if err := r.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), "## What would save more") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if plain := run(t, crowd(10, 100), hour()); plain.Advised || len(plain.Advice) > 0 {
		t.Error("advised without being asked")
	}
}

func TestVariants_ChangeOnlyWhatTheySay(t *testing.T) {
	t.Parallel()
	for i, v := range variants() {
		p, before := standInPool(), standInPool()
		if i == 4 {
			p.Spec.Disruption.ConsolidationPolicy = v1.ConsolidationWhenEmpty
		}
		if i == 3 {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, v1.Requirement{Key: label.InstanceType, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.large"}})
		}
		if !v.apply(p) {
			t.Errorf("%s: nothing to change", v.change)
			continue
		}
		if v.apply(p) && i != 2 {
			t.Errorf("%s: a second time", v.change)
		}
		same := 0
		for k, r := range p.Spec.Template.Spec.Requirements {
			if reflect.DeepEqual(r, before.Spec.Template.Spec.Requirements[k]) {
				same++
			}
		}
		if want := map[int]int{0: 4, 1: 4, 2: 4, 3: 5, 4: 5}[i]; same != want {
			t.Errorf("%s: %d requirements are as before, want %d", v.change, same, want)
		}
	}
}

func TestRun_ScalesWorkloads(t *testing.T) {
	t.Parallel()
	for text, pods := range map[string]int64{"deployment/shop/web=20": 27, "deployment/shop/web=2": 9, "ReplicaSet/shop/web-6d4cf56db6=0": 7} {
		s, err := ParseScale(text)
		if err != nil {
			t.Fatal(err)
		}
		o := hour()
		o.Scales = []Scale{s}
		if r := run(t, groups(), o); r.Then.Pods != pods {
			t.Errorf("%s: %d pods run", text, r.Then.Pods)
		}
	}
}

func TestRun_BadInputSaysWhatIsWrongAndTheRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		cluster    func() *Cluster
		scale      string
	}{
		{"nothing", "give at least the output of kubectl get nodes", func() *Cluster {
			c := NewCluster()
			c.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{}}})
			return c
		}, ""},
		{"no region", "give it by --region", func() *Cluster {
			c, n := NewCluster(), node(0)
			delete(n.Labels, label.Region)
			delete(n.Labels, label.Zone)
			c.Add(n)
			return c
		}, ""},
		{"another region", "the nodes are in us-east-1, and --region is us-west-2", groups, ""},
		{"unknown workload", "there is no such Deployment", groups, "deployment/shop/nothing=1"},
		{"unknown kind", `"pod" cannot be scaled`, groups, "pod/shop/web=1"},
	} {
		o := hour()
		if c.name == "nothing" || c.name == "another region" {
			o.Region = "us-west-2"
		}
		if c.scale != "" {
			s, err := ParseScale(c.scale)
			if err != nil {
				t.Fatal(err)
			}
			o.Scales = []Scale{s}
		}
		if _, err := Run(t.Context(), c.cluster(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, text := range []string{"", "web=3", "deployment/shop/web", "deployment/shop/web=-1", "deployment/shop/web=x", "deployment/shop/web=3x"} {
		if s, err := ParseScale(text); err == nil {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
}

func TestRun_ARegionWithoutAPriceListHasStandIns(t *testing.T) {
	t.Parallel()
	c := NewCluster()
	for i := range 3 {
		n := node(i)
		n.Labels[label.Region], n.Labels[label.Zone] = "xx-south-9", "xx-south-9"+string(rune('a'+i))
		c.Add(n)
	}
	app{"web", 500, 1024, []*corev1.Node{c.nodes["ip-10-0-0-0.ec2.internal"]}, nil}.add(c)
	r := run(t, c, hour())
	if !strings.Contains(r.Prices, "stands in for xx-south-9") || r.Now.CostPerHour == 0 || r.Then.Nodes != 1 {
		t.Errorf("prices %q, now %+v, then %+v", r.Prices, r.Now, r.Then)
	}
}

func TestRun_WhatIsNotCarriedOutIsNamed(t *testing.T) {
	t.Parallel()
	c := owned(nil)
	kind := awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: standInName, UID: "class"}}
	kind.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	c.pools["general"].Spec.Template.Spec.Requirements = append(c.pools["general"].Spec.Template.Spec.Requirements, v1.Requirement{Key: "team", Operator: corev1.NodeSelectorOpExists, Values: []string{"a"}})
	r := run(t, c, hour())
	if len(r.NotCarriedOut) != 1 || r.NotCarriedOut[0].Object != "NodePool general" || r.NotCarriedOut[0].Field == "" || r.NotCarriedOut[0].Remedy == "" {
		t.Errorf("%+v", r.NotCarriedOut)
	}
}

func TestCapacityType_FollowsTheLabelsOfAllWhoMakeNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, value, want string }{
		{"eks.amazonaws.com/capacityType", "SPOT", label.Spot},
		{"eks.amazonaws.com/capacityType", "ON_DEMAND", label.OnDemand},
		{"karpenter.sh/capacity-type", "spot", label.Spot},
		{"node.kubernetes.io/lifecycle", "spot", label.Spot},
		{"node.kubernetes.io/lifecycle", "Ec2Spot", label.Spot},
		{"x", "y", label.OnDemand},
	} {
		if got := capacityType(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{c.key: c.value}}}); got != c.want {
			t.Errorf("%s=%s: %s", c.key, c.value, got)
		}
	}
}

// A Deployment of a manifest has no ReplicaSet yet.
func TestRun_DeploymentsOfManifestsCountAsDeclared(t *testing.T) {
	t.Parallel()
	c := owned(nil)
	set := c.sets["shop/web-6d4cf56db6"]
	d := deploymentOf(set, "batch", 5)
	d.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3")
	c.Add(d)
	if r := run(t, c, hour()); r.Then.Pods != 18 {
		t.Errorf("%d pods run", r.Then.Pods)
	}
}

// BenchmarkRun simulates an hour of 2,000 nodes with 40,000 pods.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c := crowd(2000, 40_000)
		b.StartTimer()
		r, err := Run(b.Context(), c, hour())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(r.SavingPercent(), "%saved")
		b.ReportMetric(r.Then.GapPercent, "%gap")
	}
}

func TestReport_TheRowNowIsWithoutPodsThatAScaleAdds(t *testing.T) {
	t.Parallel()
	before := run(t, readDump(t, karpenterDump), hour())
	o := hour()
	o.Scales = []Scale{{Kind: "deployment", Namespace: "shop", Name: "web", Replicas: 60}}
	r := run(t, readDump(t, karpenterDump), o)
	was := before.Now
	was.PodsWaiting = r.Now.PodsWaiting
	if !reflect.DeepEqual(r.Now, was) || r.Now.PodsWaiting <= before.Now.PodsWaiting || r.Then.BoundPerHour <= r.Now.BoundPerHour {
		t.Errorf("now %+v, without the scale %+v; then %+v", r.Now, before.Now, r.Then)
	}
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil || !strings.Contains(b.String(), "it is without 49 pods that wait now.") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
