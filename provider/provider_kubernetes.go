package provider

import (
	"cmp"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
)

// The environment variables that say where the API server is. Their names, and those in
// kubernetesAccess, are those of Terraform's Kubernetes and Helm providers.
const (
	envHost        = "KUBE_HOST"
	envConfigPath  = "KUBE_CONFIG_PATH"
	envConfigPaths = "KUBE_CONFIG_PATHS"
	envInsecure    = "KUBE_INSECURE"
)

// kubernetesAccess is what the attributes of kubernetes say, and else the environment; nil
// if neither says where an API server is. An attribute that says where, whom to trust or who
// the provider is keeps the environment from saying something else.
func kubernetesAccess(a map[string]attr.Value, env func(string) string) *kube.Access {
	or := func(attribute, variable string) string { return cmp.Or(fwvalue.Text(a[attribute]), env(variable)) }
	// Of the ways to prove who the provider is, those of the attributes count alone.
	chosen := fwvalue.Set(a["token"]) || fwvalue.Set(a["username"]) || fwvalue.Set(a["client_certificate"]) || fwvalue.Set(a["exec"])
	proof := func(attribute, variable, partner string) string {
		if chosen && !fwvalue.Set(a[partner]) {
			return fwvalue.Text(a[attribute])
		}
		return or(attribute, variable)
	}
	access := kube.Access{
		ConfigPaths: fwvalue.TextsOf(a["config_paths"]), ConfigContext: or("config_context", "KUBE_CTX"),
		ConfigContextAuthInfo: or("config_context_auth_info", "KUBE_CTX_AUTH_INFO"),
		ConfigContextCluster:  or("config_context_cluster", "KUBE_CTX_CLUSTER"),
		Host:                  fwvalue.Text(a["host"]), TLSServerName: or("tls_server_name", "KUBE_TLS_SERVER_NAME"), ProxyURL: or("proxy_url", "KUBE_PROXY_URL"),
		ClusterCACertificate: fwvalue.Text(a["cluster_ca_certificate"]),
		Username:             proof("username", "KUBE_USER", "password"), Password: proof("password", "KUBE_PASSWORD", "username"),
		ClientCertificate: proof("client_certificate", "KUBE_CLIENT_CERT_DATA", "client_key"),
		ClientKey:         proof("client_key", "KUBE_CLIENT_KEY_DATA", "client_certificate"),
		Token:             proof("token", "KUBE_TOKEN", ""), Exec: execAccess(a["exec"]),
	}
	insecure, _ := a["insecure"].(types.Bool)
	access.Insecure = insecure.ValueBool()
	if access.ClusterCACertificate == "" && insecure.IsNull() {
		access.ClusterCACertificate = env("KUBE_CLUSTER_CA_CERT_DATA")
		access.Insecure, _ = strconv.ParseBool(env(envInsecure))
	}
	if path := fwvalue.Text(a["config_path"]); path != "" {
		access.ConfigPaths = []string{path}
	}
	if access.Host == "" && len(access.ConfigPaths) == 0 {
		access.Host = env(envHost)
		access.ConfigPaths = filepath.SplitList(env(envConfigPaths))
		if path := env(envConfigPath); path != "" {
			access.ConfigPaths = []string{path}
		}
	}
	if access.Host == "" && len(access.ConfigPaths) == 0 {
		return nil
	}
	if len(access.ConfigPaths) == 0 {
		access.ConfigContext, access.ConfigContextAuthInfo, access.ConfigContextCluster = "", "", ""
	}
	return &access
}

func execAccess(v attr.Value) *kube.Exec {
	exec, ok := v.(types.Object)
	if !ok || !fwvalue.Set(exec) {
		return nil
	}
	a := exec.Attributes()
	env, _ := a["env"].(types.Map)
	return &kube.Exec{APIVersion: fwvalue.Text(a["api_version"]), Command: fwvalue.Text(a["command"]), Args: fwvalue.TextsOf(a["args"]), Env: fwvalue.StringMap(env)}
}
