package plan

// messageAtMost is how much of the cloud's own words an explanation has, in bytes. An Event
// has room for 1,024 bytes, and has more to say.
const messageAtMost = 300

// Shortage says in words what the cloud answered to a launch that failed, and what to do
// about it. The code is EC2's; empty where nobody asked.
func Shortage(code, message string) string {
	if code == "" {
		return ""
	}
	if len(message) > messageAtMost {
		message = message[:messageAtMost] + "..."
	}
	s := "EC2 answers " + code
	if message != "" {
		s += ": " + message
	}
	if remedy := shortageRemedy(code); remedy != "" {
		s += "; " + remedy
	}
	return s
}

// shortageRemedy says what people can do about a failed launch.
func shortageRemedy(code string) string {
	switch code {
	case "VcpuLimitExceeded":
		return "raise the vCPU quota of this instance family in Service Quotas (Amazon EC2), or let the NodePool have other families or spot"
	case "MaxSpotInstanceCountExceeded":
		return "raise the quota of spot instance requests of this instance family in Service Quotas (Amazon EC2), or let the NodePool have other families or on-demand instances"
	case "MaxFleetCountExceeded":
		return "raise the quota of fleets in Service Quotas (Amazon EC2)"
	case "AuthFailure.ServiceLinkedRoleCreationNotPermitted":
		return "create the role with karpenter_spot_service_linked_role, or with: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"
	case "InsufficientFreeAddressesInSubnet":
		return "let the EC2NodeClass select more or larger subnets"
	case "InsufficientInstanceCapacity", "UnfulfillableCapacity", "Unsupported":
		return "let the NodePool have more instance types, zones or capacity types"
	}
	return ""
}
