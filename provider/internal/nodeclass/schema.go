package nodeclass

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
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
			"daemon": schema.StringAttribute{
				Optional: true, MarkdownDescription: "`karpenter_daemon.<name>.id`. It only sets the order: Terraform creates the daemon before the node class and " +
					"destroys it afterwards, because the daemon deletes the launch templates of the node class.",
			},
			"object_labels":      kubeobject.ObjectLabelsAttribute(awsv1.EC2NodeClassKind),
			"object_annotations": kubeobject.ObjectAnnotationsAttribute(awsv1.EC2NodeClassKind, ""),
			"tags":               nodeClassTagsAttribute(),
			"tags_all":           managed.TagsAllAttribute(),
			"wait":               managed.WaitAttribute("the EC2NodeClass is ready: subnets, security groups, image and instance profile are found"),
			"ready":              managed.ReadyAttribute("the EC2NodeClass was ready"),
			"timeouts":           r.TimeoutsAttribute(ctx),
		},
	}
	maps.Copy(resp.Schema.Attributes, convert.NodeClassAttributes())
}

func nodeClassTagsAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Tags, in addition to the provider's `default_tags`. A tag that others add to the EC2NodeClass is drift: the next apply removes it.",
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
	spec := config.Spec(config.Tags, &resp.Diagnostics)
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
