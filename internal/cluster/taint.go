package cluster

import (
	"slices"
	"strings"
)

// Effects of a taint, as the Kubernetes API spells them.
const (
	NoSchedule       = "NoSchedule"
	PreferNoSchedule = "PreferNoSchedule"
	NoExecute        = "NoExecute"
)

// Taint keeps pods away from a node unless they tolerate it.
type Taint struct{ Key, Value, Effect string }

// String renders the taint as kubectl does: key=value:Effect.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}

// Ephemeral says whether the taint is one that a starting node has and loses by itself.
// Karpenter waits for the same taints.
func (t Taint) Ephemeral() bool {
	switch t.Key {
	case "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.cloudprovider.kubernetes.io/uninitialized", "karpenter.sh/unregistered":
		return true
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/")
}

// ownTaints is the prefix of the keys of the daemon's own taints.
const ownTaints = "karpenterd.sh/"

// Starting says whether the taints of the NodeClaim's node say that others than the daemon
// have not made the node ready yet: one of its startup taints is there, with any value, or
// one that is removed by itself. Preferences keep no pod away.
func (c *Claim) Starting(taints []Taint) bool {
	return slices.ContainsFunc(taints, func(t Taint) bool {
		return t.Effect != PreferNoSchedule && (t.Ephemeral() || c.declaresStartup(t))
	})
}

// Undeclared returns those taints of the NodeClaim's node that keep pods away and that the
// NodeClaim does not know: its user data has them, or a webhook or an agent has put them
// there. Nobody may ever take them off.
func (c *Claim) Undeclared(taints []Taint) (out []Taint) {
	for _, t := range taints {
		if t.Effect != PreferNoSchedule && !strings.HasPrefix(t.Key, ownTaints) && !t.Ephemeral() && !slices.Contains(c.Taints, t) && !c.declaresStartup(t) {
			out = append(out, t)
		}
	}
	return out
}

// declaresStartup says whether others than the daemon take the taint off, as the NodeClaim
// says. They may change its value meanwhile.
func (c *Claim) declaresStartup(t Taint) bool {
	return !strings.HasPrefix(t.Key, ownTaints) && slices.ContainsFunc(c.StartupTaints, func(s Taint) bool { return s.Key == t.Key && s.Effect == t.Effect })
}

// Toleration lets a pod onto tainted nodes. Exists true means the operator
// Exists, else Equal. An empty key means every key, an empty effect every
// effect.
type Toleration struct {
	Key, Value, Effect string
	Exists             bool
}

// Tolerates says whether the toleration covers the taint, as ToleratesTaint of
// core/v1 does.
func (t Toleration) Tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Exists || t.Value == taint.Value
}

// Untolerated returns the first taint that keeps the pod away. A preference
// (PreferNoSchedule) never keeps a pod away.
func Untolerated(taints []Taint, tolerations []Toleration) (Taint, bool) {
	for _, taint := range taints {
		if taint.Effect == PreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t Toleration) bool { return t.Tolerates(taint) }) {
			return taint, true
		}
	}
	return Taint{}, false
}

// Avoided says whether the pod does not tolerate one of the preferences
// (PreferNoSchedule) among the taints.
func Avoided(taints []Taint, tolerations []Toleration) bool {
	return slices.ContainsFunc(taints, func(t Taint) bool {
		return t.Effect == PreferNoSchedule &&
			!slices.ContainsFunc(tolerations, func(x Toleration) bool { return x.Tolerates(t) })
	})
}
