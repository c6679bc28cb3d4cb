package provider

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/region"
)

// providerModel is the provider's configuration as written. Nested attributes are
// objects, not structs, because each may be unknown as a whole.
type providerModel struct {
	Region               types.String `tfsdk:"region"`
	SkipRegionValidation types.Bool   `tfsdk:"skip_region_validation"`
	EKS                  types.Object `tfsdk:"eks"`
	Kubernetes           types.Object `tfsdk:"kubernetes"`
	Endpoints            types.Object `tfsdk:"endpoints"`
	DefaultTags          types.Object `tfsdk:"default_tags"`
}

// validate refuses values and combinations that cannot work. Unknown ones pass.
func (m providerModel) validate() diag.Diagnostics {
	var diags diag.Diagnostics
	if m.Region.ValueString() != "" && !m.SkipRegionValidation.IsUnknown() && !m.SkipRegionValidation.ValueBool() {
		if err := region.Check(m.Region.ValueString()); err != nil {
			diags.AddAttributeError(path.Root("region"), "Unknown AWS region", fmt.Sprintf("region: %v.", err))
		}
	}
	if set(m.EKS) && set(m.Kubernetes) {
		diags.AddAttributeError(path.Root("kubernetes"), "Conflicting cluster access",
			"eks and kubernetes are both set. Keep one: eks reaches an EKS cluster with the provider's AWS credentials; kubernetes reaches a cluster by address and credentials, or by a kubeconfig file.")
	}
	if set(m.Kubernetes) {
		diags.Append(validateKubernetes(m.Kubernetes.Attributes())...)
	}
	return diags
}

func validateKubernetes(a map[string]attr.Value) diag.Diagnostics {
	var diags diag.Diagnostics
	root := path.Root("kubernetes")
	both := func(one, other, remedy string) {
		if set(a[one]) && set(a[other]) {
			diags.AddAttributeError(root.AtName(one), "Conflicting cluster access", fmt.Sprintf("kubernetes.%s and kubernetes.%s are both set: %s.", one, other, remedy))
		}
	}
	needs := func(one, other string) {
		if set(a[one]) && a[other].IsNull() {
			diags.AddAttributeError(root.AtName(one), "Incomplete cluster access", fmt.Sprintf("kubernetes.%s is set without kubernetes.%s. Set both.", one, other))
		}
	}
	both("host", "config_path", "keep either the address or the kubeconfig file")
	both("insecure", "cluster_ca_certificate", "remove kubernetes.insecure, so that the provider checks the certificate")
	needs("client_certificate", "client_key")
	needs("client_key", "client_certificate")
	needs("config_context", "config_path")
	if a["host"].IsNull() && a["config_path"].IsNull() {
		diags.AddAttributeError(root, "Incomplete cluster access", "kubernetes has neither host nor config_path. Set host and credentials, or set config_path.")
	}
	return diags
}

// settings are the configuration without null and unknown values. An empty string
// stands for an attribute that is not set.
type settings struct {
	region      string
	skipRegion  bool
	endpoints   map[string]string
	defaultTags types.Map

	eks        *eksAccess
	kubernetes *kubernetesAccess

	unknownAWS     string // first unknown attribute that the AWS clients need
	unknownCluster string // first unknown attribute that the clients of the cluster need
}

type eksAccess struct{ clusterName string }

type kubernetesAccess struct {
	host, token, caCertificate, clientCertificate, clientKey, tlsServerName string
	insecure                                                                bool
	configPath, configContext                                               string
}

func (m providerModel) settings() settings {
	s := settings{
		region:      m.Region.ValueString(),
		skipRegion:  m.SkipRegionValidation.ValueBool(),
		endpoints:   map[string]string{},
		defaultTags: types.MapNull(types.StringType),
	}
	s.unknownAWS = firstUnknown(named{"region", m.Region}, named{"endpoints", m.Endpoints})
	for _, name := range slices.Sorted(maps.Keys(m.Endpoints.Attributes())) {
		value := m.Endpoints.Attributes()[name]
		if s.unknownAWS == "" && value.IsUnknown() {
			s.unknownAWS = "endpoints." + name
		}
		if url := text(value); url != "" {
			s.endpoints[name] = url
		}
	}
	if m.DefaultTags.IsUnknown() {
		s.defaultTags = types.MapUnknown(types.StringType)
	} else if tags, ok := m.DefaultTags.Attributes()["tags"].(types.Map); ok {
		s.defaultTags = tags
	}
	s.resolveCluster(m)
	return s
}

func (s *settings) resolveCluster(m providerModel) {
	s.unknownCluster = firstUnknown(named{"eks", m.EKS}, named{"kubernetes", m.Kubernetes})
	if set(m.EKS) {
		a := m.EKS.Attributes()
		s.eks = &eksAccess{clusterName: text(a["cluster_name"])}
		s.unknownCluster = firstUnknown(named{"eks.cluster_name", a["cluster_name"]})
		if s.unknownCluster == "" {
			s.unknownCluster = s.unknownAWS
		}
	}
	if set(m.Kubernetes) {
		a := m.Kubernetes.Attributes()
		insecure, _ := a["insecure"].(types.Bool)
		s.kubernetes = &kubernetesAccess{
			host: text(a["host"]), token: text(a["token"]), caCertificate: text(a["cluster_ca_certificate"]),
			clientCertificate: text(a["client_certificate"]), clientKey: text(a["client_key"]),
			tlsServerName: text(a["tls_server_name"]), insecure: insecure.ValueBool(),
			configPath: text(a["config_path"]), configContext: text(a["config_context"]),
		}
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if s.unknownCluster == "" && a[name].IsUnknown() {
				s.unknownCluster = "kubernetes." + name
			}
		}
	}
}

// set tells whether a value is neither null nor unknown.
func set(v attr.Value) bool { return v != nil && !v.IsNull() && !v.IsUnknown() }

// text is the string of a value; "" if the value is null, unknown or no string.
func text(v attr.Value) string {
	s, _ := v.(types.String)
	return s.ValueString()
}

// firstUnknown gives the name of the first value that is unknown.
func firstUnknown(values ...named) string {
	for _, v := range values {
		if v.value != nil && v.value.IsUnknown() {
			return v.name
		}
	}
	return ""
}

type named struct {
	name  string
	value attr.Value
}
