package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
)

const (
	lookEvery = 500 * time.Millisecond
	// settled is how long a pod has been bound before a decision is held to know of it.
	settled = 3 * time.Second
)

// observer looks from outside at what must never happen.
type observer struct {
	*run

	looking    sync.Mutex // held during each look
	mu         sync.Mutex
	violations []string
	hurt       map[string]bool // instances that a fault was about: what becomes of them is no decision
	before     map[string]ec2sim.State
	going      map[string]bool // NodeClaims that were in deletion

	// complete says that all guarded pods have run, excused that a fault was about a node of one
	// since the last calm.
	complete, excused bool
}

func newObserver(r *run) *observer {
	return &observer{run: r, hurt: map[string]bool{}, before: map[string]ec2sim.State{}, going: map[string]bool{}}
}

// violated notes a violation once.
func (o *observer) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(o.violations, text) {
		o.violations = append(o.violations, text)
		o.say("VIOLATION: %s", text)
	}
}

func (o *observer) found() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.violations)
}

// begin notes that all is as it should be, and a round begins.
func (o *observer) begin() {
	o.looking.Lock()
	defer o.looking.Unlock()
	o.complete, o.excused = false, false
}

// hit notes that a fault is about the instance.
func (o *observer) hit(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hurt[id] = true
}

func (o *observer) isHurt(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hurt[id]
}

// watch looks until the context ends.
func (o *observer) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		o.look(ctx)
	}
}

// scene is one look.
type scene struct {
	instances []ec2sim.Instance
	claims    []v1.NodeClaim
	nodes     []corev1.Node
	pods      []corev1.Pod
}

// look reads all and checks it; while the API server does not answer, only what EC2 shows. The
// instances are read first: who has ended one has decided it before.
func (o *observer) look(ctx context.Context) {
	o.looking.Lock()
	defer o.looking.Unlock()
	s := scene{instances: o.instances()}
	o.oneInstanceEach(s)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	claims, err := o.claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	nodes, err := o.core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	pods, err := o.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	s.claims, s.nodes, s.pods = claims.Items, nodes.Items, pods.Items
	o.decided(s)
	o.held(s)
	o.budgeted(s)
}

// instances are those of the cluster that are not terminated.
func (r *run) instances() []ec2sim.Instance {
	return slices.DeleteFunc(r.lab.Cloud.EC2.Instances(), func(i ec2sim.Instance) bool {
		return i.State == ec2sim.StateTerminated || i.Tags[awsspec.TagNodePool] == ""
	})
}

func runs(i ec2sim.Instance) bool {
	return i.State == ec2sim.StatePending || i.State == ec2sim.StateRunning
}

// oneInstanceEach: a NodeClaim never has two instances.
func (o *observer) oneInstanceEach(s scene) {
	of := map[string]string{}
	for _, i := range s.instances {
		uid := i.Tags[awsspec.TagNodeClaimUID]
		if !runs(i) || uid == "" {
			continue
		}
		if other, two := of[uid]; two {
			o.violated("NodeClaim %s has two instances, %s and %s", i.Tags[awsspec.TagNodeClaim], other, i.ID)
		}
		of[uid] = i.ID
	}
}

// decided: a healthy instance ends only after its NodeClaim was in deletion, that is by a decision.
func (o *observer) decided(s scene) {
	claim := map[string]v1.NodeClaim{}
	for _, c := range s.claims {
		claim[string(c.UID)] = c
	}
	for _, i := range s.instances {
		was := o.before[i.ID]
		o.before[i.ID] = i.State
		if was != ec2sim.StateRunning || runs(i) || o.isHurt(i.ID) {
			continue
		}
		if c, there := claim[i.Tags[awsspec.TagNodeClaimUID]]; there && c.DeletionTimestamp == nil {
			o.violated("instance %s of NodeClaim %s ended without a decision: the NodeClaim is not in deletion", i.ID, c.Name)
		}
	}
}

// voluntary says whether the deletion of the NodeClaim is a decision of the daemon alone: its
// node was registered, and no fault is about its instance.
func (o *observer) voluntary(c v1.NodeClaim) bool {
	return c.DeletionTimestamp != nil && c.Status.NodeName != "" && !o.isHurt(instanceOf(c.Status.ProviderID))
}

// held: a node with a pod that must not be disrupted stays, and of pods whose
// PodDisruptionBudget lets one be unavailable no two are, unless a fault was about a node of
// theirs. One that is on its way out is unavailable only until another runs in its place.
func (o *observer) held(s scene) {
	node := map[string]corev1.Node{}
	for _, n := range s.nodes {
		node[n.Name] = n
	}
	run := 0
	for _, p := range s.pods {
		if p.Labels["app"] != guarded {
			continue
		}
		if n, there := node[p.Spec.NodeName]; there && o.isHurt(instanceOf(n.Spec.ProviderID)) {
			o.excused = true
		}
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			run++
		}
	}
	if o.complete = o.complete || run == fixedReplicas; o.complete && !o.excused && run < fixedReplicas-1 {
		o.violated("%d of %d pods of the Deployment %s run, and its PodDisruptionBudget lets one be unavailable", run, fixedReplicas, guarded)
	}
	for _, c := range s.claims {
		if o.going[string(c.UID)] || !o.voluntary(c) {
			continue
		}
		o.going[string(c.UID)] = true
		for _, p := range s.pods {
			if p.Spec.NodeName == c.Status.NodeName && p.Labels["app"] == pinned && boundBefore(p, c.DeletionTimestamp.Add(-settled)) {
				o.violated("NodeClaim %s is in deletion, and its node has the pod %s, which must not be disrupted", c.Name, p.Name)
			}
		}
	}
}

// instanceOf is the id of the instance; empty where there is none yet.
func instanceOf(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

// boundBefore says whether the pod runs, and was bound to its node before then.
func boundBefore(p corev1.Pod, then time.Time) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && c.LastTransitionTime.Time.Before(then)
	})
}

// budgeted: no more nodes of a pool are in deletion by decision than its budget allows. As with
// Karpenter, one whose instance EC2 was asked to end is over.
func (o *observer) budgeted(s scene) {
	of := map[string]int{}
	for _, c := range s.claims {
		if o.voluntary(c) && !c.DeepCopy().Conditions().Get(v1.ConditionInstanceTerminating).IsTrue() {
			of[c.Labels[v1.LabelNodePool]]++
		}
	}
	for pool, n := range of {
		if n > budget {
			o.violated("%d nodes of the NodePool %s are in deletion by decision, and its budget allows %d", n, pool, budget)
		}
	}
}

// leftOver says what is left of instances, nodes and NodeClaims without one another; empty where
// nothing is.
func (o *observer) leftOver(ctx context.Context) (string, error) {
	instances := map[string]string{} // id -> uid of its NodeClaim
	for _, i := range o.instances() {
		if runs(i) || i.State == ec2sim.StateStopped || i.State == ec2sim.StateStopping {
			instances[i.ID] = i.Tags[awsspec.TagNodeClaimUID]
		}
	}
	claims, err := o.claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	nodes, err := o.core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: v1.LabelNodePool})
	if err != nil {
		return "", err
	}
	var left []string
	has := map[string]bool{}
	for _, c := range claims.Items {
		id := instanceOf(c.Status.ProviderID)
		has[id] = true
		if _, there := instances[id]; !there {
			left = append(left, fmt.Sprintf("NodeClaim %s without a running instance (%q)", c.Name, id))
		}
	}
	for id := range instances {
		if !has[id] {
			left = append(left, "instance "+id+" without a NodeClaim")
		}
	}
	for _, n := range nodes.Items {
		if _, there := instances[instanceOf(n.Spec.ProviderID)]; !there {
			left = append(left, "node "+n.Name+" without a running instance")
		}
	}
	slices.Sort(left)
	return strings.Join(left, "; "), nil
}
