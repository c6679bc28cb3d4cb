package legacy

// Groups, versions and kinds.
const (
	CoreGroup = "karpenter.sh"
	AWSGroup  = "karpenter.k8s.aws"

	KindProvisioner     = "Provisioner"
	KindMachine         = "Machine"
	KindAWSNodeTemplate = "AWSNodeTemplate"
	KindNodePool        = "NodePool"
	KindNodeClaim       = "NodeClaim"
	KindEC2NodeClass    = "EC2NodeClass"

	VersionProvisioner     = CoreGroup + "/v1alpha5"
	VersionAWSNodeTemplate = AWSGroup + "/v1alpha1"
	VersionNodePool        = CoreGroup + "/v1beta1" // NodeClaim, too
	VersionEC2NodeClass    = AWSGroup + "/v1beta1"

	// SettingsName is the name of the ConfigMap that had the controller's settings.
	SettingsName = "karpenter-global-settings"
)

// TypeMeta is the type of an object.
type TypeMeta struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
}

// ObjectMeta is the part of Kubernetes metadata that a manifest or an object read from
// a cluster has. What only the API server writes has any type.
type ObjectMeta struct {
	Name        string            `json:"name,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	GenerateName               any `json:"generateName,omitempty"`
	CreationTimestamp          any `json:"creationTimestamp,omitempty"`
	DeletionTimestamp          any `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds any `json:"deletionGracePeriodSeconds,omitempty"`
	Finalizers                 any `json:"finalizers,omitempty"`
	Generation                 any `json:"generation,omitempty"`
	ManagedFields              any `json:"managedFields,omitempty"`
	OwnerReferences            any `json:"ownerReferences,omitempty"`
	ResourceVersion            any `json:"resourceVersion,omitempty"`
	SelfLink                   any `json:"selfLink,omitempty"`
	UID                        any `json:"uid,omitempty"`
}

// Taint of nodes.
type Taint struct {
	Key       string `json:"key,omitempty"`
	Value     string `json:"value,omitempty"`
	Effect    string `json:"effect,omitempty"`
	TimeAdded any    `json:"timeAdded,omitempty"`
}

// Requirement on a label of nodes. MinValues came with v1beta1.
type Requirement struct {
	Key       string   `json:"key,omitempty"`
	Operator  string   `json:"operator,omitempty"`
	Values    []string `json:"values,omitempty"`
	MinValues Number   `json:"minValues,omitempty"`
}

// Kubelet is the configuration of the kubelet, the same in all versions but for
// ContainerRuntime, which v1alpha5 alone has.
type Kubelet struct {
	ClusterDNS                  []string            `json:"clusterDNS,omitempty"`
	ContainerRuntime            string              `json:"containerRuntime,omitempty"`
	MaxPods                     Number              `json:"maxPods,omitempty"`
	PodsPerCore                 Number              `json:"podsPerCore,omitempty"`
	SystemReserved              map[string]Quantity `json:"systemReserved,omitempty"`
	KubeReserved                map[string]Quantity `json:"kubeReserved,omitempty"`
	EvictionHard                map[string]string   `json:"evictionHard,omitempty"`
	EvictionSoft                map[string]string   `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod     map[string]string   `json:"evictionSoftGracePeriod,omitempty"`
	EvictionMaxPodGracePeriod   Number              `json:"evictionMaxPodGracePeriod,omitempty"`
	ImageGCHighThresholdPercent Number              `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  Number              `json:"imageGCLowThresholdPercent,omitempty"`
	CPUCFSQuota                 Bool                `json:"cpuCFSQuota,omitempty"`
}

// MetadataOptions of the instance metadata service, the same in all versions.
type MetadataOptions struct {
	HTTPEndpoint            string `json:"httpEndpoint,omitempty"`
	HTTPProtocolIPv6        string `json:"httpProtocolIPv6,omitempty"`
	HTTPPutResponseHopLimit Number `json:"httpPutResponseHopLimit,omitempty"`
	HTTPTokens              string `json:"httpTokens,omitempty"`
}

// BlockDeviceMapping is a volume. RootVolume came with v1beta1.
type BlockDeviceMapping struct {
	DeviceName string `json:"deviceName,omitempty"`
	RootVolume Bool   `json:"rootVolume,omitempty"`
	EBS        *EBS   `json:"ebs,omitempty"`
}

// EBS is an EBS volume, the same in all versions.
type EBS struct {
	VolumeSize          Quantity `json:"volumeSize,omitempty"`
	VolumeType          string   `json:"volumeType,omitempty"`
	Encrypted           Bool     `json:"encrypted,omitempty"`
	DeleteOnTermination Bool     `json:"deleteOnTermination,omitempty"`
	IOPS                Number   `json:"iops,omitempty"`
	Throughput          Number   `json:"throughput,omitempty"`
	KMSKeyID            string   `json:"kmsKeyID,omitempty"`
	SnapshotID          string   `json:"snapshotID,omitempty"`
}
