package translate_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func TestNodeClaim_KeepsMinValuesAndSaysWhetherTheyWereRelaxed(t *testing.T) {
	two, three := 2, 3
	pool := &v1.NodePool{}
	pool.Spec.Template.ObjectMeta.Annotations = map[string]string{"team": "web"}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{
		{Key: "beta.kubernetes.io/instance-type", Operator: "Exists", MinValues: &two},
		{Key: label.InstanceType, Operator: "Exists", MinValues: &three},
		{Key: label.Arch, Operator: "Exists", MinValues: &two},
		{Key: label.OS, Operator: "Exists"},
	}
	choices := []plan.Choice{{Type: "a"}, {Type: "b"}, {Type: "c"}, {Type: "d"}}
	for name, c := range map[string]struct {
		types   []plan.Choice
		relaxed bool
		want    map[string]int
		text    string
	}{
		"met":     {choices, false, map[string]int{label.InstanceType: 3, label.Arch: 2}, "false"},
		"relaxed": {choices[:1], true, map[string]int{label.InstanceType: 1, label.Arch: 2}, "true"},
	} {
		claim := translate.NodeClaim(plan.Launch{Types: c.types, Zones: []string{"z"}, MinValuesRelaxed: c.relaxed}, pool, v1.AwaitingPodsTaint())
		got := map[string]int{}
		for _, r := range claim.Spec.Requirements {
			if r.MinValues != nil {
				got[r.Key] = *r.MinValues
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: minValues %v, want %v", name, got, c.want)
		}
		if a := claim.Annotations; len(a) != 3 || a["team"] != "web" || a[v1.AnnotationMinValuesRelaxed] != c.text {
			t.Errorf("%s: annotations %v", name, a)
		}
	}
	if len(pool.Spec.Template.ObjectMeta.Annotations) != 1 {
		t.Error("the pool's annotations were changed")
	}
}

func TestNodeClaim_HasTheValueThatTheLaunchChoseOfALabel(t *testing.T) {
	two := 2
	pool := &v1.NodePool{}
	pool.Spec.Template.ObjectMeta.Labels = map[string]string{"tier": "web"}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{
		{Key: "team", Operator: "Exists", MinValues: &two},
		{Key: "team", Operator: "NotIn", Values: []string{"ops"}},
		{Key: "tier", Operator: "Exists"},
		{Key: "rack", Operator: "NotIn", Values: []string{"r1"}},
	}
	labels := label.FromMap(map[string]string{"team": "red", "tier": "web"})
	claim := translate.NodeClaim(plan.Launch{Types: []plan.Choice{{Type: "a"}}, Zones: []string{"z"}, Labels: labels, MinValuesRelaxed: true}, pool, v1.AwaitingPodsTaint())
	if claim.Labels["team"] != "red" {
		t.Errorf("labels %v", claim.Labels)
	}
	got := map[string][]string{}
	for _, r := range claim.Spec.Requirements {
		got[r.Key] = append(got[r.Key], string(r.Operator)+" "+strings.Join(r.Values, ","))
		if r.Key == "team" && (r.MinValues == nil || *r.MinValues != 1) {
			t.Errorf("minValues %v of one value", r.MinValues)
		}
	}
	if len(got["team"]) != 1 || got["team"][0] != "In red" || got["tier"][0] != "Exists " || got["rack"][0] != "NotIn r1" {
		t.Errorf("requirements %v", got)
	}
}

// Who may write NodePools only must not write the daemon's own notes: the daemon sends the
// request that it finds on a NodeClaim.
func TestNodeClaim_HasNoKeyOfTheDaemonsDomainFromATemplate(t *testing.T) {
	own := map[string]string{"team": "a"}
	for _, key := range []string{
		v1.AnnotationLaunchAttempt, v1.AnnotationLaunchRequest, v1.AnnotationInterruption, v1.AnnotationPlanned, v1.AnnotationMove, v1.AnnotationGang,
		v1.AnnotationTerminate, v1.AnnotationPauseDisruption, v1.AnnotationRefused, v1.LabelRenamedFrom, v1.OwnDomain + "/of-a-later-version",
	} {
		own[key] = "forged"
	}
	pool := &v1.NodePool{}
	pool.Name = "team"
	pool.Spec.Template.ObjectMeta.Annotations = own
	pool.Spec.Template.ObjectMeta.Labels = own
	taints := []v1.Taint{
		{Key: "team", Effect: "NoSchedule"},
		{Key: v1.TaintAwaitingPods, Effect: "NoSchedule"},
		{Key: v1.OwnDomain + "/goes-next", Effect: "PreferNoSchedule"},
		{Key: v1.TaintDisrupted, Effect: "NoSchedule"},
		{Key: v1.TaintDisrupted, Value: "disrupting", Effect: "NoExecute"},
		{Key: v1.TaintUnregistered, Effect: "NoExecute"},
	}
	pool.Spec.Template.Spec.Taints, pool.Spec.Template.Spec.StartupTaints = taints, taints
	least := 1
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: v1.AnnotationPlanned, Operator: "In", Values: []string{"forged"}, MinValues: &least}, {Key: "tier", Operator: "Exists"}}
	read := translate.Pool(pool)
	claim := translate.NodeClaim(plan.Launch{Name: "team-1", Pool: "team", Labels: read.Labels}, pool, v1.AwaitingPodsTaint())
	if slices.ContainsFunc(claim.Spec.Requirements, func(r v1.Requirement) bool { return v1.IsOwn(r.Key) }) || len(read.Requirements) != 1 || len(read.MinValues) != 0 {
		t.Errorf("requirements %v, of the pool %v with minValues %v", claim.Spec.Requirements, read.Requirements, read.MinValues)
	}
	for where, got := range map[string]map[string]string{"annotations": claim.Annotations, "labels": claim.Labels} {
		for key, value := range got {
			if value == "forged" {
				t.Errorf("the NodeClaim has %s in its %s", key, where)
			}
		}
		if got["team"] != "a" {
			t.Errorf("the NodeClaim lacks what the user wrote in its %s: %v", where, got)
		}
	}
	if len(claim.Spec.Taints) != 1 || len(claim.Spec.StartupTaints) != 2 || claim.Spec.StartupTaints[1].Key != v1.TaintAwaitingPods || len(read.Taints) != 1 || len(read.StartupTaints) != 1 {
		t.Errorf("taints %v and %v, of the pool %v and %v", claim.Spec.Taints, claim.Spec.StartupTaints, read.Taints, read.StartupTaints)
	}
	if len(own) != 12 || len(taints) != 6 {
		t.Error("the pool was changed")
	}
	remarks := translate.PoolRemarks(pool)
	for _, key := range []string{v1.TaintAwaitingPods, v1.TaintDisrupted, v1.TaintUnregistered} {
		if len(remarks) != 1 || !strings.Contains(remarks[0].Text, "taint "+key) {
			t.Errorf("remarks %+v do not name the taint %s", remarks, key)
		}
	}
}

// What is noted on a NodeClaim is about that one alone: a template that said when drains end
// would have all nodes of its pool drained whatever budgets say.
func TestNodeClaim_HasNoNoteAboutItselfFromATemplate(t *testing.T) {
	notes := map[string]string{v1.AnnotationDoNotDisrupt: "forged", "team": "a"} // the first is for the node, and a user's
	for _, key := range []string{
		v1.AnnotationTerminationTimestamp, v1.AnnotationMinValuesRelaxed, v1.AnnotationNodePoolHash, v1.AnnotationNodePoolHashVersion,
		awsv1.AnnotationNodeClassHash, awsv1.AnnotationNodeClassHashVersion, awsv1.AnnotationInstanceProfile,
		awsv1.AnnotationTagged, awsv1.AnnotationClusterNameTagged,
	} {
		notes[key] = "forged"
	}
	pool := &v1.NodePool{}
	pool.Name = "team"
	pool.Spec.Template.ObjectMeta.Annotations = notes
	claim := translate.NodeClaim(plan.Launch{Name: "team-1", Pool: "team"}, pool, corev1.Taint{})
	for key, value := range claim.Annotations {
		if value == "forged" && key != v1.AnnotationDoNotDisrupt {
			t.Errorf("the NodeClaim has %s", key)
		}
	}
	if claim.Annotations["team"] != "a" || claim.Annotations[v1.AnnotationDoNotDisrupt] != "forged" || len(notes) != 11 {
		t.Errorf("the NodeClaim has %v, the pool %v", claim.Annotations, notes)
	}
	remarks := translate.PoolRemarks(pool)
	if len(remarks) != 1 || remarks[0].Reason != translate.RemarkReserved || !strings.Contains(remarks[0].Text, "annotation "+v1.AnnotationTerminationTimestamp) {
		t.Errorf("remarks %+v", remarks)
	}
}

func TestPoolAndNodeClaim_TakeTheZoneByTheSpellingOfTheEBSDriver(t *testing.T) {
	const ebsZone = "topology.ebs.csi.aws.com/zone"
	pool := &v1.NodePool{}
	pool.Name = "zoned"
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: ebsZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}}}
	if reqs := translate.Pool(pool).Requirements; !reqs.Admits(label.Zone, "a") || reqs.Admits(label.Zone, "c") {
		t.Errorf("the pool requires %v", reqs)
	}
	claim := translate.NodeClaim(plan.Launch{Name: "zoned-1", Pool: "zoned", Zones: []string{"a"}}, pool, corev1.Taint{})
	for _, r := range claim.Spec.Requirements {
		if r.Key == ebsZone || r.Key == label.Zone && !slices.Equal(r.Values, []string{"a"}) {
			t.Errorf("the NodeClaim requires %+v", r)
		}
	}
}
