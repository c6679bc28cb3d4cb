package ec2sim

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// State is the state of an instance, as the API spells it.
type State string

// The states in the order in which an instance goes through them.
const (
	StatePending      State = "pending"
	StateRunning      State = "running"
	StateStopping     State = "stopping"
	StateStopped      State = "stopped"
	StateShuttingDown State = "shutting-down"
	StateTerminated   State = "terminated"
)

func (s State) code() int {
	return map[State]int{StatePending: 0, StateRunning: 16, StateShuttingDown: 32, StateTerminated: 48, StateStopping: 64, StateStopped: 80}[s]
}

// ended says whether there is no way back.
func (s State) ended() bool { return s == StateShuttingDown || s == StateTerminated }

func (s State) alive() bool { return s == StatePending || s == StateRunning }

// Instance is what the laboratory may know of an instance.
type Instance struct {
	ID, Type, Arch             string
	Zone, ZoneID               string
	VPCID, SubnetID            string
	SecurityGroupIDs           []string
	PrivateIP, PrivateDNSName  string
	ImageID                    string
	UserData                   string // decoded
	ProfileARN, ProfileID      string
	RoleARN                    string // of the profile; empty without a profile
	Spot                       bool
	SpotRequestID, FleetID     string
	ReservationID              string // of the capacity reservation that it runs in
	ImageName                  string
	DataVolumeGiB              int64 // of the root volume, or of the image's second one
	Tags                       map[string]string
	State                      State
	LaunchTime, TerminatedTime time.Time
}

// instance is an Instance with what only the API shows.
type instance struct {
	*resource
	Instance
	seq           int64
	index         int // within its reservation
	reservationID string
	clientToken   string
	plan          *launchPlan
	interfaces    []*networkInterface
	volumes       []*volume
	offering      offering
	reservation   *reservation // that it runs in, nil for none
	reserved      bool         // it was launched into one, and took no other capacity
	publicIP      string
	reason        stateReason
	visible       time.Time
	before        State     // the state that is shown until stale
	stale         time.Time // see Config.Lag
	events        []statusEvent
}

type stateReason struct {
	Code    string `xml:"code" filter:"code"`
	Message string `xml:"message"`
}

type networkInterface struct {
	*resource
	instance     *instance
	attachmentID string
	spec         interfaceSpec
	groups       []*securityGroup
	subnet       *subnet
	addr         netip.Addr // zero for efa-only
	mac          string
	attached     time.Time
}

type volume struct {
	*resource
	device              string
	spec                ebsSpec
	zone                Zone
	created             time.Time
	attached            *instance // nil once the instance is gone
	deleteOnTermination bool
}

// key is the order of launches.
func (i *instance) key() string { return fmt.Sprintf("%012d", i.seq) }

// snapshot is a copy that later changes do not touch.
func (i *instance) snapshot() Instance {
	out := i.Instance
	out.Tags = maps.Clone(i.tags)
	out.SecurityGroupIDs = slices.Clone(i.SecurityGroupIDs)
	if i.reservation != nil {
		out.ReservationID = i.reservation.id
	}
	return out
}

// Instances returns all instances in the order of their launch, with those
// that terminated within the last hour.
func (s *Service) Instances() []Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	out := make([]Instance, 0, len(s.instances))
	for _, i := range s.inOrder() {
		out = append(out, i.snapshot())
	}
	return out
}

func (s *Service) inOrder() []*instance {
	return slices.SortedFunc(maps.Values(s.instances), func(a, b *instance) int { return int(a.seq - b.seq) })
}

// Watch has fn called after each change of state, in order, without any lock;
// the old state of a new instance is empty.
func (s *Service) Watch(fn func(i Instance, old, now State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, fn)
}

// Terminate takes the instance away as if EC2 or its owner did, without a call
// of the API.
func (s *Service) Terminate(id string) error {
	return s.onLive("instance terminate", id, func(i *instance) error {
		s.stop(i, stateReason{"Server.InternalError", "Server.InternalError: The instance was terminated due to an internal error"})
		return nil
	})
}

// SetVisibilityDelay makes instances launched from now on appear in
// DescribeInstances only after the delay, as EC2's eventual consistency does.
func (s *Service) SetVisibilityDelay(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
}

// Stop stops an instance as its owner would at the console: it keeps its address and its
// volumes, and can only be terminated.
func (s *Service) Stop(id string) error {
	return s.onLive("instance stop", id, func(i *instance) error {
		i.reason = stateReason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"}
		s.setState(i, StateStopping)
		s.after(s.cfg.StopTime, func() {
			if i.State == StateStopping {
				s.setState(i, StateStopped)
			}
		})
		return nil
	})
}

func (s *Service) start(i *instance) {
	switch {
	case i.State != StatePending:
	case s.keyRefused:
		s.stop(i, stateReason{"Client.InvalidKMSKey.InvalidState", "Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state"})
	default:
		s.setState(i, StateRunning)
	}
}

// stop starts the end of an instance; its address, interfaces and volumes go
// when it is terminated.
func (s *Service) stop(i *instance, reason stateReason) {
	if i.State.ended() {
		return
	}
	i.reason = reason
	s.setState(i, StateShuttingDown)
	s.after(s.cfg.StopTime, func() { s.finish(i) })
}

func (s *Service) finish(i *instance) {
	i.TerminatedTime = s.cfg.Now()
	s.release(i)
	if left, limited := s.capacity[i.offering]; limited && !i.reserved {
		s.capacity[i.offering] = left + 1
	}
	for _, v := range i.volumes {
		v.attached = nil
		if v.deleteOnTermination {
			delete(s.resources, v.id)
			delete(s.volumes, v.id)
		}
	}
	delete(s.resources, i.SpotRequestID)
	if live := slices.DeleteFunc(s.fleets[i.FleetID], func(id string) bool { return id == i.ID }); len(live) > 0 {
		s.fleets[i.FleetID] = live
	} else {
		delete(s.fleets, i.FleetID)
		delete(s.resources, i.FleetID)
	}
	s.setState(i, StateTerminated)
}

// release frees the interfaces and addresses of an instance.
func (s *Service) release(i *instance) {
	for _, n := range i.interfaces {
		n.subnet.release(n.addr)
		delete(s.resources, n.id)
		delete(s.enis, n.id)
	}
	i.interfaces = nil
}

func (s *Service) setState(i *instance, now State) {
	old := i.State
	i.before, i.stale = s.shown(i), s.cfg.Now().Add(s.draw())
	i.State = now
	seen := i.snapshot()
	for _, fn := range s.watchers {
		s.notices = append(s.notices, func() { fn(seen, old, now) })
	}
	s.emit("EC2 Instance State-change Notification", "aws.ec2", []string{s.arn(kindInstance, i.ID)},
		stateChange{i.ID, now})
}

type stateChange struct {
	InstanceID string `json:"instance-id"`
	State      State  `json:"state"`
}

// forget drops instances that terminated longer ago than EC2 shows them.
func (s *Service) forget() {
	limit := s.cfg.Now().Add(-retention)
	for id, i := range s.instances {
		if i.State == StateTerminated && i.TerminatedTime.Before(limit) {
			delete(s.instances, id)
			delete(s.resources, id)
		}
	}
}

// privateName is the IP-based host name that EC2 gives in the region.
func privateName(region string, addr netip.Addr) string {
	domain := region + ".compute.internal"
	if region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(addr.String(), ".", "-") + "." + domain
}
