package legacy

// NodePool is karpenter.sh/v1beta1 NodePool.
type NodePool struct {
	TypeMeta
	Metadata ObjectMeta   `json:"metadata"`
	Spec     NodePoolSpec `json:"spec"`
	Status   any          `json:"status,omitempty"`
}

// NodePoolSpec is the wanted state of a NodePool.
type NodePoolSpec struct {
	Template   NodeTemplate        `json:"template"`
	Disruption *Disruption         `json:"disruption,omitempty"`
	Limits     map[string]Quantity `json:"limits,omitempty"`
	Weight     Number              `json:"weight,omitempty"`
}

// NodeTemplate is the template of a NodePool's NodeClaims.
type NodeTemplate struct {
	Metadata TemplateMeta  `json:"metadata"`
	Spec     NodeClaimSpec `json:"spec"`
}

// TemplateMeta is what a template gives to its nodes.
type TemplateMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Disruption says when nodes may be removed.
type Disruption struct {
	ConsolidationPolicy string   `json:"consolidationPolicy,omitempty"`
	ConsolidateAfter    string   `json:"consolidateAfter,omitempty"`
	ExpireAfter         string   `json:"expireAfter,omitempty"`
	Budgets             []Budget `json:"budgets,omitempty"`
}

// Budget bounds how many nodes are removed at once.
type Budget struct {
	Nodes    Quantity `json:"nodes,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Schedule string   `json:"schedule,omitempty"`
	Duration string   `json:"duration,omitempty"`
}

// NodeClaim is karpenter.sh/v1beta1 NodeClaim.
type NodeClaim struct {
	TypeMeta
	Metadata ObjectMeta    `json:"metadata"`
	Spec     NodeClaimSpec `json:"spec"`
	Status   any           `json:"status,omitempty"`
}

// NodeClaimSpec is one node, and the node part of a template.
type NodeClaimSpec struct {
	Taints        []Taint       `json:"taints,omitempty"`
	StartupTaints []Taint       `json:"startupTaints,omitempty"`
	Requirements  []Requirement `json:"requirements,omitempty"`
	Resources     *Resources    `json:"resources,omitempty"`
	Kubelet       *Kubelet      `json:"kubelet,omitempty"`
	NodeClassRef  *ProviderRef  `json:"nodeClassRef,omitempty"`
}

// Resources that a NodeClaim is launched for.
type Resources struct {
	Requests map[string]Quantity `json:"requests,omitempty"`
}

// EC2NodeClass is karpenter.k8s.aws/v1beta1 EC2NodeClass.
type EC2NodeClass struct {
	TypeMeta
	Metadata ObjectMeta       `json:"metadata"`
	Spec     EC2NodeClassSpec `json:"spec"`
	Status   any              `json:"status,omitempty"`
}

// EC2NodeClassSpec is the wanted configuration of instances.
type EC2NodeClassSpec struct {
	SubnetSelectorTerms        []SelectorTerm       `json:"subnetSelectorTerms,omitempty"`
	SecurityGroupSelectorTerms []SelectorTerm       `json:"securityGroupSelectorTerms,omitempty"`
	AMISelectorTerms           []SelectorTerm       `json:"amiSelectorTerms,omitempty"`
	AMIFamily                  string               `json:"amiFamily,omitempty"`
	UserData                   string               `json:"userData,omitempty"`
	Role                       string               `json:"role,omitempty"`
	InstanceProfile            string               `json:"instanceProfile,omitempty"`
	Tags                       map[string]string    `json:"tags,omitempty"`
	BlockDeviceMappings        []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	InstanceStorePolicy        string               `json:"instanceStorePolicy,omitempty"`
	DetailedMonitoring         Bool                 `json:"detailedMonitoring,omitempty"`
	MetadataOptions            *MetadataOptions     `json:"metadataOptions,omitempty"`
	Context                    string               `json:"context,omitempty"`
	AssociatePublicIPAddress   Bool                 `json:"associatePublicIPAddress,omitempty"`
}

// SelectorTerm selects subnets, security groups (which have names, too) or images
// (which also have owners).
type SelectorTerm struct {
	Tags  map[string]string `json:"tags,omitempty"`
	ID    string            `json:"id,omitempty"`
	Name  string            `json:"name,omitempty"`
	Owner string            `json:"owner,omitempty"`
}
