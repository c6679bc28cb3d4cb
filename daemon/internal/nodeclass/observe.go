package nodeclass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

// observation is what AWS answered about the resources that a class selects, and about
// its instance profile.
type observation struct {
	subnets         []aws.Subnet
	subnetsErr      error
	groups          []aws.SecurityGroup
	groupsErr       error
	reservations    []aws.CapacityReservation
	reservationsErr error
	asked           time.Time // when EC2 was asked
	images          []image
	imagesErr       error
	profile         aws.InstanceProfile
	profileErr      error // aws.ErrNotFound is an answer, not a failure
	launchAsked     bool  // whether EC2 has said if it allows a launch; see mayLaunch
	launchErr       error // why it does not
	catalogue       market.State
	expressions     error // what has no result for an instance type
}

// image is an image with the instance types that it is made for.
type image struct {
	aws.Image
	variant family.Variant
}

// temporary joins the errors that say nothing about the class: another try may succeed.
func (o observation) temporary() error {
	var problems []error
	for _, err := range []error{o.subnetsErr, o.groupsErr, o.reservationsErr, o.imagesErr, o.profileErr} {
		if err != nil && !errors.Is(err, aws.ErrNotFound) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// observe asks AWS about all that the class selects, at the same time.
func (r *Reconciler) observe(ctx context.Context, class *awsv1.EC2NodeClass) (o observation) {
	var subnets, groups []aws.Selector
	for _, t := range class.Spec.SubnetSelectorTerms {
		subnets = append(subnets, aws.Selector{ID: t.ID, Tags: t.Tags})
	}
	for _, t := range class.Spec.SecurityGroupSelectorTerms {
		groups = append(groups, aws.Selector{ID: t.ID, Name: t.Name, Tags: t.Tags})
	}
	o.asked = r.Now()
	var asking sync.WaitGroup
	asking.Go(func() { o.subnets, o.subnetsErr = r.Cloud.Subnets(ctx, subnets) })
	asking.Go(func() { o.groups, o.groupsErr = r.Cloud.SecurityGroups(ctx, groups) })
	if terms := class.Spec.CapacityReservationSelectorTerms; len(terms) > 0 {
		asking.Go(func() {
			o.reservations, o.reservationsErr = r.Cloud.CapacityReservations(ctx, reservationSelectors(terms))
		})
	}
	since := r.answers.since(class, r.Now())
	asking.Go(func() { o.images, o.imagesErr = r.images(ctx, class, since) })
	asking.Go(func() { o.profile, o.profileErr = r.profile(ctx, class) })
	o.catalogue, o.expressions = r.Catalogue(), r.Expressions(class)
	asking.Wait()
	return o
}

func reservationSelectors(terms []awsv1.CapacityReservationSelectorTerm) []aws.ReservationSelector {
	out := make([]aws.ReservationSelector, len(terms))
	for i, t := range terms {
		out[i] = aws.ReservationSelector{ID: t.ID, OwnerID: t.OwnerID, Match: t.InstanceMatchCriteria, Tags: t.Tags}
	}
	return out
}

// images finds the images of a class. Parameters count that SSM has said since then.
func (r *Reconciler) images(ctx context.Context, class *awsv1.EC2NodeClass, since time.Time) ([]image, error) {
	alias, is, err := family.AliasOf(class)
	switch {
	case !is:
		return r.termImages(ctx, class.Spec.AMISelectorTerms, since)
	case err == nil:
		return r.aliasImages(ctx, alias, since)
	}
	return nil, nil // decideImages says what is wrong with the alias
}

// parameterWithin bounds a call to SSM: a network without a way there must not keep what EC2 says
// from the status.
const parameterWithin = 10 * time.Second

// parameter reads the SSM parameter, unless SSM has said since then what counts still; empty if
// it does not exist.
func (r *Reconciler) parameter(ctx context.Context, name string, since time.Time) (string, error) {
	asked := r.Now()
	if value, known := r.answers.parameter(name, since, asked); known {
		return value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, parameterWithin)
	defer cancel()
	value, err := r.Cloud.Parameter(ctx, name)
	switch {
	case errors.Is(err, aws.ErrNotFound):
		value = ""
	case aws.Unanswered(err):
		return "", fmt.Errorf("%w: %w", errNoSSM, err)
	case err != nil:
		return "", err
	}
	r.answers.putParameter(name, value, asked)
	return value, nil
}

// named asks EC2 for images. Of those that it does not have, the parameters are asked for anew
// the next time.
func (r *Reconciler) named(ctx context.Context, selectors []aws.ImageSelector) ([]aws.Image, error) {
	found, err := r.Cloud.Images(ctx, selectors)
	if err != nil {
		return nil, err
	}
	lacking := map[string]bool{}
	for _, s := range selectors {
		if s.ID != "" && !slices.ContainsFunc(found, func(i aws.Image) bool { return i.ID == s.ID }) {
			lacking[s.ID] = true
		}
	}
	r.answers.forgetParameters(lacking)
	return found, nil
}

// termImages finds the images of terms without an alias. An image is for all types of its
// architecture, and one of those that are for the same types is used: one that is not
// deprecated, and the newest. It skips parameters that do not exist.
func (r *Reconciler) termImages(ctx context.Context, terms []awsv1.AMISelectorTerm, since time.Time) ([]image, error) {
	var selectors []aws.ImageSelector
	for _, t := range terms {
		if t.SSMParameter == "" {
			selectors = append(selectors, aws.ImageSelector{ID: t.ID, Name: t.Name, Owner: t.Owner, Tags: t.Tags})
			continue
		}
		switch id, err := r.parameter(ctx, t.SSMParameter, since); {
		case err != nil:
			return nil, err
		case id != "":
			selectors = append(selectors, aws.ImageSelector{ID: id})
		}
	}
	if len(selectors) == 0 {
		return nil, nil
	}
	found, err := r.named(ctx, selectors)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	slices.SortStableFunc(found, func(a, b aws.Image) int {
		rank := func(i aws.Image) int {
			if i.DeprecatedAt(now) {
				return 1
			}
			return 0
		}
		return cmp.Or(rank(a)-rank(b), b.Created.Compare(a.Created), strings.Compare(b.Name, a.Name))
	})
	var out []image
	for _, f := range found {
		if f.Arch != "" && !slices.ContainsFunc(out, func(i image) bool { return i.Arch == f.Arch }) {
			out = append(out, image{Image: f, variant: family.Variant{Arch: f.Arch}})
		}
	}
	return out, nil
}

// aliasImages finds the images of an alias. It skips parameters that do not exist, because
// not every release has every variant.
func (r *Reconciler) aliasImages(ctx context.Context, alias family.Alias, since time.Time) ([]image, error) {
	variants := map[string][]family.Variant{} // by image id
	var ids []aws.ImageSelector
	for _, p := range alias.Parameters(r.Cluster().Kubernetes) {
		switch id, err := r.parameter(ctx, p.Name, since); {
		case err != nil:
			return nil, err
		case id != "":
			ids = append(ids, aws.ImageSelector{ID: id})
			variants[id] = append(variants[id], p.Variants...)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := r.named(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []image
	for _, f := range found {
		for _, v := range variants[f.ID] {
			out = append(out, image{Image: f, variant: v})
		}
	}
	return out, nil
}
