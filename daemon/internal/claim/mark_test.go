package claim

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

const marksClaim = "PATCH " + claimsPath + "c"

// Karpenter's programs read by the annotations that the instance has its tags.
func TestSweep_ANodeClaimSaysThatItsInstanceIsTagged(t *testing.T) {
	all := map[string]string{awsspec.TagNodeClaim: "c", awsspec.TagNodeClaimUID: "c", awsspec.TagName: "n"}
	unnamed := map[string]string{awsspec.TagNodeClaim: "c", awsspec.TagNodeClaimUID: "c"}
	for name, tc := range map[string]struct {
		tags         map[string]string
		change       func(*v1.NodeClaim)
		marks, names int
	}{
		"all tags":                 {all, func(*v1.NodeClaim) {}, 1, 0},
		"marked":                   {all, func(c *v1.NodeClaim) { c.Annotations = marks() }, 0, 0},
		"marked before the second": {all, func(c *v1.NodeClaim) { c.Annotations = map[string]string{awsv1.AnnotationTagged: "true"} }, 1, 0},
		"a name of the user's": {
			map[string]string{awsspec.TagNodeClaim: "c", awsspec.TagNodeClaimUID: "c", awsspec.TagName: "mine"},
			func(*v1.NodeClaim) {}, 1, 0,
		},
		"the name is missing":        {unnamed, func(*v1.NodeClaim) {}, 0, 1},
		"the name may not be listed": {unnamed, func(c *v1.NodeClaim) { upSince(c, time.Unix(10_000, 0)) }, 0, 0},
		"the node has not joined":    {all, func(c *v1.NodeClaim) { c.Status.NodeName = "" }, 0, 0},
		"it is going":                {all, func(c *v1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(9000, 0)} }, 0, 0},
		"of another nodeclaim":       {map[string]string{awsspec.TagNodeClaim: "b", awsspec.TagNodeClaimUID: "b", awsspec.TagName: "n"}, func(*v1.NodeClaim) {}, 0, 0},
	} {
		s, collector, ec2 := swept(t, tc.tags)
		claim := s.claims["c"].DeepCopy()
		tc.change(claim)
		s.put(t, claim)
		s.Observe(claim)
		sweep(t, collector, 1)
		if s.times(marksClaim) != tc.marks || len(ec2.named) != tc.names || len(ec2.ended) > 0 {
			t.Errorf("%s: writes %v, named %v, ended %v", name, s.writes, ec2.named, ec2.ended)
		}
		if tc.marks == 0 {
			continue
		}
		got := s.claims["c"].Annotations
		if got[awsv1.AnnotationTagged] != "true" || got[awsv1.AnnotationClusterNameTagged] != "true" {
			t.Errorf("%s: annotations %v", name, got)
		}
		sweep(t, collector, 2)
		if s.times(marksClaim) != 1 {
			t.Errorf("%s: marked again: %v", name, s.writes)
		}
	}
}

// upSince says that the node is initialized since then.
func upSince(c *v1.NodeClaim, at time.Time) {
	c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(x v1.Condition) bool { return x.Type == v1.ConditionInitialized })
	c.Conditions().SetTrue(v1.ConditionInitialized, at)
}

// nameless is EC2 that lets nobody name an instance.
type nameless struct{ *cloud }

func (n nameless) NameInstance(ctx context.Context, id, name string) error {
	_ = n.cloud.NameInstance(ctx, id, name)
	return &aws.UnauthorizedError{Action: "ec2:CreateTags"}
}

// One refusal in a sweep tells of all, and holds up no other NodeClaim.
func TestSweep_NamesThatAreRefusedHoldUpNoOtherMark(t *testing.T) {
	s, collector, ec2 := swept(t, nil)
	s.controller.Cloud = nameless{ec2}
	ec2.instances = nil
	for _, name := range []string{"a", "b", "c"} {
		claim, _ := registered()
		claim.Name, claim.UID, claim.Status.ProviderID = name, types.UID(name), awsspec.ProviderID("a", "i-"+name)
		tags := map[string]string{awsspec.TagNodeClaim: name, awsspec.TagNodeClaimUID: name}
		if name == "c" {
			tags[awsspec.TagName] = "n"
		}
		s.put(t, claim)
		s.Observe(claim)
		ec2.instances = append(ec2.instances, karpenters("i-"+name, s, tags))
	}
	sweep(t, collector, 1)
	if !slices.Equal(ec2.named, []string{"i-a n"}) || s.times(marksClaim) != 1 {
		t.Errorf("named %v, writes %v", ec2.named, s.writes)
	}
}
