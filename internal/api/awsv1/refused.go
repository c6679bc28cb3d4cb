package awsv1

import (
	"fmt"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// RefusedSpec has Karpenter's fields of EC2NodeClass.spec that are refused.
type RefusedSpec struct {
	// Role is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="creating instance profiles from a role is not supported yet: name a profile in instanceProfile and remove the field"
	Role *string `json:"role,omitempty"`
	// AMIFamily is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="the image family follows from the alias: remove the field"
	AMIFamily *string `json:"amiFamily,omitempty"`
	// PlacementGroupSelector is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="placement groups are not supported yet: remove the field"
	PlacementGroupSelector *v1.RefusedObject `json:"placementGroupSelector,omitempty"`
	// IPPrefixCount is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="address prefixes are not supported yet: remove the field"
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`
	// InstanceStorePolicy is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="instance store policies are not supported yet: remove the field"
	InstanceStorePolicy *string `json:"instanceStorePolicy,omitempty"`
	// NetworkInterfaces is refused.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=150
	// +kubebuilder:validation:XValidation:rule="false",message="network interface settings are not supported yet: remove the field"
	NetworkInterfaces []v1.RefusedObject `json:"networkInterfaces,omitempty"`
	// ConnectionTracking is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="connection tracking settings are not supported yet: remove the field"
	ConnectionTracking *v1.RefusedObject `json:"connectionTracking,omitempty"`
	// Context is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="fleet contexts are not supported yet: remove the field"
	Context *string `json:"context,omitempty"`
	// CPUOptions is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="CPU options are not supported yet: remove the field"
	CPUOptions *v1.RefusedObject `json:"cpuOptions,omitempty"`
}

// RefusedAMISelectorTerm has Karpenter's fields of an image selector term that are refused.
type RefusedAMISelectorTerm struct {
	// Tags is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="images are selected by alias only: remove the field"
	Tags map[string]string `json:"tags,omitempty"`
	// ID is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="images are selected by alias only: remove the field"
	ID *string `json:"id,omitempty"`
	// Name is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="images are selected by alias only: remove the field"
	Name *string `json:"name,omitempty"`
	// Owner is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="images are selected by alias only: remove the field"
	Owner *string `json:"owner,omitempty"`
	// SSMParameter is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="images are selected by alias only: remove the field"
	SSMParameter *string `json:"ssmParameter,omitempty"`
}

// RefusedBlockDevice has Karpenter's fields of a volume that are refused.
type RefusedBlockDevice struct {
	// SnapshotID is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="volumes from snapshots are not supported yet: remove the field"
	SnapshotID *string `json:"snapshotID,omitempty"`
	// VolumeInitializationRate is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="volumes from snapshots are not supported yet: remove the field"
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
}

// RefusedKubelet has Karpenter's fields of the kubelet configuration that are refused.
type RefusedKubelet struct {
	// ClusterDNS is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="the cluster's DNS address is found by the daemon: remove the field"
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// SystemReserved is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="reserved resources are not supported yet: remove the field"
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	// KubeReserved is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="reserved resources are not supported yet: remove the field"
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`
	// EvictionHard is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="eviction settings are not supported yet: remove the field"
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// EvictionSoft is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="eviction settings are not supported yet: remove the field"
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="eviction settings are not supported yet: remove the field"
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// EvictionMaxPodGracePeriod is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="eviction settings are not supported yet: remove the field"
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// ImageGCHighThresholdPercent is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="image collection settings are not supported yet: remove the field"
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// ImageGCLowThresholdPercent is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="image collection settings are not supported yet: remove the field"
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// CPUCFSQuota is refused.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="not supported yet: remove the field"
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}

// RefusedFields lists the paths of refused fields that the object holds. Only an
// object that was stored before this definition was installed can hold one.
func (c *EC2NodeClass) RefusedFields() []string {
	s := c.Spec
	var found paths
	found.add(s.Role != nil, "spec.role")
	found.add(s.AMIFamily != nil, "spec.amiFamily")
	found.add(s.PlacementGroupSelector != nil, "spec.placementGroupSelector")
	found.add(s.IPPrefixCount != nil, "spec.ipPrefixCount")
	found.add(s.InstanceStorePolicy != nil, "spec.instanceStorePolicy")
	found.add(s.NetworkInterfaces != nil, "spec.networkInterfaces")
	found.add(s.ConnectionTracking != nil, "spec.connectionTracking")
	found.add(s.Context != nil, "spec.context")
	found.add(s.CPUOptions != nil, "spec.cpuOptions")
	for i, t := range s.AMISelectorTerms {
		at := fmt.Sprintf("spec.amiSelectorTerms[%d].", i)
		found.add(t.Tags != nil, at+"tags")
		found.add(t.ID != nil, at+"id")
		found.add(t.Name != nil, at+"name")
		found.add(t.Owner != nil, at+"owner")
		found.add(t.SSMParameter != nil, at+"ssmParameter")
	}
	for i, m := range s.BlockDeviceMappings {
		at := fmt.Sprintf("spec.blockDeviceMappings[%d].ebs.", i)
		found.add(m.EBS != nil && m.EBS.SnapshotID != nil, at+"snapshotID")
		found.add(m.EBS != nil && m.EBS.VolumeInitializationRate != nil, at+"volumeInitializationRate")
	}
	if k := s.Kubelet; k != nil {
		found.add(k.ClusterDNS != nil, "spec.kubelet.clusterDNS")
		found.add(k.SystemReserved != nil, "spec.kubelet.systemReserved")
		found.add(k.KubeReserved != nil, "spec.kubelet.kubeReserved")
		found.add(k.EvictionHard != nil, "spec.kubelet.evictionHard")
		found.add(k.EvictionSoft != nil, "spec.kubelet.evictionSoft")
		found.add(k.EvictionSoftGracePeriod != nil, "spec.kubelet.evictionSoftGracePeriod")
		found.add(k.EvictionMaxPodGracePeriod != nil, "spec.kubelet.evictionMaxPodGracePeriod")
		found.add(k.ImageGCHighThresholdPercent != nil, "spec.kubelet.imageGCHighThresholdPercent")
		found.add(k.ImageGCLowThresholdPercent != nil, "spec.kubelet.imageGCLowThresholdPercent")
		found.add(k.CPUCFSQuota != nil, "spec.kubelet.cpuCFSQuota")
	}
	return found
}

// +kubebuilder:object:generate=false
type paths []string

func (p *paths) add(present bool, path string) {
	if present {
		*p = append(*p, path)
	}
}
