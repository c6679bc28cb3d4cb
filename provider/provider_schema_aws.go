package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

// Limits of the duration of a session, by the API reference of STS AssumeRole.
const (
	shortestSession = 15 * time.Minute
	longestSession  = 12 * time.Hour
)

// identityAttributes say as whom AWS is called. Names and meanings are those of the AWS
// provider.
func identityAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"profile": plainText("Profile of the shared files. Default: `AWS_PROFILE`. With a profile, the keys in the environment do not count."),
		"shared_config_files": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Shared configuration files. Default: `AWS_CONFIG_FILE`, then `~/.aws/config`.",
		},
		"shared_credentials_files": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Shared credentials files. Default: `AWS_SHARED_CREDENTIALS_FILE`, then `~/.aws/credentials`.",
		},
		"access_key": secretText("Access key id. Needs `secret_key`. Prefer a profile or a role: the keys in a configuration are seen by everybody who reads it. Default: `AWS_ACCESS_KEY_ID`."),
		"secret_key": secretText("Secret access key. Needs `access_key`. Default: `AWS_SECRET_ACCESS_KEY`."),
		"token":      secretText("Session token of temporary keys. Needs `access_key` and `secret_key`. Default: `AWS_SESSION_TOKEN`."),
		"assume_role": schema.ListNestedAttribute{
			Optional: true,
			MarkdownDescription: "Roles to assume, one after the other: each with the credentials of the one before it, the first with those that the other " +
				"arguments or the environment give. The provider renews the credentials.",
			NestedObject: schema.NestedAttributeObject{Attributes: roleAttributes()},
		},
		"assume_role_with_web_identity": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Role to assume with an OIDC token, as in a CI system or a pod. The roles in `assume_role` come after it. Conflicts with `access_key`.",
			Attributes:          webIdentityAttributes(),
		},
		"sts_region":            plainText("Region of STS in which roles are assumed. Default: `region`."),
		"allowed_account_ids":   accountIDs("AWS accounts that the provider may read and change. Before the first call, STS is asked for the account of the credentials. Conflicts with `forbidden_account_ids`."),
		"forbidden_account_ids": accountIDs("AWS accounts that the provider must neither read nor change. Conflicts with `allowed_account_ids`."),
	}
}

func accountIDs(description string) schema.Attribute {
	return schema.SetAttribute{
		Optional: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(validate.AccountID())},
	}
}

func roleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"role_arn": schema.StringAttribute{
			Required: true, MarkdownDescription: "ARN of the role.", Validators: []validator.String{validate.ARN("iam", "role/")},
		},
		"session_name":    sessionName(),
		"external_id":     plainText("External id that the role's trust policy asks for.", stringvalidator.LengthBetween(2, 1224)),
		"duration":        sessionDuration(),
		"policy":          sessionPolicy(),
		"policy_arns":     sessionPolicies(),
		"source_identity": plainText("Source identity of the session, which CloudTrail shows.", validate.SessionName()),
		"tags":            schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Tags of the session."},
		"transitive_tag_keys": schema.SetAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Keys in `tags` that the sessions of the next roles have, too.",
		},
	}
}

func webIdentityAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"role_arn":                plainText("ARN of the role. Default: `AWS_ROLE_ARN`.", validate.ARN("iam", "role/")),
		"session_name":            sessionName(),
		"web_identity_token":      secretText("OIDC token. Conflicts with `web_identity_token_file`."),
		"web_identity_token_file": plainText("File with an OIDC token, which is read again for each renewal. Default: `AWS_WEB_IDENTITY_TOKEN_FILE`."),
		"duration":                sessionDuration(),
		"policy":                  sessionPolicy(),
		"policy_arns":             sessionPolicies(),
	}
}

func sessionName() schema.Attribute {
	return plainText("Name of the session, which CloudTrail shows. Default: one that is made up.", validate.SessionName())
}

func sessionDuration() schema.Attribute {
	return plainText("Duration of the session, from `15m` to `12h`. Default `1h`.", validate.DurationBetween(shortestSession, longestSession))
}

func sessionPolicy() schema.Attribute {
	return plainText("IAM policy (JSON) that restricts the session.", validate.JSON())
}

func sessionPolicies() schema.Attribute {
	return schema.SetAttribute{
		Optional: true, ElementType: types.StringType, MarkdownDescription: "ARNs of IAM policies that restrict the session.",
		Validators: []validator.Set{setvalidator.ValueStringsAre(validate.ARN("iam", "policy/"))},
	}
}

// transportAttributes say how requests reach AWS.
func transportAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"max_retries": schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)},
			MarkdownDescription: "How often a call to AWS is tried at most, the first attempt included, as the AWS provider counts it. Default: `AWS_MAX_ATTEMPTS`, then 5.",
		},
		"retry_mode":  plainText("`standard`, or `adaptive` to slow down when AWS limits the rate of calls. Default: `AWS_RETRY_MODE`, then `standard`.", stringvalidator.OneOf("standard", "adaptive")),
		"http_proxy":  plainText("URL of the proxy for calls to AWS: `http`, `https` or `socks5`. It also serves HTTPS endpoints, if there is no HTTPS proxy. Default: `HTTP_PROXY`.", proxyURL()),
		"https_proxy": plainText("URL of the proxy for calls to HTTPS endpoints of AWS. Default: `HTTPS_PROXY`.", proxyURL()),
		"no_proxy":    plainText("Comma-separated hosts that are called without a proxy. Default: `NO_PROXY`."),
		"use_fips_endpoint": optionalBool("Call the FIPS endpoints of AWS. A service that has none in the region cannot be called then, and the error names the endpoint; " +
			"a service in `endpoints` is called there. Default: `AWS_USE_FIPS_ENDPOINT`, then the profile."),
		"use_dualstack_endpoint": optionalBool("Call the dual-stack endpoints of AWS, which answer by IPv6, too. A service that has none in the region cannot be called then; " +
			"a service in `endpoints` is called there. Default: `AWS_USE_DUALSTACK_ENDPOINT`, then the profile."),
	}
}

func proxyURL() validator.String { return validate.URLOrNothing("http", "https", "socks5") }

func ignoreTagsAttribute() schema.Attribute {
	keys := func(description string) schema.Attribute {
		return schema.SetAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: description,
			Validators: []validator.Set{setvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))},
		}
	}
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Tags of AWS resources that another system keeps: the provider neither shows, changes nor removes them. " +
			"`karpenter_discovery_tags` and the tags of a node class are not concerned.",
		Attributes: map[string]schema.Attribute{
			"keys":         keys("Keys of these tags."),
			"key_prefixes": keys("Beginnings of the keys of these tags."),
		},
	}
}
