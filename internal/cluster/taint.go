package cluster

import "slices"

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
