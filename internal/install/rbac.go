package install

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

func rule(group string, resources, verbs []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// clusterRules are the daemon's rights in all namespaces. A shadow has those of them that only
// read.
func (o Options) clusterRules() []rbacv1.PolicyRule {
	if o.Mode != ModeShadow {
		return o.activeRules()
	}
	var out []rbacv1.PolicyRule
	for _, r := range o.activeRules() {
		r.Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) })
		if len(r.Verbs) > 0 {
			out = append(out, r)
		}
	}
	return out
}

func (o Options) activeRules() []rbacv1.PolicyRule {
	watch := []string{"list", "watch"}
	rules := []rbacv1.PolicyRule{
		// Objects that decisions depend on, together with the pods and nodes below.
		rule("apps", []string{"daemonsets", "replicasets", "statefulsets"}, watch),
		rule("batch", []string{"jobs"}, watch),
		// Objects that pods refer to by selectors, volumes and classes, and the defaults of missing requests.
		rule("", []string{"namespaces", "limitranges", "persistentvolumeclaims", "persistentvolumes"}, watch),
		rule("storage.k8s.io", []string{"storageclasses", "csinodes", "volumeattachments"}, watch),
		rule("scheduling.k8s.io", []string{"priorityclasses"}, watch),
		rule("node.k8s.io", []string{"runtimeclasses"}, watch),
		rule("policy", []string{"poddisruptionbudgets"}, watch),
		// Pods: nominated for a node, evicted, and deleted after a termination grace period.
		rule("", []string{"pods"}, []string{"get", "list", "watch", "delete"}),
		rule("", []string{"pods/status"}, []string{"patch"}),
		rule("", []string{"pods/eviction"}, []string{"create"}),
		// Nodes: labels, taints and finalizer are patched; nodes are deleted, never created.
		rule("", []string{"nodes"}, []string{"get", "list", "watch", "patch", "delete"}),
		// The product's own kinds.
		rule(v1.Group, []string{v1.NodePoolResource}, []string{"list", "watch", "patch"}), // its finalizer and the hash of its template
		rule(v1.Group, []string{v1.NodeClaimResource}, []string{"get", "list", "watch", "create", "patch", "delete"}),
		rule(v1.Group, []string{v1.NodePoolResource + "/status"}, []string{"update"}),
		rule(v1.Group, []string{v1.NodeClaimResource + "/status"}, []string{"update", "patch"}),     // patch: conditions of one that cannot be read, whose other fields must stay
		rule(awsv1.Group, []string{awsv1.EC2NodeClassResource}, []string{"list", "watch", "patch"}), // its finalizer and the hash of its spec
		rule(awsv1.Group, []string{awsv1.EC2NodeClassResource + "/status"}, []string{"update"}),
		// Owner references that block deletion: NodePool of NodeClaim, NodeClaim of Node.
		rule(v1.Group, []string{v1.NodePoolResource + "/finalizers", v1.NodeClaimResource + "/finalizers"}, []string{"update"}),
		// The kinds before v1, where their definitions are installed: without them the rights mean nothing.
		rule(v1.Group, []string{legacy.ResourceProvisioner}, []string{"get", "list", "watch", "patch"}), // its finalizers and the hashes of what is served for it
		rule(awsv1.Group, []string{legacy.ResourceAWSNodeTemplate}, []string{"get", "list", "watch"}),
		rule(v1.Group, []string{legacy.ResourceProvisioner + "/status"}, []string{"update"}),
		rule(awsv1.Group, []string{legacy.ResourceAWSNodeTemplate + "/status"}, []string{"update"}),
		// What Karpenter carries out and the daemon does not, where a cluster has it: each object is told so.
		rule(v1.Group, []string{"nodeoverlays"}, watch),
		rule("autoscaling.x-k8s.io", []string{"capacitybuffers"}, watch),
		rule("", []string{"events"}, []string{"create", "patch"}),
	}
	if o.SchedulerConfig != "" {
		rules = append(rules, selectorRule())
	}
	if o.Landing != LandingPrefer {
		rules = append(rules, bindingRule())
	}
	return rules
}

// selectorRule is the right to know by which selectors the scheduler spreads pods by default.
func selectorRule() rbacv1.PolicyRule {
	return rule("", []string{"services", "replicationcontrollers"}, []string{"list", "watch"})
}

// bindingRule is the right to bind evicted pods to the places that a move has for them.
func bindingRule() rbacv1.PolicyRule { return rule("", []string{"pods/binding"}, []string{"create"}) }

// configMapRules are the daemon's rights to ConfigMaps of its own namespace: the one that the
// installation makes for it, and the settings that Karpenter had before v1, which say what a
// node template leaves out.
func (o Options) configMapRules() []rbacv1.PolicyRule {
	own, settings := rule("", []string{"configmaps"}, []string{"get", "patch"}), rule("", []string{"configmaps"}, []string{"get"})
	own.ResourceNames, settings.ResourceNames = []string{o.configMapName()}, []string{legacy.SettingsName}
	return []rbacv1.PolicyRule{own, settings}
}

// configMapName is that of the ConfigMap which the daemon fills.
func (o Options) configMapName() string {
	if o.Mode == ModeShadow {
		return ShadowName
	}
	return CatalogueName
}

// leaseName is that of the Lease which the replicas compete for.
func (o Options) leaseName() string {
	if o.Mode == ModeShadow {
		return ShadowName
	}
	return LeaseName
}

// leaseRules are the daemon's rights to its Lease. RBAC cannot limit a create to a name.
func (o Options) leaseRules() []rbacv1.PolicyRule {
	named := rule("coordination.k8s.io", []string{"leases"}, []string{"get", "update"})
	named.ResourceNames = []string{o.leaseName()}
	return []rbacv1.PolicyRule{named, rule("coordination.k8s.io", []string{"leases"}, []string{"create"})}
}
