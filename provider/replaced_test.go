package provider_test

import "testing"

// replacing plans as Terraform does for -replace: first the change, then the new object with the
// record of the old one.
func (i *instance) replacing(config object) plan {
	i.h.t.Helper()
	p := i.plan(config)
	wantNoError(i.h.t, p.problems)
	next := i.h.resource(i.kind)
	next.private = p.private
	return next.plan(config)
}

// TestPlan_SaysWhatNeedsTheObjectThatItReplaces replaces a daemon and a node class with a node pool, and
// without one.
func TestPlan_SaysWhatNeedsTheObjectThatItReplaces(t *testing.T) {
	c := startObjects(t)
	daemon := c.installed(t, daemonConfig())
	class, pool := c.provider(t).resource("karpenter_node_class"), c.provider(t).resource("karpenter_node_pool")
	classOf, poolOf := classConfig(object{"wait": false}), poolConfig(object{"wait": false})
	wantNoError(t, class.apply(classOf))
	wantWarning(t, class.replacing(classOf).problems)
	wantNoError(t, pool.apply(poolOf))
	wantWarning(t, class.replacing(classOf).problems, `the plan replaces EC2NodeClass "default"`, `to which node pools refer: NodePool "spot".`, "Without create_before_destroy and another name, the apply ends with an error")
	wantWarning(t, class.replacing(with(classOf, object{"name": "other"})).problems, `the plan replaces EC2NodeClass "default"`)
	wantWarning(t, daemon.replacing(daemonConfig()).problems, "the plan replaces it", `NodePool "spot"`, "kubectl rollout restart deployment karpenterd --namespace karpenter")
	wantWarning(t, class.plan(classOf).problems)
	wantNoError(t, pool.destroy())
	wantNoError(t, class.destroy())
	wantWarning(t, daemon.replacing(daemonConfig()).problems)
}
