package provider

import (
	"cmp"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
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
	or := func(attribute, variable string) string { return cmp.Or(text(a[attribute]), env(variable)) }
	// Of the ways to prove who the provider is, those of the attributes count alone.
	chosen := set(a["token"]) || set(a["username"]) || set(a["client_certificate"]) || set(a["exec"])
	proof := func(attribute, variable, partner string) string {
		if chosen && !set(a[partner]) {
			return text(a[attribute])
		}
		return or(attribute, variable)
	}
	access := kube.Access{
		ConfigPaths: textsOf(a["config_paths"]), ConfigContext: or("config_context", "KUBE_CTX"),
		ConfigContextAuthInfo: or("config_context_auth_info", "KUBE_CTX_AUTH_INFO"),
		ConfigContextCluster:  or("config_context_cluster", "KUBE_CTX_CLUSTER"),
		Host:                  text(a["host"]), TLSServerName: or("tls_server_name", "KUBE_TLS_SERVER_NAME"), ProxyURL: or("proxy_url", "KUBE_PROXY_URL"),
		ClusterCACertificate: text(a["cluster_ca_certificate"]),
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
	if path := text(a["config_path"]); path != "" {
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
	if !ok || !set(exec) {
		return nil
	}
	a := exec.Attributes()
	env, _ := a["env"].(types.Map)
	return &kube.Exec{APIVersion: text(a["api_version"]), Command: text(a["command"]), Args: textsOf(a["args"]), Env: stringMap(env)}
}
