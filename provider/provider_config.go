package provider

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/definition"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/session"
)

// providerModel is the provider's configuration as written. Nested attributes are
// objects, not structs, because each may be unknown as a whole.
type providerModel struct {
	Region               types.String `tfsdk:"region"`
	SkipRegionValidation types.Bool   `tfsdk:"skip_region_validation"`
	EKS                  types.Object `tfsdk:"eks"`
	Kubernetes           types.Object `tfsdk:"kubernetes"`
	AcceptNewCluster     types.Bool   `tfsdk:"accept_new_cluster"`
	Endpoints            types.Object `tfsdk:"endpoints"`
	DefaultTags          types.Object `tfsdk:"default_tags"`
	IgnoreTags           types.Object `tfsdk:"ignore_tags"`
	identityModel
	transportModel
}

// identityModel says as whom AWS is called.
type identityModel struct {
	Profile                types.String `tfsdk:"profile"`
	SharedConfigFiles      types.List   `tfsdk:"shared_config_files"`
	SharedCredentialsFiles types.List   `tfsdk:"shared_credentials_files"`
	AccessKey              types.String `tfsdk:"access_key"`
	SecretKey              types.String `tfsdk:"secret_key"`
	Token                  types.String `tfsdk:"token"`
	AssumeRole             types.List   `tfsdk:"assume_role"`
	WebIdentity            types.Object `tfsdk:"assume_role_with_web_identity"`
	STSRegion              types.String `tfsdk:"sts_region"`
	AllowedAccountIDs      types.Set    `tfsdk:"allowed_account_ids"`
	ForbiddenAccountIDs    types.Set    `tfsdk:"forbidden_account_ids"`
}

// transportModel says how requests reach AWS.
type transportModel struct {
	MaxRetries types.Int64  `tfsdk:"max_retries"`
	RetryMode  types.String `tfsdk:"retry_mode"`
	HTTPProxy  types.String `tfsdk:"http_proxy"`
	HTTPSProxy types.String `tfsdk:"https_proxy"`
	NoProxy    types.String `tfsdk:"no_proxy"`
	FIPS       types.Bool   `tfsdk:"use_fips_endpoint"`
	DualStack  types.Bool   `tfsdk:"use_dualstack_endpoint"`
}

// ignored are the keys of tags that ignore_tags says to leave alone.
func (m providerModel) ignored() session.TagFilter {
	a := m.IgnoreTags.Attributes()
	return session.TagFilter{Keys: fwvalue.TextsOf(a["keys"]), Prefixes: fwvalue.TextsOf(a["key_prefixes"])}
}

// settings reads the model. raw is the same configuration, in which unknown values are
// looked for.
func (m providerModel) settings(raw tftypes.Value) session.Settings {
	s := session.Settings{
		Login:            m.login(),
		SkipRegion:       m.SkipRegionValidation.ValueBool(),
		Endpoints:        map[string]string{},
		Accounts:         session.AccountRule{Allowed: fwvalue.TextsOf(m.AllowedAccountIDs), Forbidden: fwvalue.TextsOf(m.ForbiddenAccountIDs)},
		DefaultTags:      types.MapNull(types.StringType),
		IgnoreTags:       m.ignored(),
		AcceptNewCluster: m.AcceptNewCluster.ValueBool(),
	}
	for name, value := range m.Endpoints.Attributes() {
		if url := fwvalue.Text(value); url != "" {
			s.Endpoints[name] = url
		}
	}
	s.Login.STSEndpoint = s.Endpoints["sts"]
	if m.DefaultTags.IsUnknown() {
		s.DefaultTags = types.MapUnknown(types.StringType)
	} else if tags, ok := m.DefaultTags.Attributes()["tags"].(types.Map); ok {
		s.DefaultTags = tags
	}
	if fwvalue.Set(m.EKS) {
		s.EKS = &session.EKSAccess{ClusterName: fwvalue.Text(m.EKS.Attributes()["cluster_name"])}
	} else {
		s.Kubernetes = kubernetesAccess(m.Kubernetes.Attributes(), os.Getenv)
	}
	s.UnknownAWS, s.UnknownCluster = unknownIn(raw)
	if s.EKS != nil {
		s.UnknownCluster = cmp.Or(s.UnknownCluster, s.UnknownAWS)
	}
	return s
}

// login is how the model says to call AWS.
func (m providerModel) login() credentials.Settings {
	s := credentials.Settings{
		Region: m.Region.ValueString(), Profile: m.Profile.ValueString(), STSRegion: m.STSRegion.ValueString(),
		ConfigFiles: fwvalue.TextsOf(m.SharedConfigFiles), CredentialsFiles: fwvalue.TextsOf(m.SharedCredentialsFiles),
		AccessKey: m.AccessKey.ValueString(), SecretKey: m.SecretKey.ValueString(), Token: m.Token.ValueString(),
		MaxAttempts: int(m.MaxRetries.ValueInt64()), RetryMode: m.RetryMode.ValueString(),
		HTTPProxy: m.HTTPProxy.ValueStringPointer(), HTTPSProxy: m.HTTPSProxy.ValueStringPointer(), NoProxy: m.NoProxy.ValueString(),
		FIPS: m.FIPS.ValueBoolPointer(), DualStack: m.DualStack.ValueBoolPointer(),
	}
	for _, element := range m.AssumeRole.Elements() {
		role, ok := element.(types.Object)
		if !ok {
			continue
		}
		a := role.Attributes()
		tags, _ := a["tags"].(types.Map)
		s.Roles = append(s.Roles, credentials.Role{
			ARN: fwvalue.Text(a["role_arn"]), SessionName: fwvalue.Text(a["session_name"]), ExternalID: fwvalue.Text(a["external_id"]), Policy: fwvalue.Text(a["policy"]),
			SourceIdentity: fwvalue.Text(a["source_identity"]), Duration: duration(a["duration"]), PolicyARNs: fwvalue.TextsOf(a["policy_arns"]),
			Tags: fwvalue.StringMap(tags), TransitiveTagKeys: fwvalue.TextsOf(a["transitive_tag_keys"]),
		})
	}
	if fwvalue.Set(m.WebIdentity) {
		a := m.WebIdentity.Attributes()
		s.WebIdentity = &credentials.WebIdentity{
			ARN: fwvalue.Text(a["role_arn"]), SessionName: fwvalue.Text(a["session_name"]), Policy: fwvalue.Text(a["policy"]), Duration: duration(a["duration"]),
			Token: fwvalue.Text(a["web_identity_token"]), TokenFile: fwvalue.Text(a["web_identity_token_file"]), PolicyARNs: fwvalue.TextsOf(a["policy_arns"]),
		}
	}
	return s
}

// unknownIn names the first unknown attribute of the configuration that concerns AWS, and
// the first that concerns the cluster. Unknown default tags concern neither.
func unknownIn(raw tftypes.Value) (ofAWS, ofCluster string) {
	all, err := definition.Unknown(raw)
	if err != nil {
		return "", "" // no value of the framework's is malformed
	}
	names := make([]string, len(all))
	for i, steps := range all {
		names[i] = steps.Path().String()
	}
	slices.Sort(names)
	for _, name := range names {
		root, _, _ := strings.Cut(name, ".")
		switch root {
		case "default_tags":
		case "eks", "kubernetes", "accept_new_cluster":
			ofCluster = cmp.Or(ofCluster, name)
		default:
			ofAWS = cmp.Or(ofAWS, name)
		}
	}
	return ofAWS, ofCluster
}

// duration is the duration that a string says; 0 if it says none.
func duration(v attr.Value) time.Duration {
	d, err := time.ParseDuration(fwvalue.Text(v))
	if err != nil {
		return 0
	}
	return d
}
