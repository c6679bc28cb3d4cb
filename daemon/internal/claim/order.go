package claim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// order is what is asked of EC2 for one NodeClaim.
type order struct {
	request aws.LaunchRequest // without the token
	every   []aws.Override    // all that the NodeClaim admits, without templates; the request has some of them
	types   map[string]catalog.InstanceType
	by      templates // of all types that anybody has asked for
	tenancy string
	stamp   map[string]string // annotations that say which spec of the class this is, and with which instance profile
	// allows says whether NodeClaim and class allow the override, whether EC2 has capacity for
	// it now or not.
	allows func(aws.Override) bool
}

// order makes the request for the NodeClaim from its class. The error names what is
// missing or not ready.
func (c *Controller) order(claim *v1.NodeClaim) (order, error) {
	ref := claim.Spec.NodeClassRef.Name
	class, ok := c.World.EC2NodeClass(ref)
	if !ok {
		return order{}, fmt.Errorf("ec2nodeclass %s does not exist: create it", ref)
	}
	view, _ := c.World.TypesOf(ref)
	if !view.Ready {
		return order{}, fmt.Errorf("ec2nodeclass %s is not ready: %s", ref, view.NotReady)
	}
	return makeOrder(claim, c.byRoom(claim, class), view.Types, c.Cluster())
}

// makeOrder is pure.
func makeOrder(claim *v1.NodeClaim, class *awsv1.EC2NodeClass, types []catalog.InstanceType, facts family.Cluster) (order, error) {
	translated, err := translate.Claim(claim)
	if err != nil {
		return order{}, err
	}
	o := order{types: map[string]catalog.InstanceType{}, stamp: drift.ClassStamp(class)}
	o.stamp[awsv1.AnnotationInstanceProfile] = class.Status.InstanceProfile
	fitting := suited(translated, types)
	capacityType, reservation, err := capacityOf(translated, class, fitting)
	if err != nil {
		return order{}, err
	}
	if o.tenancy, err = tenancyOf(translated, reservation); err != nil {
		return order{}, err
	}
	owner := awsspec.Owner{Cluster: facts.Name, NodePool: translated.Pool, NodeClass: class.Name}
	o.request = aws.LaunchRequest{CapacityType: capacityType, Reservation: reservation, Tags: owner.InstanceTags(class.Spec.Tags, claim.Name, string(claim.UID))}
	if class.Spec.Context != nil {
		o.request.Context = *class.Spec.Context
	}
	if others := suited(cluster.Claim{Requirements: translated.Requirements}, types); len(fitting) == 0 && len(others) > 0 {
		if !mayHaveInstance(claim) {
			return order{}, fmt.Errorf("nodeclaim %s: no instance type of EC2NodeClass %s holds what it requests (%s): delete it, and create one with smaller spec.resources.requests, or with requirements that admit larger types", claim.Name, class.Name, translated.Requests)
		}
		fitting = others // the instance is there, whatever is known of its type by now
	}
	for _, t := range fitting {
		overrides := overridesOf(translated, class, t, capacityType, reservation)
		if len(overrides) > 0 {
			o.types[t.Name] = t
			o.request.Overrides = append(o.request.Overrides, overrides...)
		}
	}
	if len(o.request.Overrides) == 0 && reservation != "" {
		return order{}, fmt.Errorf("nodeclaim %s: %s: %w", claim.Name, reservation, errReservationEnded)
	}
	if len(o.request.Overrides) == 0 {
		return order{}, fmt.Errorf("nodeclaim %s: EC2NodeClass %s has no subnet, image and offering for any of its instance types: correct the selector terms of the class, or the requirements", claim.Name, class.Name)
	}
	// Every override has its image. That of the template must not follow from prices, or
	// each change of them made another template. So it is chosen among all types.
	first := slices.MinFunc(o.request.Overrides, byPlace)
	slices.SortFunc(o.request.Overrides, func(a, b aws.Override) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), byPlace(a, b))
	})
	o.by = templatesOf(claim, class, facts, capacityType, owner, o.types)
	o.by.base.ImageID, o.by.base.Reservation, o.by.base.Dedicated = first.ImageID, reservation, o.tenancy == label.Dedicated
	o.every, o.request.Overrides = o.request.Overrides, narrowed(claim, o.request.Overrides, o.types, o.by.told)
	err = o.name(first)
	o.allows = func(x aws.Override) bool { return allows(translated, class, types, x) && o.named(types, x) }
	return o, err
}

// tenancyOf is the tenancy of the NodeClaim's instance. Reservations that a NodeClaim can
// name are of shared hardware.
func tenancyOf(claim cluster.Claim, reservation string) (string, error) {
	tenancy := translate.Tenancy(claim.Requirements, claim.Labels)
	switch {
	case tenancy == "":
		return "", fmt.Errorf("nodeclaim %s: its requirement on %s admits neither %s nor %s: correct it; dedicated hosts are not supported", claim.Name, label.Tenancy, label.SharedTenancy, label.Dedicated)
	case tenancy == label.Dedicated && reservation != "":
		return "", fmt.Errorf("nodeclaim %s: capacity reservation %s is of shared hardware, and %s is %s: remove the requirement on one of them", claim.Name, reservation, label.Tenancy, label.Dedicated)
	}
	return tenancy, nil
}

// capacityOf is how the NodeClaim's instance is paid for. A NodeClaim that somebody has written
// may admit several ways, or say nothing: as with Karpenter, the reservation that it names comes
// first, then spot where one of the types is for sale as such, and then on-demand.
func capacityOf(claim cluster.Claim, class *awsv1.EC2NodeClass, types []catalog.InstanceType) (capacityType, reservation string, err error) {
	admits := func(x string) bool { return claim.Requirements.Admits(label.CapacityType, x) }
	spot := admits(label.Spot) && slices.ContainsFunc(types, func(t catalog.InstanceType) bool {
		return len(overridesOf(claim, class, t, label.Spot, "")) > 0
	})
	switch {
	case admits(label.Reserved) && claim.Reservation != "":
		return label.Reserved, claim.Reservation, nil
	case spot:
		return label.Spot, "", nil
	case admits(label.OnDemand):
		return label.OnDemand, "", nil
	case admits(label.Spot):
		return label.Spot, "", nil // nothing is for sale, which an error says
	case admits(label.Reserved):
		return "", "", fmt.Errorf("nodeclaim %s: capacity type %s needs a requirement on %s: add one with the reservation's id", claim.Name, label.Reserved, label.Reservation)
	}
	return "", "", fmt.Errorf("nodeclaim %s: its requirement on %s admits none of %s, %s and %s: correct it", claim.Name, label.CapacityType, label.Spot, label.OnDemand, label.Reserved)
}

// overridesOf lists the instance type in every zone that the NodeClaim admits and the
// class has a subnet in. If a zone has several subnets, it takes the one with the most
// free addresses, which the status lists first.
func overridesOf(claim cluster.Claim, class *awsv1.EC2NodeClass, t catalog.InstanceType, capacityType, reservation string) []aws.Override {
	image, ok := translate.ImageFor(class, t.Labels)
	if !ok || !claim.Requirements.Admits(label.InstanceType, t.Name) {
		return nil
	}
	var out []aws.Override
	for _, x := range t.Offerings {
		if x.CapacityType != capacityType || x.Reservation != reservation || !x.Available {
			continue
		}
		for _, s := range class.Status.Subnets {
			if s.Zone == x.Zone && admitsPlace(claim, s) {
				out = append(out, aws.Override{
					InstanceType: t.Name, Zone: x.Zone, SubnetID: s.ID, ImageID: image,
					Priority: float64(x.Price) / quantity.NanoDollars,
				})
				break
			}
		}
	}
	return out
}

func allows(claim cluster.Claim, class *awsv1.EC2NodeClass, types []catalog.InstanceType, x aws.Override) bool {
	i := slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == x.InstanceType })
	if i < 0 || !claim.Requirements.Admits(label.InstanceType, x.InstanceType) {
		return false
	}
	image, ok := translate.ImageFor(class, types[i].Labels)
	return ok && image == x.ImageID && slices.ContainsFunc(class.Status.Subnets, func(s awsv1.Subnet) bool { return s.ID == x.SubnetID && s.Zone == x.Zone && admitsPlace(claim, s) })
}

// admitsPlace says whether the NodeClaim admits the zone of a subnet, by its name and by its id.
func admitsPlace(claim cluster.Claim, s awsv1.Subnet) bool {
	return claim.Requirements.Admits(label.Zone, s.Zone) && (s.ZoneID == "" || claim.Requirements.Admits(label.ZoneID, s.ZoneID))
}

// mayHaveInstance says whether EC2 may have launched an instance for the NodeClaim already.
func mayHaveInstance(claim *v1.NodeClaim) bool {
	return claim.Status.ProviderID != "" || claim.Annotations[v1.AnnotationLaunchAttempt] != "" || madeByKarpenter(claim)
}
