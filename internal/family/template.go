package family

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// LaunchTemplate is what the launch template of an instance has of its class: all but the
// image, the user data, and how the instance is bought.
func LaunchTemplate(class *awsv1.EC2NodeClass, owner awsspec.Owner) awsspec.LaunchTemplate {
	t := awsspec.LaunchTemplate{
		InstanceProfile: class.Status.InstanceProfile, Monitoring: value(class.Spec.DetailedMonitoring),
		AssociatePublicIP: class.Spec.AssociatePublicIPAddress, Tags: owner.Tags(class.Spec.Tags), BlockDevices: BlockDevices(class),
	}
	for _, g := range class.Status.SecurityGroups {
		t.SecurityGroupIDs = append(t.SecurityGroupIDs, g.ID)
	}
	if m := class.Spec.MetadataOptions; m != nil {
		t.Metadata = awsspec.Metadata{
			HTTPEndpoint: value(m.HTTPEndpoint), HTTPProtocolIPv6: value(m.HTTPProtocolIPv6),
			HTTPTokens: value(m.HTTPTokens), HopLimit: value(m.HTTPPutResponseHopLimit),
		}
	}
	return t
}

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
