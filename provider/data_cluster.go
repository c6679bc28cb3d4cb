package provider

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/session"
)

// clusterData is an EKS cluster that is there: what the resources need to know of it, and
// whether it has what they need.
type clusterData struct{ managed.Base }

type clusterDataModel struct {
	Name               types.String     `tfsdk:"name"`
	ARN                types.String     `tfsdk:"arn"`
	Endpoint           types.String     `tfsdk:"endpoint"`
	CAData             types.String     `tfsdk:"certificate_authority_data"`
	Version            types.String     `tfsdk:"version"`
	VPCID              types.String     `tfsdk:"vpc_id"`
	SubnetIDs          types.Set        `tfsdk:"subnet_ids"`
	SecurityGroupIDs   types.Set        `tfsdk:"security_group_ids"`
	OIDCIssuer         types.String     `tfsdk:"oidc_issuer"`
	OIDCProviderARN    types.String     `tfsdk:"oidc_provider_arn"`
	AuthenticationMode types.String     `tfsdk:"authentication_mode"`
	Identity           types.String     `tfsdk:"identity"`
	Addons             types.Set        `tfsdk:"addons"`
	NodeGroups         []nodeGroupModel `tfsdk:"node_groups"`
	KarpenterInstalled types.Bool       `tfsdk:"karpenter_installed"`
}

type nodeGroupModel struct {
	Name          types.String `tfsdk:"name"`
	ARN           types.String `tfsdk:"arn"`
	Status        types.String `tfsdk:"status"`
	CapacityType  types.String `tfsdk:"capacity_type"`
	InstanceTypes types.List   `tfsdk:"instance_types"`
	Desired       types.Int64  `tfsdk:"desired_size"`
	Min           types.Int64  `tfsdk:"min_size"`
	Max           types.Int64  `tfsdk:"max_size"`
	Labels        types.Map    `tfsdk:"labels"`
	Taints        []groupTaint `tfsdk:"taints"`
}

type groupTaint struct {
	Key    types.String `tfsdk:"key"`
	Value  types.String `tfsdk:"value"`
	Effect types.String `tfsdk:"effect"`
}

func (m clusterDataModel) IDs() []string { return []string{m.Name.ValueString()} }

// newClusterData wraps the source: the methods of base are those of a resource.
func newClusterData() datasource.DataSource {
	return clusterSource{&clusterData{managed.Base{Kind: "cluster"}}}
}

// clusterSource is the data source as the framework wants it.
type clusterSource struct{ data *clusterData }

// Metadata gives the type name.
func (clusterSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_cluster"
}

// Configure takes the session; it is nil while Terraform only validates.
func (s clusterSource) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	s.data.Session, _ = req.ProviderData.(*session.Session)
}

// Read reads the cluster, and looks whether something is missing. Terraform reads in the
// plan, or in the apply if the name or a dependency is not known before.
func (s clusterSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	m, ok := managed.Get[clusterDataModel](ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	if err := s.data.read(ctx, &m, &resp.Diagnostics); err != nil {
		s.data.failRead(&resp.Diagnostics, m, err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// failRead adds the error of a read.
func (d *clusterData) failRead(diags *diag.Diagnostics, m clusterDataModel, err error) {
	if errors.Is(err, aws.ErrNotFound) {
		d.lacks(diags, m, "The cluster does not exist", strings.TrimSuffix(err.Error(), "."),
			"Check the name, and the provider's region and account. If the same configuration creates the cluster, let name refer to its resource: the data source is then read after it.")
		return
	}
	d.Fail(diags, managed.VerbRead, m, err)
}

// read fills the model in, and reports what is missing.
func (d *clusterData) read(ctx context.Context, m *clusterDataModel, diags *diag.Diagnostics) error {
	client, err := d.Session.AWS(ctx)
	if err != nil {
		return err
	}
	found, err := client.Cluster(ctx, m.Name.ValueString())
	if err != nil {
		return err
	}
	m.set(found)
	if !works(found) {
		d.lacks(diags, *m, "The cluster is not active", "the status of the cluster is "+found.Status+", and must be ACTIVE",
			"Wait until it is (aws eks wait cluster-active --name "+found.Name+"). If the same configuration creates the cluster, let name refer to its resource.")
		return nil
	}
	provider, err := oidcProvider(ctx, client, found)
	if err != nil {
		return err
	}
	addons, err := client.Addons(ctx, found.Name)
	if err != nil {
		return err
	}
	groups, err := client.NodeGroups(ctx, found.Name)
	if err != nil {
		return err
	}
	subnets := subnetsOfNodes(found, groups)
	public, err := client.PublicSubnets(ctx, found.VPCID, subnets)
	if err != nil {
		return err
	}
	m.setSubnets(subnets, public)
	m.OIDCProviderARN, m.Addons = fwvalue.StringOrNull(provider.arn), fwvalue.SetValue(addons)
	m.setNodeGroups(groups)
	d.check(ctx, client, m, surroundings{cluster: found, provider: provider, addons: addons, groups: groups, subnets: subnets, public: public}, diags)
	return nil
}

// works tells whether the cluster can be used. While its version or settings change, it goes
// on.
func works(c aws.Cluster) bool { return c.Status == "ACTIVE" || c.Status == "UPDATING" }

// registered is the OIDC provider of a cluster's issuer in IAM.
type registered struct {
	arn       string // empty: there is none
	audiences []string
}

// forPods tells whether STS takes the tokens of the cluster's pods.
func (r registered) forPods() bool { return slices.Contains(r.audiences, awsspec.IRSAAudience) }

// oidcProvider looks for the provider by its ARN, which follows from the issuer. It is in the
// account of the cluster.
func oidcProvider(ctx context.Context, client *aws.Clients, found aws.Cluster) (registered, error) {
	if found.Issuer == "" {
		return registered{}, nil
	}
	partition, account := awsspec.PartitionAndAccount(found.ARN)
	arn := awsspec.OIDCProviderARN(strings.TrimPrefix(found.Issuer, "https://"), account, partition)
	audiences, err := client.OIDCProvider(ctx, arn)
	if errors.Is(err, aws.ErrNotFound) {
		return registered{}, nil
	}
	return registered{arn, audiences}, err
}

func (m *clusterDataModel) set(c aws.Cluster) {
	m.ARN, m.Endpoint, m.Version, m.VPCID = types.StringValue(c.ARN), types.StringValue(c.Endpoint), types.StringValue(c.Version), types.StringValue(c.VPCID)
	m.CAData = types.StringValue(base64.StdEncoding.EncodeToString(c.CertificateAuthority))
	m.OIDCIssuer, m.AuthenticationMode = fwvalue.StringOrNull(c.Issuer), fwvalue.StringOrNull(c.AuthenticationMode)
	m.SecurityGroupIDs = fwvalue.SetValue(nil)
	if c.SecurityGroupID != "" {
		m.SecurityGroupIDs = fwvalue.SetValue([]string{c.SecurityGroupID})
	}
}

// subnetsOfNodes are the subnets in which the node groups have nodes, as nodes join from there.
// Those of the cluster itself may be meant for the control plane alone, without a way out; they count
// where there is no node group.
func subnetsOfNodes(c aws.Cluster, groups []aws.NodeGroup) []string {
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.SubnetIDs...)
	}
	if len(ids) == 0 {
		return c.SubnetIDs
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// setSubnets takes the private subnets, or all if there is none.
func (m *clusterDataModel) setSubnets(all, public []string) {
	private := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(public, id) })
	if len(private) == 0 {
		private = all
	}
	m.SubnetIDs = fwvalue.SetValue(slices.Sorted(slices.Values(private)))
}

func (m *clusterDataModel) setNodeGroups(groups []aws.NodeGroup) {
	m.NodeGroups = []nodeGroupModel{}
	for _, g := range groups {
		group := nodeGroupModel{
			Name: types.StringValue(g.Name), ARN: types.StringValue(g.ARN), Status: types.StringValue(g.Status), CapacityType: fwvalue.StringOrNull(g.CapacityType),
			InstanceTypes: types.ListValueMust(types.StringType, fwvalue.SetValue(g.InstanceTypes).Elements()), Desired: types.Int64Value(int64(g.Desired)), Min: types.Int64Value(int64(g.Min)), Max: types.Int64Value(int64(g.Max)),
			Labels: fwvalue.MapValue(g.Labels), Taints: []groupTaint{},
		}
		for _, t := range g.Taints {
			group.Taints = append(group.Taints, groupTaint{types.StringValue(t.Key), fwvalue.StringOrNull(t.Value), types.StringValue(t.Effect)})
		}
		m.NodeGroups = append(m.NodeGroups, group)
	}
}
