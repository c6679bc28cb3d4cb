package interruption

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	// ErrMalformed says that a message is not an event of EventBridge.
	ErrMalformed = errors.New("malformed message")
	// ErrUnknown says that a message is an event of a kind that this package does not read.
	ErrUnknown = errors.New("unknown kind of event")
)

// Kind is what happens to an instance. The values are Karpenter's message types.
type Kind string

// The kinds of events.
const (
	SpotInterrupted                Kind = "spot_interrupted"
	RebalanceRecommendation        Kind = "rebalance_recommendation"
	ScheduledChange                Kind = "scheduled_change"
	CapacityReservationInterrupted Kind = "capacity_reservation_interrupted"
	InstanceStopped                Kind = "instance_stopped"    // stopping or stopped
	InstanceTerminated             Kind = "instance_terminated" // shutting down or terminated
)

// Notice is how long before the interruption EC2 warns (EC2 user guide, "Spot
// Instance interruption notices").
const Notice = 2 * time.Minute

// Event is one thing that happens to one instance.
type Event struct {
	Kind       Kind
	InstanceID string
	Time       time.Time // when AWS sent it
	Deadline   time.Time // when the instance ends; zero: it may stay
}

// envelope has the members of EventBridge's envelope that Parse reads.
type envelope struct {
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"`
	Time       time.Time       `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// detail has the members of all kinds of events that Parse reads.
type detail struct {
	InstanceID        string `json:"instance-id"`
	State             string `json:"state"`
	Service           string `json:"service"`
	EventTypeCategory string `json:"eventTypeCategory"`
	StartTime         string `json:"startTime"`
	AffectedEntities  []struct {
		EntityValue string `json:"entityValue"`
	} `json:"affectedEntities"`
}

// readers has a function for each source and detail-type. The names are in the EC2
// user guide and the AWS Health user guide, "events in EventBridge".
func readers(notice time.Duration) map[[2]string]func(at time.Time, d detail) []Event {
	return map[[2]string]func(time.Time, detail) []Event{
		{"aws.ec2", "EC2 Spot Instance Interruption Warning"}:                 warned(SpotInterrupted, notice),
		{"aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"}: warned(CapacityReservationInterrupted, notice),
		{"aws.ec2", "EC2 Instance Rebalance Recommendation"}:                  recommended,
		{"aws.ec2", "EC2 Instance State-change Notification"}:                 stateChanged,
		{"aws.health", "AWS Health Event"}:                                    scheduled,
	}
}

// Parse reads the body of a message. A warning is so long before its deadline as notice
// says. It returns no event if the message is of a known
// kind but no instance is interrupted: an instance starts, or a health event is of
// another service. Errors: ErrMalformed, ErrUnknown; it is no use to try again.
func Parse(body string, notice time.Duration) ([]Event, error) {
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return nil, fmt.Errorf("message parse: %w: %w", ErrMalformed, err)
	}
	read := readers(notice)[[2]string{e.Source, e.DetailType}]
	if read == nil {
		return nil, fmt.Errorf("message parse: %w: %q of %q", ErrUnknown, e.DetailType, e.Source)
	}
	var d detail
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return nil, fmt.Errorf("message parse: %w: detail of %q: %w", ErrMalformed, e.DetailType, err)
	}
	events := read(e.Time, d)
	if slices.ContainsFunc(events, func(e Event) bool { return e.InstanceID == "" }) {
		return nil, fmt.Errorf("message parse: %w: %q names no instance", ErrMalformed, e.DetailType)
	}
	return events, nil
}

func warned(kind Kind, notice time.Duration) func(time.Time, detail) []Event {
	return func(at time.Time, d detail) []Event {
		return []Event{{Kind: kind, InstanceID: d.InstanceID, Time: at, Deadline: at.Add(notice)}}
	}
}

func recommended(at time.Time, d detail) []Event {
	return []Event{{Kind: RebalanceRecommendation, InstanceID: d.InstanceID, Time: at}}
}

// stateChanged reads the end of an instance: the deadline is the event itself.
func stateChanged(at time.Time, d detail) []Event {
	switch strings.ToLower(d.State) {
	case "stopping", "stopped":
		return []Event{{Kind: InstanceStopped, InstanceID: d.InstanceID, Time: at, Deadline: at}}
	case "shutting-down", "terminated":
		return []Event{{Kind: InstanceTerminated, InstanceID: d.InstanceID, Time: at, Deadline: at}}
	}
	return nil
}

func scheduled(at time.Time, d detail) []Event {
	if d.Service != "EC2" || d.EventTypeCategory != "scheduledChange" {
		return nil
	}
	// AWS Health writes times as RFC 1123 does. Without a time, now is the safe choice.
	deadline, err := time.Parse(time.RFC1123, d.StartTime)
	if err != nil || deadline.Before(at) {
		deadline = at
	}
	var events []Event
	for _, entity := range d.AffectedEntities {
		events = append(events, Event{Kind: ScheduledChange, InstanceID: entity.EntityValue, Time: at, Deadline: deadline})
	}
	return events
}
