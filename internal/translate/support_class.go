package translate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

func classFields() []Field {
	return []Field{
		carriedOut("spec.subnetSelectorTerms"),
		carriedOut("spec.securityGroupSelectorTerms"),
		carriedOut("spec.capacityReservationSelectorTerms"),
		{
			Path: "spec.instanceProfile", Support: Refused, Concerns: not(regexp.MustCompile(`^[\w+=,.@-]{1,128}$`).MatchString),
			Effect: "no instance profile has such a name", Remedy: "write the name of the profile, without its path and ARN",
		},
		{
			Path: "spec.role", Support: Refused, Concerns: not(func(role string) bool { return awsspec.CheckRole(role) == nil }),
			Effect: "no role has such a name", Remedy: "write the name of the role, or its ARN",
		},
		carriedOut("spec.userData"),
		carriedOut("spec.tags"),
		carriedOut("spec.detailedMonitoring"),
		carriedOut("spec.associatePublicIPAddress"),
		carriedOut("spec.metadataOptions"),
		carriedOut("spec.instanceStorePolicy"),
		carriedOut("spec.context"),
		carriedOut("spec.kubelet"), // but for what kubeletFaults names, and the family of images
		{
			Path: "spec.placementGroupSelector", Support: Unsupported,
			Effect: "instances are in no placement group", Remedy: "remove the field, or leave these nodes to a managed node group",
		},
		{
			Path: "spec.ipPrefixCount", Support: Unsupported,
			Effect: "network interfaces get no address prefixes at launch", Remedy: "remove the field, and turn on prefix delegation in the network plugin",
		},
		{
			Path: "spec.networkInterfaces", Support: Unsupported,
			Effect: "instances have one network interface, and none for EFA", Remedy: "remove the field, or leave these nodes to a managed node group",
		},
		{
			Path: "spec.connectionTracking", Support: Unsupported,
			Effect: "connections are tracked with EC2's timeouts", Remedy: "remove the field",
		},
		{
			Path: "spec.cpuOptions", Support: Unsupported,
			Effect: "instances have EC2's CPU options", Remedy: "remove the field",
		},
		{
			Path: "spec.enclaveOptions.enabled", Support: Unsupported, Concerns: func(value any) bool { return value == true },
			Effect: "instances have no Nitro Enclaves", Remedy: "remove the field, or leave these nodes to a managed node group",
		},
	}
}

// classAMIFields are about images: without the right one no node joins.
func classAMIFields() []Field {
	out := []Field{
		{
			Path: "spec.amiFamily", Support: Refused, Concerns: not(func(name string) bool { return slices.Contains(family.Names(), name) }),
			Effect: "there are no nodes with Windows", Remedy: "leave these nodes to a managed node group",
		},
		{
			Path: "spec.amiSelectorTerms[].alias", Support: Refused, Concerns: not(func(alias string) bool { return !strings.HasPrefix(alias, "windows") }),
			Effect: "there are no nodes with Windows", Remedy: "leave these nodes to a managed node group",
		},
	}
	for _, name := range []string{"tags", "id", "name", "owner", "ssmParameter"} {
		out = append(out, carriedOut("spec.amiSelectorTerms[]."+name))
	}
	return out
}

func classVolumeFields() []Field {
	const at = "spec.blockDeviceMappings[]."
	out := []Field{carriedOut(at + "deviceName"), carriedOut(at + "rootVolume")}
	for _, name := range []string{"volumeSize", "volumeType", "encrypted", "deleteOnTermination", "iops", "throughput", "kmsKeyID", "snapshotID", "volumeInitializationRate"} {
		out = append(out, carriedOut(at+"ebs."+name))
	}
	return out
}

// not turns a check of what is carried out into one of what is not.
func not(carriedOut func(string) bool) func(any) bool {
	return func(value any) bool {
		text, ok := value.(string)
		return !ok || !carriedOut(text)
	}
}
