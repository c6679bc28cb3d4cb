package legacy

import (
	"maps"
	"reflect"
	"regexp"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// mistake is a field that tutorials or other versions have and this one has not.
type mistake struct{ what, remedy string }

const (
	noField = "no such field"
	leftOut = "is left out"
)

// mistakeAt says what is known about a path that does not exist in a kind, in v1 or in the
// last version before it. Indexes of lists do not count.
func mistakeAt(kind string, current bool, path string) (mistake, bool) {
	if m, ok := limitMistake(kind, path); ok {
		return m, true
	}
	path = regexp.MustCompile(`\[[0-9]+\]`).ReplaceAllString(path, "")
	var known map[string]mistake
	switch kind {
	case wire.KindProvisioner:
		known = provisionerMistakes()
	case wire.KindAWSNodeTemplate:
		known = templateMistakes()
	case wire.KindNodePool:
		known = poolMistakes()
		if current {
			maps.Copy(known, currentPoolMistakes())
		}
		if name, inner := strings.CutPrefix(path, "spec.template.spec."); inner && known[path] == (mistake{}) {
			path = "spec." + name
		}
	case wire.KindNodeClaim:
		known = map[string]mistake{"spec.kubeletConfiguration": {"a field of v1alpha5", "write spec.kubelet"}}
		if current {
			known = currentClaimMistakes()
		}
	case wire.KindEC2NodeClass:
		known = classMistakes()
		if current {
			known = currentClassMistakes()
		}
	}
	m, ok := known[path]
	return m, ok
}

// limitMistake finds limits in the form of the other version. The API server pruned
// them, and so there was no limit at all.
func limitMistake(kind, path string) (mistake, bool) {
	name, ok := strings.CutPrefix(path, "spec.limits.")
	if kind == wire.KindProvisioner && ok && name != "resources" && !strings.ContainsAny(name, ".[") && name != "resource" && name != "Resources" {
		return mistake{"no such field, so that the Provisioner has no limit at all", "write spec.limits.resources." + name}, true
	}
	if kind == wire.KindNodePool && path == "spec.limits[resources]" {
		return mistake{"a field of v1alpha5, so that the NodePool has no limit at all", "write the resources under spec.limits, such as spec.limits.cpu"}, true
	}
	return mistake{}, false
}

func provisionerMistakes() map[string]mistake {
	oldest := func(key string) mistake {
		return mistake{"a field of v1alpha3 and older", "write a requirement on " + key + " in spec.requirements"}
	}
	ofTemplate := mistake{"a field of AWSNodeTemplate", "move it to the AWSNodeTemplate that spec.providerRef names, or to spec.provider"}
	later := func(field string) mistake {
		return mistake{"a field of NodePool", "write " + field}
	}
	all := map[string]mistake{
		"spec.label":                        {noField, "write spec.labels"},
		"spec.instanceTypes":                oldest("node.kubernetes.io/instance-type"),
		"spec.zones":                        oldest("topology.kubernetes.io/zone"),
		"spec.architecture":                 oldest("kubernetes.io/arch"),
		"spec.architectures":                oldest("kubernetes.io/arch"),
		"spec.operatingSystem":              oldest("kubernetes.io/os"),
		"spec.operatingSystems":             oldest("kubernetes.io/os"),
		"spec.capacityTypes":                oldest("karpenter.sh/capacity-type"),
		"spec.provider.instanceTypes":       oldest("node.kubernetes.io/instance-type"),
		"spec.provider.capacityTypes":       oldest("karpenter.sh/capacity-type"),
		"spec.provider.cluster":             {"a field of v1alpha3 and older", "remove it and set aws.clusterName of karpenter-global-settings"},
		"spec.cluster":                      {"a field of v1alpha3 and older", "remove it and set aws.clusterName of karpenter-global-settings"},
		"spec.provider.userData":            {"a field of AWSNodeTemplate, which an inline provider does not have", "move spec.provider to an AWSNodeTemplate and name it in spec.providerRef"},
		"spec.provider.amiSelector":         {"a field of AWSNodeTemplate, which an inline provider does not have", "move spec.provider to an AWSNodeTemplate and name it in spec.providerRef"},
		"spec.provider.detailedMonitoring":  {"a field of AWSNodeTemplate, which an inline provider does not have", "move spec.provider to an AWSNodeTemplate and name it in spec.providerRef"},
		"spec.ttlSecondsAfterUnderutilized": {"a field of v1alpha1", "write spec.consolidation.enabled: true"},
		"spec.consolidationPolicy":          later("spec.consolidation.enabled"),
		"spec.disruption":                   later("spec.consolidation, spec.ttlSecondsAfterEmpty and spec.ttlSecondsUntilExpired"),
		"spec.template":                     later("its labels, taints and requirements under spec"),
		"spec.nodeClassRef":                 later("spec.providerRef"),
		"spec.kubelet":                      later("spec.kubeletConfiguration"),
		"spec.ttlSecondsUntilEmpty":         {noField, "write spec.ttlSecondsAfterEmpty"},
		"spec.ttlSecondsAfterExpired":       {noField, "write spec.ttlSecondsUntilExpired"},
		"spec.consolidation.enable":         {noField, "write spec.consolidation.enabled"},
	}
	for _, f := range []string{"amiFamily", "amiSelector", "instanceProfile", "subnetSelector", "securityGroupSelector", "tags", "userData", "blockDeviceMappings", "metadataOptions", "launchTemplate", "detailedMonitoring"} {
		all["spec."+f] = ofTemplate
	}
	return all
}

func templateMistakes() map[string]mistake {
	later := func(field string) mistake { return mistake{"a field of EC2NodeClass", "write " + field} }
	ofPool := mistake{"a field of Provisioner", "move it to the Provisioner"}
	return map[string]mistake{
		"spec.amiSelectorTerms":           later("spec.amiSelector"),
		"spec.subnetSelectorTerms":        later("spec.subnetSelector"),
		"spec.securityGroupSelectorTerms": later("spec.securityGroupSelector"),
		"spec.role":                       later("spec.instanceProfile"),
		"spec.requirements":               ofPool,
		"spec.labels":                     ofPool,
		"spec.taints":                     ofPool,
		"spec.limits":                     ofPool,
		"spec.kubeletConfiguration":       ofPool,
		"spec.kubelet":                    {"a field of NodePool", "write spec.kubeletConfiguration of the Provisioner"},
		"spec.instanceTypes":              {"a field of v1alpha3 and older", "write a requirement on node.kubernetes.io/instance-type in spec.requirements of the Provisioner"},
		"spec.provider":                   {noField, "write its fields under spec"},
		"spec.securityGroupIds":           {noField, "write spec.securityGroupSelector with the key aws-ids"},
		"spec.subnetIds":                  {noField, "write spec.subnetSelector with the key aws-ids"},
		"spec.amiId":                      {noField, "write spec.amiSelector with the key aws-ids"},
	}
}

func poolMistakes() map[string]mistake {
	inTemplate := func(field string) mistake { return mistake{"no such field here", "move it to " + field} }
	older := func(field string) mistake { return mistake{"a field of v1alpha5", "write " + field} }
	return map[string]mistake{
		"spec.label":                                inTemplate("spec.template.metadata.labels"),
		"spec.labels":                               inTemplate("spec.template.metadata.labels"),
		"spec.annotations":                          inTemplate("spec.template.metadata.annotations"),
		"spec.taints":                               inTemplate("spec.template.spec.taints"),
		"spec.startupTaints":                        inTemplate("spec.template.spec.startupTaints"),
		"spec.requirements":                         inTemplate("spec.template.spec.requirements"),
		"spec.kubelet":                              inTemplate("spec.template.spec.kubelet"),
		"spec.nodeClassRef":                         inTemplate("spec.template.spec.nodeClassRef"),
		"spec.template.labels":                      inTemplate("spec.template.metadata.labels"),
		"spec.provider":                             older("an EC2NodeClass and name it in spec.template.spec.nodeClassRef"),
		"spec.providerRef":                          older("spec.template.spec.nodeClassRef"),
		"spec.kubeletConfiguration":                 older("spec.template.spec.kubelet"),
		"spec.consolidation":                        older("spec.disruption.consolidationPolicy"),
		"spec.ttlSecondsAfterEmpty":                 older("spec.disruption.consolidateAfter"),
		"spec.ttlSecondsUntilExpired":               older("spec.disruption.expireAfter"),
		"spec.template.spec.expireAfter":            {"a field of v1", "write spec.disruption.expireAfter, or apiVersion: karpenter.sh/v1"},
		"spec.template.spec.kubeletConfiguration":   older("spec.template.spec.kubelet"),
		"spec.template.spec.labels":                 inTemplate("spec.template.metadata.labels"),
		"spec.template.spec.providerRef":            older("spec.template.spec.nodeClassRef"),
		"spec.disruption.ttlSecondsUntil":           older("spec.disruption.expireAfter"),
		"spec.template.spec.startupTaint":           {noField, "write spec.template.spec.startupTaints"},
		"spec.template.spec.terminationGracePeriod": {"a field of v1", "remove it, or write apiVersion: karpenter.sh/v1"},
		"spec.terminationGracePeriod":               {"a field of v1", "remove it, or write apiVersion: karpenter.sh/v1"},
		"spec.replicas":                             {"a field of v1", "write apiVersion: karpenter.sh/v1"},
		"spec.template.spec.nodeClassRef.group":     {"a field of v1, which has to be " + wire.AWSGroup, "write apiVersion: karpenter.k8s.aws/v1beta1"},
		"spec.template.spec.nodeClassName":          {noField, "write spec.template.spec.nodeClassRef.name"},
	}
}

// currentPoolMistakes are those of which v1 has another remedy.
func currentPoolMistakes() map[string]mistake {
	older := func(version, field string) mistake { return mistake{"a field of " + version, "write " + field} }
	const kubelet, expiry = "spec.kubelet of the EC2NodeClass", "spec.template.spec.expireAfter"
	return map[string]mistake{
		"spec.kubelet":                               older("v1beta1", kubelet),
		"spec.kubeletConfiguration":                  older("v1alpha5", kubelet),
		"spec.template.spec.kubelet":                 older("v1beta1", kubelet),
		"spec.template.spec.kubeletConfiguration":    older("v1alpha5", kubelet),
		"spec.ttlSecondsUntilExpired":                older("v1alpha5", expiry),
		"spec.disruption.ttlSecondsUntil":            older("v1alpha5", expiry),
		"spec.disruption.expireAfter":                older("v1beta1", expiry),
		"spec.expireAfter":                           {"no such field here", "move it to " + expiry},
		"spec.terminationGracePeriod":                {"no such field here", "move it to spec.template.spec.terminationGracePeriod"},
		"spec.template.spec.nodeClassRef.apiVersion": {"a field of v1beta1", "write group: " + wire.AWSGroup},
	}
}

func currentClaimMistakes() map[string]mistake {
	return map[string]mistake{
		"spec.kubelet":                 {"a field of v1beta1", "write spec.kubelet of the EC2NodeClass"},
		"spec.kubeletConfiguration":    {"a field of v1alpha5", "write spec.kubelet of the EC2NodeClass"},
		"spec.nodeClassRef.apiVersion": {"a field of v1beta1", "write group: " + wire.AWSGroup},
	}
}

// currentClassMistakes are those of EC2NodeClass in v1, and what v1 has and no resource.
func currentClassMistakes() map[string]mistake {
	all := classMistakes()
	delete(all, "spec.kubelet")
	delete(all, "spec.amiSelectorTerms.alias")
	delete(all, "spec.amiSelectorTerms.ssmParameter")
	delete(all, "spec.capacityReservationSelectorTerms")
	all["spec.kubeletConfiguration"] = mistake{"a field of v1alpha5", "write spec.kubelet"}
	all["spec.subnetSelectorTerms.name"] = mistake{noField, "write tags with the key Name"}
	for name := range fieldsOf(reflect.TypeFor[awsv1.UnsupportedSpec]()) {
		all["spec."+name] = mistake{leftOut + ", as karpenter_node_class has no such attribute and the daemon does not carry it out", "leave nodes that need it to a managed node group"}
	}
	return all
}

func classMistakes() map[string]mistake {
	older := func(field string) mistake { return mistake{"a field of AWSNodeTemplate", "write " + field} }
	return map[string]mistake{
		"spec.amiSelector":           older("spec.amiSelectorTerms"),
		"spec.subnetSelector":        older("spec.subnetSelectorTerms"),
		"spec.securityGroupSelector": older("spec.securityGroupSelectorTerms"),
		"spec.launchTemplate":        older("what the launch template sets as fields of the EC2NodeClass"),
		"spec.kubelet":               {"a field of v1", "write spec.template.spec.kubelet of the NodePool"},
		"spec.kubeletConfiguration":  {"a field of v1alpha5", "write spec.template.spec.kubelet of the NodePool"},

		"spec.amiSelectorTerms.alias":           {"a field of v1", "write amiFamily, or apiVersion: " + currentClass},
		"spec.amiSelectorTerms.ssmParameter":    {"a field of v1", "write apiVersion: " + currentClass},
		"spec.capacityReservationSelectorTerms": {"a field of v1", "write apiVersion: " + currentClass},
	}
}
