package provider_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// leads puts a Lease that a replica of the daemon has just renewed.
func (c *fakeObjects) leads(holder string, renewed time.Time) {
	c.change(leasePath, func(object) object {
		return object{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": object{"name": "karpenter-leader-election", "namespace": "karpenter", "uid": "lease"}, "spec": object{
			"holderIdentity": holder, "renewTime": renewed.UTC().Format(time.RFC3339Nano),
		}}
	})
}

// installed is a daemon that runs.
func (c *fakeObjects) installed(t *testing.T, config object) *instance {
	t.Helper()
	daemon := c.provider(t).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(config))
	c.leads("karpenterd-abc", time.Now())
	daemon.settled(config)
	return daemon
}

// checksum is what a pod template of the Deployment has.
func (c *fakeObjects) checksum() string {
	text, _ := field(c.look(deploymentPath), "spec", "template", "metadata", "annotations", "karpenterd.sh/checksum").(string)
	return text
}

// warnings are the texts of the warnings.
func warnings(diags []*tfprotov6.Diagnostic) string {
	var all []string
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityWarning {
			all = append(all, d.Summary+": "+d.Detail)
		}
	}
	return strings.Join(all, "\n")
}

func wantWarning(t *testing.T, diags []*tfprotov6.Diagnostic, parts ...string) {
	t.Helper()
	wantNoError(t, diags)
	text := warnings(diags)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the warnings lack %q: %s", part, text)
		}
	}
	if len(parts) == 0 && text != "" {
		t.Errorf("there are warnings: %s", text)
	}
}

// somebodysAccount is a copy of the service account, as somebody else makes it anew.
func somebodysAccount(uid string) func(object) object {
	return func(o object) object {
		metadata := maps.Clone(o["metadata"].(object))
		metadata["uid"] = uid
		delete(metadata, "managedFields")
		return object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
	}
}

// TestDaemon_AServiceAccountThatIsMadeAnewReplacesThePods loses the account in each way: the
// tokens of the pods are for the former one.
func TestDaemon_AServiceAccountThatIsMadeAnewReplacesThePods(t *testing.T) {
	gone := func(object) object { return nil }
	for name, lose := range map[string]func(c *fakeObjects, daemon *instance){
		"deleted":          func(c *fakeObjects, _ *instance) { c.change(accountPath, gone) },
		"made by somebody": func(c *fakeObjects, _ *instance) { c.change(accountPath, somebodysAccount("other")) },
		"apply killed before the Deployment": func(c *fakeObjects, daemon *instance) {
			c.change(accountPath, gone)
			before := *daemon
			deployment := c.look(deploymentPath)
			wantNoError(daemon.h.t, daemon.read())
			wantNoError(daemon.h.t, daemon.apply(daemonConfig()))
			c.change(deploymentPath, func(object) object { return deployment })
			*daemon = before
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := startObjects(t)
			config := daemonConfig()
			daemon := c.installed(t, config)
			before := c.checksum()
			lose(c, daemon)
			daemon.drifted(config, "objects")
			wantNoError(t, daemon.apply(config))
			if after := c.checksum(); before == "" || after == before {
				t.Errorf("the checksum of the pods is %q, and was %q: no pod is replaced", after, before)
			}
			daemon.settled(config)
			last := c.checksum()
			wantNoError(t, daemon.apply(with(config, object{"replicas": 3})))
			if now := c.checksum(); now != last {
				t.Errorf("the checksum became %q, and the service account has stayed", now)
			}
		})
	}
}

func TestDaemon_AnImportFindsThePodsOfItsServiceAccount(t *testing.T) {
	c := startObjects(t)
	config := daemonConfig()
	c.installed(t, config)
	imported, diags := c.provider(t).imported("karpenter_daemon", "karpenter")
	wantNoError(t, diags)
	imported.settled(config)
}

// TestDaemon_ThatDoesNotRunIsSaidInEachPlan lets replicas fail after the creation.
func TestDaemon_ThatDoesNotRunIsSaidInEachPlan(t *testing.T) {
	c := startObjects(t)
	config := daemonConfig()
	daemon := c.installed(t, config)
	available := func(n int) {
		c.change(deploymentPath, func(o object) object {
			o["status"].(object)["availableReplicas"] = n
			return o
		})
	}
	c.change(spacePath+"/pods/karpenterd-1", func(object) object {
		return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "karpenterd-1", "namespace": "karpenter", "labels": object{"app.kubernetes.io/name": "karpenterd", "app.kubernetes.io/instance": "karpenterd"}}, "status": object{"containerStatuses": list{object{
			"name": "karpenterd", "state": object{"waiting": object{"reason": "CrashLoopBackOff"}}, "lastState": object{"terminated": object{"exitCode": 1, "reason": "Error", "message": "a\nb\nc\nUnauthorized\n"}},
		}}}}
	})
	for range 2 {
		available(1)
		wantWarning(t, daemon.read(), `Deployment "karpenter/karpenterd"`, "1 of 2 replicas", "CrashLoopBackOff", "exit code 1 Error", "Unauthorized", "kubectl")
		if p := daemon.planned(config); !p.value.Equal(daemon.state) {
			t.Error("one replica that is missing for a while is a difference")
		}
	}
	available(0)
	wantWarning(t, daemon.read(), "0 of 2 replicas", "Nobody launches")
	daemon.drifted(config, "ready")
	available(2)
	wantWarning(t, daemon.read())
}

// TestDaemon_ThatNobodyLeadsIsSaidInEachPlan has no Lease: a replica may be available and get
// no answer but Unauthorized.
func TestDaemon_ThatNobodyLeadsIsSaidInEachPlan(t *testing.T) {
	c := startObjects(t)
	daemon := c.installed(t, daemonConfig())
	c.leads("karpenter-xyz", time.Now())
	wantWarning(t, daemon.read(), "all 2 replicas", "karpenter-xyz holds", "Nobody launches")
}

// TestGoing_ObjectsThatSomebodyDeletesAreSaidInThePlan deletes objects of each kind that
// finalizers hold.
func TestGoing_ObjectsThatSomebodyDeletesAreSaidInThePlan(t *testing.T) {
	going := func(o object) object {
		metadata := o["metadata"].(object)
		metadata["deletionTimestamp"], metadata["finalizers"] = "2026-01-02T03:04:05Z", list{"somebody/holds"}
		return o
	}
	held := []string{"is being deleted since 2026-01-02T03:04:05Z", "somebody/holds", "creates it anew"}
	for name, path := range map[string]string{
		"Namespace": spacePath, "Deployment": deploymentPath, "ServiceAccount": accountPath,
		"CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startObjects(t)
			config := daemonConfig()
			daemon := c.installed(t, config)
			c.change(path, going)
			wantWarning(t, daemon.read(), append(held, name)...)
			daemon.drifted(config, "objects")
			wantError(t, daemon.apply(with(config, object{"timeouts": object{"update": "8s"}})), name, "somebody/holds", "finalizers say what holds")
		})
	}
	for kind, tt := range map[string]struct {
		path            string
		config, changed object
		named           string
	}{
		"karpenter_node_pool":  {poolObjectPath, with(poolConfig(nil), object{"wait": false}), object{"weight": 7}, `NodePool "spot"`},
		"karpenter_node_class": {classPath + "/default", with(classConfig(nil), object{"wait": false}), object{"tags": object{"a": "b"}}, `EC2NodeClass "default"`},
	} {
		t.Run(kind, func(t *testing.T) {
			c := startObjects(t)
			i := c.provider(t).resource(kind)
			wantNoError(t, i.apply(tt.config))
			wantWarning(t, i.read())
			c.change(tt.path, going)
			wantWarning(t, i.read(), append(held, tt.named)...)
			wantError(t, i.apply(with(tt.config, tt.changed)), tt.named, "is being deleted since", "somebody/holds", "Wait until the object is deleted")
			if field(c.look(tt.path), "spec", "weight") != field(tt.config, "weight") {
				t.Error("the object that goes was changed")
			}
		})
	}
}

// TestWait_EndsForAnObjectThatSomebodyDeletes has a pool that is ready and goes.
func TestWait_EndsForAnObjectThatSomebodyDeletes(t *testing.T) {
	c := startObjects(t)
	pool := c.provider(t).resource("karpenter_node_pool")
	c.change(poolObjectPath, func(object) object { return nil })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c.look(poolObjectPath) == nil {
			time.Sleep(time.Millisecond)
		}
		c.change(poolObjectPath, func(o object) object {
			o["metadata"].(object)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
			return o
		})
	}()
	wantWarning(t, pool.apply(with(poolConfig(nil), object{"timeouts": object{"create": "5m"}})), "is being deleted since")
	<-done
}
