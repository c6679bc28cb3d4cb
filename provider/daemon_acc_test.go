//go:build lab

package provider_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// daemonPodsHCL has a value for every attribute that says how the pods are run.
const daemonPodsHCL = `
  replicas         = 1
  image            = { tag = "1.0.0", pull_policy = "Always" }
  cluster_endpoint = "https://10.0.0.1"
  annotations      = { owner = "a" }
  resources = {
    requests = { cpu = "250m", memory = "256Mi" }
    limits   = { cpu = "1", memory = "2Gi" }
  }
  tolerations = [
    { key = "CriticalAddonsOnly", operator = "Exists" },
    { key = "dedicated", value = "system", effect = "NoExecute", toleration_seconds = 30 },
  ]
  node_selector = { "eks.amazonaws.com/nodegroup" = "bootstrap" }
  affinity = {
    node_affinity = {
      required  = [{ match_expressions = [{ key = "kubernetes.io/os", operator = "NotIn", values = ["windows"] }] }, { match_expressions = [{ key = "a", operator = "Exists" }] }]
      preferred = [{ weight = 10, match_expressions = [{ key = "b", operator = "Gt", values = ["4"] }] }]
    }
    pod_affinity      = { preferred = [{ weight = 1, topology_key = "topology.kubernetes.io/zone", match_labels = { app = "dns" }, namespaces = ["kube-system"] }] }
    pod_anti_affinity = { required = [{ topology_key = "kubernetes.io/hostname", match_expressions = [{ key = "app", operator = "In", values = ["noisy"] }] }] }
  }
  priority_class_name   = "system-node-critical"
  image_pull_secrets    = ["mirror", "other"]
  environment           = { GOGC = "80" }
  pod_labels            = { mesh = "off" }
  pod_annotations       = { note = "hello" }
  metrics_port          = 9090
  health_probe_port     = 9091
  metrics_namespaces    = ["monitoring"]
  pod_disruption_budget = { enabled = true, max_unavailable = "100%" }
`

// deployment is the daemon's Deployment as the cluster has it.
func (l *theLab) deployment(t *testing.T) appsv1.Deployment {
	t.Helper()
	live, err := l.get("apps", "Deployment", "karpenter", "karpenterd")
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The pods hold the role that the service account named when they were made.
func TestDaemon_AnotherRoleRollsTheDeploymentOut(t *testing.T) {
	l := startLab(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	defer func() { wantNoError(t, daemon.destroy()) }()
	before := l.deployment(t)
	wantNoError(t, daemon.apply(idle(object{"labels": nil}))) // nothing changes
	if same := l.deployment(t); same.Generation != before.Generation {
		t.Errorf("generation %d, was %d, and nothing had changed", same.Generation, before.Generation)
	}
	wantNoError(t, daemon.apply(idle(object{"role_arn": "arn:aws:iam::123456789012:role/other"})))
	after := l.deployment(t)
	if after.Generation == before.Generation || after.UID != before.UID {
		t.Errorf("generation %d, was %d: no pod is replaced", after.Generation, before.Generation)
	}
	if is, was := after.Spec.Template.Annotations["karpenterd.sh/checksum"], before.Spec.Template.Annotations["karpenterd.sh/checksum"]; is == was {
		t.Errorf("the checksum of the pods stays %q", is)
	}
	daemon.settled(idle(object{"role_arn": "arn:aws:iam::123456789012:role/other"}))
}

// Whoever has the provider from a checkout only must be able to see and remove what a release
// made, and is told before a change that this build has no image.
func TestDaemon_BuildWithoutADigestReadsAndDestroysWhatAReleaseMade(t *testing.T) {
	l := startLab(t)
	released := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, released.apply(idle(nil)))
	h := newHarnessOf(t, "dev", "")
	wantNoError(t, h.configure(object{"region": l.Region, "kubernetes": object{"host": l.through(t, nobody), "token": "t"}}))
	own := h.resource("karpenter_daemon")
	own.state, own.private, own.identity = released.state, released.private, released.identity
	wantNoError(t, own.read())
	if !own.state.Equal(released.state) {
		t.Errorf("the state became %s, was %s", own.state, released.state)
	}
	wantError(t, own.plan(idle(object{"replicas": 1})).problems, "image", "no image to deploy")
	wantNoError(t, own.destroy())
	if _, err := l.get("apps", "Deployment", "karpenter", "karpenterd"); !notInCluster(err) {
		t.Errorf("the Deployment is still there: %v", err)
	}
}

// What somebody else changes of the pods' settings comes back.
func TestDaemon_SettingsOfThePodsThatAreChangedComeBack(t *testing.T) {
	l := startLab(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	config := idle(object{"tolerations": list{object{"key": "a", "operator": "Exists"}}, "pod_disruption_budget": object{"min_available": "1"}})
	wantNoError(t, daemon.apply(config))
	defer func() { wantNoError(t, daemon.destroy()) }()
	daemon.settled(config)
	for gvr, patch := range map[schema.GroupVersionResource]string{
		deployments: `{"spec":{"template":{"spec":{"tolerations":[],"priorityClassName":"system-node-critical"}}}}`,
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}: `{"spec":{"minAvailable":2}}`,
	} {
		if err := l.patch(gvr, "karpenter", "karpenterd", patch); err != nil {
			t.Fatal(err)
		}
		daemon.drifted(config, "objects")
		wantNoError(t, daemon.apply(config))
		daemon.settled(config)
	}
	wantNoError(t, daemon.apply(idle(object{"pod_disruption_budget": object{"enabled": false}})))
	if _, err := l.get("policy", "PodDisruptionBudget", "karpenter", "karpenterd"); !notInCluster(err) {
		t.Errorf("the budget that is off is still there: %v", err)
	}
}
