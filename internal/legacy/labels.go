package legacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	awsv1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Keys that v1 does not have.
const (
	keyProvisioner     = wire.CoreGroup + "/provisioner-name"
	keyDoNotEvict      = wire.CoreGroup + "/do-not-evict"
	keyDoNotMove       = wire.CoreGroup + "/do-not-consolidate"
	keyDoNotDisrupt    = wire.CoreGroup + "/do-not-disrupt"
	keyDisruption      = wire.CoreGroup + "/voluntary-disruption"
	keyOldTaint        = wire.CoreGroup + "/disruption"
	keyTaint           = wire.CoreGroup + "/disrupted"
	keyOldCapacityType = "node.k8s.aws/capacity-type"
	keyInstancePods    = wire.AWSGroup + "/instance-pods"
	keyInstanceImage   = wire.AWSGroup + "/instance-ami-id"
)

// awsKeys lists the labels of domain karpenter.k8s.aws that nodes have.
func awsKeys() []string {
	return []string{
		awsv1.LabelNodeClass, label.Reservation, label.ReservationType, label.ReservationInterruptible,
		awsv1.LabelInstanceCategory, awsv1.LabelInstanceGeneration, awsv1.LabelInstanceFamily, awsv1.LabelInstanceSize,
		awsv1.LabelInstanceCapabilityFlex, awsv1.LabelInstanceCPU, awsv1.LabelInstanceCPUManufacturer, awsv1.LabelInstanceCPUSustainedClockSpeed,
		awsv1.LabelInstanceMemory, awsv1.LabelInstanceEBSBandwidth, awsv1.LabelInstanceNetworkBandwidth, awsv1.LabelInstanceLocalNVMe,
		awsv1.LabelInstanceGPUName, awsv1.LabelInstanceGPUManufacturer, awsv1.LabelInstanceGPUCount, awsv1.LabelInstanceGPUMemory,
		awsv1.LabelInstanceAcceleratorName, awsv1.LabelInstanceAcceleratorMaker, awsv1.LabelInstanceAcceleratorCount,
		awsv1.LabelInstanceHypervisor, awsv1.LabelInstanceEncryptionInTransit, awsv1.LabelInstanceTenancy,
	}
}

// canonical gives the key that v1 has for a legacy one; restricted says that the key is
// the user's own in a domain where v1 allows none, so that it loses the domain.
func canonical(key string) (now string, restricted bool) {
	if key == keyOldCapacityType {
		return label.CapacityType, false
	}
	now = label.Canonical(key)
	domain, name, ok := strings.Cut(now, "/")
	switch {
	case !ok || now == label.CapacityType || now == keyProvisioner:
	case domain == wire.CoreGroup || strings.HasSuffix(domain, "."+wire.CoreGroup):
		return name, true
	case domain == wire.AWSGroup && !slices.Contains(awsKeys(), now) && now != keyInstancePods && now != keyInstanceImage:
		return name, true
	}
	return now, false
}

// key renames a key of labels or requirements, and says which pods have to follow; false
// if another key has become that name.
func (c *converter) key(s subject, field, key string) (string, bool) {
	now, restricted := canonical(key)
	if !restricted {
		return now, true
	}
	if c.ownKey(s, field, key) {
		return key, true
	}
	for old, other := range c.renamed {
		if other == now && old != key {
			c.fail(s, field, fmt.Sprintf("%s and %s would both become %s, as v1 allows no own keys in these domains", old, key, now), "rename one of them in the input and in the pods that select it")
			return now, false
		}
	}
	c.renamed[key] = now
	c.warn(s, field, fmt.Sprintf("%s becomes %s, as v1 allows no own keys in this domain", key, now), "in pods that have "+key+" in nodeSelector, affinity or topologySpreadConstraints, write "+now)
	return now, true
}

// labels converts the labels of a template.
func (c *converter) labels(s subject, field string, old map[string]string) map[string]string {
	all := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		at := fmt.Sprintf("%s[%s]", field, key)
		if wholly(key) {
			all[key] = old[key]
			continue
		}
		switch key {
		case keyProvisioner:
			c.warnProvisionerName(s, at, "is dropped")
			continue
		case label.NodePool:
			c.warn(s, at, "is dropped, as nodes have the name of their NodePool by themselves", "")
			continue
		case label.Hostname:
			c.lose(s, at, "is dropped, as it names one node", "")
			continue
		}
		now, ok := c.key(s, at, key)
		if _, taken := all[now]; taken && ok {
			c.fail(s, at, "becomes "+now+", which the labels have already", "remove one of the two")
		}
		domain, _, _ := strings.Cut(now, "/")
		if (strings.HasSuffix(domain, "kubernetes.io") || strings.HasSuffix(domain, "k8s.io")) && !allowedDomain(domain) && !label.OfInstance(now) {
			c.warn(s, at, "stays, although Karpenter's definitions before 1.1 refuse labels of domain "+domain+" and the kubelet cannot set it", "choose a domain of your own, unless something needs this key")
		}
		c.validLabel(s, at, now, old[key])
		all[now] = old[key]
	}
	return all
}

// validLabel reports a key or a value that no label has.
func (c *converter) validLabel(s subject, field, key, value string) {
	if wrong := validation.IsQualifiedName(key); len(wrong) > 0 && !templated(key) {
		c.fail(s, field, fmt.Sprintf("%q is no key of a label", key), "write letters, digits, -, _ and . after a domain, such as example.com/team")
	}
	if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 && !templated(value) {
		c.fail(s, field, fmt.Sprintf("%q is no value of a label", value), "write at most 63 letters, digits, -, _ and .")
	}
}

// allowedDomain says whether users may set labels of a Kubernetes domain on nodes.
func allowedDomain(domain string) bool {
	return domain == "node.kubernetes.io" || domain == "kops.k8s.io" || domain == "node-restriction.kubernetes.io" || strings.HasSuffix(domain, ".node-restriction.kubernetes.io")
}

func (c *converter) warnProvisionerName(s subject, field, what string) {
	c.warn(s, field, what+", as nodes have karpenter.sh/nodepool by themselves", "in pods that have karpenter.sh/provisioner-name in nodeSelector, affinity or topologySpreadConstraints, write karpenter.sh/nodepool")
}

// requirements converts requirements; the result is never nil, as v1 requires the list.
func (c *converter) requirements(s subject, field string, old []wire.Requirement) []wire.Requirement {
	all := []wire.Requirement{}
	for i, q := range old {
		at := fmt.Sprintf("%s[%d]", field, i)
		if wholly(q.Key) {
			all = append(all, q)
			continue
		}
		if !c.validRequirement(s, at, q) {
			continue
		}
		switch q.Key {
		case keyProvisioner, label.NodePool:
			c.warnProvisionerName(s, at, "is dropped")
			continue
		case label.Hostname:
			c.lose(s, at, "is dropped, as it names one node", "")
			continue
		case keyInstancePods:
			c.lose(s, at, keyInstancePods+" is dropped, as nodes do not have it any more", "require "+awsv1.LabelInstanceSize+", or set maxPods of the kubelet")
			continue
		case keyInstanceImage:
			c.lose(s, at, keyInstanceImage+" is dropped, as nodes do not have it any more", "select the image in amiSelectorTerms of an EC2NodeClass of its own")
			continue
		}
		if strings.HasPrefix(q.Key, "node.k8s.aws/") && q.Key != keyOldCapacityType {
			c.fail(s, at+".key", q.Key+" is a key of v1alpha2 and older, and no node has it", "remove the requirement, or write the key of today, such as node.kubernetes.io/instance-type")
			continue
		}
		if strings.HasSuffix(q.Key, "/instance-accelerator-name") && slices.Contains(q.Values, "inferentia") {
			c.warn(s, at+".values", "inferentia means the first generation only since Karpenter 1.1", "add inferentia2 or trainium, if instance types with them are wanted")
		}
		q.Key, _ = c.key(s, at+".key", q.Key)
		all = append(all, q)
	}
	return all
}

// validRequirement reports what no API server would take.
func (c *converter) validRequirement(s subject, at string, q wire.Requirement) bool {
	switch q.Operator {
	case "In", "NotIn":
		if len(q.Values) == 0 {
			c.fail(s, at+".values", "operator "+q.Operator+" without values", "add values, or remove the requirement")
			return false
		}
	case "Exists", "DoesNotExist":
		if len(q.Values) > 0 {
			c.fail(s, at+".values", "operator "+q.Operator+" with values", "remove the values, or write operator In")
			return false
		}
	case "Gt", "Lt":
		if v, ok := wire.Number(strings.Join(q.Values, ",")).Value(); (!ok || v < 0) && (len(q.Values) != 1 || !templated(q.Values[0])) {
			c.fail(s, at+".values", "operator "+q.Operator+" with other than one whole number", `write one such as ["4"]`)
			return false
		}
	default:
		c.fail(s, at+".operator", fmt.Sprintf("%q is no operator", q.Operator), "write In, NotIn, Exists, DoesNotExist, Gt or Lt")
		return false
	}
	if q.Key == "" {
		c.fail(s, at+".key", "missing", "write the key of a label, such as karpenter.sh/capacity-type")
		return false
	}
	before := len(c.errors)
	for _, value := range append([]string{""}, q.Values...) {
		c.validLabel(s, at, q.Key, value)
		if len(c.errors) > before {
			return false
		}
	}
	return true
}

// taints copies taints after a look at what no API server would take.
func (c *converter) taints(s subject, field string, old []wire.Taint) []wire.Taint {
	for i := range old {
		at := fmt.Sprintf("%s[%d]", field, i)
		if wholly(old[i].Key) {
			continue
		}
		if old[i].Key == "" {
			c.fail(s, at+".key", "missing", "write the key of the taint")
		}
		if e := old[i].Effect; !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, e) && !templated(e) {
			c.fail(s, at+".effect", fmt.Sprintf("%q is no effect", e), "write NoSchedule, PreferNoSchedule or NoExecute")
		}
		old[i].TimeAdded = nil
	}
	return old
}

// named says whether the object has a name, and fails otherwise.
func (c *converter) named(s subject, m wire.ObjectMeta) bool {
	if m.Name == "" {
		c.fail(s, "metadata.name", "missing", "write the name of the object")
	}
	return m.Name != ""
}

// metadata converts the metadata of an object.
func (c *converter) metadata(s subject, old wire.ObjectMeta) meta {
	c.named(s, old)
	if old.Namespace != "" {
		c.warn(s, "metadata.namespace", "is dropped, as the object belongs to no namespace", "")
	}
	annotations := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(old.Annotations)) {
		if !Bookkeeping(key) {
			annotations[key] = old.Annotations[key]
		}
	}
	return meta{Name: old.Name, Labels: old.Labels, Annotations: annotations}
}

// Bookkeeping says whether a controller or kubectl writes an annotation of a NodePool or a node
// class for itself. The switch by which users pause disruption is none.
func Bookkeeping(key string) bool {
	domain, name, _ := strings.Cut(key, "/")
	switch domain {
	case v1.OwnDomain:
		return key != v1.AnnotationPauseDisruption
	case "compatibility." + wire.CoreGroup, "compatibility." + wire.AWSGroup:
		return true
	case wire.CoreGroup, wire.AWSGroup:
		return strings.HasSuffix(name, "-hash") || strings.HasSuffix(name, "-hash-version") ||
			slices.Contains([]string{"managed-by", "linked", "emptiness-timestamp", "stored-version-migrated"}, name)
	}
	return key == "kubectl.kubernetes.io/last-applied-configuration"
}

// ownership says whether a label or an annotation of an object marks it as managed by Helm, Argo
// CD, Flux, kubectl or kustomize.
func ownership(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	switch domain {
	case "meta.helm.sh", "helm.sh", "argocd.argoproj.io", "kubectl.kubernetes.io", "config.kubernetes.io":
		return true
	}
	return key == "app.kubernetes.io/managed-by" || key == "app.kubernetes.io/instance" || strings.HasSuffix(domain, ".fluxcd.io")
}
