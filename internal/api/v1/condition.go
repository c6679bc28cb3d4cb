package v1

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition is metav1.Condition on the wire, with reason and message optional:
// NodeClaims written by older Karpenter releases have neither. What is written has
// both, as clients of metav1.Condition expect; the message may be empty.
type Condition struct {
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	Type string `json:"type"`
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status"`
	// ObservedGeneration is the metadata.generation that the status was found for.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastTransitionTime moves only when Status changes.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// Reason is a word for programs.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$`
	Reason string `json:"reason"`
	// Message is a sentence for people.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message"`
}

// IsTrue reports whether the status is True.
func (c Condition) IsTrue() bool { return c.Status == metav1.ConditionTrue }

// IsFalse reports whether the status is False.
func (c Condition) IsFalse() bool { return c.Status == metav1.ConditionFalse }

// ConditionSet reads and edits the conditions of one object. Ready follows from
// the dependents: it is recomputed by every edit and cannot be set.
//
// +kubebuilder:object:generate=false
type ConditionSet struct {
	list       *[]Condition
	dependents []string
	generation int64
	created    metav1.Time
	deleting   bool
}

// NewConditionSet edits list, the status conditions of the object. Ready of the
// object depends on the named conditions.
func NewConditionSet(object metav1.Object, list *[]Condition, dependents ...string) ConditionSet {
	return ConditionSet{
		list: list, dependents: dependents,
		generation: object.GetGeneration(), created: object.GetCreationTimestamp(), deleting: object.GetDeletionTimestamp() != nil,
	}
}

// Get returns the condition of the type. An absent condition that Ready depends
// on is Unknown and awaiting reconciliation. Any other absent condition is zero.
func (s ConditionSet) Get(conditionType string) Condition {
	if i := s.index(conditionType); i >= 0 {
		return (*s.list)[i]
	}
	if conditionType != ConditionReady && !slices.Contains(s.dependents, conditionType) {
		return Condition{}
	}
	return Condition{
		Type: conditionType, Status: metav1.ConditionUnknown, LastTransitionTime: s.created,
		Reason: ReasonAwaitingReconciliation, Message: "object is awaiting reconciliation",
	}
}

// IsReady reports whether Ready is True for the current generation.
func (s ConditionSet) IsReady() bool {
	ready := s.Get(ConditionReady)
	return ready.IsTrue() && ready.ObservedGeneration == s.generation
}

// SetTrue sets the condition to True, with its type as reason.
func (s ConditionSet) SetTrue(conditionType string, now time.Time) bool {
	return s.Set(conditionType, metav1.ConditionTrue, "", "", now)
}

// Set sets a condition other than Ready for the current generation, and then
// computes Ready. Conditions without a reason get their type as reason: the
// definitions of some kinds refuse an empty one. Set reports whether anything
// changed. Where the status changed, lastTransitionTime becomes now, in whole
// seconds as on the wire.
//
// A deletion is a new generation in which nothing is asked for: as with Karpenter, what was
// found before it stays true.
func (s ConditionSet) Set(conditionType string, status metav1.ConditionStatus, reason, message string, now time.Time) bool {
	before := slices.Clone(*s.list)
	for _, d := range s.dependents {
		if s.index(d) < 0 {
			*s.list = append(*s.list, s.Get(d))
		}
	}
	if conditionType != ConditionReady {
		s.put(Condition{Type: conditionType, Status: status, Reason: reason, Message: message}, now)
	}
	for i := range *s.list {
		x := &(*s.list)[i]
		x.Reason = cmp.Or(x.Reason, x.Type) // an older Karpenter wrote none
		if s.deleting {
			x.ObservedGeneration = s.generation
		}
	}
	s.put(s.ready(), now)
	s.sort()
	return !slices.EqualFunc(before, *s.list, equalConditions)
}

// Clear removes a condition that Ready does not depend on. It reports whether
// the condition was there.
func (s ConditionSet) Clear(conditionType string) bool {
	i := s.index(conditionType)
	if i < 0 || conditionType == ConditionReady || slices.Contains(s.dependents, conditionType) {
		return false
	}
	*s.list = slices.Delete(*s.list, i, i+1)
	return true
}

func (s ConditionSet) index(conditionType string) int {
	return slices.IndexFunc(*s.list, func(c Condition) bool { return c.Type == conditionType })
}

// MostMessage is how many bytes the message of a condition has at most, and the text of an
// Event. The definitions allow as many characters, and the API server refuses a whole status
// for one more. Events of core/v1 have no limit of their own: a text that names each NodePool
// of a large cluster must not end before the one that matters.
const MostMessage = 32768

// Bounded returns the text, or as much of its beginning as the bytes hold, and that it goes on.
func Bounded(text string, most int) string {
	const more = "..."
	if len(text) <= most {
		return text
	}
	end := most - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// put stores a condition. The time of the last transition stays as long as the
// status stays.
func (s ConditionSet) put(c Condition, now time.Time) {
	c.ObservedGeneration, c.Message = s.generation, Bounded(c.Message, MostMessage)
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	i := s.index(c.Type)
	if i < 0 {
		*s.list = append(*s.list, c)
		return
	}
	if old := (*s.list)[i]; old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	(*s.list)[i] = c
}

// ready computes Ready: True where every dependent is True for this generation,
// False where one is False for this generation, otherwise Unknown.
func (s ConditionSet) ready() Condition {
	var unmet []string
	status, reason := metav1.ConditionUnknown, ReasonReconcilingDependents
	for _, d := range s.dependents {
		c := s.Get(d)
		current := c.ObservedGeneration == s.generation
		if c.IsTrue() && current {
			continue
		}
		if c.IsFalse() && current {
			status, reason = metav1.ConditionFalse, ReasonUnhealthyDependents
		}
		shown := c.Status
		if !current {
			shown = metav1.ConditionUnknown // a status of an older generation says nothing about this generation
		}
		unmet = append(unmet, d+"="+string(shown))
	}
	if len(unmet) == 0 {
		return Condition{Type: ConditionReady, Status: metav1.ConditionTrue, Reason: ConditionReady}
	}
	return Condition{Type: ConditionReady, Status: status, Reason: reason, Message: strings.Join(unmet, ", ")}
}

// sort orders by time of transition, then type, with Ready last, as Karpenter does.
func (s ConditionSet) sort() {
	slices.SortStableFunc(*s.list, func(a, b Condition) int {
		if (a.Type == ConditionReady) != (b.Type == ConditionReady) {
			if a.Type == ConditionReady {
				return 1
			}
			return -1
		}
		if order := a.LastTransitionTime.Compare(b.LastTransitionTime.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Type, b.Type)
	})
}

func equalConditions(a, b Condition) bool {
	same := a.LastTransitionTime.Equal(&b.LastTransitionTime)
	a.LastTransitionTime, b.LastTransitionTime = metav1.Time{}, metav1.Time{}
	return same && a == b
}
