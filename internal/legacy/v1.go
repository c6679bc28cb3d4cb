package legacy

import wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"

// The types below have the fields of v1 that a conversion can give a value, and those that
// only an object of v1 has. They are apart from internal/api/v1 and awsv1, as a number,
// quantity or duration may be a template.

type meta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type nodePool struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   meta         `json:"metadata"`
	Spec       nodePoolSpec `json:"spec"`
}

type nodePoolSpec struct {
	Template   nodeTemplate             `json:"template"`
	Disruption disruption               `json:"disruption"`
	Limits     map[string]wire.Quantity `json:"limits,omitempty"`
	Weight     wire.Number              `json:"weight,omitempty"`
	Replicas   wire.Number              `json:"replicas,omitempty"`
}

type nodeTemplate struct {
	Metadata *wire.TemplateMeta `json:"metadata,omitempty"`
	Spec     nodeSpec           `json:"spec"`
}

type nodeSpec struct {
	Taints        []wire.Taint       `json:"taints,omitempty"`
	StartupTaints []wire.Taint       `json:"startupTaints,omitempty"`
	Requirements  []wire.Requirement `json:"requirements"`
	Resources     *wire.Resources    `json:"resources,omitempty"` // of NodeClaims only
	NodeClassRef  nodeClassRef       `json:"nodeClassRef"`
	ExpireAfter   string             `json:"expireAfter"`
	GracePeriod   string             `json:"terminationGracePeriod,omitempty"`
}

type nodeClassRef struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

type disruption struct {
	ConsolidationPolicy string        `json:"consolidationPolicy"`
	ConsolidateAfter    string        `json:"consolidateAfter"`
	Budgets             []wire.Budget `json:"budgets"`
}

type nodeClaim struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   meta     `json:"metadata"`
	Spec       nodeSpec `json:"spec"`
}

type nodeClass struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Metadata   meta          `json:"metadata"`
	Spec       nodeClassSpec `json:"spec"`
}

type nodeClassSpec struct {
	AMIFamily                  string                    `json:"amiFamily,omitempty"`
	AMISelectorTerms           []imageTerm               `json:"amiSelectorTerms"`
	SubnetSelectorTerms        []wire.SelectorTerm       `json:"subnetSelectorTerms"`
	SecurityGroupSelectorTerms []wire.SelectorTerm       `json:"securityGroupSelectorTerms"`
	Role                       string                    `json:"role,omitempty"`
	InstanceProfile            string                    `json:"instanceProfile,omitempty"`
	AssociatePublicIPAddress   wire.Bool                 `json:"associatePublicIPAddress,omitempty"`
	UserData                   string                    `json:"userData,omitempty"`
	Kubelet                    *wire.Kubelet             `json:"kubelet,omitempty"`
	BlockDeviceMappings        []wire.BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	InstanceStorePolicy        string                    `json:"instanceStorePolicy,omitempty"`
	DetailedMonitoring         wire.Bool                 `json:"detailedMonitoring,omitempty"`
	MetadataOptions            *wire.MetadataOptions     `json:"metadataOptions,omitempty"`
	Context                    string                    `json:"context,omitempty"`
	Tags                       map[string]string         `json:"tags,omitempty"`
}

type imageTerm struct {
	Alias string            `json:"alias,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"`
	ID    string            `json:"id,omitempty"`
	Name  string            `json:"name,omitempty"`
	Owner string            `json:"owner,omitempty"`
}

// poolInput is a NodePool of v1 in the input.
type poolInput struct {
	wire.TypeMeta
	Metadata wire.ObjectMeta `json:"metadata"`
	Spec     nodePoolSpec    `json:"spec"`
	Status   any             `json:"status,omitempty"`
}

// classInput is an EC2NodeClass of v1 in the input.
type classInput struct {
	wire.TypeMeta
	Metadata wire.ObjectMeta `json:"metadata"`
	Spec     classInputSpec  `json:"spec"`
	Status   any             `json:"status,omitempty"`
}

// classInputSpec has what only v1 has, beside what a conversion writes.
type classInputSpec struct {
	nodeClassSpec
	SubnetSelectorTerms        []subnetInput     `json:"subnetSelectorTerms"`
	SecurityGroupSelectorTerms []groupInput      `json:"securityGroupSelectorTerms"`
	AMISelectorTerms           []imageInput      `json:"amiSelectorTerms"`
	BlockDeviceMappings        []mappingInput    `json:"blockDeviceMappings,omitempty"`
	Reservations               []reservationTerm `json:"capacityReservationSelectorTerms,omitempty"`
	Kubelet                    *kubeletInput     `json:"kubelet,omitempty"`
}

// kubeletInput is wire.Kubelet with expressions, and with any further field; see withExtra.
type kubeletInput struct {
	ClusterDNS                  []string          `json:"clusterDNS,omitempty"`
	ContainerRuntime            string            `json:"containerRuntime,omitempty"`
	MaxPods                     orExpression      `json:"maxPods,omitempty"`
	PodsPerCore                 wire.Number       `json:"podsPerCore,omitempty"`
	SystemReserved              map[string]amount `json:"systemReserved,omitempty"`
	KubeReserved                map[string]amount `json:"kubeReserved,omitempty"`
	EvictionHard                map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft                map[string]string `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod     map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	EvictionMaxPodGracePeriod   wire.Number       `json:"evictionMaxPodGracePeriod,omitempty"`
	ImageGCHighThresholdPercent wire.Number       `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  wire.Number       `json:"imageGCLowThresholdPercent,omitempty"`
	CPUCFSQuota                 wire.Bool         `json:"cpuCFSQuota,omitempty"`
	Extra                       map[string]any    `json:"extra,omitempty"`
}

// orExpression is a number or an expression for one; "" is absent.
type orExpression string

// UnmarshalJSON implements json.Unmarshaler.
func (o *orExpression) UnmarshalJSON(data []byte) error { return (*wire.Number)(o).UnmarshalJSON(data) }

// amount is a quantity or an expression for one.
type amount string

// UnmarshalJSON implements json.Unmarshaler.
func (a *amount) UnmarshalJSON(data []byte) error { return (*wire.Quantity)(a).UnmarshalJSON(data) }

type subnetInput struct {
	Tags map[string]string `json:"tags,omitempty"`
	ID   string            `json:"id,omitempty"`
}

type groupInput struct {
	Tags map[string]string `json:"tags,omitempty"`
	ID   string            `json:"id,omitempty"`
	Name string            `json:"name,omitempty"`
}

type imageInput struct {
	Alias        string            `json:"alias,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	ID           string            `json:"id,omitempty"`
	Name         string            `json:"name,omitempty"`
	Owner        string            `json:"owner,omitempty"`
	SSMParameter string            `json:"ssmParameter,omitempty"`
}

type mappingInput struct {
	DeviceName string       `json:"deviceName,omitempty"`
	RootVolume wire.Bool    `json:"rootVolume,omitempty"`
	EBS        *volumeInput `json:"ebs,omitempty"`
}

type volumeInput struct {
	wire.EBS
	Rate wire.Number `json:"volumeInitializationRate,omitempty"`
}

type reservationTerm struct {
	Tags     map[string]string `json:"tags,omitempty"`
	ID       string            `json:"id,omitempty"`
	OwnerID  string            `json:"ownerID,omitempty"`
	Criteria string            `json:"instanceMatchCriteria,omitempty"`
}

type configMap struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   meta              `json:"metadata"`
	Data       map[string]string `json:"data"`
}
