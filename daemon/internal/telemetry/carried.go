package telemetry

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A deletion or a taint that a live look declines, or that meets a conflict, is planned
// again. So these actions are reported by whoever carries them out, and not with the plan.

// Disrupted reports that a node is about to be deleted: it is tainted now.
func (r *Recorder) Disrupted(d plan.Disrupt) {
	r.Logger.Info("disrupt node", "node", d.Node, "nodeclaim", d.Claim, "reason", d.Why, "detail", d.Detail, "saves", d.Saves.Dollars())
	r.both(d.Claim, d.ClaimUID, d.Node, disruptionTerminating, "Disrupting Node: "+string(d.Why))
}

// Deleted reports that the daemon has deleted a NodeClaim.
func (r *Recorder) Deleted(claim *v1.NodeClaim, d plan.Delete) {
	r.Metrics.disruption.deleted(claim, d)
	r.Logger.Info("delete nodeclaim", "nodeclaim", d.Claim, "reason", d.Why, "detail", d.Detail,
		"waited", d.Waited.Round(time.Millisecond).String(), "saves", d.Saves.Dollars())
}

// Created counts a NodeClaim that was created.
func (r *Recorder) Created(l plan.Launch) {
	r.Metrics.claims.WithLabelValues(l.Pool, l.CapacityType).Inc()
}

// Bound reports that the daemon has bound a pod, as the kube-scheduler reports it.
func (r *Recorder) Bound(b plan.Bind) {
	r.Logger.Debug("bind pod", "pod", b.Pod, "node", b.Node)
	namespace, name, _ := strings.Cut(b.Pod, "/")
	r.event(podReference(cluster.Pod{Namespace: namespace, Name: name, UID: b.PodUID}), corev1.EventTypeNormal, "Scheduled", "Successfully assigned "+b.Pod+" to "+b.Node+", where consolidation has planned its place")
}

// NominationForbidden reports that the API server does not let the daemon nominate the pod.
// Where the daemon may not ask for its own rights, nothing else tells users.
func (r *Recorder) NominationForbidden(n plan.Nominate, why string) {
	if !r.fresh("nomination/"+n.Pod, why) {
		return
	}
	namespace, name, _ := strings.Cut(n.Pod, "/")
	r.event(podReference(cluster.Pod{Namespace: namespace, Name: name, UID: n.PodUID}), corev1.EventTypeWarning, "NominationForbidden",
		"The pod was to be nominated for node "+n.Node+", which has room for it; the kube-scheduler may put it elsewhere: "+why)
}

// Kept reports that a NodeClaim was to be deleted and stays for now.
func (r *Recorder) Kept(d plan.Delete, why string) {
	if r.fresh("kept/"+d.ClaimUID, why) {
		r.Logger.Info("nodeclaim stays for now", "nodeclaim", d.Claim, "node", d.Node, "reason", d.Why, "why", why)
	}
}
