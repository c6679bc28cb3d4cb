package nodeclass

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// The reasons of conditions that nobody can decide, as the service that knows does not answer. A
// network without a way to it is one where nothing else says why a class never gets ready.
const (
	reasonIAMUnreachable = "IAMUnreachable"
	reasonSSMUnreachable = "SSMUnreachable"
	reasonEC2Unreachable = "EC2Unreachable"
)

// isUnreachable says whether a condition has one of these reasons.
func isUnreachable(c v1.Condition) bool {
	return slices.Contains([]string{reasonIAMUnreachable, reasonSSMUnreachable, reasonEC2Unreachable}, c.Reason)
}

// errNoSSM says that SSM cannot be reached, so that the parameters of images cannot be read.
var errNoSSM = errors.New("SSM cannot be reached")

// setUnreached says what nobody can decide, and what to do about it. A class that is ready stays so:
// a service may be away for a while.
func setUnreached(class *awsv1.EC2NodeClass, conditions v1.ConditionSet, o observation, now time.Time) {
	const ec2 = "EC2 cannot be reached, so that nobody knows what these terms select: give the daemon a way to EC2, such as a VPC endpoint"
	set := func(condition string, err error, reason, message string) {
		c := conditions.Get(condition)
		if aws.Unanswered(err) && (!c.IsTrue() || c.ObservedGeneration != class.Generation) {
			conditions.Set(condition, metav1.ConditionUnknown, reason, message, now)
		}
	}
	set(awsv1.ConditionSubnetsReady, o.subnetsErr, reasonEC2Unreachable, "spec.subnetSelectorTerms: "+ec2)
	set(awsv1.ConditionSecurityGroupsReady, o.groupsErr, reasonEC2Unreachable, "spec.securityGroupSelectorTerms: "+ec2)
	set(awsv1.ConditionCapacityReservationsReady, o.reservationsErr, reasonEC2Unreachable, "spec.capacityReservationSelectorTerms: "+ec2)
	reason, message := reasonEC2Unreachable, ec2
	if errors.Is(o.imagesErr, errNoSSM) {
		reason = reasonSSMUnreachable
		message = fmt.Sprintf("SSM cannot be reached, which has the ids of the images (%s): give the daemon a way to SSM, such as a VPC endpoint, or select images by id, name or tags: then SSM is not asked", parametersOf(class.Spec))
	}
	set(awsv1.ConditionAMIsReady, o.imagesErr, reason, "spec.amiSelectorTerms: "+message)
	set(awsv1.ConditionInstanceProfileReady, o.profileErr, reasonIAMUnreachable, fmt.Sprintf(
		"spec.role: IAM cannot be reached, so that an instance profile of role %q can be neither found nor made: give the daemon a way to IAM, or name a profile with the role in spec.instanceProfile instead of spec.role: then IAM is not asked",
		class.Spec.Role))
}

// parametersOf names the terms that SSM is asked about.
func parametersOf(spec awsv1.EC2NodeClassSpec) string {
	var all []string
	for _, t := range spec.AMISelectorTerms {
		switch {
		case t.Alias != "":
			all = append(all, "alias "+t.Alias)
		case t.SSMParameter != "":
			all = append(all, "ssmParameter "+t.SSMParameter)
		}
	}
	return strings.Join(all, "; ")
}
