package nodeclass

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

// shelf is the images and parameters of a cloud.
type shelf struct {
	Cloud
	images     []aws.Image
	parameters map[string]string
	asked      []aws.ImageSelector
}

func (s *shelf) Parameter(_ context.Context, name string) (string, error) {
	if id, there := s.parameters[name]; there {
		return id, nil
	}
	return "", aws.ErrNotFound
}

func (s *shelf) Images(_ context.Context, selectors []aws.ImageSelector) ([]aws.Image, error) {
	s.asked = selectors
	return s.images, nil
}

func newShelf(terms ...awsv1.AMISelectorTerm) (*shelf, *Reconciler, *awsv1.EC2NodeClass) {
	_, r := newWorld()
	s := &shelf{Cloud: r.Cloud, parameters: map[string]string{"/team/image": "ami-5"}}
	r.Cloud = s
	c := class()
	c.Spec.AMIFamily, c.Spec.AMISelectorTerms = "AL2023", terms
	return s, r, c
}

func TestImages_OfEachArchitectureTheNewestThatIsNotDeprecatedIsUsed(t *testing.T) {
	s, r, c := newShelf(awsv1.AMISelectorTerm{Tags: map[string]string{"team": "a"}})
	s.images = []aws.Image{
		{ID: "ami-1", Name: "newest", Arch: "amd64", Created: at(9), Deprecated: at(10)},
		{ID: "ami-2", Name: "b", Arch: "amd64", Created: at(5)},
		{ID: "ami-3", Name: "c", Arch: "amd64", Created: at(5)},
		{ID: "ami-4", Name: "old", Arch: "amd64", Created: at(1)},
		{ID: "ami-6", Name: "only", Arch: "arm64", Created: at(2), Deprecated: at(3)},
		{ID: "ami-7", Name: "mac", Created: at(8)},
	}
	got := decide(c, r.observe(t.Context(), c), clusterFacts(), at(10))
	want := []awsv1.AMI{
		{ID: "ami-3", Name: "c", Requirements: []awsv1.AMIRequirement{{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}}}},
		{ID: "ami-6", Name: "only", Deprecated: true, Requirements: []awsv1.AMIRequirement{{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"arm64"}}}},
	}
	if !slices.EqualFunc(got.Status.AMIs, want, func(a, b awsv1.AMI) bool {
		return a.ID == b.ID && a.Name == b.Name && a.Deprecated == b.Deprecated && len(a.Requirements) == 1 && a.Requirements[0].Values[0] == b.Requirements[0].Values[0]
	}) {
		t.Errorf("got %+v, want %+v", got.Status.AMIs, want)
	}
	if !got.Conditions().IsReady() {
		t.Errorf("the class is not ready: %+v", got.Status.Conditions)
	}
}

func TestImages_EveryTermIsAskedForAndAParameterThatDoesNotExistIsLeftOut(t *testing.T) {
	s, r, c := newShelf(
		awsv1.AMISelectorTerm{ID: "ami-1"}, awsv1.AMISelectorTerm{Name: "my-*", Owner: "self"}, awsv1.AMISelectorTerm{Tags: map[string]string{"team": "a"}},
		awsv1.AMISelectorTerm{SSMParameter: "/team/image"}, awsv1.AMISelectorTerm{SSMParameter: "/team/none"},
	)
	r.observe(t.Context(), c)
	want := []aws.ImageSelector{{ID: "ami-1"}, {Name: "my-*", Owner: "self"}, {Tags: map[string]string{"team": "a"}}, {ID: "ami-5"}}
	if !slices.EqualFunc(s.asked, want, func(a, b aws.ImageSelector) bool {
		return a.ID == b.ID && a.Name == b.Name && a.Owner == b.Owner && a.Tags["team"] == b.Tags["team"]
	}) {
		t.Errorf("asked for %+v, want %+v", s.asked, want)
	}
}

func TestImages_TermsThatSelectNoneAreNamedWithTheRemedy(t *testing.T) {
	_, r, c := newShelf(awsv1.AMISelectorTerm{Name: "my-*", Owner: "self", Tags: map[string]string{"team": "a"}}, awsv1.AMISelectorTerm{SSMParameter: "/team/none"})
	got := decide(c, r.observe(t.Context(), c), clusterFacts(), at(10))
	condition := got.Conditions().Get(awsv1.ConditionAMIsReady)
	const want = "selected no available image for amd64 or arm64 (name my-*, owner self, tags team=a; ssmParameter /team/none): correct the terms"
	if !condition.IsFalse() || condition.Reason != awsv1.ReasonAMINotFound || !strings.Contains(condition.Message, want) {
		t.Errorf("%+v", condition)
	}
	if got.Conditions().Get(v1.ConditionReady).IsTrue() {
		t.Error("a class without images is ready")
	}
}

func TestImages_AParameterThatTheRoleMayNotReadIsSaid(t *testing.T) {
	s, r, c := newShelf(awsv1.AMISelectorTerm{SSMParameter: "/secret/image"})
	r.Cloud = unreadable{s}
	got := decide(c, r.observe(t.Context(), c), clusterFacts(), at(10))
	if condition := got.Conditions().Get(awsv1.ConditionAMIsReady); !condition.IsFalse() || condition.Reason != awsv1.ReasonUnauthorized {
		t.Errorf("%+v", condition)
	}
}

// unreadable lets no parameter be read.
type unreadable struct{ *shelf }

func (unreadable) Parameter(context.Context, string) (string, error) {
	return "", &aws.UnauthorizedError{}
}

func TestImages_AnAliasSelectsThoseOfEKS(t *testing.T) {
	s, r, c := newShelf(awsv1.AMISelectorTerm{Alias: "al2023@latest"})
	s.parameters[al2023Parameter(family.Variant{Arch: "amd64", Kind: family.Nvidia})] = "ami-1"
	s.images = []aws.Image{{ID: "ami-1", Arch: "amd64"}}
	if got := r.observe(t.Context(), c).images; len(got) != 1 || got[0].variant.Kind != family.Nvidia || len(s.asked) != 1 {
		t.Errorf("got %+v, asked for %+v", got, s.asked)
	}
}
