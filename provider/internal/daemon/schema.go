package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int32validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int32default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

const daemonTimeout = 10 * time.Minute

// Cluster is the cluster with what the daemon's resource does there.
type Cluster struct{ *kubeobject.Cluster }

// NewCluster is the cluster of the client.
func NewCluster(client *apiserver.Client) *Cluster {
	return &Cluster{kubeobject.New(client)}
}

type daemon struct {
	managed.Frame[daemonModel, *Cluster]
}

type daemonModel struct {
	Namespace        types.String `tfsdk:"namespace"`
	ServiceAccount   types.String `tfsdk:"service_account"`
	ClusterName      types.String `tfsdk:"cluster_name"`
	Region           types.String `tfsdk:"region"`
	FIPS             types.Bool   `tfsdk:"use_fips_endpoint"`
	DualStack        types.Bool   `tfsdk:"use_dualstack_endpoint"`
	RoleARN          types.String `tfsdk:"role_arn"`
	QueueName        types.String `tfsdk:"queue_name"`
	ClusterEndpoint  types.String `tfsdk:"cluster_endpoint"`
	Image            types.Object `tfsdk:"image"`
	ImageReference   types.String `tfsdk:"image_reference"`
	Replicas         types.Int32  `tfsdk:"replicas"`
	Mode             types.String `tfsdk:"mode"`
	LogLevel         types.String `tfsdk:"log_level"`
	PreferencePolicy types.String `tfsdk:"preference_policy"`
	Landing          types.String `tfsdk:"landing"`
	MinValuesPolicy  types.String `tfsdk:"min_values_policy"`
	NodeCost         types.String `tfsdk:"node_cost"`
	PauseDisruption  types.Bool   `tfsdk:"pause_disruption"`
	ReservedENIs     types.Int32  `tfsdk:"reserved_enis"`
	MemoryOverhead   types.String `tfsdk:"vm_memory_overhead_percent"`
	ClusterCA        types.String `tfsdk:"cluster_ca_bundle"`
	IsolatedVPC      types.Bool   `tfsdk:"isolated_vpc"`
	LogKeys          types.String `tfsdk:"log_keys"`
	LegacyAPI        types.Bool   `tfsdk:"legacy_api"`
	AdoptDefinitions types.Bool   `tfsdk:"adopt_definitions"`
	SchedulerConfig  types.String `tfsdk:"scheduler_config"`
	Labels           types.Map    `tfsdk:"labels"`
	Annotations      types.Map    `tfsdk:"annotations"`
	Needs            types.Set    `tfsdk:"needs"` // nobody reads it: it sets the order
	convert.Pods
	managed.ReadyModel
	ID      types.String `tfsdk:"id"`
	Objects types.Map    `tfsdk:"objects"`
	managed.LimitsModel
}

func (m daemonModel) IDs() []string { return []string{m.Namespace.ValueString()} }

// New is the resource, before its session is known.
func New() resource.Resource {
	r := &daemon{}
	r.Frame = kubeobject.InCluster(managed.Base{Kind: "daemon", Keys: []string{"namespace"}}, managed.Times{Create: daemonTimeout, Update: daemonTimeout, Delete: managed.InUseTimeout}, r, func(c *kubeobject.Cluster) *Cluster { return &Cluster{c} })
	return r
}

// Metadata gives the type name. A new namespace changes the identity.
func (r *daemon) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	r.Frame.Metadata(ctx, req, resp)
	resp.ResourceBehavior.MutableIdentity = true
}

// Schema describes the daemon.
func (r *daemon) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := r.attributes(ctx)
	maps.Copy(attributes, podAttributes())
	maps.Copy(attributes, endpointKindAttributes())
	maps.Copy(attributes, machineAttributes())
	attributes["mode"] = modeAttribute()
	resp.Schema = schema.Schema{MarkdownDescription: daemonDescription(), Attributes: attributes}
}

// attributes are all but those of the pods.
func (r *daemon) attributes(ctx context.Context) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"namespace": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(install.DefaultNamespace),
			MarkdownDescription: "Namespace of the daemon. Default `" + install.DefaultNamespace + "`. A new namespace moves the daemon in one update: the old one ends, then the new one starts. " +
				"Nodes and node pools stay. `karpenter_controller_role` must trust the service account in the new namespace.",
			Validators: []validator.String{validate.Namespace()},
		},
		"service_account": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(install.DefaultServiceAccount),
			MarkdownDescription: "Service account of the daemon. It must be the one that `karpenter_controller_role` trusts. Default `" + install.DefaultServiceAccount + "`.",
			Validators:          []validator.String{validate.Namespace()},
		},
		"cluster_name": schema.StringAttribute{
			Required: true, MarkdownDescription: "Name of the EKS cluster.",
			Validators: []validator.String{validate.Is(awsspec.CheckClusterName)},
		},
		"region": schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "AWS region of the cluster. Default: the provider's region."},
		"role_arn": schema.StringAttribute{
			Optional: true, MarkdownDescription: "ARN of the daemon's role, `karpenter_controller_role.<name>.arn`. Leave it out if EKS Pod Identity gives the role to the service account " +
				"(`identity = \"pod_identity\"`): then the service account needs no annotation. Without either, the daemon has no credentials.",
			Validators: []validator.String{validate.Is(awsspec.CheckRoleARN)},
		},
		"queue_name": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Name of the interruption queue, `karpenter_interruption_queue.<name>.name`. Without `queue_name`, the daemon does not know of interruptions.",
			Validators:          []validator.String{validate.Is(awsspec.CheckQueueName)},
		},
		"cluster_endpoint": clusterEndpointAttribute(),
		"image":            imageAttribute(),
		"image_reference":  schema.StringAttribute{Computed: true, MarkdownDescription: "The image that is deployed, as a whole reference."},
		"replicas": schema.Int32Attribute{
			Optional: true, Computed: true, Default: int32default.StaticInt32(install.DefaultReplicas),
			MarkdownDescription: fmt.Sprintf("Number of replicas. One replica leads; the others are on standby, each on a node of its own. Where there are fewer nodes for them, set a smaller number, or `pod_anti_affinity = {}` of `affinity`. Default %d.", install.DefaultReplicas),
			Validators:          []validator.Int32{int32validator.AtLeast(1)},
		},
		"log_level": choiceAttribute("One of `"+strings.Join(install.LogLevels(), "`, `")+"`.", install.DefaultLogLevel, install.LogLevels()),
		"preference_policy": choiceAttribute("What preferences count: preferred affinity, topology spread with `ScheduleAnyway`, taints with "+
			"`PreferNoSchedule`. `Respect`: a preference is a requirement as long as the pod can then be placed. `Ignore`: preferences are not considered, so the nodes are the cheapest.", install.PreferencesRespect, install.PreferencePolicies()),
		"min_values_policy": minValuesPolicyAttribute(),
		"landing":           landingAttribute(),
		"node_cost":         nodeCostAttribute(),
		"pause_disruption":  pauseDisruptionAttribute(),
		"legacy_api":        legacyAPIAttribute(),
		"adopt_definitions": adoptDefinitionsAttribute(),
		"scheduler_config":  schedulerConfigAttribute(),
		"labels":            daemonLabelsAttribute(),
		"annotations": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Annotations of the daemon's pods, and of its objects except the custom resource definitions.",
		},

		"needs": needsAttribute(),
		"wait":  managed.WaitAttribute("the Deployment is rolled out"),
		"ready": managed.ReadyAttribute("the Deployment was rolled out, and a replica is available,"),
		"id":    schema.StringAttribute{Computed: true, MarkdownDescription: "Namespace and name of the Deployment, for `daemon` of `karpenter_node_class`."},
		"objects": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The daemon's objects in the cluster. Each value is a digest of the declared object, or names the fields that somebody else changed.",
		},
		"timeouts": r.TimeoutsAttribute(ctx),
	}
}

func clusterEndpointAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional: true, MarkdownDescription: "URL at which nodes reach the API server, such as that of a private endpoint. Default: the endpoint that EKS reports.",
		Validators: []validator.String{validate.Is(install.CheckClusterEndpoint)},
	}
}

func daemonDescription() string {
	return fmt.Sprintf("The daemon in the cluster, with the objects that it needs there: custom resource definitions, "+
		"namespace, service account, RBAC, Deployment, Service and PodDisruptionBudget, and with `metrics_namespaces` a NetworkPolicy. The provider contains these objects: a plan or an "+
		"apply downloads nothing.\n\nKubernetes 1.%d to 1.%d; a newer version is a warning. An object that exists already is never changed or deleted, except by `adopt_definitions`. An existing "+
		"namespace is used as it is. Another existing object is used if it has everything that the daemon needs; otherwise the apply ends "+
		"with an error. A custom resource definition is used if it has the fields that the daemon needs, as Karpenter's have. The daemon cannot be "+
		"destroyed while NodePools, EC2NodeClasses or NodeClaims exist: set `daemon` of `karpenter_node_class`, "+
		"and Terraform destroys in the right order. To give the cluster back to Karpenter with its nodes, run `karpenterd handback` first; see the guide From Karpenter, and back.", install.MinKubernetesMinor, install.MaxKubernetesMinor)
}

func nodeCostAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(install.DefaultNodeCost),
		MarkdownDescription: "What each node costs beside its instance, its EBS volumes and its public IPv4 address, such as licences, in dollars an hour from 0 to 100. " +
			"Plans count all of it: with a higher cost, nodes are larger and fewer. Default `" + install.DefaultNodeCost + "`.",
		Validators: []validator.String{validate.Is(install.CheckNodeCost)},
	}
}

// needsAttribute has no validator: the values may be whatever the resources in question have
// as an id, and null or unknown.
func needsAttribute() schema.Attribute {
	return schema.SetAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Ids of what the daemon and its nodes need while they run and no other argument names, such as `node_group_arn` of the node group that the daemon runs on, routes to a NAT gateway, add-ons. " +
			"It only sets the order, as `depends_on` would, but may name single values of a module: Terraform creates what is named before the daemon, and destroys it when the nodes are drained and the daemon is deleted. " +
			"The provider does not look at the values. A change of them changes nothing in the cluster.",
	}
}

func daemonLabelsAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of the daemon's pods, and of its objects except the custom resource definitions.",
		Validators: []validator.Map{mapvalidator.KeysAre(validate.LabelKey()), mapvalidator.ValueStringsAre(validate.LabelValue())},
	}
}

// endpointKindAttributes say which endpoints of AWS the daemon calls.
func endpointKindAttributes() map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for name, what := range map[string]string{
		"use_fips_endpoint":      "Call the FIPS endpoints of AWS",
		"use_dualstack_endpoint": "Call the dual-stack endpoints of AWS, which answer by IPv6, too",
	} {
		out[name] = schema.BoolAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: what + ". A service that has none in the region cannot be called then, and the daemon's log names the endpoint: set `false` there, or name another endpoint in `environment`, " +
				"such as `AWS_ENDPOINT_URL_EC2`. `endpoints` of the provider are not taken over. Default: as the provider does, from its environment and profile, too; see its `" + name + "`.",
		}
	}
	return out
}

// planEndpoints fills in which endpoints the daemon calls, where the configuration does not
// say.
func (r *daemon) planEndpoints(ctx context.Context, config daemonModel, plan *daemonModel, set func(name string, value any)) {
	fips, dualStack := r.Session.EndpointKinds(ctx)
	if config.FIPS.IsNull() {
		plan.FIPS = fips
		set("use_fips_endpoint", fips)
	}
	if config.DualStack.IsNull() {
		plan.DualStack = dualStack
		set("use_dualstack_endpoint", dualStack)
	}
}

func pauseDisruptionAttribute() schema.Attribute {
	return schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: "Pause disruption in the whole cluster, such as during an incident: no node is deleted because it is empty, could be cheaper, has drifted or expires. " +
			"Nodes are still launched, interrupted nodes are replaced, and nodes, NodeClaims and NodePools that a user deletes are drained. " +
			"What the daemon has not deleted yet stays; a drain that has begun ends. Default `false`. For one node pool, use the annotation `" + v1.AnnotationPauseDisruption + "`.",
	}
}

func legacyAPIAttribute() schema.Attribute {
	return schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: "Install the definitions of `Provisioner` (`karpenter.sh/v1alpha5`) and `AWSNodeTemplate` (`karpenter.k8s.aws/v1alpha1`), too. " +
			"The daemon serves such objects as they are, beside node pools and node classes; see the guide to Karpenter's older APIs. " +
			"The definitions cannot be removed while such objects exist. Default `false`.",
	}
}

func adoptDefinitionsAttribute() schema.BoolAttribute {
	return schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: "Adopt the custom resource definitions of Karpenter that somebody else installed, such as Helm: they get the content of the daemon's own, whoever owns their fields, now and at every update. " +
			"Labels and annotations of others stay, so Helm still knows the definitions as its own. A destroy leaves adopted definitions in place, with all their objects. " +
			"Nothing is changed if objects may be stored in a version that the daemon's definitions lack, or if an existing definition has a field or a value that they lack: objects would lose it. " +
			"`false` after `true` only ends the updates: the definitions stay as they are. Default `false`: existing definitions are used as they are. See the guide From Karpenter, and back.",
	}
}

func schedulerConfigAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "Default topology spread constraints, for pods that declare none. JSON or YAML, such as " +
			"`yamlencode({ podTopologySpread = { defaultConstraints = [{ maxSkew = 1, topologyKey = \"topology.kubernetes.io/zone\", whenUnsatisfiable = \"DoNotSchedule\" }] } })`. " +
			"Give the same constraints as in the kube-scheduler's own configuration. Without `scheduler_config`, the daemon assumes no default constraints.",
		Validators: []validator.String{validate.Is(checkSchedulerConfig)},
	}
}

func checkSchedulerConfig(text string) error {
	_, err := translate.DefaultSpread(text)
	return err
}

// choiceAttribute has one of a few words as its value.
func choiceAttribute(description, otherwise string, of []string) schema.Attribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(otherwise),
		MarkdownDescription: description + " Default `" + otherwise + "`.",
		Validators:          []validator.String{stringvalidator.OneOf(of...)},
	}
}

// ModifyPlan plans the image, the region and the objects. So the plan shows what
// another version of the provider changes, and what somebody else has changed in
// the cluster.
func (r *daemon) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.Session == nil {
		return
	}
	config, okConfig := managed.Get[daemonModel](ctx, req.Config, &resp.Diagnostics)
	plan, okPlan := managed.Get[daemonModel](ctx, resp.Plan, &resp.Diagnostics)
	if !okConfig || !okPlan {
		return
	}
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	plan.ImageReference = types.StringUnknown()
	if fwvalue.WhollyKnown(ctx, plan.Image) {
		reference, err := imageReference(ctx, r.Session, plan.Image)
		if err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("image"), "Invalid karpenter_daemon", err.Error()+".")
			return
		}
		plan.ImageReference = types.StringValue(reference)
	}
	set("image_reference", plan.ImageReference)
	if config.Region.IsNull() {
		if region := r.PlanRegion(ctx, &resp.Diagnostics); region != "" {
			plan.Region = types.StringValue(region)
			set("region", plan.Region)
		}
	} else {
		r.PlanCluster(ctx, &resp.Diagnostics)
	}
	r.planEndpoints(ctx, config, &plan, set)
	if eks := r.Session.EKS; eks != nil && r.Session.UnknownCluster == "" && !plan.ClusterName.IsUnknown() && plan.ClusterName.ValueString() != eks.ClusterName {
		resp.Diagnostics.AddAttributeError(path.Root("cluster_name"), "Conflicting cluster names", fmt.Sprintf(
			"cluster_name of karpenter_daemon is %q, but eks.cluster_name of the provider is %q. The daemon must run in the cluster for which it launches nodes: set both to the same name.",
			plan.ClusterName.ValueString(), eks.ClusterName))
	}
	r.checkTrust(plan, &resp.Diagnostics)
	if prior, _ := managed.PriorOf[daemonModel](ctx, req, &resp.Diagnostics); !plan.shadow() && plan.asksOtherwise(prior) {
		r.warnPlannedCredentials(ctx, plan, &resp.Diagnostics)
	}
	if own, replaced := ownership.ReplacedOwn(ctx, req, &resp.Diagnostics); replaced {
		r.warnReplaced(ctx, own, plan, &resp.Diagnostics)
	}
	if !plan.Namespace.IsUnknown() {
		set("id", plan.deploymentID())
		r.Identify(ctx, resp.Identity, &resp.Diagnostics, plan)
	}
	set("objects", types.MapUnknown(types.StringType))
	if !plan.complete(ctx) {
		return
	}
	objects, err := plan.objects(ctx)
	if err != nil {
		resp.Diagnostics.AddError("Invalid karpenter_daemon", err.Error()+".")
		return
	}
	set("objects", digests(objects))
}

// shadow tells whether another program works for the cluster.
func (m daemonModel) shadow() bool { return m.Mode.ValueString() == install.ModeShadow }

func (m daemonModel) deploymentID() types.String {
	return types.StringValue(m.Namespace.ValueString() + "/" + install.DefaultName)
}

// complete tells whether all is known that the objects are made of.
func (m daemonModel) complete(ctx context.Context) bool {
	return fwvalue.WhollyKnown(ctx, m.Pods.Values()...) && fwvalue.WhollyKnown(ctx, m.Namespace, m.ServiceAccount, m.ClusterName, m.ClusterEndpoint, m.Region, m.FIPS, m.DualStack, m.RoleARN, m.QueueName,
		m.Image, m.ImageReference, m.Replicas, m.Mode, m.LogLevel, m.PreferencePolicy, m.MinValuesPolicy, m.Landing, m.NodeCost, m.PauseDisruption, m.ReservedENIs, m.MemoryOverhead, m.ClusterCA, m.IsolatedVPC, m.LogKeys, m.LegacyAPI, m.SchedulerConfig, m.Labels, m.Annotations)
}

// objects are the objects that the model asks for, in the order in which they are applied.
func (m daemonModel) objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var diags diag.Diagnostics
	options := install.Options{
		Namespace: m.Namespace.ValueString(), ServiceAccount: m.ServiceAccount.ValueString(), Image: m.ImageReference.ValueString(),
		Replicas: m.Replicas.ValueInt32(), RoleARN: m.RoleARN.ValueString(), ClusterName: m.ClusterName.ValueString(), ClusterEndpoint: m.ClusterEndpoint.ValueString(),
		Region: m.Region.ValueString(), FIPS: m.FIPS.ValueBool(), DualStack: m.DualStack.ValueBool(), QueueName: m.QueueName.ValueString(), Mode: m.Mode.ValueString(), LogLevel: m.LogLevel.ValueString(),
		PreferencePolicy: m.PreferencePolicy.ValueString(), MinValuesPolicy: m.MinValuesPolicy.ValueString(),
		Landing: m.Landing.ValueString(), NodeCost: m.NodeCost.ValueString(), PauseDisruption: m.PauseDisruption.ValueBool(),
		ReservedENIs: m.ReservedENIs.ValueInt32(), MemoryOverhead: m.MemoryOverhead.ValueString(), ClusterCA: m.ClusterCA.ValueString(),
		IsolatedVPC: m.IsolatedVPC.ValueBool(), LogKeys: m.LogKeys.ValueString(), LegacyAPI: m.LegacyAPI.ValueBool(),
		SchedulerConfig: m.SchedulerConfig.ValueString(), Labels: fwvalue.StringMap(m.Labels), Annotations: fwvalue.StringMap(m.Annotations), Pods: m.Install(ctx, &diags),
	}
	options.PullPolicy = convert.PullPolicy(ctx, m.Image, &diags)
	if err := asError(diags); err != nil {
		return nil, err
	}
	return install.Objects(options)
}

// digests is the attribute objects when every object is as declared.
func digests(objects []*unstructured.Unstructured) types.Map {
	out := map[string]string{}
	for _, obj := range objects {
		out[kube.RefOf(obj).String()] = digest(obj)
	}
	return fwvalue.MapValue(out)
}

// digest is the beginning of the hash of an object's content.
func digest(obj *unstructured.Unstructured) string {
	text, err := json.Marshal(obj.Object) // keys in order
	if err != nil {
		return err.Error() // cannot happen: the object came out of JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
