package awsv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// CapacityReservations by id.
	//
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
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
	// PublicIPs says that instances in the subnet get a public IPv4 address unless
	// associatePublicIPAddress says otherwise. Karpenter's status does not have it.
	//
	// +optional
	PublicIPs bool `json:"publicIPs,omitempty"`
}

// SecurityGroup that the selector terms selected.
type SecurityGroup struct {
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservation that the selector terms selected.
type CapacityReservation struct {
	AvailabilityZone string `json:"availabilityZone"`
	// EndTime is when the reservation ends; none: when it is cancelled.
	//
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	ID string `json:"id"`
	// +kubebuilder:validation:Enum=open;targeted
	InstanceMatchCriteria string `json:"instanceMatchCriteria"`
	InstanceType          string `json:"instanceType"`
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	OwnerID string `json:"ownerID"`
	// ReservationType default is launched into, capacity-block is not yet.
	//
	// +optional
	// +kubebuilder:validation:Enum=default;capacity-block
	// +kubebuilder:default=default
	ReservationType string `json:"reservationType"`
	// Interruptible reservations are not launched into yet.
	//
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
	// State is expiring shortly before a capacity block ends.
	//
	// +optional
	// +kubebuilder:validation:Enum=active;expiring
	// +kubebuilder:default=active
	State string `json:"state"`
}

// Reservation types and states.
const (
	ReservationDefault       = "default"
	ReservationCapacityBlock = "capacity-block"
	ReservationActive        = "active"
	ReservationExpiring      = "expiring"
)

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
	Key      string `json:"key"`
	Operator string `json:"operator"`
	// +optional
	// +listType=atomic
	Values []string `json:"values,omitempty"`
}

// ReadyConditions are the conditions that Ready of an EC2NodeClass depends on.
func ReadyConditions() []string {
	return []string{
		ConditionSubnetsReady, ConditionSecurityGroupsReady, ConditionAMIsReady, ConditionCapacityReservationsReady,
		ConditionInstanceProfileReady, ConditionPlacementGroupReady, ConditionValidationSucceeded,
	}
}

// Conditions gives access to the EC2NodeClass's conditions.
func (c *EC2NodeClass) Conditions() v1.ConditionSet {
	return v1.NewConditionSet(c, &c.Status.Conditions, ReadyConditions()...)
}
