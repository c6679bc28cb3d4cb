//go:build lab

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// crashPoints are the writes of a move, about in their order.
func crashPoints() []crashPoint {
	return []crashPoint{
		{"POST nodeclaims", 1},
		{"PATCH nodeclaims attempt", 1},
		{"CreateFleet", 1},
		{"PATCH nodeclaims labels", 1},
		{"PUT nodeclaims/status Launched", 1},
		{"PATCH nodes labels,finalizers,taints", 1}, // the node is registered
		{"PUT nodeclaims/status Registered", 1},
		{"PUT nodeclaims/status DisruptionReason", 1},
		{"PATCH nodes labels,taints,disrupted", 1},
		{"DELETE nodeclaims", 1},
		{"POST pods/eviction", 1},
		{"POST pods/eviction", 2},
		{"PATCH nodeclaims move", 1}, // the move is over
		{"PATCH nodes taints", 1},    // the new node opens
		{"PATCH nodes labels", 1},    // it is initialized
		{"PUT nodeclaims/status Initialized", 1},
		{"CreateTags", 1}, // its instance has its name
		{"PUT nodeclaims/status Drained", 1},
		{"PUT nodeclaims/status VolumesDetached", 1},
		{"TerminateInstances", 1},
		{"PUT nodeclaims/status InstanceTerminating", 1},
		{"DELETE nodes", 1},
		{"PATCH nodes finalizers", 1},
		{"PATCH nodeclaims finalizers", 1},
	}
}

// crashPoint is the n-th write of a kind.
type crashPoint struct {
	kind string
	n    int
}

// move is a pool with a node, which is to be replaced by another.
type move struct {
	pool pool
	old  v1.NodeClaim
	pods []string // that ran on the node
}

// TestMove_EndsWhereverTheDaemonIsKilled replaces drifted nodes, each by another, and
// ends the daemon without notice after each write that a move consists of. The daemon
// that starts then carries the move to its end: nothing is launched twice, no pod is
// evicted twice, nothing stays announced, and the pools cost what they did. At
// last it ends the daemon when that has said that a node goes to save money, and when it has
// bound the pod of that node to its place on a closed one. Beside a descheduler, it binds none.
func TestMove_EndsWhereverTheDaemonIsKilled(t *testing.T) {
	d := startDaemonLab(t, lab.Options{StopTime: time.Second})
	c := d.startCutter(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	c.start(t)
	points := share.Of(t.Name(), 6, crashPoints()) // "everywhere" has each kind of write once
	moves := d.prepare(t, len(points)+2)

	d.part(t, "nowhere", func(t *testing.T, d *daemonLab) {
		n := len(c.since(0))
		d.allow(t, moves[len(points)])
		d.moved(t, c, moves[len(points)])
		c.allArePoints(t, n)
	})
	for i, p := range points {
		d.part(t, fmt.Sprintf("%s %d", p.kind, p.n), func(t *testing.T, d *daemonLab) {
			left := p.n
			cut := c.after(func(w write) bool {
				if w.kind == p.kind {
					left--
				}
				return left == 0
			})
			d.allow(t, moves[i])
			select {
			case <-cut:
			case <-time.After(patience):
				t.Fatal("no such write")
			}
			c.start(t)
			d.moved(t, c, moves[i])
		})
	}
	d.part(t, "everywhere", func(t *testing.T, d *daemonLab) { d.killedEverywhere(t, c, moves[len(points)+1]) })
	d.part(t, "saving", func(t *testing.T, d *daemonLab) { d.killedWhileSaving(t, c) })
	d.part(t, "beside a descheduler", func(t *testing.T, d *daemonLab) { d.savedBesideADescheduler(t, c) })
	for _, m := range moves { // and nothing has happened to them since
		d.moved(t, c, m)
	}
}

// killedEverywhere makes one move, and ends the daemon after the first write of each kind.
func (d *daemonLab) killedEverywhere(t *testing.T, c *cutter, m move) {
	seen := map[string]bool{}
	anew := func(w write) bool {
		was := seen[w.kind]
		seen[w.kind] = true
		return !was
	}
	cut := c.after(anew)
	d.allow(t, m)
	eventually(t, func() error {
		select {
		case <-cut:
			cut = c.after(anew)
			c.start(t)
		default:
		}
		return d.over(t, m)
	})
	c.after(nil)
	select {
	case <-cut: // it has ended since
		c.start(t)
	default:
	}
	if len(seen) < 20 {
		t.Errorf("the daemon ended %d times only: after %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
	d.moved(t, c, m)
}

// killedWhileSaving lets one of two nodes go to save money, and ends the daemon when it
// has said so and done nothing else: its plan is gone then, and no replacement names it.
// The moves before it have launched nodes, which puts such a move off for a while.
func (d *daemonLab) killedWhileSaving(t *testing.T, c *cutter) {
	m := d.halfFull(t, "saving")
	for i, kind := range []string{"PUT nodeclaims/status DisruptionReason", "POST pods/binding"} {
		cut := c.after(func(w write) bool { return w.kind == kind })
		if i == 0 {
			d.allow(t, m)
		} else {
			c.start(t)
		}
		select {
		case <-cut:
		case <-time.After(patience):
			t.Fatalf("no write %s", kind)
		}
	}
	c.start(t)
	eventually(t, func() error { return d.over(t, m) })
	for _, p := range d.running(t, m.pool, 2) {
		if n, err := d.Core.CoreV1().Nodes().Get(t.Context(), p.Spec.NodeName, metav1.GetOptions{}); err != nil || slices.ContainsFunc(n.Spec.Taints, func(x corev1.Taint) bool { return x.Key == v1.TaintAwaitingPods }) {
			t.Errorf("node %s of pod %s is still closed: %v, %v", p.Spec.NodeName, p.Name, n.Spec.Taints, err)
		}
	}
	if n := len(d.everLaunched(m.pool)); n != 2 {
		t.Errorf("pool %s has had %d instances, want the first two", m.pool.name, n)
	}
	if evicted := c.evicted(m.pool); len(evicted) != 1 {
		t.Errorf("evicted: %v, want one pod once", evicted)
	}
}

// halfFull makes a pool with two nodes, on each of which one pod is left. No budget lets them
// go.
func (d *daemonLab) halfFull(t *testing.T, name string) move {
	t.Helper()
	m := move{pool: oneNode(name)}
	m.pool.budget = "0"
	d.createPool(t, m.pool)
	d.deploy(t, m.pool, 4, briefly) // one more than a node holds
	kept := map[string]bool{}
	for _, p := range d.running(t, m.pool, 4) {
		d.backdate(t, p.Name, time.Hour)
		if kept[p.Spec.NodeName] { // the controller takes it first
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"-1"}}}`, corev1.PodDeletionCost)
			if _, err := d.Core.CoreV1().Pods(testNamespace).Patch(t.Context(), p.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		kept[p.Spec.NodeName] = true
	}
	d.scale(t, m.pool, 2)
	d.running(t, m.pool, 2)
	return m
}

// savedBesideADescheduler lets one of two nodes go to save money where a descheduler runs. No
// node is closed for the evicted pod, and the scheduler gives it its place.
func (d *daemonLab) savedBesideADescheduler(t *testing.T, c *cutter) {
	m := d.halfFull(t, "beside")
	other := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "descheduler", Namespace: testNamespace},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody's", // it is only there
			Containers:    []corev1.Container{{Name: "descheduler", Image: "registry.k8s.io/descheduler/descheduler:v0.35.0"}},
		},
	}
	if _, err := d.Core.CoreV1().Pods(testNamespace).Create(t.Context(), &other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d.landsBeside(t, m.pool, "descheduler in namespace "+testNamespace)
	n := len(c.since(0))
	d.allow(t, m)
	eventually(t, func() error { return d.over(t, m) })
	d.running(t, m.pool, 2)
	if evicted := c.evicted(m.pool); len(evicted) != 1 {
		t.Errorf("evicted: %v, want one pod once", evicted)
	}
	for _, w := range c.since(n) {
		if w.kind == "POST pods/binding" {
			t.Errorf("the daemon binds pod %s", w.name)
		}
	}
}

// landsBeside waits until an Event of the pool says that the scheduler chooses where evicted pods
// land, because of the reader of taints.
func (d *daemonLab) landsBeside(t *testing.T, p pool, reader string) {
	t.Helper()
	eventually(t, func() error {
		list, err := d.Core.CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=LandingLimited,involvedObject.name=" + p.name})
		if err == nil && !slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return strings.Contains(e.Message, reader) }) {
			err = fmt.Errorf("no Event says where evicted pods land: %+v", list.Items)
		}
		return err
	})
}

// evicted names the pods of the pool whose eviction was accepted, once for each.
func (c *cutter) evicted(p pool) []string {
	var names []string
	for _, w := range c.since(0) {
		if w.kind == "POST pods/eviction" && strings.HasPrefix(w.name, p.name+"-") {
			names = append(names, w.name)
		}
	}
	slices.Sort(names)
	return names
}

// allArePoints checks that the daemon is killed somewhere after each kind of write.
func (c *cutter) allArePoints(t *testing.T, n int) {
	t.Helper()
	for _, w := range c.since(n) {
		switch w.kind {
		case "PUT nodeclaims/status", "PUT nodeclaims/status Consolidatable": // what others are told
			continue
		case "PATCH nodeclaims marks": // a sweep writes them, whatever moves
			continue
		case "PATCH pods/status nomination": // only if a pod comes before its node opens
			continue
		}
		if !slices.ContainsFunc(crashPoints(), func(p crashPoint) bool { return p.kind == w.kind }) {
			t.Errorf("no crash point: %s of %s", w.kind, w.name)
		}
	}
}

// prepare makes pools with a node each, on which two pods have run for an hour. The nodes
// have drifted, and no budget lets them go.
func (d *daemonLab) prepare(t *testing.T, n int) []move {
	t.Helper()
	moves := make([]move, n)
	for i := range moves {
		moves[i].pool = oneNode(fmt.Sprintf("move-%02d", i))
		moves[i].pool.budget = "0"
		d.createPool(t, moves[i].pool)
		d.deploy(t, moves[i].pool, 2, briefly)
	}
	for i := range moves {
		m := &moves[i]
		for _, p := range d.running(t, m.pool, 2) {
			d.backdate(t, p.Name, time.Hour)
			m.pods = append(m.pods, p.Name)
		}
		slices.Sort(m.pods)
		m.old, _ = d.theOne(t, m.pool)
		m.pool.grace = "1h"
		d.apply(t, m.pool.object())
	}
	for _, m := range moves {
		eventually(t, func() error {
			c, err := d.NodeClaims.Get(t.Context(), m.old.Name, metav1.GetOptions{})
			if err == nil && !c.Conditions().Get(v1.ConditionDrifted).IsTrue() {
				err = fmt.Errorf("NodeClaim %s has not drifted", m.old.Name)
			}
			return err
		})
	}
	return moves
}

// briefly is how pods of so many moves terminate.
func briefly(template *corev1.PodTemplateSpec) {
	grace := int64(1)
	template.Spec.TerminationGracePeriodSeconds = &grace
}

// backdate makes a pod older: pods that may have come in place of evicted ones stay for
// a while, and a daemon that starts does not know which these are. The API server does
// not change the time of a creation, so it is written into etcd.
func (d *daemonLab) backdate(t *testing.T, name string, by time.Duration) {
	t.Helper()
	encoder := scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), corev1.SchemeGroupVersion)
	key := []byte("/registry/pods/" + testNamespace + "/" + name)
	eventually(t, func() error {
		pod, err := d.Core.CoreV1().Pods(testNamespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		version, err := strconv.ParseInt(pod.ResourceVersion, 10, 64)
		if err != nil {
			return err
		}
		pod.CreationTimestamp = metav1.NewTime(pod.CreationTimestamp.Add(-by))
		pod.ResourceVersion = ""
		var value bytes.Buffer
		if err := encoder.Encode(pod, &value); err != nil {
			return err
		}
		body, err := json.Marshal(map[string]any{
			"compare": []any{map[string]any{"key": key, "target": "MOD", "mod_revision": strconv.FormatInt(version, 10)}},
			"success": []any{map[string]any{"request_put": map[string]any{"key": key, "value": value.Bytes()}}},
		})
		if err != nil {
			return err
		}
		answer, err := http.Post(d.EtcdURL+"/v3/kv/txn", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && !bytes.Contains(text, []byte(`"succeeded":true`)) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	})
}

// allow lets the pool's node go.
func (d *daemonLab) allow(t *testing.T, m move) {
	t.Helper()
	m.pool.budget = ""
	d.apply(t, m.pool.object())
}

// moved waits until the move is over: the old node is gone and a new one has its pods.
// Nothing was done in vain on the way.
func (d *daemonLab) moved(t *testing.T, c *cutter, m move) {
	t.Helper()
	eventually(t, func() error { return d.over(t, m) })
	d.gone(t, m.old)
	if n := len(d.everLaunched(m.pool)); n != 2 {
		t.Errorf("pool %s has had %d instances, want 2", m.pool.name, n)
	}
	if evicted := c.evicted(m.pool); !slices.Equal(evicted, m.pods) {
		t.Errorf("evicted: %v, want each of %v once", evicted, m.pods)
	}
}

// over says what is not as it is to be after the move.
func (d *daemonLab) over(t *testing.T, m move) error {
	claims, err := d.claims(t.Context(), m.pool)
	if err != nil {
		return err
	}
	if len(claims) != 1 || claims[0].UID == m.old.UID {
		return fmt.Errorf("%d NodeClaims, want another one: %+v", len(claims), claims)
	}
	c := claims[0]
	if c.Status.NodeName == "" {
		return fmt.Errorf("NodeClaim %s has no node", c.Name)
	}
	if _, moves := c.Annotations[v1.AnnotationMove]; moves || c.Conditions().Get(v1.ConditionDisruptionReason).IsTrue() {
		return fmt.Errorf("NodeClaim %s is in a move still: %+v %+v", c.Name, c.Annotations, c.Status.Conditions)
	}
	nodes, err := d.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=" + m.pool.name})
	if err != nil {
		return err
	}
	if len(nodes.Items) != 1 || len(nodes.Items[0].Spec.Taints) > 0 {
		return fmt.Errorf("%d nodes, want one without taints: %+v", len(nodes.Items), nodes.Items[0].Spec.Taints)
	}
	pods, err := d.Core.CoreV1().Pods(testNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + m.pool.name})
	if err != nil {
		return err
	}
	ready := slices.DeleteFunc(slices.Clone(pods.Items), func(p corev1.Pod) bool {
		return p.Spec.NodeName != c.Status.NodeName || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil
	})
	if len(ready) != 2 || len(pods.Items) != 2 {
		return fmt.Errorf("%d pods, of which %d run on node %s; want 2", len(pods.Items), len(ready), c.Status.NodeName)
	}
	instances := d.instances(m.pool)
	if len(instances) != 1 || instances[0].State != ec2sim.StateRunning || !strings.HasSuffix(c.Status.ProviderID, "/"+instances[0].ID) {
		return fmt.Errorf("NodeClaim %s has provider id %s, and the instances are %+v", c.Name, c.Status.ProviderID, instances)
	}
	return nil
}
