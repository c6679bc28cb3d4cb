package convert

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

// NodeClass has the attributes of a node class that are its spec. The tags are not
// among them: they also depend on the provider's default tags.
type NodeClass struct {
	SubnetSelectorTerms              types.List   `tfsdk:"subnet_selector_terms"`
	SecurityGroupSelectorTerms       types.List   `tfsdk:"security_group_selector_terms"`
	CapacityReservationSelectorTerms types.List   `tfsdk:"capacity_reservation_selector_terms"`
	AMISelectorTerms                 types.List   `tfsdk:"ami_selector_terms"`
	AMIFamily                        types.String `tfsdk:"ami_family"`
	InstanceProfile                  types.String `tfsdk:"instance_profile"`
	Role                             types.String `tfsdk:"role"`
	MetadataOptions                  types.Object `tfsdk:"metadata_options"`
	BlockDeviceMappings              types.List   `tfsdk:"block_device_mappings"`
	UserData                         types.String `tfsdk:"user_data"`
	DetailedMonitoring               types.Bool   `tfsdk:"detailed_monitoring"`
	AssociatePublicIPAddress         types.Bool   `tfsdk:"associate_public_ip_address"`
	Kubelet                          types.Object `tfsdk:"kubelet"`
	InstanceStorePolicy              types.String `tfsdk:"instance_store_policy"`
	Context                          types.String `tfsdk:"context"`
}

type subnetTerm struct {
	Tags types.Map    `tfsdk:"tags"`
	ID   types.String `tfsdk:"id"`
}

type securityGroupTerm struct {
	Tags types.Map    `tfsdk:"tags"`
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
}

type reservationTerm struct {
	Tags                  types.Map    `tfsdk:"tags"`
	ID                    types.String `tfsdk:"id"`
	OwnerID               types.String `tfsdk:"owner_id"`
	InstanceMatchCriteria types.String `tfsdk:"instance_match_criteria"`
}

type amiTerm struct {
	Alias        types.String `tfsdk:"alias"`
	Tags         types.Map    `tfsdk:"tags"`
	ID           types.String `tfsdk:"id"`
	Name         types.String `tfsdk:"name"`
	Owner        types.String `tfsdk:"owner"`
	SSMParameter types.String `tfsdk:"ssm_parameter"`
}

type metadataOptions struct {
	HTTPEndpoint            types.String `tfsdk:"http_endpoint"`
	HTTPProtocolIPv6        types.String `tfsdk:"http_protocol_ipv6"`
	HTTPPutResponseHopLimit types.Int64  `tfsdk:"http_put_response_hop_limit"`
	HTTPTokens              types.String `tfsdk:"http_tokens"`
}

type blockDeviceMapping struct {
	DeviceName types.String `tfsdk:"device_name"`
	RootVolume types.Bool   `tfsdk:"root_volume"`
	EBS        types.Object `tfsdk:"ebs"`
}

type blockDevice struct {
	VolumeSize          fwtype.Value `tfsdk:"volume_size"`
	VolumeType          types.String `tfsdk:"volume_type"`
	Encrypted           types.Bool   `tfsdk:"encrypted"`
	DeleteOnTermination types.Bool   `tfsdk:"delete_on_termination"`
	IOPS                types.Int64  `tfsdk:"iops"`
	Throughput          types.Int64  `tfsdk:"throughput"`
	KMSKeyID            types.String `tfsdk:"kms_key_id"`
	SnapshotID          types.String `tfsdk:"snapshot_id"`
	InitializationRate  types.Int32  `tfsdk:"volume_initialization_rate"`
}

func objectType(attributes map[string]attr.Type) types.ObjectType {
	return types.ObjectType{AttrTypes: attributes}
}

func subnetTermType() types.ObjectType {
	return objectType(map[string]attr.Type{"tags": types.MapType{ElemType: types.StringType}, "id": types.StringType})
}

func securityGroupTermType() types.ObjectType {
	return objectType(map[string]attr.Type{"tags": types.MapType{ElemType: types.StringType}, "id": types.StringType, "name": types.StringType})
}

func reservationTermType() types.ObjectType {
	return objectType(map[string]attr.Type{
		"tags": types.MapType{ElemType: types.StringType}, "id": types.StringType, "owner_id": types.StringType, "instance_match_criteria": types.StringType,
	})
}

func amiTermType() types.ObjectType {
	return objectType(map[string]attr.Type{
		"alias": types.StringType, "tags": types.MapType{ElemType: types.StringType}, "id": types.StringType, "name": types.StringType,
		"owner": types.StringType, "ssm_parameter": types.StringType,
	})
}

// MetadataOptionsType is the type of metadata_options.
func MetadataOptionsType() types.ObjectType {
	return objectType(map[string]attr.Type{
		"http_endpoint": types.StringType, "http_protocol_ipv6": types.StringType,
		"http_put_response_hop_limit": types.Int64Type, "http_tokens": types.StringType,
	})
}

// DefaultMetadataOptions is the default of metadata_options: the API's own
// defaults.
func DefaultMetadataOptions() types.Object {
	return types.ObjectValueMust(MetadataOptionsType().AttrTypes, map[string]attr.Value{
		"http_endpoint": types.StringValue("enabled"), "http_protocol_ipv6": types.StringValue("disabled"),
		"http_put_response_hop_limit": types.Int64Value(1), "http_tokens": types.StringValue("required"),
	})
}

func ebsType() types.ObjectType {
	return objectType(map[string]attr.Type{
		"volume_size": fwtype.Quantity(), "volume_type": types.StringType, "encrypted": types.BoolType,
		"delete_on_termination": types.BoolType, "iops": types.Int64Type, "throughput": types.Int64Type, "kms_key_id": types.StringType,
		"snapshot_id": types.StringType, "volume_initialization_rate": types.Int32Type,
	})
}

func blockDeviceMappingType() types.ObjectType {
	return objectType(map[string]attr.Type{"device_name": types.StringType, "root_volume": types.BoolType, "ebs": ebsType()})
}

// Spec is the wire form with the given tags.
func (c NodeClass) Spec(ctx context.Context, tags types.Map, diags *diag.Diagnostics) awsv1.EC2NodeClassSpec {
	spec := awsv1.EC2NodeClassSpec{
		AMIFamily:                c.AMIFamily.ValueString(),
		InstanceProfile:          c.InstanceProfile.ValueString(),
		Role:                     c.Role.ValueString(),
		Tags:                     Strings(tags),
		UserData:                 pointer(c.UserData, c.UserData.ValueString()),
		InstanceStorePolicy:      pointer(c.InstanceStorePolicy, c.InstanceStorePolicy.ValueString()),
		Context:                  pointer(c.Context, c.Context.ValueString()),
		DetailedMonitoring:       pointer(c.DetailedMonitoring, c.DetailedMonitoring.ValueBool()),
		AssociatePublicIPAddress: pointer(c.AssociatePublicIPAddress, c.AssociatePublicIPAddress.ValueBool()),
		Kubelet:                  kubeletConfiguration(ctx, c.Kubelet, diags),
	}
	for _, t := range elements[subnetTerm](ctx, c.SubnetSelectorTerms, diags) {
		spec.SubnetSelectorTerms = append(spec.SubnetSelectorTerms, awsv1.SubnetSelectorTerm{Tags: Strings(t.Tags), ID: t.ID.ValueString()})
	}
	for _, t := range elements[securityGroupTerm](ctx, c.SecurityGroupSelectorTerms, diags) {
		spec.SecurityGroupSelectorTerms = append(spec.SecurityGroupSelectorTerms,
			awsv1.SecurityGroupSelectorTerm{Tags: Strings(t.Tags), ID: t.ID.ValueString(), Name: t.Name.ValueString()})
	}
	for _, t := range elements[reservationTerm](ctx, c.CapacityReservationSelectorTerms, diags) {
		spec.CapacityReservationSelectorTerms = append(spec.CapacityReservationSelectorTerms, awsv1.CapacityReservationSelectorTerm{
			Tags: Strings(t.Tags), ID: t.ID.ValueString(), OwnerID: t.OwnerID.ValueString(), InstanceMatchCriteria: t.InstanceMatchCriteria.ValueString(),
		})
	}
	for _, t := range elements[amiTerm](ctx, c.AMISelectorTerms, diags) {
		spec.AMISelectorTerms = append(spec.AMISelectorTerms, awsv1.AMISelectorTerm{
			Alias: t.Alias.ValueString(), Tags: Strings(t.Tags), ID: t.ID.ValueString(), Name: t.Name.ValueString(), Owner: t.Owner.ValueString(),
			SSMParameter: t.SSMParameter.ValueString(),
		})
	}
	if m := object[metadataOptions](ctx, c.MetadataOptions, diags); m != nil {
		spec.MetadataOptions = &awsv1.MetadataOptions{
			HTTPEndpoint:            pointer(m.HTTPEndpoint, m.HTTPEndpoint.ValueString()),
			HTTPProtocolIPv6:        pointer(m.HTTPProtocolIPv6, m.HTTPProtocolIPv6.ValueString()),
			HTTPPutResponseHopLimit: pointer(m.HTTPPutResponseHopLimit, m.HTTPPutResponseHopLimit.ValueInt64()),
			HTTPTokens:              pointer(m.HTTPTokens, m.HTTPTokens.ValueString()),
		}
	}
	for _, m := range elements[blockDeviceMapping](ctx, c.BlockDeviceMappings, diags) {
		spec.BlockDeviceMappings = append(spec.BlockDeviceMappings, awsv1.BlockDeviceMapping{
			DeviceName: pointer(m.DeviceName, m.DeviceName.ValueString()), RootVolume: m.RootVolume.ValueBool(), EBS: ebs(ctx, m.EBS, diags),
		})
	}
	return spec
}

func ebs(ctx context.Context, o types.Object, diags *diag.Diagnostics) *awsv1.BlockDevice {
	e := object[blockDevice](ctx, o, diags)
	if e == nil {
		return nil
	}
	size, err := resource.ParseQuantity(e.VolumeSize.ValueString())
	switch {
	case e.VolumeSize.IsNull() && !e.SnapshotID.IsUnknown():
		size = resource.Quantity{}
	case err != nil: // not known yet
		return nil
	}
	return &awsv1.BlockDevice{
		VolumeSize: size, VolumeType: pointer(e.VolumeType, e.VolumeType.ValueString()), Encrypted: pointer(e.Encrypted, e.Encrypted.ValueBool()),
		DeleteOnTermination: pointer(e.DeleteOnTermination, e.DeleteOnTermination.ValueBool()),
		IOPS:                pointer(e.IOPS, e.IOPS.ValueInt64()), Throughput: pointer(e.Throughput, e.Throughput.ValueInt64()),
		KMSKeyID: pointer(e.KMSKeyID, e.KMSKeyID.ValueString()), SnapshotID: pointer(e.SnapshotID, e.SnapshotID.ValueString()),
		VolumeInitializationRate: pointer(e.InitializationRate, e.InitializationRate.ValueInt32()),
	}
}
