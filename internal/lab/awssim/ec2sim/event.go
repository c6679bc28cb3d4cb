package ec2sim

import (
	"fmt"
	"strings"
	"time"
)

// WarnSpot sends the interruption warning of a spot instance now, and takes
// the instance away after Config.SpotNotice.
func (s *Service) WarnSpot(id string) error {
	return s.onSpot("spot warn", id, func(i *instance) {
		s.emit("EC2 Spot Instance Interruption Warning", "aws.ec2", []string{s.spotARN(i)}, spotWarning{id, "terminate"})
		s.after(s.cfg.SpotNotice, func() {
			s.stop(i, stateReason{"Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination"})
		})
	})
}

// RecommendRebalance sends a rebalance recommendation for a spot instance.
func (s *Service) RecommendRebalance(id string) error {
	return s.onSpot("rebalance recommend", id, func(i *instance) {
		s.emit("EC2 Instance Rebalance Recommendation", "aws.ec2", []string{s.spotARN(i)}, rebalance{id})
	})
}

// ScheduleEvent announces maintenance of the instance: an AWS Health event now,
// and an entry in DescribeInstanceStatus. The code is EC2's, such as
// instance-retirement, instance-stop, instance-reboot or system-maintenance.
// Nothing happens to the instance itself.
func (s *Service) ScheduleEvent(id, code string, notBefore time.Time) error {
	return s.onLive("event schedule", id, func(i *instance) error {
		event := statusEvent{Code: code, Description: "The instance is running on degraded hardware", ID: s.newID("instance-event"), NotBefore: stamp(notBefore)}
		i.events = append(i.events, event)
		s.emit("AWS Health Event", "aws.health", []string{s.arn(kindInstance, id)}, healthEvent{
			Service: "EC2", TypeCode: "AWS_EC2_" + strings.ToUpper(strings.ReplaceAll(code, "-", "_")) + "_SCHEDULED", Category: "scheduledChange",
			Start: notBefore.UTC().Format(time.RFC1123), Entities: []healthEntity{{id}},
		})
		return nil
	})
}

// onLive runs fn under the mutex with a running or pending instance.
func (s *Service) onLive(what, id string, fn func(*instance) error) error {
	defer s.deliver()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[id]
	if i == nil || !i.State.alive() {
		return fmt.Errorf("%s %q: %w", what, id, ErrNoInstance)
	}
	return fn(i)
}

// onSpot is onLive for a spot instance.
func (s *Service) onSpot(what, id string, fn func(*instance)) error {
	return s.onLive(what, id, func(i *instance) error {
		if !i.Spot {
			return fmt.Errorf("%s %q: %w", what, id, ErrNotSpot)
		}
		fn(i)
		return nil
	})
}

// spotARN is how spot events name their instance: with the zone, without the account.
func (s *Service) spotARN(i *instance) string {
	return fmt.Sprintf("arn:%s:ec2:%s:instance/%s", partition(s.cfg.Region), i.Zone, i.ID)
}

type spotWarning struct {
	InstanceID string `json:"instance-id"`
	Action     string `json:"instance-action"`
}

type rebalance struct {
	InstanceID string `json:"instance-id"`
}

// healthEvent has the members that clients read.
type healthEvent struct {
	Service  string         `json:"service"`
	TypeCode string         `json:"eventTypeCode"`
	Category string         `json:"eventTypeCategory"`
	Start    string         `json:"startTime"`
	Entities []healthEntity `json:"affectedEntities"`
}

type healthEntity struct {
	Value string `json:"entityValue"`
}
