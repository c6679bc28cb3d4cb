package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// Schema describes the cluster.
func (clusterSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	texts := func(description string) schema.SetAttribute {
		return schema.SetAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "An EKS cluster that exists: what the resources of this provider need to know of it. " +
			"The data source also looks whether the cluster has what the daemon needs. What is missing is an error of the plan: see [What is checked](#what-is-checked).",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required: true, MarkdownDescription: "Name of the EKS cluster. A name that is known only after apply defers the read to the apply.",
				Validators: []validator.String{validate.Is(awsspec.CheckClusterName)},
			},
			"arn":                        text("ARN of the cluster."),
			"endpoint":                   text("URL of the Kubernetes API server, such as `https://....eks.amazonaws.com`."),
			"certificate_authority_data": text("Certificate authority of the API server: PEM in base64, as EKS gives it. `base64decode` makes the PEM of it, which `cluster_ca_certificate` of a provider takes."),
			"version":                    text("Kubernetes version, such as `1.33`. A version that the daemon does not support is a warning."),
			"vpc_id":                     text("Id of the VPC."),
			"subnet_ids": texts("Ids of the subnets for nodes: the private ones of those that the managed node groups have, as nodes join from there. Without a node group, the private ones of the cluster's own subnets, in which EKS has its network interfaces. A subnet is private if its route table has no active route to an internet gateway (`igw-...`). " +
				"A subnet without a route table of its own has the main route table of the VPC. If all of them are public, these are all of them, with a warning."),
			"security_group_ids":  texts("Ids of the security groups for nodes: the cluster security group, by which nodes and control plane reach each other."),
			"oidc_issuer":         text("URL of the cluster's OIDC issuer. Null if the cluster has none."),
			"oidc_provider_arn":   text("ARN of the IAM OIDC provider of that issuer, in the account of the cluster. Null if there is none."),
			"authentication_mode": text("`API` or `API_AND_CONFIG_MAP`. `CONFIG_MAP` is an error, as such a cluster has no access entries."),
			"identity": text("How the daemon can get its role, for `identity` of `karpenter_controller_role`: `irsa` if IAM has an OIDC provider of the cluster's issuer with the audience `sts.amazonaws.com`, " +
				"otherwise `pod_identity` if the cluster has the EKS Pod Identity agent. Null if it has neither."),
			"addons":      texts("Names of the cluster's EKS add-ons, such as `vpc-cni`."),
			"node_groups": nodeGroupsAttribute(),
			"karpenter_installed": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "Whether Karpenter is in the cluster: one of its Deployments, or a Lease that it holds. If so, there is a warning, which names the guide [From Karpenter, and back](../guides/take_over.md). Null if the Kubernetes API could not be asked: the provider has neither `eks` with this cluster nor `kubernetes`, the API does not answer within 3 seconds, or the request is forbidden.",
			},
		},
	}
}

func nodeGroupsAttribute() schema.ListNestedAttribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	size := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	return schema.ListNestedAttribute{
		Computed: true, MarkdownDescription: "Managed node groups of the cluster, sorted by name.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"name":           text("Name of the node group."),
			"arn":            text("ARN of the node group."),
			"status":         text("Status as EKS says it, such as `ACTIVE`, `CREATING` or `DEGRADED`."),
			"capacity_type":  text("`ON_DEMAND`, `SPOT` or `CAPACITY_BLOCK`."),
			"instance_types": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Instance types, the preferred one first. Empty if the launch template has the type."},
			"desired_size":   size("Number of nodes that the node group is to have now."),
			"min_size":       size("Least number of nodes."),
			"max_size":       size("Greatest number of nodes."),
			"labels":         schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Kubernetes labels of the nodes that the node group sets."},
			"taints": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "Taints of the nodes that the node group sets.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"key":    text("Key of the taint."),
					"value":  text("Value of the taint. Null if it has none."),
					"effect": text("`NoSchedule`, `PreferNoSchedule` or `NoExecute`, as Kubernetes spells it."),
				}},
			},
		}},
	}
}
