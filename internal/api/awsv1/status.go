package awsv1

import (
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// EC2NodeClassStatus is what the selectors resolved to.
type EC2NodeClassStatus struct {
	// Subnets, those with the most free addresses first, then by id.
	//
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// SecurityGroups by id.
	//
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// AMIs, newest first, then by id.
	//
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// InstanceProfile is the profile's name once it was found.
	//
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// +optional
	Conditions []v1.Condition `json:"conditions,omitempty"`
}

// Subnet that the selector terms selected.
type Subnet struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup that the selector terms selected.
type SecurityGroup struct {
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI that the selector term selected, with the instance types that it is for.
type AMI struct {
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// Requirements on the instance type's labels: the architecture, and whether it has accelerators.
	Requirements []AMIRequirement `json:"requirements"`
}

// AMIRequirement is corev1.NodeSelectorRequirement on the wire.
type AMIRequirement struct {
	Key string `json:"key"`
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator string `json:"operator"`
	// +optional
	// +listType=atomic
	Values []string `json:"values,omitempty"`
}

// Conditions gives access to the EC2NodeClass's conditions.
func (c *EC2NodeClass) Conditions() v1.ConditionSet {
	return v1.NewConditionSet(c, &c.Status.Conditions, ConditionSubnetsReady, ConditionSecurityGroupsReady,
		ConditionAMIsReady, ConditionInstanceProfileReady, ConditionValidationSucceeded)
}
