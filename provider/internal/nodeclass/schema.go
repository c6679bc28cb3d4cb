package nodeclass

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

const nodeClassTimeout = 5 * time.Minute

// classCluster is the cluster with what a node class does there.
type classCluster struct{ *kubeobject.Cluster }

type nodeClass struct {
	managed.Frame[nodeClassModel, *classCluster]
	definitions *kubeobject.Definitions
}

type nodeClassModel struct {
	Name   types.String `tfsdk:"name"`
	Daemon types.String `tfsdk:"daemon"`
	convert.NodeClass
	kubeobject.ObjectModel
	managed.TagsModel
	managed.ReadyModel
	managed.LimitsModel
}

func (m nodeClassModel) IDs() []string { return []string{m.Name.ValueString()} }

// New is the resource, before its session is known.
func New(d *kubeobject.Definitions) resource.Resource {
	r := &nodeClass{definitions: d}
	r.Frame = kubeobject.InCluster(managed.Base{Kind: "node_class", Keys: []string{"name"}}, managed.Times{Create: nodeClassTimeout, Update: nodeClassTimeout, Delete: managed.InUseTimeout}, r, func(c *kubeobject.Cluster) *classCluster { return &classCluster{c} })
	return r
}

// Schema describes the node class.
func (r *nodeClass) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "An EC2NodeClass (`karpenter.k8s.aws/v1`): how instances are launched. The attributes are the fields " +
			"of the EC2NodeClass's spec in snake case.\n\nA node class is not deleted while node pools refer to it. To rename one, add `lifecycle { create_before_destroy = true }`: " +
			"the new node class is created, the node pools get it, their nodes are replaced, and then the old one is deleted.\n\nThe provider checks the configuration offline against the custom resource " +
			"definition. Instances, volumes, network interfaces and launch templates get the tags in `tags_all`.",
		Attributes: map[string]schema.Attribute{
			"name": managed.ObjectNameAttribute("EC2NodeClass"),
			"daemon": optionalText("`karpenter_daemon.<name>.id`. It only sets the order: Terraform creates the daemon before the node class and " +
				"destroys it afterwards, because the daemon deletes the launch templates of the node class."),
			"subnet_selector_terms": schema.ListNestedAttribute{
				Required: true, MarkdownDescription: "Subnets of the instances. Each term selects subnets; all selected subnets are used.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"tags": selectorTagsAttribute(), "id": optionalText("Id of a subnet. Set either `id` or `tags`."),
				}},
			},
			"security_group_selector_terms": schema.ListNestedAttribute{
				Required: true, MarkdownDescription: "Security groups of the instances. Each term selects security groups; the instances get all of them.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"tags": selectorTagsAttribute(), "id": optionalText("Id of a security group. Set one of `id`, `name` and `tags`."),
					"name": optionalText("Group name of a security group, which is not its `Name` tag. Set one of `id`, `name` and `tags`."),
				}},
			},
			"capacity_reservation_selector_terms": capacityReservationTermsAttribute(),
			"ami_selector_terms":                  amiTermsAttribute(),
			"ami_family": optionalText("How instances join the cluster: `AL2023`, `Bottlerocket`, `AL2` or `Custom`. It follows from an alias; without one, set it, and " +
				"select images of that family. With `Custom`, `user_data` is all that an instance gets, and it must register the node with the taint " +
				"`karpenter.sh/unregistered:NoExecute`."),
			"instance_profile":      optionalText("Name of the instance profile, `karpenter_instance_profile.<name>.name`. Set either `instance_profile` or `role`."),
			"role":                  nodeClassRoleAttribute(),
			"object_labels":         kubeobject.ObjectLabelsAttribute(awsv1.EC2NodeClassKind),
			"object_annotations":    kubeobject.ObjectAnnotationsAttribute(awsv1.EC2NodeClassKind, ""),
			"tags":                  nodeClassTagsAttribute(),
			"tags_all":              managed.TagsAllAttribute(),
			"metadata_options":      metadataOptionsAttribute(),
			"block_device_mappings": blockDeviceMappingsAttribute(),
			"user_data": optionalText("User data of the instances. For `AL2023`: a shell script, a NodeConfig or MIME multipart text, which runs before the part that the " +
				"daemon generates; for `AL2` the same without NodeConfigs; for `Bottlerocket`: settings in TOML, in which the daemon sets those of the node. The EC2NodeClass stores it in plain text: do not put secrets in it."),
			"instance_store_policy": optionalText("`RAID0` joins the instance store volumes of an instance to one file system, which has the ephemeral storage of its pods. " +
				"Instances without such volumes have it on the root volume. Default: the volumes are left alone."),
			"context": optionalText("Context that is handed to EC2 with each launch, for accounts that were given one."),
			"detailed_monitoring": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Send CloudWatch metrics at one-minute intervals. Default `false`.",
			},
			"associate_public_ip_address": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Whether instances get public IP addresses. Without it, the setting of the subnet counts.",
			},
			"kubelet":  kubeletAttribute(),
			"wait":     managed.WaitAttribute("the EC2NodeClass is ready: subnets, security groups, image and instance profile are found"),
			"ready":    managed.ReadyAttribute("the EC2NodeClass was ready"),
			"timeouts": r.TimeoutsAttribute(ctx),
		},
	}
}

func optionalText(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func amiTermsAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Required: true,
		MarkdownDescription: "Images of the instances. One term with an alias selects the images that EKS publishes. Other terms select any images, and of each " +
			"architecture the newest one is used that is not deprecated.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"alias": optionalText("Alias of the image: `al2023@latest`, `bottlerocket@latest` or `al2@latest`, or a release such as `al2023@v20260115` or `bottlerocket@v1.49.0`. " +
				"EKS has no images of `al2` from Kubernetes 1.33 on. A term with an alias is the only one."),
			"tags":  selectorTagsAttribute(),
			"id":    optionalText("Id of an image. A term with an id has nothing else."),
			"name":  optionalText("Name of an image. It may have the wildcards `*` and `?`. Without `owner`, it is searched among the images of the account and of Amazon."),
			"owner": optionalText("Account that owns the image, or `self`, `amazon` or `aws-marketplace`."),
			"ssm_parameter": optionalText("Name or ARN of an SSM parameter that has the id of an image. The role of the daemon may read the public parameters below " +
				"`/aws/service/`. Another one belongs into `ami_ssm_parameter_arns` of `karpenter_controller_role`."),
		}},
	}
}

func nodeClassTagsAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Tags, in addition to the provider's `default_tags`. A tag that others add to the EC2NodeClass is drift: the next apply removes it.",
	}
}

func selectorTagsAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Tags that a selected object has, such as `karpenter_discovery_tags.<name>.selector_tags`. The object must have all of them. The value `*` matches any value.",
	}
}

func capacityReservationTermsAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Optional: true, MarkdownDescription: "On-demand capacity reservations for instances of the node class. Each term selects reservations; all selected " +
			"reservations can be used. A node pool that allows the `karpenter.sh/capacity-type` `reserved` uses their free capacity before any other.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"tags": selectorTagsAttribute(), "id": optionalText("Id of a capacity reservation. A term with `id` has no other attribute."),
			"owner_id":                optionalText("Id of the AWS account that owns the reservation. Needs `tags` or `instance_match_criteria`."),
			"instance_match_criteria": optionalText("Which instances the reservation accepts: `open` or `targeted`."),
		}},
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
		Optional: true, Computed: true, Default: objectdefault.StaticValue(convert.DefaultMetadataOptions()),
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

func blockDeviceMappingsAttribute() schema.Attribute {
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Optional: true, MarkdownDescription: description}
	}
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
	}
	return schema.ListNestedAttribute{
		Optional: true, MarkdownDescription: "Volumes of the instances. Default: `/dev/xvda` with 20Gi, gp3, encrypted; of Bottlerocket `/dev/xvda` with 4Gi " +
			"and `/dev/xvdb` with 20Gi; of the family `Custom` those of the image.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"device_name": optionalText("Name of the device, such as `/dev/xvda`."),
			"root_volume": flag("Whether this volume holds the kubelet's ephemeral storage. `true` in at most one mapping."),
			"ebs": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "The EBS volume.",
				Attributes: map[string]schema.Attribute{
					"volume_size": schema.StringAttribute{
						Optional: true, CustomType: fwtype.Quantity(), MarkdownDescription: "Size in Gi, G, Ti or T, such as `100Gi`. It may be absent with `snapshot_id`.",
						Validators: []validator.String{validate.Quantity()},
					},
					"volume_type":                optionalText("Type of the volume: `gp3`, `gp2`, `io1`, `io2`, `st1`, `sc1` or `standard`."),
					"encrypted":                  flag("Encrypt the volume."),
					"delete_on_termination":      flag("Delete the volume with the instance."),
					"iops":                       number("IOPS of gp3, io1 and io2 volumes."),
					"throughput":                 number("Throughput of gp3 volumes, in MiB/s."),
					"kms_key_id":                 optionalText("Id, alias or ARN of the KMS key that encrypts the volume."),
					"snapshot_id":                optionalText("Id of the snapshot that the volume is made of."),
					"volume_initialization_rate": schema.Int32Attribute{Optional: true, MarkdownDescription: "How fast the snapshot is read, 100 to 300 MiB/s."},
				},
			},
		}},
	}
}

// ValidateConfig checks the known values against the EC2NodeClass's definition.
func (r *nodeClass) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config, ok := managed.Get[nodeClassModel](ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	if config.MetadataOptions.IsNull() {
		config.MetadataOptions = convert.DefaultMetadataOptions()
	}
	spec := config.Spec(ctx, config.Tags, &resp.Diagnostics)
	first := append(profileFaults(config.Role, config.InstanceProfile), extraFaults(config.Kubelet, spec.Kubelet)...)
	withoutProfileFaults(&spec)
	withoutUnknownPartner(config.Kubelet, spec.Kubelet)
	class := &awsv1.EC2NodeClass{Spec: spec}
	further := slices.Concat(aliasFaults(spec.AMISelectorTerms), translate.RefusedOfClass(class), translate.UnsupportedOfClass(class))
	resp.Diagnostics.Append(r.definitions.Check(ctx, awsv1.EC2NodeClassKind, &spec, req.Config.Raw, kubeobject.AsErrors(first...), kubeobject.AsErrors(inExtra(further)...))...)
}

// ModifyPlan computes tags_all, and refuses a default tag of the provider that a
// node class cannot have.
func (r *nodeClass) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.Session == nil {
		return
	}
	r.PlanTags(ctx, resp)
	r.PlanCluster(ctx, &resp.Diagnostics)
	if own, replaced := ownership.ReplacedOwn(ctx, req, &resp.Diagnostics); replaced {
		if plan, ok := managed.Get[nodeClassModel](ctx, resp.Plan, &resp.Diagnostics); ok {
			r.warnReplaced(ctx, own, plan, &resp.Diagnostics)
		}
	}
	for key, value := range fwvalue.StringMap(r.Session.DefaultTags) {
		if err := awsspec.CheckUserTag(key, value); err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("tags_all"), "Invalid default tag", "default_tags of the provider: "+err.Error()+".")
		}
	}
}
