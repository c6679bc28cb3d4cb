package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// Schema describes the provider's configuration. Every attribute is optional, so
// that AWS resources work without a cluster and all settings can come from the
// environment.
func (p *karpenterProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Declares Karpenter-compatible node provisioning on Amazon EKS: IAM roles, discovery tags, the " +
			"interruption queue, the daemon, node classes and node pools.\n\n" +
			"The provider finds AWS credentials as the AWS provider does: its own arguments, the environment, shared files, web " +
			"identity, container, instance metadata. The provider's configuration causes no network call and may use values that are " +
			"known only after apply. One apply can therefore create a cluster and everything in it.",
		Attributes: map[string]schema.Attribute{
			"region":                 plainText("AWS region, such as `us-west-2`. Default: `AWS_REGION`, `AWS_DEFAULT_REGION`, then the profile. A plan of an AWS resource without a region is an error."),
			"skip_region_validation": optionalBool("Accept a `region` that this version of the provider does not know. Default `false`."),
			"eks":                    eksAttribute(),
			"kubernetes":             kubernetesAttribute(),
			"accept_new_cluster": optionalBool("Say that the cluster was deleted and created again, so that another cluster than the one in the state is no " +
				"error, nor is an EKS cluster that does not exist. A refresh then removes the resources of the old cluster from the state, and the apply creates them in the new one. Nothing " +
				"in the new cluster is taken over or deleted. Remove the argument after that apply. Default `false`."),
			"endpoints":    endpointsAttribute(),
			"default_tags": tagsOfAll("Tags of every resource that can have tags, and of the instances that are launched with a node class. A tag of the resource itself takes precedence."),
			"ignore_tags":  ignoreTagsAttribute(),
		},
	}
	maps.Copy(resp.Schema.Attributes, identityAttributes())
	maps.Copy(resp.Schema.Attributes, transportAttributes())
}

func plainText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

func secretText(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
}

func optionalBool(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

func tagsOfAll(description string) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"tags": schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Tag keys and values."},
		},
	}
}

func eksAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Access to the Kubernetes API of an EKS cluster with the AWS credentials of the provider. The provider " +
			"creates and renews the tokens itself: it needs no AWS CLI, and no token expires during a long apply. If the cluster does not know " +
			"the provider yet, because its access entry was created a moment ago, a creation waits up to 2 minutes. Conflicts with `kubernetes`.",
		Attributes: map[string]schema.Attribute{
			"cluster_name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the EKS cluster. The name may be known only after apply.",
				Validators:          []validator.String{validate.Is(awsspec.CheckClusterName)},
			},
		},
	}
}

// apiVersions of the credentials that a program prints.
func apiVersions() []string {
	return []string{"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}
}

func kubernetesAttribute() schema.Attribute {
	files := "`config_path` or `config_paths`"
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Access to the Kubernetes API by address and credentials, or by kubeconfig files. Names and environment " +
			"variables are those of Terraform's Kubernetes and Helm providers. An argument takes precedence over its variable, and both over " +
			"the files. If neither `eks` nor `kubernetes` is set, the variables count alone. The provider reads no kubeconfig file from a " +
			"default location. Conflicts with `eks`.",
		Attributes: map[string]schema.Attribute{
			"host":                   plainText("Address of the API server, such as `https://10.0.0.1:6443`. Credentials are sent to `https` only. Default: `KUBE_HOST`, if no file is set."),
			"username":               plainText("User name for basic authentication, which some proxies before an API server use. Needs `password`. Default: `KUBE_USER`."),
			"password":               secretText("Password for basic authentication. Default: `KUBE_PASSWORD`."),
			"token":                  secretText("Bearer token. Default: `KUBE_TOKEN`."),
			"cluster_ca_certificate": plainText("PEM certificates of the certificate authorities that the provider trusts for the API server's certificate. EKS gives base64 of it: use `base64decode`. Default: `KUBE_CLUSTER_CA_CERT_DATA`, if `insecure` is not set."),
			"client_certificate":     plainText("PEM certificate of the client. Needs `client_key`. Default: `KUBE_CLIENT_CERT_DATA`."),
			"client_key":             secretText("PEM key of the client certificate. Default: `KUBE_CLIENT_KEY_DATA`."),
			"tls_server_name":        plainText("Name that the API server's certificate must contain, if it is not the name in `host`. Default: `KUBE_TLS_SERVER_NAME`."),
			"insecure":               optionalBool("Do not check the API server's certificate. Default: `KUBE_INSECURE`, if `cluster_ca_certificate` is not set, else `false`."),
			"proxy_url":              plainText("URL of the proxy to the API server: `http`, `https` or `socks5`. Default: `KUBE_PROXY_URL`, then `HTTPS_PROXY`."),
			"config_path":            plainText("Path of a kubeconfig file. Conflicts with `host`. Default: `KUBE_CONFIG_PATH`, if neither `host` nor `config_paths` is set."),
			"config_paths": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Paths of several kubeconfig files, which are merged. Conflicts with `host` and `config_path`. Default: `KUBE_CONFIG_PATHS`, in which a colon separates the paths.",
			},
			"config_context":           plainText("Context of the kubeconfig files. Default: `KUBE_CTX`, then their current context. Needs " + files + "."),
			"config_context_auth_info": plainText("User of the kubeconfig files, in place of the context's. Default: `KUBE_CTX_AUTH_INFO`. Needs " + files + "."),
			"config_context_cluster":   plainText("Cluster of the kubeconfig files, in place of the context's. Default: `KUBE_CTX_CLUSTER`. Needs " + files + "."),
			"exec": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Program that prints credentials, such as `aws eks get-token`. With `eks` in place of `kubernetes`, an EKS cluster " +
					"needs no such program. Conflicts with `token`, `username` and `client_certificate`.",
				Attributes: map[string]schema.Attribute{
					"api_version": schema.StringAttribute{
						Required: true, MarkdownDescription: "Version of what the program prints: `client.authentication.k8s.io/v1` or `client.authentication.k8s.io/v1beta1`.",
						Validators: []validator.String{stringvalidator.OneOf(apiVersions()...)},
					},
					"command": schema.StringAttribute{
						Required: true, MarkdownDescription: "Program, looked for in `PATH`.", Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
					},
					"args": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Arguments of the program."},
					"env":  schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Environment variables of the program, in addition to those of Terraform."},
				},
			},
		},
	}
}

// services are those that the provider calls, of the ones that the clients can.
func services() []string { return []string{"ec2", "eks", "events", "iam", "sqs", "ssm", "sts"} }

func endpointsAttribute() schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, service := range services() {
		attributes[service] = plainText("URL of the `"+service+"` endpoint.", validate.URL("http", "https"))
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Endpoints to use instead of AWS's own, such as VPC endpoints. Default: the environment variables `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>`.",
		Attributes:          attributes,
	}
}
