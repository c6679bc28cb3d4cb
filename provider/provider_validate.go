package provider

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/region"
)

// The checks of several attributes at once. The stock of validators has checks of
// combinations, too, but their texts say no remedy.

// combination checks attributes of one object.
type combination struct {
	at      path.Path // of the object
	name    string    // of the object in texts, with its dot; empty for the provider's own attributes
	summary string
	a       map[string]attr.Value
	diags   *diag.Diagnostics
}

func (c combination) fail(attribute, format string, args ...any) {
	c.diags.AddAttributeError(c.at.AtName(attribute), c.summary, fmt.Sprintf(format, args...))
}

// exclusive refuses that both are set.
func (c combination) exclusive(one, other, remedy string) {
	if fwvalue.Set(c.a[one]) && fwvalue.Set(c.a[other]) {
		c.fail(one, "%[1]s%[2]s and %[1]s%[3]s are both set: %[4]s.", c.name, one, other, remedy)
	}
}

// needs refuses one without other, unless a variable gives the other.
func (c combination) needs(one, other, variable string) {
	if fwvalue.Set(c.a[one]) && c.a[other].IsNull() && os.Getenv(variable) == "" {
		c.fail(one, "%[1]s%[2]s is set without %[1]s%[3]s. Set both.", c.name, one, other)
	}
}

// validate refuses values and combinations that cannot work. Unknown ones pass.
func (m providerModel) validate() diag.Diagnostics {
	var diags diag.Diagnostics
	if !m.SkipRegionValidation.IsUnknown() && !m.SkipRegionValidation.ValueBool() {
		for name, value := range map[string]types.String{"region": m.Region, "sts_region": m.STSRegion} {
			if value.ValueString() == "" {
				continue
			}
			if err := region.Check(value.ValueString()); err != nil {
				diags.AddAttributeError(path.Root(name), "Unknown AWS region", fmt.Sprintf("%s: %v.", name, err))
			}
		}
	}
	m.validateIdentity(&diags)
	m.validateTags(&diags)
	if fwvalue.Set(m.EKS) && fwvalue.Set(m.Kubernetes) {
		diags.AddAttributeError(path.Root("kubernetes"), "Conflicting cluster access",
			"eks and kubernetes are both set. Keep one: eks reaches an EKS cluster with the provider's AWS credentials; kubernetes reaches a cluster by address and credentials, or by a kubeconfig file.")
	}
	if fwvalue.Set(m.Kubernetes) {
		validateKubernetes(m.Kubernetes.Attributes(), &diags)
	}
	return diags
}

func (m providerModel) validateIdentity(diags *diag.Diagnostics) {
	c := combination{at: path.Empty(), summary: "Conflicting AWS access", diags: diags, a: map[string]attr.Value{
		"access_key": m.AccessKey, "secret_key": m.SecretKey, "token": m.Token, "assume_role_with_web_identity": m.WebIdentity,
		"allowed_account_ids": m.AllowedAccountIDs, "forbidden_account_ids": m.ForbiddenAccountIDs,
	}}
	c.exclusive("allowed_account_ids", "forbidden_account_ids", "keep one; with allowed_account_ids, every other account is forbidden")
	c.exclusive("access_key", "assume_role_with_web_identity", "keep one; the role is assumed with the token alone")
	c.summary = "Incomplete AWS access"
	c.needs("access_key", "secret_key", "")
	c.needs("secret_key", "access_key", "")
	c.needs("token", "access_key", "")
	for i, element := range m.AssumeRole.Elements() {
		role, ok := element.(types.Object)
		if !ok || !fwvalue.Set(role) {
			continue
		}
		tags, _ := role.Attributes()["tags"].(types.Map)
		for _, key := range fwvalue.TextsOf(role.Attributes()["transitive_tag_keys"]) {
			if _, has := tags.Elements()[key]; !has && !tags.IsUnknown() {
				diags.AddAttributeError(path.Root("assume_role").AtListIndex(i).AtName("transitive_tag_keys"), "Incomplete AWS access", fmt.Sprintf(
					"assume_role[%[1]d].transitive_tag_keys has %[2]q, and assume_role[%[1]d].tags has no such key. Add the tag, or remove the key.", i, key))
			}
		}
	}
	if fwvalue.Set(m.WebIdentity) {
		validateWebIdentity(m.WebIdentity.Attributes(), diags)
	}
}

func validateWebIdentity(a map[string]attr.Value, diags *diag.Diagnostics) {
	const name = "assume_role_with_web_identity"
	c := combination{at: path.Root(name), name: name + ".", summary: "Conflicting AWS access", a: a, diags: diags}
	c.exclusive("web_identity_token", "web_identity_token_file", "keep one")
	if a["role_arn"].IsNull() && os.Getenv(credentials.EnvRoleARN) == "" {
		diags.AddAttributeError(path.Root(name).AtName("role_arn"), "Incomplete AWS access",
			name+".role_arn is not set, nor is AWS_ROLE_ARN in the environment. Set one to the ARN of the role.")
	}
	if a["web_identity_token"].IsNull() && a["web_identity_token_file"].IsNull() && os.Getenv(credentials.EnvTokenFile) == "" {
		diags.AddAttributeError(path.Root(name), "Incomplete AWS access",
			name+" has neither web_identity_token nor web_identity_token_file, and AWS_WEB_IDENTITY_TOKEN_FILE is not set in the environment. Set one of the three.")
	}
}

// validateTags refuses default tags that the provider is to leave alone.
func (m providerModel) validateTags(diags *diag.Diagnostics) {
	ignore := m.ignored()
	tags, _ := m.DefaultTags.Attributes()["tags"].(types.Map)
	for key := range tags.Elements() {
		if ignore.Has(key) {
			diags.AddAttributeError(path.Root("default_tags").AtName("tags").AtMapKey(key), "Conflicting tags", fmt.Sprintf(
				"default_tags.tags has %q, which ignore_tags says to leave alone. Remove it from one of the two.", key))
		}
	}
}

func validateKubernetes(a map[string]attr.Value, diags *diag.Diagnostics) {
	root := path.Root("kubernetes")
	c := combination{at: root, name: "kubernetes.", summary: "Conflicting cluster access", a: a, diags: diags}
	c.exclusive("host", "config_path", "keep either the address or the kubeconfig file")
	c.exclusive("host", "config_paths", "keep either the address or the kubeconfig files")
	c.exclusive("config_path", "config_paths", "keep one; config_paths may have one path")
	c.exclusive("insecure", "cluster_ca_certificate", "remove kubernetes.insecure, so that the provider checks the certificate")
	c.exclusive("token", "username", "keep one way to prove who the provider is")
	for _, other := range []string{"token", "username", "client_certificate"} {
		c.exclusive("exec", other, "keep one way to prove who the provider is")
	}
	c.summary = "Incomplete cluster access"
	c.needs("client_certificate", "client_key", "KUBE_CLIENT_KEY_DATA")
	c.needs("client_key", "client_certificate", "KUBE_CLIENT_CERT_DATA")
	c.needs("username", "password", "KUBE_PASSWORD")
	c.needs("password", "username", "KUBE_USER")
	file := !a["config_path"].IsNull() || !a["config_paths"].IsNull() || a["host"].IsNull() && os.Getenv(envConfigPath)+os.Getenv(envConfigPaths) != ""
	for _, attribute := range []string{"config_context", "config_context_auth_info", "config_context_cluster"} {
		if fwvalue.Set(a[attribute]) && !file {
			c.fail(attribute, "kubernetes.%s is set without a kubeconfig file. Set kubernetes.config_path or kubernetes.config_paths, too.", attribute)
		}
	}
	if !file && a["host"].IsNull() && os.Getenv(envHost) == "" {
		diags.AddAttributeError(root, c.summary, "kubernetes has none of host, config_path and config_paths, and KUBE_HOST, KUBE_CONFIG_PATH and KUBE_CONFIG_PATHS are not set in the environment. "+
			"Set kubernetes.host and credentials, or set kubernetes.config_path.")
	}
	c.summary = "Invalid cluster access"
	// A variable that does not count may have what it likes.
	hostVariable, authorityVariable := envHost, "KUBE_CLUSTER_CA_CERT_DATA"
	if file {
		hostVariable = ""
	}
	if !a["insecure"].IsNull() {
		authorityVariable = ""
	}
	c.isURL("host", hostVariable, "https://10.0.0.1:6443", "https", "http")
	c.isURL("proxy_url", "KUBE_PROXY_URL", "http://proxy:3128", "http", "https", "socks5")
	c.isPEM("cluster_ca_certificate", authorityVariable)
	c.isPEM("client_certificate", "KUBE_CLIENT_CERT_DATA")
	c.isPEM("client_key", "KUBE_CLIENT_KEY_DATA")
	if value := os.Getenv(envInsecure); value != "" && a["insecure"].IsNull() {
		if _, err := strconv.ParseBool(value); err != nil {
			c.fail("insecure", "KUBE_INSECURE in the environment is %q, which is neither true nor false. Correct it, or set kubernetes.insecure.", value)
		}
	}
}

// found is the value of the attribute and its name, or else those of the variable; an
// unknown attribute is "".
func (c combination) found(attribute, variable string) (value, name string) {
	if c.a[attribute].IsNull() {
		return os.Getenv(variable), variable + " in the environment"
	}
	return fwvalue.Text(c.a[attribute]), c.name + attribute
}

func (c combination) isURL(attribute, variable, example string, schemes ...string) {
	value, name := c.found(attribute, variable)
	if value == "" {
		return
	}
	u, err := url.Parse(value)
	for _, scheme := range schemes {
		if err == nil && u.Scheme == scheme && u.Host != "" {
			return
		}
	}
	c.fail(attribute, "%s is %q, which is not a URL with a scheme (%s) and a host. Write one such as %s.", name, value, strings.Join(schemes, ", "), example)
}

// isPEM refuses certificates and keys that are not PEM. What AWS and kubeconfig files have
// is base64 of PEM.
func (c combination) isPEM(attribute, variable string) {
	value, name := c.found(attribute, variable)
	if value == "" {
		return
	}
	if block, _ := pem.Decode([]byte(value)); block != nil {
		return
	}
	remedy := `Its first line must be like "-----BEGIN CERTIFICATE-----"; to read a file, use file("PATH")`
	if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
		if block, _ := pem.Decode(decoded); block != nil {
			remedy = "It is base64 of PEM: use base64decode"
		}
	}
	c.fail(attribute, "%s is not PEM. %s.", name, remedy)
}
