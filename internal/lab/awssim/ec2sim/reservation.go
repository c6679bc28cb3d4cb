package ec2sim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const (
	// onlyReserved is the preference of launches that go into a capacity
	// reservation or fail.
	onlyReserved      = "capacity-reservations-only"
	noReservation     = "none"
	openReservation   = "open"
	activeReservation = "active"
)

// Reservation is a capacity reservation for SeedReservation.
type Reservation struct {
	InstanceType, Zone string
	Count              int
	Match              string    // open or targeted; empty: targeted
	Type               string    // default or capacity-block; empty: default
	End                time.Time // zero: never
	OwnerID            string    // empty: the account
	Tags               map[string]string
}

type reservation struct {
	*resource
	Reservation
	zoneID  string
	state   string
	created time.Time
	others  int // places that somebody else uses
	unseen  int // of them, those that descriptions do not tell of yet
}

// SeedReservation adds an active capacity reservation and returns its id. There
// is no clock to its end: EndReservation ends it.
func (s *Service) SeedReservation(in Reservation) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Match, in.Type, in.OwnerID = cmp.Or(in.Match, "targeted"), cmp.Or(in.Type, "default"), cmp.Or(in.OwnerID, s.cfg.Account)
	r := &reservation{resource: s.newResource(kindReservation, "cr", in.Tags), Reservation: in, state: activeReservation, created: s.cfg.Now()}
	for _, z := range s.zones {
		if z.Name == in.Zone {
			r.zoneID = z.ID
		}
	}
	s.reservations[r.id] = r
	return r.id
}

// EndReservation expires the reservation. What runs in it runs on, on demand.
func (s *Service) EndReservation(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.reservations[id]
	if r == nil || r.state != activeReservation {
		return fmt.Errorf("capacity reservation end %q: %w", id, ErrNoReservation)
	}
	r.state = "expired"
	for _, i := range s.instances {
		if i.reservation == r {
			i.reservation = nil
		}
	}
	return nil
}

// UseReservation has somebody else use n places of the reservation, of which
// descriptions do not tell of the last unseen ones: EC2's lag behind.
func (s *Service) UseReservation(id string, n, unseen int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.reservations[id]
	if r == nil {
		return fmt.Errorf("capacity reservation use %q: %w", id, ErrNoReservation)
	}
	r.others, r.unseen = n, unseen
	return nil
}

// left is how many more instances the reservation has room for.
func (s *Service) left(r *reservation) int {
	if r.state != activeReservation {
		return 0
	}
	n := r.Count - r.others
	for _, i := range s.instances {
		if i.reservation == r && i.State != StateTerminated {
			n--
		}
	}
	return max(0, n)
}

func (r *reservation) fits(p *launchPlan) bool {
	return r.state == activeReservation && r.InstanceType == p.instanceType.Name && r.Zone == p.subnet.zone.Name
}

// resolveReservation finds the reservation that the launch names, or the open one
// that it goes into by itself.
func (s *Service) resolveReservation(p *launchPlan) error {
	spec := reservationSpec{Preference: openReservation}
	if given := p.data.Reservation; given != nil {
		spec = *given
		spec.Preference = cmp.Or(spec.Preference, openReservation)
	}
	if err := oneOf("CapacityReservationSpecification.CapacityReservationPreference", spec.Preference, openReservation, noReservation, onlyReserved); err != nil {
		return err
	}
	if spec.Target != nil {
		return s.resolveTarget(p, spec)
	}
	if spec.Preference == noReservation || p.capacityType == spot {
		return nil
	}
	for _, r := range s.reservations {
		better := p.reservation == nil || r.id < p.reservation.id
		if r.Match == openReservation && r.fits(p) && s.left(r) > 0 && better {
			p.reservation = r
		}
	}
	if spec.Preference == onlyReserved && p.reservation == nil {
		return reservationFull(p.instanceType.Name)
	}
	return nil
}

func (s *Service) resolveTarget(p *launchPlan, spec reservationSpec) error {
	r := s.reservations[spec.Target.ID]
	switch {
	case r == nil:
		return notFound(spec.Target.ID)
	case spec.Preference != onlyReserved && p.data.Reservation.Preference != "":
		return wire.Errorf("InvalidParameterCombination", "A target capacity reservation goes with the preference %s only.", onlyReserved)
	case p.capacityType == spot:
		return wire.Errorf("InvalidParameterCombination", "A spot instance cannot run in a capacity reservation.")
	case r.state != activeReservation:
		return wire.Errorf("InvalidCapacityReservationState", "The capacity reservation '%s' is not active", r.id)
	case !r.fits(p):
		return wire.Errorf("InvalidParameterCombination", "The capacity reservation '%s' is for %s in %s, not for %s in %s.", r.id, r.InstanceType, r.Zone, p.instanceType.Name, p.subnet.zone.Name)
	}
	p.reservation, p.targeted = r, true
	return nil
}

func reservationFull(what string) error {
	return wire.Errorf("ReservationCapacityExceeded", "The requested reservation has insufficient capacity: %s.", what)
}

type capacityReservationItem struct {
	Zone       string   `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID     string   `xml:"availabilityZoneId"`
	Available  int      `xml:"availableInstanceCount"`
	ARN        string   `xml:"capacityReservationArn"`
	ID         string   `xml:"capacityReservationId"`
	Created    string   `xml:"createDate"`
	EBS        bool     `xml:"ebsOptimized"`
	End        string   `xml:"endDate,omitempty"`
	EndType    string   `xml:"endDateType" filter:"end-date-type"`
	Ephemeral  bool     `xml:"ephemeralStorage"`
	Match      string   `xml:"instanceMatchCriteria" filter:"instance-match-criteria"`
	Platform   string   `xml:"instancePlatform" filter:"instance-platform"`
	Type       string   `xml:"instanceType" filter:"instance-type"`
	OwnerID    string   `xml:"ownerId" filter:"owner-id"`
	Kind       string   `xml:"reservationType"`
	Start      string   `xml:"startDate"`
	State      string   `xml:"state" filter:"state"`
	Tags       set[tag] `xml:"tagSet" filter:""`
	Tenancy    string   `xml:"tenancy" filter:"tenancy"`
	TotalCount int      `xml:"totalInstanceCount"`
}

func (s *Service) reservationItem(r *reservation) capacityReservationItem {
	out := capacityReservationItem{
		Zone: r.Zone, ZoneID: r.zoneID, Available: s.left(r) + r.unseen, ARN: s.arn(r.kind, r.id), ID: r.id, Created: stamp(r.created), EBS: true,
		EndType: "unlimited", Match: r.Match, Platform: "Linux/UNIX", Type: r.InstanceType, OwnerID: r.OwnerID, Kind: r.Type,
		Start: stamp(r.created), State: r.state, Tags: r.tagSet(), Tenancy: "default", TotalCount: r.Count,
	}
	if !r.End.IsZero() {
		out.End, out.EndType = stamp(r.End), "limited"
	}
	return out
}
