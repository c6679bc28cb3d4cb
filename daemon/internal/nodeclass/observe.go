package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// observation is what AWS answered about the resources that a class selects.
type observation struct {
	subnets         []aws.Subnet
	subnetsErr      error
	groups          []aws.SecurityGroup
	groupsErr       error
	reservations    []aws.CapacityReservation
	reservationsErr error
	asked           time.Time // when EC2 was asked for reservations
	images          []image
	imagesErr       error
	profile         aws.InstanceProfile
	profileErr      error // aws.ErrNotFound is an answer, not a failure
}

// image is an image with the instance types that it is made for.
type image struct {
	aws.Image
	variant awsspec.Variant
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

func (r *Reconciler) observe(ctx context.Context, class *awsv1.EC2NodeClass) observation {
	var o observation
	var subnets, groups []aws.Selector
	for _, t := range class.Spec.SubnetSelectorTerms {
		subnets = append(subnets, aws.Selector{ID: t.ID, Tags: t.Tags})
	}
	for _, t := range class.Spec.SecurityGroupSelectorTerms {
		groups = append(groups, aws.Selector{ID: t.ID, Name: t.Name, Tags: t.Tags})
	}
	o.subnets, o.subnetsErr = r.Cloud.Subnets(ctx, subnets)
	o.groups, o.groupsErr = r.Cloud.SecurityGroups(ctx, groups)
	if terms := class.Spec.CapacityReservationSelectorTerms; len(terms) > 0 {
		o.asked = r.Now()
		o.reservations, o.reservationsErr = r.Cloud.CapacityReservations(ctx, reservationSelectors(terms))
	}
	if alias, err := aliasOf(class); err == nil {
		o.images, o.imagesErr = r.images(ctx, alias)
	}
	if name := class.Spec.InstanceProfile; name != "" {
		o.profile, o.profileErr = r.Cloud.GetInstanceProfile(ctx, name)
	}
	return o
}

func reservationSelectors(terms []awsv1.CapacityReservationSelectorTerm) []aws.ReservationSelector {
	out := make([]aws.ReservationSelector, len(terms))
	for i, t := range terms {
		out[i] = aws.ReservationSelector{ID: t.ID, OwnerID: t.OwnerID, Match: t.InstanceMatchCriteria, Tags: t.Tags}
	}
	return out
}

func aliasOf(class *awsv1.EC2NodeClass) (awsspec.Alias, error) {
	if n := len(class.Spec.AMISelectorTerms); n != 1 {
		return awsspec.Alias{}, fmt.Errorf("has %d terms: give one term, with an alias", n)
	}
	return awsspec.ParseAlias(class.Spec.AMISelectorTerms[0].Alias)
}

// images finds the images of an alias. It skips parameters that do not exist, because
// not every release has every variant.
func (r *Reconciler) images(ctx context.Context, alias awsspec.Alias) ([]image, error) {
	variants := map[string][]awsspec.Variant{} // by image id
	var ids []string
	for _, v := range awsspec.AL2023Variants() {
		id, err := r.Cloud.Parameter(ctx, awsspec.AL2023Parameter(r.Kubernetes, v, alias.Version))
		switch {
		case errors.Is(err, aws.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		}
		ids = append(ids, id)
		variants[id] = append(variants[id], v)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := r.Cloud.Images(ctx, ids)
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
