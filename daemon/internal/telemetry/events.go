package telemetry

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// disruptionEvent is the reason of an Event about nodes that are deleted or stay.
type disruptionEvent string

// The reasons. Where Karpenter has an Event with the same meaning, the reason is
// Karpenter's.
const (
	disruptionLaunching        disruptionEvent = "DisruptionLaunching"
	disruptionWaitingReadiness disruptionEvent = "DisruptionWaitingReadiness"
	disruptionTerminating      disruptionEvent = "DisruptionTerminating"
	disruptionBlocked          disruptionEvent = "DisruptionBlocked"
	unconsolidatable           disruptionEvent = "Unconsolidatable"
	expiredNodeStays           disruptionEvent = "ExpiredNodeStays"
	podWithoutController       disruptionEvent = "PodWithoutController"
	evicted                    disruptionEvent = "Evicted"
	disrupted                  disruptionEvent = "Disrupted"
	landingLimited             disruptionEvent = "LandingLimited"
)

const (
	// eventsAtOnce is how many objects get an Event that says why they stay, at most at
	// one look.
	eventsAtOnce = 50
	// tellAgain is after how long an Event is sent again while its reason holds: the API
	// server forgets Events after an hour.
	tellAgain = 50 * time.Minute
	// tellSoonest is after how long the same may be said again of an object where something else
	// was said between: reasons that take turns would be an Event at each look.
	tellSoonest = 10 * time.Minute
)

// told is what the last Event said that an object got, and when each was said that may count.
type told struct {
	what string
	said map[string]time.Time
}

// telling is one look at all objects, which sends each of them an Event when there is news.
type telling struct {
	before, now map[string]told
	sent        int
}

// keep keeps what the object was told last, whether it is told something now or not.
func (t *telling) keep(object string) {
	if last, ever := t.before[object]; ever {
		t.now[object] = last
	}
}

// news says whether the object is to be told, and then remembers it.
func (t *telling) news(object, what string) bool {
	at, last := time.Now(), t.now[object]
	again := tellSoonest
	if last.what == what {
		again = tellAgain
	}
	if said, ever := last.said[what]; ever && at.Sub(said) < again || t.sent == eventsAtOnce {
		return false
	}
	t.sent++
	next := told{what, map[string]time.Time{what: at}}
	for other, said := range last.said {
		if other != what && at.Sub(said) < tellSoonest {
			next.said[other] = said
		}
	}
	t.now[object] = next
	return true
}

// tellStandings sends nodes that stay an Event, with their NodeClaims, when the reason is
// another than the last one sent, and NodePools likewise.
func (r *Recorder) tellStandings(all plan.Standings) {
	look := telling{before: r.told, now: map[string]told{}}
	defer func() { r.told = look.now }()
	for i := range all.Pools {
		p := &all.Pools[i]
		look.keep("nodepool/" + p.Pool)
		if poolBlocked(p.Reason) && look.news("nodepool/"+p.Pool, string(p.Reason)) {
			r.event(r.poolReference(p.Pool, p.UID), corev1.EventTypeNormal, string(disruptionBlocked), "No more nodes are disrupted: "+p.Explain())
		}
	}
	r.tellLanding(&look, all)
	for i := range all.Nodes {
		s := &all.Nodes[i]
		if s.DeletedFor != "" {
			continue // if it stays after all, that is news
		}
		look.keep("nodeclaim/" + s.Claim)
		kind, reason, text := stays(s)
		if reason != "" && s.Node != "" && look.news("nodeclaim/"+s.Claim, string(reason)+" "+string(s.Stay.Reason)) {
			r.pair(s.Claim, s.ClaimUID, s.Node, kind, reason, text)
		}
	}
}

// tellLanding sends NodePools of which nodes are deleted to save money an Event where
// something in the cluster keeps the daemon from choosing where their pods land. That large
// fleets are left to the kube-scheduler is no news.
func (r *Recorder) tellLanding(look *telling, all plan.Standings) {
	for i := range all.Pools {
		p := &all.Pools[i]
		look.keep("landing/" + p.Pool)
		if l := all.Landing; p.Saves && p.Nodes > 0 && (l.Reason == plan.LandsBesideReader || l.Reason == plan.LandsWithoutRight) && look.news("landing/"+p.Pool, l.Explain()) {
			r.event(r.poolReference(p.Pool, p.UID), corev1.EventTypeNormal, string(landingLimited), "Savings take longer: "+l.Explain())
		}
	}
}

// stays returns the Event for a node that stays; its reason is empty for none.
func stays(s *plan.Standing) (kind string, reason disruptionEvent, text string) {
	reason, text = staysEvent(s.Stay.Reason), "The node stays: "+s.Stay.Explain()
	if !s.Overdue.IsZero() && (reason != "" || s.Stay.Reason == plan.TriedLately) {
		return corev1.EventTypeWarning, expiredNodeStays, fmt.Sprintf("expireAfter of the node ended at %s. %s; %s. "+
			"Nodes that are launched with terminationGracePeriod of their NodePool are drained then even if their pods must not be disrupted. To drain this node now, delete its NodeClaim.",
			s.Overdue.UTC().Format(time.RFC3339), text, s.Stay.Remedy())
	}
	return corev1.EventTypeNormal, reason, text
}

// staysEvent returns the reason of Karpenter's Event with the same meaning; "" for what
// soon changes by itself.
func staysEvent(why plan.StayReason) disruptionEvent {
	switch why {
	case plan.PoolUnready, plan.PoolPaused, plan.DaemonPaused, plan.NodeProtected, plan.PodExpected, plan.PodProtected, plan.PodOfGang, plan.PodBudget, plan.PodBudgets, plan.ReplicasLate, plan.Declined, plan.NoPlace, plan.BudgetUsed, plan.LimitFull, plan.NoReplacement:
		return disruptionBlocked
	case plan.NodeStays, plan.NoSaving, plan.NotTried, plan.SpotForSpot, plan.NoPrice, plan.PolicyForbids, plan.StaticPool:
		return unconsolidatable
	case plan.NotInitialized, plan.IsLeaving, plan.NotQuiet, plan.NotSearched, plan.NextToGo, plan.Replaces, plan.PodSettles, plan.NotDrifted, plan.OutOfTime, plan.CloudAway,
		plan.TriedLately, plan.MovesHeld:
	}
	return ""
}

// poolBlocked says whether the standing of a NodePool is that its nodes may not be deleted.
func poolBlocked(why plan.PoolReason) bool {
	switch why {
	case plan.PoolNotUp, plan.PoolAllPaused, plan.PoolSelfPaused, plan.PoolBudgetUsed, plan.PoolLimitFull, plan.PoolHeld:
		return true
	case plan.PoolDeleting, plan.PoolCloudAway, plan.PoolHasNone, plan.PoolNodesGo, plan.PoolNext, plan.PoolSearching, plan.PoolNoSaving, plan.PoolIsStatic,
		plan.PoolPolicy, plan.PoolNodesKept:
	}
	return false
}

// replacing sends each NodeClaim that replaces others an Event when it is there, and one
// when its instance is launched and the others wait until its node is ready.
func (r *Recorder) replacing(s cluster.Snapshot) {
	for _, c := range s.InTransition() {
		if c.Initialized || !replaces(s, c) {
			continue
		}
		to := claimReference(c.Name, c.UID)
		if r.fresh("launching/"+c.UID, "") {
			r.event(to, corev1.EventTypeNormal, string(disruptionLaunching), "Launching NodeClaim: "+c.Move.Reason+", in place of "+sourcesOf(c.Move))
		}
		if c.Launched && r.fresh("readiness/"+c.UID, "") {
			r.event(to, corev1.EventTypeNormal, string(disruptionWaitingReadiness), "Waiting on readiness to continue disruption of "+sourcesOf(c.Move))
		}
	}
}

// sourcesOf names the NodeClaims that the move takes away.
func sourcesOf(m *cluster.Move) string {
	names := make([]string, len(m.Sources))
	for i, x := range m.Sources {
		names[i] = x.Claim
	}
	return "NodeClaim " + strings.Join(names, ", ")
}

// replaces says whether the NodeClaim replaces others that are still there.
func replaces(s cluster.Snapshot, c *cluster.Claim) bool { return len(s.SourcesOf(c)) > 0 }

// lost sends each pod an Event that is on a node that is deleted and that nothing creates
// anew.
func (r *Recorder) lost(s cluster.Snapshot, actions []plan.Action) {
	for _, c := range s.InTransition() {
		if c.Leaving() {
			r.lostOn(s, c.Node)
		}
	}
	for _, a := range actions {
		if x, is := a.(plan.Disrupt); is {
			r.lostOn(s, x.Node)
		}
		if x, is := a.(plan.Delete); is {
			r.lostOn(s, x.Node)
		}
	}
}

func (r *Recorder) lostOn(s cluster.Snapshot, node string) {
	state, up := s.State(node)
	if !up {
		return
	}
	for p := range state.Pods() {
		if !p.Lost() || !r.fresh("lost/"+p.UID, node) {
			continue
		}
		r.Logger.Warn("pod without controller on a node that is to be deleted", "pod", p.ID(), "node", node)
		r.event(podReference(p), corev1.EventTypeWarning, string(podWithoutController), "Node "+node+" is to be deleted. No controller owns the pod, so nothing creates it anew once it is evicted: "+
			"create it anew, or let a Deployment or a Job own it")
	}
}

// Evicted reports that the API server has accepted the eviction of the pod.
func (r *Recorder) Evicted(p *corev1.Pod, why string) {
	r.event(p, corev1.EventTypeNormal, string(evicted), "Evicted pod: "+why)
}

// ForceDeleted reports that the pod is deleted so that its node can end at the deadline,
// whatever protects the pod. It is not repeated while the deadline stays the same.
func (r *Recorder) ForceDeleted(p *corev1.Pod, deadline time.Time, seconds int64) {
	by := deadline.UTC().Format(time.RFC3339)
	if r.fresh("forced/"+string(p.UID), by) {
		r.event(p, corev1.EventTypeWarning, string(disrupted), fmt.Sprintf("The pod is deleted, whatever protects it, because its node ends at %s: terminationGracePeriod of the NodeClaim is over then. "+
			"%s left of the pod's own grace period.", by, quantity.Count(seconds, "second")))
	}
}

// both sends an Event to a NodeClaim and its node.
func (r *Recorder) both(claim, uid, node string, reason disruptionEvent, text string) {
	r.pair(claim, uid, node, corev1.EventTypeNormal, reason, text)
}

func (r *Recorder) pair(claim, uid, node, kind string, reason disruptionEvent, text string) {
	r.event(claimReference(claim, uid), kind, string(reason), text)
	if node != "" {
		r.event(nodeReference(node), kind, string(reason), text)
	}
}

func claimReference(name, uid string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "NodeClaim", APIVersion: v1.GroupVersion().String(), Name: name, UID: types.UID(uid)}
}

// poolReference is the NodePool, or the Provisioner that it is made of.
func (r *Recorder) poolReference(name, uid string) *corev1.ObjectReference {
	if r.Provisioner != nil && r.Provisioner(name) {
		return &corev1.ObjectReference{Kind: legacy.KindProvisioner, APIVersion: legacy.VersionProvisioner, Name: name, UID: types.UID(uid)}
	}
	return &corev1.ObjectReference{Kind: v1.NodePoolKind, APIVersion: v1.GroupVersion().String(), Name: name, UID: types.UID(uid)}
}
