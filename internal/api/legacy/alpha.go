package legacy

// Provisioner is karpenter.sh/v1alpha5 Provisioner.
type Provisioner struct {
	TypeMeta
	Metadata ObjectMeta      `json:"metadata"`
	Spec     ProvisionerSpec `json:"spec"`
	Status   any             `json:"status,omitempty"`
}

// ProvisionerSpec is the wanted state of a Provisioner.
type ProvisionerSpec struct {
	Annotations            map[string]string `json:"annotations,omitempty"`
	Labels                 map[string]string `json:"labels,omitempty"`
	Taints                 []Taint           `json:"taints,omitempty"`
	StartupTaints          []Taint           `json:"startupTaints,omitempty"`
	Requirements           []Requirement     `json:"requirements,omitempty"`
	KubeletConfiguration   *Kubelet          `json:"kubeletConfiguration,omitempty"`
	Provider               *AWS              `json:"provider,omitempty"`
	ProviderRef            *ProviderRef      `json:"providerRef,omitempty"`
	TTLSecondsAfterEmpty   Number            `json:"ttlSecondsAfterEmpty,omitempty"`
	TTLSecondsUntilExpired Number            `json:"ttlSecondsUntilExpired,omitempty"`
	Limits                 *Limits           `json:"limits,omitempty"`
	Weight                 Number            `json:"weight,omitempty"`
	Consolidation          *Consolidation    `json:"consolidation,omitempty"`
}

// ProviderRef names an AWSNodeTemplate.
type ProviderRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
}

// Limits of a Provisioner.
type Limits struct {
	Resources map[string]Quantity `json:"resources,omitempty"`
}

// Consolidation of a Provisioner.
type Consolidation struct {
	Enabled Bool `json:"enabled,omitempty"`
}

// AWS is the inline provider of a Provisioner (extensions.karpenter.sh/v1alpha1, kind
// AWS), and the part of an AWSNodeTemplate that is the same.
type AWS struct {
	TypeMeta
	AMIFamily             string               `json:"amiFamily,omitempty"`
	Context               string               `json:"context,omitempty"`
	InstanceProfile       string               `json:"instanceProfile,omitempty"`
	SubnetSelector        map[string]string    `json:"subnetSelector,omitempty"`
	SecurityGroupSelector map[string]string    `json:"securityGroupSelector,omitempty"`
	Tags                  map[string]string    `json:"tags,omitempty"`
	LaunchTemplate        string               `json:"launchTemplate,omitempty"`
	MetadataOptions       *MetadataOptions     `json:"metadataOptions,omitempty"`
	BlockDeviceMappings   []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
}

// AWSNodeTemplate is karpenter.k8s.aws/v1alpha1 AWSNodeTemplate.
type AWSNodeTemplate struct {
	TypeMeta
	Metadata ObjectMeta          `json:"metadata"`
	Spec     AWSNodeTemplateSpec `json:"spec"`
	Status   any                 `json:"status,omitempty"`
}

// AWSNodeTemplateSpec is the wanted configuration of instances.
type AWSNodeTemplateSpec struct {
	AWS
	UserData           string            `json:"userData,omitempty"`
	AMISelector        map[string]string `json:"amiSelector,omitempty"`
	DetailedMonitoring Bool              `json:"detailedMonitoring,omitempty"`
}

// Settings is the ConfigMap karpenter-global-settings.
type Settings struct {
	TypeMeta
	Metadata  ObjectMeta        `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
	Immutable any               `json:"immutable,omitempty"`
}
