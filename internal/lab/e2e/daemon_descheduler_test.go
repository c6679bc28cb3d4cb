//go:build lab && whole

package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

const deschedulerImage = "registry.k8s.io/descheduler/descheduler"

// deschedulerPolicy has the plugin that evicts pods for taints and no other: it excludes no
// taint, and what it evicts it evicts for a taint.
const deschedulerPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: taints
  pluginConfig:
  - name: DefaultEvictor
  - name: RemovePodsViolatingNodeTaints
  plugins:
    deschedule:
      enabled: [RemovePodsViolatingNodeTaints]
`

// TestDescheduler_FindsNoNodeThatTheDaemonCloses scales a workload in beside the real
// descheduler, which looks at all nodes each second. The daemon is told nothing of it, and sees
// it. It closes no node, all pods run, and the fleet shrinks. What the descheduler evicts is on
// nodes with the taint of others: nodes that are deleted have karpenter.sh/disrupted, as with
// Karpenter, and are drained by whoever comes first. At last somebody taints a node that stays,
// and the descheduler evicts its pods.
func TestDescheduler_FindsNoNodeThatTheDaemonCloses(t *testing.T) {
	found, err := toolchain.Ensure(t.Context(), os.Stderr, toolchain.Descheduler)
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemonLab(t, lab.Options{
		StopTime: time.Second, Images: map[string]string{deschedulerImage: found[toolchain.Descheduler].Path},
	})
	d.installDaemon(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	d.startDescheduler(t)
	d.part(t, "saving", savesBesideTheDescheduler)
}

// startDescheduler deploys the descheduler by the manifests of its project, with another policy.
func (d *daemonLab) startDescheduler(t *testing.T) {
	t.Helper()
	dir, _, err := toolchain.Source(t.Context(), toolchain.Descheduler)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range manifests(t, filepath.Join(dir, "kubernetes", "base", "rbac.yaml")) {
		if !strings.HasPrefix(o.GetKind(), "Cluster") {
			o.SetNamespace(metav1.NamespaceSystem)
		}
		d.apply(t, o)
	}
	_, err = d.Core.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "descheduler-policy-configmap"}, Data: map[string]string{"policy.yaml": deschedulerPolicy},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "kubernetes", "deployment", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(raw, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := &deployment.Spec.Template.Spec
	pod.NodeSelector = map[string]string{"eks.amazonaws.com/nodegroup": "bootstrap"}
	pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists})
	program := &pod.Containers[0]
	program.Env = append(program.Env, corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}})
	program.Args = append(program.Args, // the last of a flag counts
		"--descheduling-interval=1s", "--bind-address=$(POD_IP)", "--cert-dir=$(TMPDIR)", "--client-connection-kubeconfig=$(KUBECONFIG)")
	if _, err := d.Core.AppsV1().Deployments(deployment.Namespace).Create(t.Context(), &deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d.descheduledTimes(t, 1)
}

// manifests reads the objects of a file.
func manifests(t *testing.T, path string) (objects []*unstructured.Unstructured) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for decoder := kyaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		var o unstructured.Unstructured
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, &o)
		}
	}
}

// descheduled is how often the descheduler has looked at all nodes.
func (d *daemonLab) descheduled() int {
	return strings.Count(d.logsOf("descheduler"), `"Number of evictions/requests"`)
}

// descheduledTimes waits until the descheduler has looked at all nodes n times more.
func (d *daemonLab) descheduledTimes(t *testing.T, n int) {
	t.Helper()
	n += d.descheduled()
	eventually(t, func() error {
		if have := d.descheduled(); have < n {
			log := d.logsOf("descheduler")
			return fmt.Errorf("the descheduler has looked at the nodes %d times, want %d: %s", have, n, log[max(0, len(log)-3000):])
		}
		return nil
	})
}

// eviction is what the descheduler says of a pod that it has evicted.
type eviction struct{ pod, strategy, node string }

func (d *daemonLab) descheduledPods() (all []eviction) {
	line := regexp.MustCompile(`"Evicted pod" pod="([^"]*)" reason="[^"]*" strategy="([^"]*)" node="([^"]*)"`)
	for _, m := range line.FindAllStringSubmatch(d.logsOf("descheduler"), -1) {
		all = append(all, eviction{m[1], m[2], m[3]})
	}
	return all
}

func savesBesideTheDescheduler(t *testing.T, d *daemonLab) {
	const nodes, perNode = 12, 3
	seen := d.watchTaints(t)
	p := oneNode("fleet")
	p.budget = "0"
	d.createPool(t, p)
	d.deploy(t, p, nodes*perNode, briefly)
	for _, x := range d.running(t, p, nodes*perNode) {
		d.backdate(t, x.Name, time.Hour)
	}
	d.scale(t, p, nodes)
	d.running(t, p, nodes)
	d.landsBeside(t, p, "descheduler in namespace "+metav1.NamespaceSystem)
	eventually(t, seen.preferred) // the nodes that go next
	d.descheduledTimes(t, 3)
	d.noneIsClosed(t, seen)

	before := d.descheduled()
	p.budget = "100%"
	d.apply(t, p.object())
	eventually(t, func() error { return d.rests(t, p, nodes, nodes/perNode) })
	t.Logf("the descheduler looked at the nodes %d times while %d went, and evicted %d pods", d.descheduled()-before, nodes-nodes/perNode, len(d.descheduledPods()))
	d.descheduledTimes(t, 3)
	if err := d.rests(t, p, nodes, nodes/perNode); err != nil {
		t.Error("later: ", err)
	}
	d.noneIsClosed(t, seen)
	requests, err := d.RequestsOf(install.DefaultNamespace, install.DefaultServiceAccount)
	if err != nil || requests[controlplane.Request{Verb: "create", Resource: "pods", Subresource: "binding"}] {
		t.Errorf("the daemon has bound pods (error %v)", err)
	}
	d.taintedByHand(t, p, nodes)
}

// taintsSeen are the taints that nodes have had since they were first without any, as a node that
// joins has some of its own.
type taintsSeen struct {
	mu    sync.Mutex
	nodes map[string]map[corev1.Taint]bool // without values and times
	ended bool
}

// watchTaints notes taints until the test ends.
func (d *daemonLab) watchTaints(t *testing.T) *taintsSeen {
	t.Helper()
	w, err := d.Core.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &taintsSeen{nodes: map[string]map[corev1.Taint]bool{}}
	go func() {
		for e := range w.ResultChan() {
			if n, is := e.Object.(*corev1.Node); is {
				s.note(n)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
	}()
	return s
}

func (s *taintsSeen) note(n *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes[n.Name] == nil && len(n.Spec.Taints) == 0 {
		s.nodes[n.Name] = map[corev1.Taint]bool{}
	}
	if of := s.nodes[n.Name]; of != nil {
		for _, x := range n.Spec.Taints {
			of[corev1.Taint{Key: x.Key, Effect: x.Effect}] = true
		}
	}
}

// preferred says so if no node has had a taint of the daemon by which pods prefer others.
func (s *taintsSeen) preferred() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.nodes {
		for x := range of {
			if x.Effect == corev1.TaintEffectPreferNoSchedule && strings.HasPrefix(x.Key, v1.OwnDomain+"/") {
				return nil
			}
		}
	}
	return fmt.Errorf("no node has a taint by which pods prefer others: %v", s.nodes)
}

// noneIsClosed checks that the daemon has closed no node, and that each pod that the descheduler
// has evicted was on a node that is closed by a taint of others.
func (d *daemonLab) noneIsClosed(t *testing.T, s *taintsSeen) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		t.Error("nobody watches the nodes any more")
	}
	closed := map[string]bool{}
	for name, of := range s.nodes {
		for x := range of {
			closed[name] = closed[name] || x.Effect == corev1.TaintEffectNoSchedule
			if x.Effect != corev1.TaintEffectPreferNoSchedule && strings.HasPrefix(x.Key, v1.OwnDomain+"/") {
				t.Errorf("the daemon has closed node %s by %s:%s", name, x.Key, x.Effect)
			}
		}
	}
	for _, e := range d.descheduledPods() {
		if !closed[e.node] {
			t.Errorf("the descheduler has evicted pod %s of node %s, which was not closed", e.pod, e.node)
		}
	}
}

// rests says what moves still: so many pods are to run on so many nodes, none of which is
// closed or goes.
func (d *daemonLab) rests(t *testing.T, p pool, pods, nodes int) error {
	claims, err := d.claims(t.Context(), p)
	if err != nil {
		return err
	}
	for _, c := range claims {
		if c.DeletionTimestamp != nil || c.Conditions().Get(v1.ConditionDisruptionReason).IsTrue() {
			return fmt.Errorf("NodeClaim %s goes", c.Name)
		}
	}
	have, err := d.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=" + p.name})
	if err != nil {
		return err
	}
	for _, n := range have.Items {
		if len(n.Spec.Taints) > 0 {
			return fmt.Errorf("node %s has taints: %+v", n.Name, n.Spec.Taints)
		}
	}
	all, err := d.Core.CoreV1().Pods(testNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + p.name})
	if err != nil {
		return err
	}
	run := 0
	for _, x := range all.Items {
		if x.Status.Phase == corev1.PodRunning && x.DeletionTimestamp == nil {
			run++
		}
	}
	if run != pods || len(all.Items) != pods || len(claims) != nodes || len(have.Items) != nodes || len(d.instances(p)) != nodes {
		return fmt.Errorf("%d of %d pods run on %d nodes of %d NodeClaims with %d instances, want %d on %d", run, len(all.Items), len(have.Items), len(claims), len(d.instances(p)), pods, nodes)
	}
	return nil
}

// taintedByHand taints a node with pods. The descheduler evicts each of them, as it would have done
// on each node that the daemon had closed.
func (d *daemonLab) taintedByHand(t *testing.T, p pool, pods int) {
	t.Helper()
	before := d.descheduledPods()
	all := d.running(t, p, pods)
	node := all[0].Spec.NodeName
	var want []eviction
	for _, x := range all {
		if x.Spec.NodeName == node {
			want = append(want, eviction{x.Namespace + "/" + x.Name, "RemovePodsViolatingNodeTaints", node})
		}
	}
	patch := []byte(`{"spec":{"taints":[{"key":"example.com/by-hand","effect":"NoSchedule"}]}}`)
	if _, err := d.Core.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		evicted := d.descheduledPods()[len(before):]
		for _, e := range want {
			if !slices.Contains(evicted, e) {
				return fmt.Errorf("evicted: %v, want %v", evicted, want)
			}
		}
		return nil
	})
	for _, x := range d.running(t, p, pods) {
		if x.Spec.NodeName == node {
			t.Errorf("pod %s runs on node %s, which somebody has tainted", x.Name, node)
		}
	}
}
