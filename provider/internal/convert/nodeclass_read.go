package convert

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// NodeClassOf is the reverse of Spec. An attribute that means the same as in prior
// keeps its form from prior.
func NodeClassOf(ctx context.Context, spec awsv1.EC2NodeClassSpec, prior NodeClass, diags *diag.Diagnostics) NodeClass {
	was := prior.Spec(ctx, types.MapNull(types.StringType), diags)
	return NodeClass{
		SubnetSelectorTerms: keep(was.SubnetSelectorTerms, spec.SubnetSelectorTerms, prior.SubnetSelectorTerms,
			list(ctx, subnetTermType(), subnetTermOf, diags)),
		SecurityGroupSelectorTerms: keep(was.SecurityGroupSelectorTerms, spec.SecurityGroupSelectorTerms, prior.SecurityGroupSelectorTerms,
			list(ctx, securityGroupTermType(), securityGroupTermOf, diags)),
		CapacityReservationSelectorTerms: keep(was.CapacityReservationSelectorTerms, spec.CapacityReservationSelectorTerms, prior.CapacityReservationSelectorTerms,
			list(ctx, reservationTermType(), reservationTermOf, diags)),
		AMISelectorTerms: keep(was.AMISelectorTerms, spec.AMISelectorTerms, prior.AMISelectorTerms,
			list(ctx, amiTermType(), amiTermOf, diags)),
		BlockDeviceMappings: keep(was.BlockDeviceMappings, spec.BlockDeviceMappings, prior.BlockDeviceMappings,
			list(ctx, blockDeviceMappingType(), blockDeviceMappingOf(ctx, diags), diags)),
		AMIFamily:                stringValue(spec.AMIFamily),
		InstanceProfile:          stringValue(spec.InstanceProfile),
		Role:                     stringValue(spec.Role),
		UserData:                 keep(was.UserData, spec.UserData, prior.UserData, types.StringPointerValue),
		InstanceStorePolicy:      types.StringPointerValue(spec.InstanceStorePolicy),
		Context:                  types.StringPointerValue(spec.Context),
		DetailedMonitoring:       types.BoolPointerValue(spec.DetailedMonitoring),
		AssociatePublicIPAddress: types.BoolPointerValue(spec.AssociatePublicIPAddress),
		MetadataOptions: keep(was.MetadataOptions, spec.MetadataOptions, prior.MetadataOptions, func(m *awsv1.MetadataOptions) types.Object {
			return objectOf(ctx, MetadataOptionsType().AttrTypes, metadataOptionsOf(m), diags)
		}),
		Kubelet: keep(was.Kubelet, spec.Kubelet, prior.Kubelet, func(k *awsv1.KubeletConfiguration) types.Object {
			return objectOf(ctx, kubeletType().AttrTypes, kubeletOf(ctx, k, diags), diags)
		}),
	}
}

func subnetTermOf(t awsv1.SubnetSelectorTerm) subnetTerm {
	return subnetTerm{Tags: StringMap(t.Tags), ID: stringValue(t.ID)}
}

func securityGroupTermOf(t awsv1.SecurityGroupSelectorTerm) securityGroupTerm {
	return securityGroupTerm{Tags: StringMap(t.Tags), ID: stringValue(t.ID), Name: stringValue(t.Name)}
}

func reservationTermOf(t awsv1.CapacityReservationSelectorTerm) reservationTerm {
	return reservationTerm{
		Tags: StringMap(t.Tags), ID: stringValue(t.ID), OwnerID: stringValue(t.OwnerID), InstanceMatchCriteria: stringValue(t.InstanceMatchCriteria),
	}
}

func amiTermOf(t awsv1.AMISelectorTerm) amiTerm {
	return amiTerm{
		Alias: stringValue(t.Alias), Tags: StringMap(t.Tags), ID: stringValue(t.ID), Name: stringValue(t.Name), Owner: stringValue(t.Owner),
		SSMParameter: stringValue(t.SSMParameter),
	}
}

func metadataOptionsOf(m *awsv1.MetadataOptions) *metadataOptions {
	if m == nil {
		return nil
	}
	return &metadataOptions{
		HTTPEndpoint: types.StringPointerValue(m.HTTPEndpoint), HTTPProtocolIPv6: types.StringPointerValue(m.HTTPProtocolIPv6),
		HTTPPutResponseHopLimit: types.Int64PointerValue(m.HTTPPutResponseHopLimit), HTTPTokens: types.StringPointerValue(m.HTTPTokens),
	}
}

func blockDeviceMappingOf(ctx context.Context, diags *diag.Diagnostics) func(awsv1.BlockDeviceMapping) blockDeviceMapping {
	return func(m awsv1.BlockDeviceMapping) blockDeviceMapping {
		out := blockDeviceMapping{DeviceName: types.StringPointerValue(m.DeviceName), RootVolume: types.BoolNull()}
		if m.RootVolume {
			out.RootVolume = types.BoolValue(true)
		}
		var device *blockDevice
		if e := m.EBS; e != nil {
			device = &blockDevice{
				VolumeSize: fwtype.Quantity().Null(), VolumeType: types.StringPointerValue(e.VolumeType),
				Encrypted: types.BoolPointerValue(e.Encrypted), DeleteOnTermination: types.BoolPointerValue(e.DeleteOnTermination),
				IOPS: types.Int64PointerValue(e.IOPS), Throughput: types.Int64PointerValue(e.Throughput), KMSKeyID: types.StringPointerValue(e.KMSKeyID),
				SnapshotID: types.StringPointerValue(e.SnapshotID), InitializationRate: types.Int32PointerValue(e.VolumeInitializationRate),
			}
			if !e.VolumeSize.IsZero() {
				device.VolumeSize = fwtype.Quantity().Value(e.VolumeSize.String())
			}
		}
		out.EBS = objectOf(ctx, ebsType().AttrTypes, device, diags)
		return out
	}
}
