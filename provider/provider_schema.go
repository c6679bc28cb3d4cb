package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Schema describes the provider's configuration. All of it is optional, so
// that AWS resources work without a cluster and everything can come from the
// environment.
func (p *karpenterProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Declares Karpenter-compatible node provisioning on Amazon EKS: IAM roles, discovery tags, the " +
			"interruption queue, the daemon, node classes and node pools.\n\n" +
			"AWS credentials are found as the AWS CLI finds them (environment, shared files, web identity, instance " +
			"metadata). Configuring the provider makes no network call, and values that are known only after apply are " +
			"accepted, so a cluster and everything in it can be created in one apply.",
		Attributes: map[string]schema.Attribute{
			"region": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "AWS region, such as `us-west-2`. Default: `AWS_REGION`, then the shared configuration file.",
			},
			"skip_region_validation": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Accept a `region` that this version of the provider does not know. Default `false`.",
			},
			"eks":        eksAttribute(),
			"kubernetes": kubernetesAttribute(),
			"endpoints":  endpointsAttribute(),
			"default_tags": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Tags that every taggable resource gets, the instances that node classes launch included. A tag of the resource itself wins.",
				Attributes: map[string]schema.Attribute{
					"tags": schema.MapAttribute{
						Optional:            true,
						ElementType:         types.StringType,
						MarkdownDescription: "Tag keys and values.",
					},
				},
			},
		},
	}
}

func eksAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Reach the Kubernetes API of an EKS cluster with the AWS credentials of the provider. Tokens are " +
			"made in the provider and renewed while it runs: no AWS CLI, no expiry during a long apply. Conflicts with `kubernetes`.",
		Attributes: map[string]schema.Attribute{
			"cluster_name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the EKS cluster. May be known only after apply.",
			},
		},
	}
}

func kubernetesAttribute() schema.Attribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Reach the Kubernetes API by address and credentials, or by a kubeconfig file. Nothing is read " +
			"from a default location. Conflicts with `eks`.",
		Attributes: map[string]schema.Attribute{
			"host":                   text("Address of the API server, such as `https://10.0.0.1:6443`."),
			"token":                  secret("Bearer token."),
			"cluster_ca_certificate": text("PEM certificates of the authorities that the API server's certificate is checked against."),
			"client_certificate":     text("PEM certificate of the client. Needs `client_key`."),
			"client_key":             secret("PEM key of the client certificate."),
			"tls_server_name":        text("Name that the API server's certificate must carry, if it is not the name in `host`."),
			"insecure": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Do not check the API server's certificate. Default `false`.",
			},
			"config_path":    text("Path of a kubeconfig file. Conflicts with `host`."),
			"config_context": text("Context of the kubeconfig file. Default: its current context. Needs `config_path`."),
		},
	}
}

func endpointsAttribute() schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, service := range []string{"ec2", "iam", "sts", "sqs", "eks", "events", "ssm"} {
		attributes[service] = schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "URL of the `" + service + "` endpoint.",
		}
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Endpoints used instead of AWS's own, for VPC endpoints and test clouds. Default: `AWS_ENDPOINT_URL` and its relatives.",
		Attributes:          attributes,
	}
}
