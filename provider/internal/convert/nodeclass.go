package convert

import (
	"context"
	"maps"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

// NodeClass has the attributes of a node class that are its spec, with the names and the types
// of its fields. The tags are not among them: they also depend on the provider's default tags.
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

// NodeClassAttributes are the schema's attributes of NodeClass. Only metadata_options is not
// made of its fields: the API has defaults there.
func NodeClassAttributes() map[string]schema.Attribute {
	out := nodeClassTexts().attributes(NodeClass{}, awsv1.EC2NodeClassSpec{})
	out["metadata_options"] = metadataOptionsAttribute()
	return out
}

func nodeClassTexts() texts {
	out := specTexts()
	maps.Copy(out, kubeletTexts())
	return out
}

func specTexts() texts {
	const selectorTags = "Tags that a selected object has, such as `karpenter_discovery_tags.<name>.selector_tags`. The object must have all of them. The value `*` matches any value."
	return texts{
		"subnet_selector_terms":      "Subnets of the instances. Each term selects subnets; all selected subnets are used.",
		"subnet_selector_terms.id":   "Id of a subnet. Set either `id` or `tags`.",
		"subnet_selector_terms.tags": selectorTags,

		"security_group_selector_terms":      "Security groups of the instances. Each term selects security groups; the instances get all of them.",
		"security_group_selector_terms.id":   "Id of a security group. Set one of `id`, `name` and `tags`.",
		"security_group_selector_terms.name": "Group name of a security group, which is not its `Name` tag. Set one of `id`, `name` and `tags`.",
		"security_group_selector_terms.tags": selectorTags,

		"capacity_reservation_selector_terms": "On-demand capacity reservations for instances of the node class. Each term selects reservations; all selected " +
			"reservations can be used. A node pool that allows the `karpenter.sh/capacity-type` `reserved` uses their free capacity before any other.",
		"capacity_reservation_selector_terms.id":                      "Id of a capacity reservation. A term with `id` has no other attribute.",
		"capacity_reservation_selector_terms.instance_match_criteria": "Which instances the reservation accepts: `open` or `targeted`.",
		"capacity_reservation_selector_terms.owner_id":                "Id of the AWS account that owns the reservation. Needs `tags` or `instance_match_criteria`.",
		"capacity_reservation_selector_terms.tags":                    selectorTags,

		"ami_selector_terms": "Images of the instances. One term with an alias selects the images that EKS publishes. Other terms select any images, and of each " +
			"architecture the newest one is used that is not deprecated.",
		"ami_selector_terms.alias": "Alias of the image: `al2023@latest`, `bottlerocket@latest` or `al2@latest`, or a release such as `al2023@v20260115` or `bottlerocket@v1.49.0`. " +
			"EKS has no images of `al2` from Kubernetes 1.33 on. A term with an alias is the only one.",
		"ami_selector_terms.id":    "Id of an image. A term with an id has nothing else.",
		"ami_selector_terms.name":  "Name of an image. It may have the wildcards `*` and `?`. Without `owner`, it is searched among the images of the account and of Amazon.",
		"ami_selector_terms.owner": "Account that owns the image, or `self`, `amazon` or `aws-marketplace`.",
		"ami_selector_terms.ssm_parameter": "Name or ARN of an SSM parameter that has the id of an image. The role of the daemon may read the public parameters below " +
			"`/aws/service/`. Another one belongs into `ami_ssm_parameter_arns` of `karpenter_controller_role`.",
		"ami_selector_terms.tags": selectorTags,

		"ami_family": "How instances join the cluster: `AL2023`, `Bottlerocket`, `AL2` or `Custom`. It follows from an alias; without one, set it, and " +
			"select images of that family. With `Custom`, `user_data` is all that an instance gets, and it must register the node with the taint " +
			"`karpenter.sh/unregistered:NoExecute`.",
		"instance_profile": "Name of the instance profile, `karpenter_instance_profile.<name>.name`. Set either `instance_profile` or `role`.",
		"role": "Name or ARN of the IAM role of the instances, such as `karpenter_node_role.<name>.name`. The daemon makes an instance " +
			"profile with the role, and removes it with the node class. `karpenter_controller_role` must allow the role, in `node_role_arn` or " +
			"`node_role_arns`. Set either `role` or `instance_profile`.",

		"block_device_mappings": "Volumes of the instances. Default: `/dev/xvda` with 20Gi, gp3, encrypted; of Bottlerocket `/dev/xvda` with 4Gi " +
			"and `/dev/xvdb` with 20Gi; of the family `Custom` those of the image.",
		"block_device_mappings.device_name":                    "Name of the device, such as `/dev/xvda`.",
		"block_device_mappings.root_volume":                    "Whether this volume holds the kubelet's ephemeral storage. `true` in at most one mapping.",
		"block_device_mappings.ebs":                            "The EBS volume.",
		"block_device_mappings.ebs.volume_size":                "Size in Gi, G, Ti or T, such as `100Gi`. It may be absent with `snapshot_id`.",
		"block_device_mappings.ebs.volume_type":                "Type of the volume: `gp3`, `gp2`, `io1`, `io2`, `st1`, `sc1` or `standard`.",
		"block_device_mappings.ebs.encrypted":                  "Encrypt the volume.",
		"block_device_mappings.ebs.delete_on_termination":      "Delete the volume with the instance.",
		"block_device_mappings.ebs.iops":                       "IOPS of gp3, io1 and io2 volumes.",
		"block_device_mappings.ebs.throughput":                 "Throughput of gp3 volumes, in MiB/s.",
		"block_device_mappings.ebs.kms_key_id":                 "Id, alias or ARN of the KMS key that encrypts the volume.",
		"block_device_mappings.ebs.snapshot_id":                "Id of the snapshot that the volume is made of.",
		"block_device_mappings.ebs.volume_initialization_rate": "How fast the snapshot is read, 100 to 300 MiB/s.",

		"user_data": "User data of the instances. For `AL2023`: a shell script, a NodeConfig or MIME multipart text, which runs before the part that the " +
			"daemon generates; for `AL2` the same without NodeConfigs; for `Bottlerocket`: settings in TOML, in which the daemon sets those of the node. The EC2NodeClass stores it in plain text: do not put secrets in it.",
		"detailed_monitoring":         "Send CloudWatch metrics at one-minute intervals. Default `false`.",
		"associate_public_ip_address": "Whether instances get public IP addresses. Without it, the setting of the subnet counts.",
		"instance_store_policy": "`RAID0` joins the instance store volumes of an instance to one file system, which has the ephemeral storage of its pods. " +
			"Instances without such volumes have it on the root volume. Default: the volumes are left alone.",
		"context": "Context that is handed to EC2 with each launch, for accounts that were given one.",
	}
}

func kubeletTexts() texts {
	return texts{
		"kubelet":             "Configuration of the kubelet. See [The kubelet](../guides/karpenter_api.md#the-kubelet).",
		"kubelet.cluster_dns": "IP addresses of the DNS servers that pods use. Default: the address that EKS gives to the cluster's DNS service.",
		"kubelet.max_pods": "Largest number of pods on a node, or an expression for it, such as `min(110, max_pods)`. " +
			"Default: the number that the network interfaces of the instance type allow.",
		"kubelet.pods_per_core": "Largest number of pods on a node for each of its vCPUs. It counts if the result is smaller " +
			"than `max_pods` or its default. `0` means no limit.",
		"kubelet.system_reserved": "What the kubelet keeps from pods for the system: quantities of `cpu`, `memory`, `ephemeral-storage` and `pid`, " +
			"such as `100m` and `100Mi`, or expressions such as `max_pods * 11`. Default: nothing.",
		"kubelet.kube_reserved": "What the kubelet keeps from pods for itself and the container runtime: quantities of `cpu`, `memory`, `ephemeral-storage` " +
			"and `pid`, or expressions such as `max_pods * 11`. Default of each: what Amazon Linux 2023 keeps, which depends on the instance type.",
		"kubelet.eviction_hard": "Thresholds below which the kubelet evicts pods at once, by signal: `memory.available`, `nodefs.available`, `nodefs.inodesFree`, " +
			"`imagefs.available`, `imagefs.inodesFree` and `pid.available`. A threshold is a quantity, such as `100Mi`, or a percentage of what the node has, such as `5%`. " +
			"Default: those of Amazon Linux 2023, among them `100Mi` of `memory.available` and `10%` of `nodefs.available`.",
		"kubelet.eviction_soft": "Thresholds below which the kubelet evicts pods after a time, by signal, as in `eviction_hard`. " +
			"Each signal needs its time in `eviction_soft_grace_period`. Default: none.",
		"kubelet.eviction_soft_grace_period": "Times after which the kubelet evicts pods, by signal in `eviction_soft`: durations such as `1m30s`.",
		"kubelet.eviction_max_pod_grace_period": "Longest time, in seconds, that a pod gets to end when the kubelet evicts it for a threshold in `eviction_soft`. " +
			"Default `0`: pods end at once.",
		"kubelet.image_gc_high_threshold_percent": "Use of the disk, 0 to 100 percent, above which the kubelet removes images that no container uses. " +
			"It is above `image_gc_low_threshold_percent`. Default `85`.",
		"kubelet.image_gc_low_threshold_percent": "Use of the disk, 0 to 100 percent, down to which the kubelet removes images. Default `80`.",
		"kubelet.cpu_cfs_quota":                  "Whether the kubelet enforces the CPU limits of containers. Default `true`.",
		"kubelet.extra": "Further fields of the kubelet's own configuration (`kubelet.config.k8s.io/v1beta1`), with its names, such as " +
			"`{ imageMaximumGCAge = \"10m\", featureGates = { NodeSwap = true } }`. With `AL2023` nodes get all of them, with `Bottlerocket` those that it has settings for, " +
			"and with `AL2` none is accepted.",
	}
}

func metadataOptionsAttribute() schema.Attribute {
	text := func(fallback, description string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(fallback),
			MarkdownDescription: description + " Default `" + fallback + "`.",
		}
	}
	return schema.SingleNestedAttribute{
		Optional: true, Computed: true, Default: objectdefault.StaticValue(DefaultMetadataOptions()),
		MarkdownDescription: "Options of the instance metadata service.",
		Attributes: map[string]schema.Attribute{
			"http_endpoint":      text("enabled", "The metadata service: `enabled` or `disabled`."),
			"http_protocol_ipv6": text("disabled", "The IPv6 endpoint of the metadata service: `enabled` or `disabled`."),
			"http_put_response_hop_limit": schema.Int64Attribute{
				Optional: true, Computed: true, Default: int64default.StaticInt64(1),
				MarkdownDescription: "Largest number of network hops of a response, 1 to 64. Pods without host networking need 2. Default `1`.",
			},
			"http_tokens": text("required", "Session tokens: `required` (IMDSv2 only) or `optional`."),
		},
	}
}

// DefaultMetadataOptions is the default of metadata_options: the API's own
// defaults.
func DefaultMetadataOptions() types.Object {
	return types.ObjectValueMust(objectTypeOf(reflect.TypeFor[awsv1.MetadataOptions]()).AttrTypes, map[string]attr.Value{
		"http_endpoint": types.StringValue("enabled"), "http_protocol_ipv6": types.StringValue("disabled"),
		"http_put_response_hop_limit": types.Int64Value(1), "http_tokens": types.StringValue("required"),
	})
}

// Spec is the wire form with the given tags.
func (c NodeClass) Spec(tags types.Map, diags *diag.Diagnostics) awsv1.EC2NodeClassSpec {
	spec := awsv1.EC2NodeClassSpec{Tags: Strings(tags)}
	write(c, diags, &spec)
	return spec
}

// NodeClassOf is the reverse of Spec. An attribute that means the same as in prior
// keeps its form from prior.
func NodeClassOf(ctx context.Context, spec awsv1.EC2NodeClassSpec, prior NodeClass, diags *diag.Diagnostics) NodeClass {
	was := prior.Spec(types.MapNull(types.StringType), diags)
	read(ctx, &prior, diags, []any{&was}, []any{&spec})
	return prior
}
