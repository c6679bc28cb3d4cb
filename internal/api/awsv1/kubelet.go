package awsv1

// KubeletConfiguration configures the kubelet.
//
// +kubebuilder:validation:XValidation:rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",message="imageGCHighThresholdPercent must be above imageGCLowThresholdPercent: raise it"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoft) || self.evictionSoft.all(k, has(self.evictionSoftGracePeriod) && k in self.evictionSoftGracePeriod)",message="every signal of evictionSoft needs a grace period: add it to evictionSoftGracePeriod"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoftGracePeriod) || self.evictionSoftGracePeriod.all(k, has(self.evictionSoft) && k in self.evictionSoft)",message="every signal of evictionSoftGracePeriod needs a threshold: add it to evictionSoft"
type KubeletConfiguration struct {
	// ClusterDNS are the addresses of the DNS servers that pods use.
	//
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// MaxPods of a node. Without it the number follows from the network interfaces.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxPods *int32 `json:"maxPods,omitempty"`
	// PodsPerCore is the most pods of a node for each of its vCPUs, where that is
	// fewer than MaxPods. 0 is no limit.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// SystemReserved is what the kubelet keeps for the system.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="no such resource: write cpu, memory, ephemeral-storage or pid"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !self[k].startsWith('-'))",message="what is reserved cannot be negative"
	SystemReserved map[string]ReservedQuantity `json:"systemReserved,omitempty"`
	// KubeReserved is what the kubelet keeps for itself and the container runtime.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="no such resource: write cpu, memory, ephemeral-storage or pid"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !self[k].startsWith('-'))",message="what is reserved cannot be negative"
	KubeReserved map[string]ReservedQuantity `json:"kubeReserved,omitempty"`
	// EvictionHard are the thresholds at which the kubelet evicts pods at once.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="no such eviction signal: write memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree or pid.available"
	EvictionHard map[string]EvictionThreshold `json:"evictionHard,omitempty"`
	// EvictionSoft are the thresholds at which the kubelet evicts pods after a time.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="no such eviction signal: write memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree or pid.available"
	EvictionSoft map[string]EvictionThreshold `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod is that time, for each signal of EvictionSoft.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="no such eviction signal: write memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree or pid.available"
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// EvictionMaxPodGracePeriod bounds the grace period of pods that are evicted at a soft
	// threshold, in seconds.
	//
	// +optional
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// ImageGCHighThresholdPercent is the use of the disk above which the kubelet removes
	// images that no container uses.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// ImageGCLowThresholdPercent is the use of the disk down to which it removes them.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// CPUCFSQuota says whether the kubelet enforces CPU limits.
	//
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}

// ReservedQuantity is a quantity that the kubelet keeps.
//
// +kubebuilder:validation:Pattern=`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
type ReservedQuantity string

// EvictionThreshold is a quantity, or a percentage of what the node has.
//
// +kubebuilder:validation:Pattern=`^((\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%||(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?)$`
type EvictionThreshold string
