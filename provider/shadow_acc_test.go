//go:build lab

package provider_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// TestDaemon_AShadowStandsBesideKarpenterAndBecomesTheDaemonInPlace goes there and back: a shadow
// beside a running Karpenter, the daemon in its place, and a shadow again once the cluster was
// handed back.
func TestDaemon_AShadowStandsBesideKarpenterAndBecomesTheDaemonInPlace(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	crds, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if err := s.create(definitions, "", crd.DeepCopy().Object); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.create(nodePools, "", theirPool()); err != nil {
		t.Fatal(err)
	}
	stop := s.karpenterRuns(t, l)
	shadow := idle(object{"mode": "shadow", "role_arn": nil, "service_account": "observer"})
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(shadow))
	daemon.settled(shadow)
	s.onlyReads(t)
	wantNoError(t, daemon.destroy()) // nothing needs a shadow, whatever nodes there are
	wantNoError(t, daemon.apply(shadow))
	before := l.deployment(t)

	wantError(t, daemon.apply(idle(nil)), "another controller runs", "kubectl scale")
	stop()
	wantNoError(t, daemon.apply(idle(nil)))
	if after := l.deployment(t); after.UID != before.UID || !s.gone(configMaps, "karpenter", install.ShadowName) || s.gone(configMaps, "karpenter", install.CatalogueName) {
		t.Errorf("Deployment %s, was %s; the ConfigMap of the shadow is gone: %t", after.UID, before.UID, s.gone(configMaps, "karpenter", install.ShadowName))
	}

	if err := l.patch(nodePools, "", "theirs", `{"metadata":{"finalizers":["karpenter.sh/termination"]}}`); err != nil {
		t.Fatal(err)
	}
	wantError(t, daemon.apply(shadow), "still holds", "NodePool theirs", "karpenterd handback")
	if err := l.patch(nodePools, "", "theirs", `{"metadata":{"finalizers":null}}`); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, daemon.apply(shadow))
	s.onlyReads(t)
	// What an update to the daemon has left that was cut off is no shadow, whatever the state says.
	containers := l.deployment(t).Spec.Template.Spec.Containers
	containers[0].Args = []string{install.Command}
	text, err := json.Marshal(containers)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.patch(deployments, "karpenter", "karpenterd", `{"spec":{"template":{"spec":{"containers":`+string(text)+`}}}}`); err != nil {
		t.Fatal(err)
	}
	wantError(t, daemon.destroy(), "theirs")
	wantNoError(t, daemon.apply(shadow))
	wantNoError(t, daemon.destroy())
	err = errors.Join(s.remove(nodePools, "", "theirs"), s.remove(leases, "kube-system", install.LeaseName))
	for _, crd := range crds {
		err = errors.Join(err, s.remove(definitions, "", crd.GetName()))
	}
	if err != nil {
		t.Error(err)
	}
}

// onlyReads checks that the ClusterRole of the daemon has only verbs that read.
func (s somebody) onlyReads(t *testing.T) {
	t.Helper()
	rules, _, _ := unstructured.NestedSlice(s.get(clusterRoles, "", "karpenterd-shadow").Object, "rules")
	if len(rules) == 0 {
		t.Error("the ClusterRole has no rules")
	}
	for _, r := range rules {
		verbs, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "verbs")
		if slices.ContainsFunc(verbs, func(v string) bool { return v != "get" && v != "list" && v != "watch" }) {
			t.Errorf("a shadow may %v", r)
		}
	}
}

// TestDaemon_ThatHasBroughtTheDefinitionsLeavesThemAsAShadow makes a shadow of a daemon whose
// definitions are its own: with them, every NodePool would go.
func TestDaemon_ThatHasBroughtTheDefinitionsLeavesThemAsAShadow(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	if err := s.create(nodePools, "", theirPool()); err != nil {
		t.Fatal(err)
	}
	shadow := idle(object{"mode": "shadow", "role_arn": nil, "service_account": "observer"})
	if err := l.patch(deployments, "karpenter", "karpenterd", `{"spec":{"replicas":0}}`); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); l.deployment(t).Status.Replicas > 0 && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	if err := l.patch(nodePools, "", "theirs", `{"metadata":{"finalizers":null}}`); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, daemon.apply(shadow))
	if s.gone(nodePools, "", "theirs") || s.gone(definitions, "", "nodepools.karpenter.sh") {
		t.Error("the definitions went, or the NodePool")
	}
	another := l.behind(t, nobody).resource("karpenter_daemon") // each run of Terraform asks anew what the cluster serves
	another.state, another.private, another.identity = daemon.state, daemon.private, daemon.identity
	daemon = another
	wantError(t, daemon.destroy(), "theirs")
	if err := s.remove(nodePools, "", "theirs"); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, daemon.destroy())
	if !s.gone(definitions, "", "nodepools.karpenter.sh") {
		t.Error("the definitions are left")
	}
}

// theirPool is a NodePool of somebody else.
func theirPool() map[string]any {
	return map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "theirs"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": []any{},
		}}},
	}
}
