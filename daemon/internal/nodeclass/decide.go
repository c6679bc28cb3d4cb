package nodeclass

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// The product's own reasons.
const (
	reasonUserDataInvalid = "UserDataInvalid"         // the user data cannot be read
	reasonRefused         = "Refused"                 // of a class in memory: what it is made of cannot be served
	reasonProfileConflict = "InstanceProfileConflict" // somebody else's profile has the name
)

// maxTags is what is left of EC2's 50 tags for a resource beside those of the daemon.
const maxTags = 40

// facts are what decide needs in addition to the class and the observation.
type facts struct {
	cluster family.Cluster
	region  string
}

func (c Config) facts() facts {
	return facts{cluster: c.Cluster(), region: c.Region}
}

// verdict is the new state of a condition.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func failed(reason, format string, args ...any) *verdict {
	return &verdict{status: metav1.ConditionFalse, reason: reason, message: fmt.Sprintf(format, args...)}
}

// decide returns the class with the status that follows from the observation. It is
// pure. If a call failed for a temporary reason, its part of the status stays as it
// is, so that a throttled call does not stop launches.
func decide(class *awsv1.EC2NodeClass, o observation, f facts, now time.Time) *awsv1.EC2NodeClass {
	class = class.DeepCopy()
	status, conditions := &class.Status, class.Conditions()
	set := func(condition string, err error, resolved func() *verdict) {
		var refused *aws.UnauthorizedError
		switch {
		case errors.As(err, &refused):
			conditions.Set(condition, metav1.ConditionFalse, awsv1.ReasonUnauthorized,
				fmt.Sprintf("the daemon is %v: allow that in the policies of its role", refused), now)
		case err != nil && !errors.Is(err, aws.ErrNotFound):
		default:
			if v := resolved(); v != nil {
				conditions.Set(condition, v.status, v.reason, v.message, now)
			} else {
				conditions.SetTrue(condition, now)
			}
		}
	}
	// First, so that a class which has no such condition yet does not lose Ready in between.
	set(awsv1.ConditionPlacementGroupReady, nil, func() *verdict { return decidePlacementGroup(class.Spec) })
	set(awsv1.ConditionSubnetsReady, o.subnetsErr, func() *verdict { return decideSubnets(class.Spec, status, o.subnets) })
	set(awsv1.ConditionSecurityGroupsReady, o.groupsErr, func() *verdict { return decideGroups(class.Spec, status, o.groups) })
	set(awsv1.ConditionCapacityReservationsReady, o.reservationsErr, func() *verdict {
		status.CapacityReservations = reservations(o.reservations, now)
		return nil // a class may have no reservation
	})
	set(awsv1.ConditionAMIsReady, o.imagesErr, func() *verdict { return decideImages(class, status, o.images, f, now) })
	set(awsv1.ConditionInstanceProfileReady, o.profileErr, func() *verdict { return decideProfile(class, status, o, f) })
	setUnreached(class, conditions, o, now)
	set(awsv1.ConditionValidationSucceeded, nil, func() *verdict {
		v := validate(class, conditions, f)
		if o.expressions != nil && (v == nil || v.status == metav1.ConditionUnknown) {
			return failed(v1.ReasonUnsupportedField, "%v", o.expressions)
		}
		if v != nil || !profileFault(o.launchErr) {
			return v
		}
		return &verdict{
			status: metav1.ConditionUnknown, reason: awsv1.ReasonInstanceProfileNotFound,
			message: "waiting until EC2 knows the instance profile and its role",
		}
	})
	if o.launchAsked {
		set(awsv1.ConditionLaunchPermitted, nil, func() *verdict { return decideLaunch(o.launchErr) })
	}
	if o.catalogue.Known {
		set(awsv1.ConditionCatalogueCurrent, nil, func() *verdict { return decideCatalogue(o.catalogue) })
	}
	if unsupported := translate.UnsupportedOfClass(class); len(unsupported) > 0 {
		conditions.Set(v1.ConditionUnsupported, metav1.ConditionTrue, v1.ReasonUnsupportedField, translate.Sentences(unsupported), now)
	} else {
		conditions.Clear(v1.ConditionUnsupported)
	}
	return class
}

// decidePlacementGroup says why a placement group keeps no node from being launched.
func decidePlacementGroup(spec awsv1.EC2NodeClassSpec) *verdict {
	if spec.PlacementGroupSelector == nil {
		return nil
	}
	return &verdict{
		status: metav1.ConditionTrue, reason: v1.ReasonUnsupportedField,
		message: "spec.placementGroupSelector is not carried out, and keeps no node from being launched: see condition " + v1.ConditionUnsupported,
	}
}

func decideCatalogue(s market.State) *verdict {
	if s.Reason == "" && s.Message == "" {
		return nil
	}
	if s.Reason == "" {
		return &verdict{status: metav1.ConditionTrue, reason: awsv1.ConditionCatalogueCurrent, message: s.Message}
	}
	return failed(s.Reason, "%s", s.Message)
}

func decideSubnets(spec awsv1.EC2NodeClassSpec, status *awsv1.EC2NodeClassStatus, found []aws.Subnet) *verdict {
	status.Subnets = nil
	for _, s := range found {
		status.Subnets = append(status.Subnets, awsv1.Subnet{ID: s.ID, Zone: s.Zone, ZoneID: s.ZoneID, PublicIPs: s.PublicIPs})
	}
	if len(found) > 0 {
		return nil
	}
	var terms []string
	for _, t := range spec.SubnetSelectorTerms {
		terms = append(terms, term(t.ID, "", t.Tags))
	}
	return failed(awsv1.ReasonSubnetsNotFound, "spec.subnetSelectorTerms selected no subnet (%s): correct the terms, or tag the subnets", strings.Join(terms, "; "))
}

func decideGroups(spec awsv1.EC2NodeClassSpec, status *awsv1.EC2NodeClassStatus, found []aws.SecurityGroup) *verdict {
	status.SecurityGroups = nil
	for _, g := range found {
		status.SecurityGroups = append(status.SecurityGroups, awsv1.SecurityGroup{ID: g.ID, Name: g.Name})
	}
	if len(found) > 0 {
		return nil
	}
	var terms []string
	for _, t := range spec.SecurityGroupSelectorTerms {
		terms = append(terms, term(t.ID, t.Name, t.Tags))
	}
	return failed(awsv1.ReasonSecurityGroupsNotFound, "spec.securityGroupSelectorTerms selected no security group (%s): correct the terms, or tag the groups", strings.Join(terms, "; "))
}

// term describes a selector term for a message.
func term(id, name string, tags map[string]string) string {
	switch {
	case id != "":
		return "id " + id
	case name != "":
		return "name " + name
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		parts = append(parts, key+"="+tags[key])
	}
	return "tags " + strings.Join(parts, ", ")
}

// imageTerm describes a selector term of images for a message.
func imageTerm(t awsv1.AMISelectorTerm) string {
	var parts []string
	for _, x := range []struct{ name, value string }{{"ssmParameter", t.SSMParameter}, {"id", t.ID}, {"name", t.Name}, {"owner", t.Owner}} {
		if x.value != "" {
			parts = append(parts, x.name+" "+x.value)
		}
	}
	if len(t.Tags) > 0 {
		parts = append(parts, term("", "", t.Tags))
	}
	return strings.Join(parts, ", ")
}

// expiry is how long before its end a capacity block counts as expiring. EC2 begins to
// terminate its instances 30 minutes before the end.
const expiry = 40 * time.Minute

// reservations lists the capacity reservations that have not ended, in the order
// given. It leaves out a reservation with a type or match criterion that the
// EC2NodeClass API does not have.
func reservations(found []aws.CapacityReservation, now time.Time) []awsv1.CapacityReservation {
	var out []awsv1.CapacityReservation
	for _, r := range found {
		entry := awsv1.CapacityReservation{
			AvailabilityZone: r.Zone, ID: r.ID, InstanceMatchCriteria: r.Match, InstanceType: r.InstanceType, OwnerID: r.OwnerID,
			ReservationType: r.Type, Interruptible: r.Interruptible, State: awsv1.ReservationActive,
		}
		if !r.End.IsZero() {
			entry.EndTime = &metav1.Time{Time: r.End}
		}
		known := (r.Match == "open" || r.Match == "targeted") && (r.Type == awsv1.ReservationDefault || r.Type == awsv1.ReservationCapacityBlock)
		if !known || entry.EndTime != nil && !r.End.After(now) {
			continue
		}
		if r.Type == awsv1.ReservationCapacityBlock && entry.EndTime != nil && !now.Before(r.End.Add(-expiry)) {
			entry.State = awsv1.ReservationExpiring
		}
		out = append(out, entry)
	}
	return out
}

func decideImages(class *awsv1.EC2NodeClass, status *awsv1.EC2NodeClassStatus, found []image, f facts, now time.Time) *verdict {
	status.AMIs = nil
	alias, is, err := family.AliasOf(class)
	if err != nil {
		return failed(awsv1.ReasonUnsupportedAlias, "spec.amiSelectorTerms: %v", err)
	}
	for _, i := range found {
		status.AMIs = append(status.AMIs, awsv1.AMI{
			ID: i.ID, Name: i.Name, Deprecated: i.DeprecatedAt(now), Requirements: requirements(i.variant),
		})
	}
	if len(found) > 0 {
		return nil
	}
	if !is {
		var terms []string
		for _, t := range class.Spec.AMISelectorTerms {
			terms = append(terms, imageTerm(t))
		}
		return failed(awsv1.ReasonAMINotFound,
			"spec.amiSelectorTerms selected no available image for amd64 or arm64 (%s): correct the terms, share the image with this account, or copy it to this region", strings.Join(terms, "; "))
	}
	remedy := fmt.Sprintf("use %s, or a release that was published for that Kubernetes version", family.Alias{Family: alias.Family, Release: family.Latest})
	if alias.Release == family.Latest {
		remedy = "no image of that family is published for that Kubernetes version here: use another family, such as al2023 or bottlerocket"
	}
	return failed(awsv1.ReasonAMINotFound, "spec.amiSelectorTerms: alias %q has no image for Kubernetes %s (SSM parameter %s and those of the other variants): %s",
		alias, f.cluster.Kubernetes, alias.Parameters(f.cluster.Kubernetes)[0].Name, remedy)
}

// requirements select the instance types that an image is made for. They are sorted
// by the length of the key and then by key, as Karpenter sorts them.
func requirements(v family.Variant) []awsv1.AMIRequirement {
	requirement := func(key, operator string, values ...string) awsv1.AMIRequirement {
		return awsv1.AMIRequirement{Key: key, Operator: operator, Values: values}
	}
	out := []awsv1.AMIRequirement{requirement("kubernetes.io/arch", "In", v.Arch)}
	switch v.Kind {
	case family.Standard:
		out = append(out, requirement(awsv1.LabelInstanceGPUCount, "DoesNotExist"), requirement(awsv1.LabelInstanceAcceleratorCount, "DoesNotExist"))
	case family.Nvidia:
		out = append(out, requirement(awsv1.LabelInstanceGPUCount, "Exists"))
	case family.Neuron:
		out = append(out, requirement(awsv1.LabelInstanceAcceleratorCount, "Exists"))
	}
	slices.SortFunc(out, func(a, b awsv1.AMIRequirement) int {
		if len(a.Key) != len(b.Key) {
			return len(a.Key) - len(b.Key)
		}
		return strings.Compare(a.Key, b.Key)
	})
	return out
}

func decideProfile(class *awsv1.EC2NodeClass, status *awsv1.EC2NodeClassStatus, o observation, f facts) *verdict {
	status.InstanceProfile = ""
	decided := decideNamedProfile(class.Spec, o.launchErr)
	if class.Spec.Role != "" {
		decided = decideRoleProfile(class, o.profile, o.profileErr, f)
	}
	if decided == nil || decided.status == metav1.ConditionTrue {
		status.InstanceProfile = o.profile.Name
	}
	return decided
}

// decideNamedProfile decides by what EC2 says of a launch with the profile.
func decideNamedProfile(spec awsv1.EC2NodeClassSpec, launch error) *verdict {
	switch {
	case spec.InstanceProfile == "":
		return failed(awsv1.ReasonInstanceProfileNotFound, "spec.instanceProfile and spec.role: are missing: name the node role, or an instance profile with it")
	case errors.Is(launch, aws.ErrProfileUnknown):
		return failed(awsv1.ReasonInstanceProfileNotFound, "spec.instanceProfile: instance profile %q does not exist: create it, or correct the name", spec.InstanceProfile)
	case errors.Is(launch, aws.ErrProfileEmpty):
		return failed(awsv1.ReasonInstanceProfileNotFound, "spec.instanceProfile: instance profile %q has no role: add the node role to it", spec.InstanceProfile)
	}
	return nil
}

// validate checks the class itself, and then the other conditions.
func validate(class *awsv1.EC2NodeClass, conditions v1.ConditionSet, f facts) *verdict {
	if refused := translate.RefusedOfClass(class); len(refused) > 0 {
		return failed(v1.ReasonUnsupportedField, "%s", translate.Sentences(refused))
	}
	if n := len(class.Spec.Tags); n > maxTags {
		return failed(awsv1.ReasonTagValidationFailed, "spec.tags: has %d tags, and EC2 takes %d beside those of the daemon: remove some", n, maxTags)
	}
	for _, key := range slices.Sorted(maps.Keys(class.Spec.Tags)) {
		if err := awsspec.CheckUserTag(key, class.Spec.Tags[key]); err != nil {
			return failed(awsv1.ReasonTagValidationFailed, "spec.tags: %v", err)
		}
	}
	if f.cluster.ServiceCIDR == "" && family.NeedsServiceCIDR(class) {
		return failed(awsv1.ReasonClusterCIDRFailed, "cluster %q: EKS reports no service CIDR, which nodes of the family AL2023 need, and those of AL2 and Bottlerocket without spec.kubelet.clusterDNS: check the cluster's Kubernetes network configuration, and whether the daemon reaches EKS", f.cluster.Name)
	}
	if v := validateUserData(class, f.cluster); v != nil {
		return v
	}
	status, waits := metav1.ConditionTrue, "waiting for AWS: not every subnet, security group, image, capacity reservation and instance profile is known yet"
	for _, dependency := range []string{awsv1.ConditionSubnetsReady, awsv1.ConditionSecurityGroupsReady, awsv1.ConditionAMIsReady, awsv1.ConditionCapacityReservationsReady, awsv1.ConditionInstanceProfileReady} {
		c := conditions.Get(dependency)
		current := c.ObservedGeneration == class.Generation
		switch {
		case current && c.IsFalse():
			return failed(awsv1.ReasonDependenciesNotReady, "condition %s is False: see its message", dependency)
		case !current || !c.IsTrue():
			status = metav1.ConditionUnknown
			if isUnreachable(c) {
				waits = fmt.Sprintf("condition %s is Unknown: see its message", dependency)
			}
		}
	}
	if status == metav1.ConditionUnknown {
		return &verdict{status: status, reason: awsv1.ReasonDependenciesNotReady, message: waits}
	}
	return nil
}

// decideLaunch says why EC2 would refuse a launch; see mayLaunch. The class is ready
// nevertheless: policies may look at what only a real launch has.
func decideLaunch(err error) *verdict {
	var refused *aws.UnauthorizedError
	if !errors.As(err, &refused) {
		return nil
	}
	return failed(awsv1.ReasonUnauthorized, "the daemon is %v, so launches from this class fail: allow that in the policies of its role, and in those that your organization has for the account", refused)
}

// validateUserData renders the user data as a launch does, but without labels and
// taints, which only a NodeClaim has.
func validateUserData(class *awsv1.EC2NodeClass, cluster family.Cluster) *verdict {
	images := family.Of(class)
	generated := class.DeepCopy()
	generated.Spec.UserData = nil
	own, err := images.UserData(family.Node{Cluster: cluster, Class: generated})
	if err != nil {
		return failed(reasonUserDataInvalid, "generated part of the user data: %v", err)
	}
	if class.Spec.UserData == nil {
		return nil
	}
	if _, err := images.UserData(family.Node{Cluster: cluster, Class: class}); err != nil {
		reason := reasonUserDataInvalid
		if len(own)+len(*class.Spec.UserData) > family.MaxUserDataBytes {
			reason = awsv1.ReasonUserDataSizeLimitExceeded
		}
		return failed(reason, "spec.userData: %v", err)
	}
	return nil
}
