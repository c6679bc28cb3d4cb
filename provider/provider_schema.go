package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Schema describes the provider's configuration. Every attribute is optional, so
// that AWS resources work without a cluster and all settings can come from the
// environment.
func (p *karpenterProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Declares Karpenter-compatible node provisioning on Amazon EKS: IAM roles, discovery tags, the " +
			"interruption queue, the daemon, node classes and node pools.\n\n" +
			"The provider finds AWS credentials as the AWS CLI does: environment, shared files, web identity, instance " +
			"metadata. The provider's configuration causes no network call and may use values that are known only after " +
			"apply. One apply can therefore create a cluster and everything in it.",
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
				MarkdownDescription: "Tags of every resource that can have tags, and of the instances that are launched with a node class. A tag of the resource itself takes precedence.",
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
		MarkdownDescription: "Access to the Kubernetes API of an EKS cluster with the AWS credentials of the provider. The provider " +
			"creates and renews the tokens itself: it needs no AWS CLI, and no token expires during a long apply. Conflicts with `kubernetes`.",
		Attributes: map[string]schema.Attribute{
			"cluster_name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the EKS cluster. The name may be known only after apply.",
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
		MarkdownDescription: "Access to the Kubernetes API by address and credentials, or by a kubeconfig file. The provider reads no " +
			"kubeconfig file from a default location. Conflicts with `eks`.",
		Attributes: map[string]schema.Attribute{
			"host":                   text("Address of the API server, such as `https://10.0.0.1:6443`."),
			"token":                  secret("Bearer token."),
			"cluster_ca_certificate": text("PEM certificates of the certificate authorities that the provider trusts for the API server's certificate."),
			"client_certificate":     text("PEM certificate of the client. Needs `client_key`."),
			"client_key":             secret("PEM key of the client certificate."),
			"tls_server_name":        text("Name that the API server's certificate must contain, if it is not the name in `host`."),
			"insecure": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Do not check the API server's certificate. Default `false`.",
			},
			"config_path":    text("Path of a kubeconfig file. Conflicts with `host`."),
			"config_context": text("Context of the kubeconfig file. Default: its current context. Needs `config_path`."),
		},
	}
}

// services are those that the provider calls, of the ones that the clients can.
func services() []string { return []string{"ec2", "eks", "events", "iam", "sqs", "ssm", "sts"} }

func endpointsAttribute() schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, service := range services() {
		attributes[service] = schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "URL of the `" + service + "` endpoint.",
		}
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Endpoints to use instead of AWS's own, such as VPC endpoints. Default: the environment variables `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>`.",
		Attributes:          attributes,
	}
}
