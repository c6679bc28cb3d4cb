package translate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Node reads a Node. claim is the name of its NodeClaim, or empty. csi is its
// CSINode, or nil. drivers are the volume drivers whose volumes are counted.
func Node(n *corev1.Node, claim string, csi *storagev1.CSINode, drivers []string) cluster.Node {
	out := cluster.Node{
		Name: n.Name, UID: string(n.UID), Labels: podLabels(n.Labels).With(label.NodeName, n.Name), Taints: Taints(n.Spec.Taints),
		Allocatable: attachSlots(Resources(n.Status.Allocatable), csi, drivers), Cordoned: n.Spec.Unschedulable,
		Deleting: n.DeletionTimestamp != nil, Claim: claim, Created: n.CreationTimestamp.Time,
		Stays: n.Annotations[v1.AnnotationDoNotConsolidate] == v1.LabelTrue,
	}
	protected := NodeProtection(n)
	out.DoNotDisrupt, out.ProtectedUntil = protected.Always, protected.Until
	for _, t := range n.Spec.Taints {
		out.Disrupted = out.Disrupted || t.Key == v1.TaintDisrupted
	}
	out.Ready = NodeReady(n)
	return out
}

// NodeReady says whether the node's kubelet reports that it is ready.
func NodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Taints reads taints.
func Taints[T corev1.Taint | v1.Taint](in []T) []cluster.Taint {
	out := make([]cluster.Taint, len(in))
	for i := range in {
		t := corev1.Taint(in[i])
		out[i] = cluster.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
	}
	return out
}

// APITaints writes taints.
func APITaints(in []cluster.Taint) []corev1.Taint {
	out := make([]corev1.Taint, len(in))
	for i, t := range in {
		out[i] = corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)}
	}
	return out
}

// Claim reads a NodeClaim. A move and an interruption that cannot be read are left out; MoveOf
// and InterruptionOf say why. To refuse the NodeClaim instead would make the core launch again
// for its pods.
func Claim(c *v1.NodeClaim) (cluster.Claim, error) {
	reqs, err := requirements("nodeclaim "+c.Name, c.Spec.Requirements)
	if err != nil {
		return cluster.Claim{}, err
	}
	out := cluster.Claim{
		Name: c.Name, UID: string(c.UID), Pool: c.Labels[v1.LabelNodePool], Class: c.Spec.NodeClassRef.Name,
		Labels: label.FromMap(c.Labels), Requirements: reqs,
		Taints: Taints(c.Spec.Taints), StartupTaints: Taints(c.Spec.StartupTaints),
		Requests:     Resources(c.Spec.Resources.Requests),
		Planned:      parsePlanned(c.Annotations[v1.AnnotationPlanned]),
		InstanceType: c.Labels[label.InstanceType], Zone: c.Labels[label.Zone], CapacityType: c.Labels[label.CapacityType],
		Reservation: reservationOf(c, reqs), Node: c.Status.NodeName,
		Capacity: Resources(c.Status.Capacity), Allocatable: Resources(c.Status.Allocatable),
		Launched:    c.Conditions().Get(v1.ConditionLaunched).IsTrue(),
		Registered:  c.Conditions().Get(v1.ConditionRegistered).IsTrue(),
		Initialized: c.Conditions().Get(v1.ConditionInitialized).IsTrue(),
		Ending:      c.Conditions().Get(v1.ConditionInstanceTerminating).IsTrue(),
		Deleting:    c.DeletionTimestamp != nil, Created: c.CreationTimestamp.Time,
	}
	out.Move, _ = MoveOf(c)
	readDisruption(c, &out)
	if out.Launched {
		out.LaunchedAt = c.Conditions().Get(v1.ConditionLaunched).LastTransitionTime.Time
	}
	for _, owner := range c.OwnerReferences {
		if out.Pool == "" && owner.Kind == v1.NodePoolKind {
			out.Pool = owner.Name // without its label, it still counts against the limits of its pool
		}
	}
	if i := strings.LastIndexByte(c.Status.ProviderID, '/'); i >= 0 {
		out.InstanceID = c.Status.ProviderID[i+1:]
	}
	out.Interruption, _ = InterruptionOf(c)
	if c.Unread != "" {
		leaveAlone(&out)
	}
	return out, nil
}

// leaveAlone makes a NodeClaim that cannot be read one of which nothing follows: it counts
// against limits and replicas, is up, and neither ends nor replaces others by itself. As
// long as no node is known to be its own, it has no room for pods.
func leaveAlone(c *cluster.Claim) {
	c.Launched, c.Registered, c.Initialized = true, true, true
	c.Disrupting, c.Drift, c.Move, c.ExpiresAt, c.Grace = nil, nil, nil, time.Time{}, 0
	c.Allocatable = quantity.Resources{}
}

// readDisruption reads what says whether and when the NodeClaim is deleted.
func readDisruption(c *v1.NodeClaim, out *cluster.Claim) {
	conditions := c.Conditions()
	if out.Initialized {
		out.InitializedAt = conditions.Get(v1.ConditionInitialized).LastTransitionTime.Time
	}
	if x := conditions.Get(v1.ConditionDisruptionReason); x.IsTrue() {
		out.Disrupting = &cluster.Disrupting{Reason: x.Reason, Since: x.LastTransitionTime.Time}
	}
	if x := conditions.Get(v1.ConditionDrifted); x.IsTrue() {
		out.Drift = &cluster.Drift{Reason: x.Reason, Since: x.LastTransitionTime.Time}
	}
	drained := conditions.Get(v1.ConditionDrained)
	out.ReplicasLate = drained.Reason == v1.ReasonReplicasNotReady && !drained.IsTrue()
	if t := c.Status.LastPodEventTime; t != nil {
		out.LastPodEvent = t.Time
	}
	if d := c.Spec.TerminationGracePeriod; d != nil {
		out.Grace = d.Duration
	}
	if after := c.Spec.ExpireAfter; after != nil && !after.Never {
		out.ExpiresAt = c.CreationTimestamp.Add(after.Duration)
	}
}

// reservationOf is the capacity reservation that the NodeClaim is in. Before the
// launch it is the reservation that the NodeClaim asks for, the first of
// several. After the launch only the label counts, since a reservation may end
// while its instance runs on.
func reservationOf(c *v1.NodeClaim, reqs label.Requirements) string {
	if id := c.Labels[label.Reservation]; id != "" || c.Conditions().Get(v1.ConditionLaunched).IsTrue() {
		return id
	}
	r, _ := reqs.Get(label.Reservation)
	if values, listed := r.Values(); listed && len(values) > 0 && reqs.Admits(label.CapacityType, label.Reserved) {
		return values[0]
	}
	return ""
}

// FormatInterruption writes the value of the interruption annotation:
// "<deadline> <reason> <noticed>", times in RFC 3339.
func FormatInterruption(i cluster.Interruption) string {
	return i.Deadline.UTC().Format(time.RFC3339Nano) + " " + i.Reason + " " + i.Noticed.UTC().Format(time.RFC3339Nano)
}

// InterruptionOf reads the interruption that the NodeClaim carries. It is nil where there is
// none, and where the annotation cannot be read.
func InterruptionOf(c *v1.NodeClaim) (*cluster.Interruption, error) {
	text, there := c.Annotations[v1.AnnotationInterruption]
	if !there {
		return nil, nil
	}
	i, err := ParseInterruption(text)
	if err != nil {
		return nil, fmt.Errorf("nodeclaim %s annotation %s: %w: the daemon works as if it were not there; remove it", c.Name, v1.AnnotationInterruption, err)
	}
	return i, nil
}

// ParseInterruption reads what FormatInterruption writes.
func ParseInterruption(text string) (*cluster.Interruption, error) {
	var deadline, noticed string
	var i cluster.Interruption
	if _, err := fmt.Sscan(text, &deadline, &i.Reason, &noticed); err != nil {
		return nil, fmt.Errorf("interruption parse: %q is not \"<deadline> <reason> <noticed>\"", text)
	}
	var err error
	if i.Deadline, err = time.Parse(time.RFC3339, deadline); err == nil {
		i.Noticed, err = time.Parse(time.RFC3339, noticed)
	}
	if err != nil {
		return nil, fmt.Errorf("interruption parse: %w", err)
	}
	return &i, nil
}

func requirements(object string, in []v1.Requirement) (label.Requirements, error) {
	reqs := make([]label.Requirement, 0, len(in))
	for i, r := range in {
		values := r.Values
		if takesNoValues(r) {
			values = nil
		}
		req, err := label.NewRequirement(r.Key, label.Operator(r.Operator), values...)
		if err != nil {
			return nil, fmt.Errorf("%s requirements[%d]: %w", object, i, err)
		}
		reqs = append(reqs, req)
	}
	return label.All(reqs...), nil
}

func takesNoValues(r v1.Requirement) bool {
	return r.Operator == corev1.NodeSelectorOpExists || r.Operator == corev1.NodeSelectorOpDoesNotExist
}

// Namespace reads a Namespace.
func Namespace(n *corev1.Namespace) cluster.Namespace {
	return cluster.Namespace{Name: n.Name, Labels: podLabels(n.Labels)}
}
