package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// repeat is how long the same text is not sent again for the same object.
const repeat = 5 * time.Minute

// Recorder writes log lines, Events and metrics.
type Recorder struct {
	Logger  hclog.Logger
	Events  record.EventRecorder
	Metrics *Metrics
	Waiting func(pod string) (time.Time, bool) // when the daemon first saw that the pod waits
	// Provisioner says whether a NodePool is made of one; nil for none.
	Provisioner func(pool string) bool

	mu    sync.Mutex
	said  map[string]said // by object; older than repeat is dropped
	swept time.Time

	told    map[string]told // by object: the last Event that says why it stays; only standings uses it
	counted map[string]int  // instance types, by EC2NodeClass; only SmallerTypesCounted uses it
}

type said struct {
	text string
	at   time.Time
}

// Record reports one Step. A Step without actions is only counted.
func (r *Recorder) Record(in engine.Input, out engine.Output, took time.Duration) {
	r.Metrics.decisions.Observe(took.Seconds())
	r.Metrics.waiting.Set(float64(out.Trace.Pods))
	if out.Trace.Complete { // an incomplete plan has not tried all pods
		r.Metrics.refused.Set(float64(out.Trace.Refused))
	}
	if out.Trace.Savings != "" {
		r.Logger.Debug("savings", "search", out.Trace.Savings)
	}
	after := in
	after.Memory = out.Memory // it knows the offerings and the search for savings
	r.Metrics.fleet.look(after, func(in engine.Input) { r.Metrics.fleet.publish(engine.Audit(in), r.Logger) })
	r.Metrics.Decisions.note(after, out.Plan.Outcomes)
	r.Metrics.Decisions.look(after, r.standings)
	for _, a := range out.Plan.Actions {
		switch x := a.(type) {
		case plan.Launch:
			r.launch(in, out, x, took)
		case plan.Delete, plan.Disrupt: // reported when they are carried out; see carried.go
		case plan.Restore:
			r.Logger.Info("restore node", "node", x.Node, "nodeclaim", x.Claim, "reason", x.Why)
			r.both(x.Claim, x.ClaimUID, x.Node, disruptionBlocked, "The node stays: "+x.Why)
		case plan.Nominate, plan.Wait: // too many to log each
		case plan.Bind: // reported when it is carried out; see carried.go
		case plan.Close:
			r.Logger.Debug("close node until evicted pods are back", "node", x.Node)
		case plan.Release:
			if len(x.Lifts)+len(x.Puts) > 0 {
				r.Logger.Debug("preferences of node changed", "node", x.Node, "puts", x.Puts, "lifts", x.Lifts)
				continue
			}
			r.Logger.Info("release node", "node", x.Node, "planned", x.Planned, "given_up", x.GivenUp)
		}
	}
	r.Metrics.disruption.count(in.Snapshot, out.Plan.Actions)
	r.replacing(in.Snapshot)
	r.lost(in.Snapshot, out.Plan.Actions)
	r.cost(out.Plan, out.Trace.Launches)
	r.tell(in.Snapshot, out.Plan)
	r.leftOut(in.Snapshot, out.Plan.LeftOut)
	r.lacking(out.Plan.Lacking)
}

// lacking logs each static pool that cannot have all its nodes, and sends it an Event.
func (r *Recorder) lacking(list []plan.Lacking) {
	for _, x := range list {
		if !r.fresh("lacking/"+x.Pool, x.Explain()) {
			continue
		}
		r.Logger.Warn("static nodepool lacks nodes", "nodepool", x.Pool, "replicas", x.Replicas, "nodes", x.Nodes, "why", x.Why.String())
		r.event(r.poolReference(x.Pool, x.PoolUID), corev1.EventTypeWarning, "StaticNodesMissing", x.Explain())
	}
}

// leftOut logs each node that is left out for pods of a kind, and sends the pod that
// was refused there an Event.
func (r *Recorder) leftOut(s cluster.Snapshot, list []plan.LeftOut) {
	for _, x := range list {
		p, there := s.Pod(x.Pod)
		if !there || !r.fresh("leftout/"+x.Pod+" "+x.Node, x.Explain()) {
			continue
		}
		r.Logger.Warn("node left out", "node", x.Node, "pod", x.Pod, "refused", x.Times, "until", x.Until)
		r.event(podReference(p), corev1.EventTypeWarning, "NominationRefused", x.Explain())
	}
}

func podReference(p cluster.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)}
}

// nodeReference refers to a node as the kubelet does, so that kubectl finds its Events.
func nodeReference(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: name, UID: types.UID(name)}
}

// launch logs the decision. seen_unix_nano has the times at which the daemon first saw
// its pods, so that the time to the launch can be measured on one clock.
func (r *Recorder) launch(in engine.Input, out engine.Output, l plan.Launch, took time.Duration) {
	var seen []int64
	for _, p := range l.Pods {
		if t, ok := r.Waiting(p); ok {
			seen = append(seen, t.UnixNano())
			r.Metrics.toDecision.Observe(in.Now.Sub(t).Seconds())
		}
	}
	types := make([]string, len(l.Types))
	for i, c := range l.Types {
		types[i] = c.Type
	}
	r.Logger.Info("launch nodeclaim", "nodeclaim", l.Name, "nodepool", l.Pool, "capacity_type", l.CapacityType,
		"instance_types", strings.Join(types, " "), "zones", strings.Join(l.Zones, " "), "price", l.Price.Dollars(),
		"pods", len(l.Pods), "declared", l.Declared, "content", l.Content.String(), "why", l.Why.Explain(),
		"replaces", l.Why.Replaces, "move", moveOf(l), "decided_in", took.Round(time.Microsecond).String(), "seen_unix_nano", seen, "compared", out.Trace.Types)
}

// moveOf says in short which NodeClaims the launch replaces, and why.
func moveOf(l plan.Launch) string {
	if l.Move == nil {
		return ""
	}
	names := make([]string, len(l.Move.Sources))
	for i, s := range l.Move.Sources {
		names[i] = s.Claim
	}
	return fmt.Sprintf("%s, %d of %d (%s): replaces %s", l.Move.ID, l.Move.Index+1, l.Move.Count, l.Move.Reason, strings.Join(names, " "))
}

// cost logs the cost of all launches of the plan, and the lower bound that any plan
// would cost. The bound is on all that the nodes cost, so that the gap is, too.
func (r *Recorder) cost(p plan.Plan, launches int) {
	for _, proof := range p.Proofs {
		if launches == 0 || proof.Scratch {
			continue
		}
		setCosts(r.Metrics.planCost, p.Cost, p.Extra)
		r.Metrics.planBound.Set(dollars(proof.Bound))
		args := append([]any{"launches", launches}, costs(p.Cost, p.Extra)...)
		args = append(args, "bound", proof.Bound.Dollars())
		if permille, defined := proof.Gap(p.Total()); defined {
			args = append(args, "gap_percent", float64(permille)/10)
		}
		r.Logger.Info("plan costs", append(args, "why", proof.Explain(p.Cost, p.Extra))...)
	}
}

// costs are the fields of a log line that say what nodes cost: their instances, and
// what they cost beside them.
func costs(instances quantity.Money, extra plan.Extra) []any {
	return []any{"cost", instances.Dollars(), "volumes", extra.Volumes.Dollars(), "addresses", extra.Addresses.Dollars(), "node_cost", extra.Nodes.Dollars()}
}

// setCosts sets the gauges of what nodes cost, by kind; see newCosts.
func setCosts(to *prometheus.GaugeVec, instances quantity.Money, extra plan.Extra) {
	to.WithLabelValues("instances").Set(dollars(instances))
	to.WithLabelValues("volumes").Set(dollars(extra.Volumes))
	to.WithLabelValues("addresses").Set(dollars(extra.Addresses))
	to.WithLabelValues("nodes").Set(dollars(extra.Nodes))
}

func dollars(m quantity.Money) float64 { return float64(m) / quantity.NanoDollars }

// tell logs a paragraph for each workload with pods that get a new node or cannot be
// placed, and sends each pod that cannot be placed an Event. It leaves out the
// launches of earlier Steps of the same plan: they were logged then.
func (r *Recorder) tell(s cluster.Snapshot, p plan.Plan) {
	now := map[string]bool{}
	for _, a := range p.Actions {
		if l, ok := a.(plan.Launch); ok {
			now[l.Name] = true
		}
	}
	told := func(o plan.Outcome) bool { return o.Verdict == plan.OnLaunch && !now[o.On] }
	if !slices.ContainsFunc(p.Outcomes, func(o plan.Outcome) bool {
		return o.Verdict == plan.Unplaceable || o.Verdict == plan.OnLaunch && !told(o)
	}) {
		return
	}
	if slices.ContainsFunc(p.Outcomes, told) {
		p.Outcomes = slices.DeleteFunc(slices.Clone(p.Outcomes), told)
	}
	stories := plan.Tell(p, func(id string) string {
		if pod, ok := s.Pod(id); ok {
			return plan.WorkloadOf(pod)
		}
		return "Pod " + id
	})
	for _, story := range stories {
		r.story(s, story)
	}
}

// story logs the paragraph of a workload. A paragraph with refusals only is not
// repeated while the refusals stay the same.
func (r *Recorder) story(s cluster.Snapshot, story plan.Story) {
	pods, bought, refused, refusals := 0, 0, 0, ""
	for _, c := range story.Chapters {
		pods += len(c.Pods)
		switch c.Verdict {
		case plan.OnLaunch:
			bought += len(c.Pods)
		case plan.Unplaceable:
			refused += len(c.Pods)
			refusals += fmt.Sprintln(len(c.Pods), r.unplaceable(s, c))
		case plan.OnNode, plan.OnClaim, plan.Preempting, plan.Waiting, plan.AwaitsNodes:
		}
	}
	fresh := refused > 0 && r.fresh("workload/"+story.Workload, refusals)
	if bought > 0 || fresh {
		r.Logger.Info("workload planned for", "workload", story.Workload, "pods", pods,
			"launched_for", bought, "refused", refused, "why", story.Explain())
	}
}

// unplaceable sends an Event to each pod that cannot be placed, and returns why.
func (r *Recorder) unplaceable(s cluster.Snapshot, c plan.Chapter) string {
	why := plan.ExplainRefusals(c.Reasons)
	for _, id := range c.Pods {
		if p, ok := s.Pod(id); ok && p.Node == "" && r.fresh(id, why) {
			r.event(podReference(p), corev1.EventTypeWarning, "FailedScheduling", "Failed to schedule pod, "+why)
		}
	}
	return why
}

// fresh reports whether the text is new for the object, or was last said long ago.
func (r *Recorder) fresh(object, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if old, ok := r.said[object]; ok && old.text == text && now.Sub(old.at) < repeat {
		return false
	}
	if r.said == nil {
		r.said = map[string]said{}
	}
	if now.Sub(r.swept) >= repeat {
		r.swept = now
		maps.DeleteFunc(r.said, func(_ string, x said) bool { return now.Sub(x.at) >= repeat })
	}
	r.said[object] = said{text: text, at: now}
	return true
}

func (r *Recorder) event(object runtime.Object, kind, reason, text string) {
	if r.Events != nil {
		r.Events.Event(object, kind, reason, v1.Bounded(text, v1.MostMessage))
	}
}

// Launched reports that a NodeClaim has its instance.
func (r *Recorder) Launched(c *v1.NodeClaim, instanceType, zone, capacityType, instanceID string) {
	r.Logger.Info("launched nodeclaim", "nodeclaim", c.Name, "instance_type", instanceType, "zone", zone,
		"capacity_type", capacityType, "instance", instanceID)
	r.event(c, corev1.EventTypeNormal, "Launched", "Launched "+instanceType+" "+instanceID+" in "+zone+" as "+capacityType)
}

// LaunchFailed reports a launch without an instance.
func (r *Recorder) LaunchFailed(c *v1.NodeClaim, err error) {
	r.Metrics.failures.WithLabelValues(c.Labels[v1.LabelNodePool]).Inc()
	if r.fresh("nodeclaim/"+c.Name, err.Error()) {
		r.Logger.Warn("launch failed", "nodeclaim", c.Name, "error", err)
		r.event(c, corev1.EventTypeWarning, "LaunchFailed", err.Error())
	}
}

// LaunchesFail reports to the NodePool why its launches fail, and when the next try comes.
// It is not repeated while the key stays the same: the text names other instance types at
// each try.
func (r *Recorder) LaunchesFail(c *v1.NodeClaim, key, why string, next time.Time) {
	pool, uid := c.Labels[v1.LabelNodePool], ""
	if pool == "" || !r.fresh("launches/"+pool, key) {
		return // the Event LaunchFailed of the NodeClaim says why
	}
	for _, owner := range c.OwnerReferences {
		if owner.Name == pool {
			uid = string(owner.UID)
		}
	}
	if !next.IsZero() {
		why += "; the next try comes at " + next.UTC().Format(time.RFC3339)
	}
	r.Logger.Warn("launches of a nodepool fail", "nodepool", pool, "why", why)
	r.event(r.poolReference(pool, uid), corev1.EventTypeWarning, "LaunchFailed", "Launches fail: "+why)
}

// Registered reports that the node has joined the cluster.
func (r *Recorder) Registered(c *v1.NodeClaim, node string) {
	r.Logger.Info("registered nodeclaim", "nodeclaim", c.Name, "node", node)
}

// Initialized reports that the node is ready for pods.
func (r *Recorder) Initialized(c *v1.NodeClaim, node string) {
	r.Logger.Info("initialized nodeclaim", "nodeclaim", c.Name, "node", node)
}

// Draining reports what a drain waits for. It is not repeated while the key stays the
// same: the text names other pods at each look.
func (r *Recorder) Draining(c *v1.NodeClaim, node, key, waitingFor string) {
	if r.fresh("drain/"+node, key) {
		r.Logger.Info("drain waits", "nodeclaim", c.Name, "node", node, "for", waitingFor)
		r.event(nodeReference(node), corev1.EventTypeWarning, "FailedDraining", "Drain waits: "+waitingFor)
	}
}

// Detaching reports which volumes the end of a node waits for.
func (r *Recorder) Detaching(c *v1.NodeClaim, node, waitingFor string) {
	if r.fresh("detach/"+node, waitingFor) {
		r.Logger.Info("drain waits for volumes", "nodeclaim", c.Name, "node", node, "for", waitingFor)
		r.event(nodeReference(node), corev1.EventTypeNormal, v1.ReasonAwaitingVolumeDetachment, "Drain waits: "+waitingFor)
	}
}

// UnreadCounted sets how many objects of each of the daemon's kinds cannot be read.
func (r *Recorder) UnreadCounted(byKind map[string]int) {
	for kind, n := range byKind {
		r.Metrics.unread.WithLabelValues(kind).Set(float64(n))
	}
}

// Remark reports what the user should know of an object that is not as it should be.
func (r *Recorder) Remark(object *corev1.ObjectReference, remark translate.Remark) {
	r.Logger.Warn("object needs attention", "kind", object.Kind, "namespace", object.Namespace, "name", object.Name, "what", remark.Text)
	r.event(object, corev1.EventTypeWarning, remark.Reason, remark.Text)
}

// NewerKubernetes tells, on the daemon's own pod, of a version of Kubernetes that is newer than
// the daemon. The log has it from whoever saw the version.
func (r *Recorder) NewerKubernetes(self *corev1.ObjectReference, text string) {
	r.event(self, corev1.EventTypeWarning, "NewerKubernetes", text)
}

// HeldOrphans tells, on the daemon's own pod, of instances without a NodeClaim that are too many
// to be terminated at once. The log has it from the collector.
func (r *Recorder) HeldOrphans(self *corev1.ObjectReference, text string) {
	r.event(self, corev1.EventTypeWarning, "OrphansHeld", text)
}

// Terminated reports that a NodeClaim and its instance no longer exist.
func (r *Recorder) Terminated(c *v1.NodeClaim, instanceID string) {
	r.Metrics.terminated.WithLabelValues(c.Labels[v1.LabelNodePool]).Inc()
	r.Logger.Info("terminated nodeclaim", "nodeclaim", c.Name, "instance", instanceID)
}

// Drifted reports that the machine of the NodeClaim is no longer what its pool and class
// ask for.
func (r *Recorder) Drifted(c *v1.NodeClaim, reason, message string) {
	r.Logger.Info("nodeclaim has drifted", "nodeclaim", c.Name, "reason", reason, "detail", message)
	r.event(c, corev1.EventTypeNormal, "Drifted", reason+": "+message)
}

// NotDrifted reports that the drift of the NodeClaim is over.
func (r *Recorder) NotDrifted(c *v1.NodeClaim, was string) {
	r.Logger.Info("nodeclaim matches its nodepool and nodeclass again", "nodeclaim", c.Name, "was", was)
}

// DriftCounted counts the NodeClaims that have drifted, by pool and reason.
func (r *Recorder) DriftCounted(claims []*v1.NodeClaim) {
	r.Metrics.drifted.Reset()
	for _, c := range claims {
		if x := c.Conditions().Get(v1.ConditionDrifted); x.IsTrue() && c.DeletionTimestamp == nil {
			r.Metrics.drifted.WithLabelValues(c.Labels[v1.LabelNodePool], x.Reason).Inc()
		}
	}
}

// StaleDriftMark reports an annotation of an old Karpenter that nothing obeys.
func (r *Recorder) StaleDriftMark(node *corev1.Node) {
	text := "The annotation " + v1.AnnotationVoluntaryDisruption + " is of Karpenter before 0.32 and has no effect: remove it from the node; the condition " +
		v1.ConditionDrifted + " of the NodeClaim says whether the node has drifted"
	r.Logger.Warn("stale mark of drift on node", "node", node.Name, "annotation", v1.AnnotationVoluntaryDisruption)
	r.event(nodeReference(node.Name), corev1.EventTypeWarning, "StaleDriftMark", text)
}

// AnotherController reports that Karpenter, too, works on the NodePool.
func (r *Recorder) AnotherController(p *v1.NodePool, version string) {
	r.Logger.Warn("another controller writes the hash of nodepool: stop it, or stop this daemon", "nodepool", p.Name, "version", version)
	r.event(p, corev1.EventTypeWarning, "AnotherController", "Another controller writes the hash of the NodePool, too (version "+version+
		"), as Karpenter does. Both launch and remove nodes: scale its Deployment to 0, or that of karpenterd; "+
		"kubectl get pods -A -l app.kubernetes.io/name=karpenter finds it")
}

// Interrupted reports that EC2 will take the instance of the NodeClaim.
func (r *Recorder) Interrupted(c *v1.NodeClaim, kind string, deadline time.Time) {
	r.Logger.Warn("instance will be interrupted", "nodeclaim", c.Name, "kind", kind, "deadline", deadline)
	r.event(c, corev1.EventTypeWarning, "Interrupted", "EC2 ends the instance at "+deadline.UTC().Format(time.RFC3339)+" ("+kind+")")
}
