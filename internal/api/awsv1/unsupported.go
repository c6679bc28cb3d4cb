package awsv1

// UnsupportedSpec has the fields of EC2NodeClass.spec that are not carried out. A class
// with one of them says so in the condition Unsupported.
type UnsupportedSpec struct {
	// PlacementGroupSelector selects the placement group of the instances.
	//
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`
	// IPPrefixCount is the number of IPv4 prefixes of the primary network interface.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`
	// NetworkInterfaces of the instances.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=150
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.exists(n, n.networkCardIndex == 0 && n.deviceIndex == 0 && n.interfaceType == 'interface')",message="the primary network interface is missing: add one with networkCardIndex 0, deviceIndex 0 and interfaceType interface"
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.networkCardIndex == b.networkCardIndex && a.deviceIndex == b.deviceIndex))",message="two network interfaces have the same networkCardIndex and deviceIndex: change one"
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.interfaceType != 'efa-only' || self.exists_one(b, a.networkCardIndex == b.networkCardIndex && b.interfaceType == 'efa-only'))",message="a network card has at most one network interface of type efa-only: change the other"
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// ConnectionTracking has the idle timeouts of tracked connections.
	//
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`
	// CPUOptions of the instances.
	//
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
	// EnclaveOptions say whether instances can have Nitro Enclaves.
	//
	// +optional
	EnclaveOptions *EnclaveOptions `json:"enclaveOptions,omitempty"`
}

// EnclaveOptions of AWS Nitro Enclaves.
type EnclaveOptions struct {
	// Enabled instances can have enclaves.
	Enabled bool `json:"enabled"`
}

// PlacementGroupSelector selects a placement group by name or by id.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="a placement group is selected by name or by id: set one of them"
type PlacementGroupSelector struct {
	// +optional
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^pg-[0-9a-z]+$`
	ID string `json:"id,omitempty"`
}

// NetworkInterface is a network interface of an instance.
type NetworkInterface struct {
	// +kubebuilder:validation:Minimum=0
	NetworkCardIndex int32 `json:"networkCardIndex"`
	// +kubebuilder:validation:Minimum=0
	DeviceIndex int32 `json:"deviceIndex"`
	// InterfaceType efa-only carries no IP traffic.
	//
	// +kubebuilder:validation:Enum=interface;efa-only
	InterfaceType string `json:"interfaceType"`
}

// ConnectionTracking has timeouts in seconds.
//
// +kubebuilder:validation:XValidation:rule="has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",message="no timeout is set: set tcpEstablishedTimeout, udpStreamTimeout or udpTimeout, or remove connectionTracking"
type ConnectionTracking struct {
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=432000
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=180
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=60
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// CPUOptions of an instance.
type CPUOptions struct {
	// +optional
	// +kubebuilder:validation:Enum=enabled;disabled
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}
