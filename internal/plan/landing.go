package plan

import "fmt"

// LandingWay is a way for pods that are evicted to save money to come to the places that the
// plan has for them, as users name it in the setting landing; the zero value is LandAuto.
type LandingWay string

// The ways.
const (
	LandAuto   LandingWay = "auto"   // as LandBind, unless other controllers act on closed nodes or the cluster is large
	LandBind   LandingWay = "bind"   // nodes with room are closed for seconds, and the daemon binds the pods
	LandPrefer LandingWay = "prefer" // the kube-scheduler chooses, and the daemon may not bind pods
)

// Landing is how pods that are evicted to save money come to the places that the plan has
// for them.
type Landing struct {
	// Binds says that the nodes with room are closed by a taint for the moment, and that the
	// daemon binds the pods. Else the kube-scheduler chooses their nodes, and whatever it
	// chooses is planned again.
	Binds  bool
	Reason LandingReason
	Detail string
}

// LandingReason is why pods land in one of the two ways.
type LandingReason string

// The reasons.
const (
	LandsAutomatically LandingReason = "Automatic"         // nothing speaks against it
	LandsAsSet         LandingReason = "Setting"           // the setting landing says so
	LandsBesideReader  LandingReason = "TaintReader"       // another controller acts on closed nodes
	LandsInLargeFleet  LandingReason = "LargeFleet"        // too many nodes to close
	LandsWithoutRight  LandingReason = "BindingsForbidden" // the daemon may not bind pods
)

// Way is the value of the setting that asks for this landing whatever else there is.
func (l Landing) Way() LandingWay {
	if l.Binds {
		return LandBind
	}
	return LandPrefer
}

// Explain says in one sentence where evicted pods land, and why.
func (l Landing) Explain() string {
	how := "the kube-scheduler chooses where pods land that are evicted to save money"
	if l.Binds {
		how = "nodes with room are closed for seconds while pods are evicted to save money, and the daemon binds these pods"
	}
	switch l.Reason {
	case LandsAutomatically:
		return how
	case LandsAsSet:
		return how + ", as the setting landing says"
	case LandsBesideReader:
		return how + fmt.Sprintf(": %s acts on the taints of nodes, and would act on nodes that are closed for a moment", l.Detail)
	case LandsInLargeFleet:
		return how + fmt.Sprintf(": nodes are closed in clusters of at most %s nodes", l.Detail)
	case LandsWithoutRight:
		return how + ": the daemon may not create pods/binding"
	}
	return how
}
