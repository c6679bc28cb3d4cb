package claim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// subnetPause is how long a subnet comes last after a launch has found no free address in it:
	// as long as an offering is left out.
	subnetPause = 3 * time.Minute
	// addressLag is how long after a launch EC2's count of free addresses may be without those of
	// the instance and its pods: it boots, and the pods come one after the other.
	addressLag = 2 * time.Minute
	// addressesKept is how long a launch is remembered for its addresses: EC2 is asked for its
	// count every minute, or does not answer.
	addressesKept = 10 * time.Minute
)

// subnets is what launches have shown of subnets. The zero value is ready.
type subnets struct {
	fullUntil sync.Map // by id: time.Time

	mu     sync.Mutex
	flying map[types.UID]flight // by NodeClaim
}

// flight is the addresses of a launch that EC2 may not count yet.
type flight struct {
	in        []string // subnets that EC2 may choose; the one that it chose, once that is known
	addresses int64
	since     time.Time
}

// found notes that a launch found no free address in the subnet.
func (s *subnets) found(full string, now time.Time) {
	s.fullUntil.Store(full, now.Add(subnetPause))
}

func (s *subnets) full(id string, now time.Time) bool {
	until, noted := s.fullUntil.Load(id)
	return noted && now.Before(until.(time.Time))
}

// note notes that the NodeClaim takes addresses, in place of what was noted before.
func (s *subnets) note(claim types.UID, f flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(claim, f)
}

// put is note; the caller holds the lock.
func (s *subnets) put(claim types.UID, f flight) {
	if s.flying == nil {
		s.flying = map[types.UID]flight{}
	}
	for uid, old := range s.flying {
		if f.since.Sub(old.since) > addressesKept {
			delete(s.flying, uid)
		}
	}
	s.flying[claim] = f
}

// forget notes that the NodeClaim takes no addresses.
func (s *subnets) forget(claim types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flying, claim)
}

// taken is how many addresses of the subnet the launches of other NodeClaims take that EC2 did
// not count when it was asked; the caller holds the lock.
func (s *subnets) taken(subnet string, asked time.Time, but types.UID) (addresses int64) {
	for uid, f := range s.flying {
		if uid != but && f.since.Add(addressLag).After(asked) && slices.Contains(f.in, subnet) {
			addresses += f.addresses
		}
	}
	return addresses
}

// addressesOf is how many addresses of its subnet the node of the NodeClaim takes: its own, and
// one for each pod that it is launched for.
func addressesOf(claim *v1.NodeClaim) int64 {
	c, err := translate.Claim(claim)
	if err != nil {
		return 1 // such a NodeClaim is not launched
	}
	return 1 + c.Requests.PodSlots
}

// subnetsOf are the subnets of the request.
func subnetsOf(r aws.LaunchRequest) (ids []string) {
	for _, o := range r.Overrides {
		if !slices.Contains(ids, o.SubnetID) {
			ids = append(ids, o.SubnetID)
		}
	}
	return ids
}

// ranked is a subnet with what decides whether launches go there.
type ranked struct {
	awsv1.Subnet
	full  bool
	kept  bool // the last attempt was for this one
	room  int64
	asked time.Time // when EC2 was asked for its free addresses; zero for never
}

// byRoom returns the class with those of its subnets first that have the most free addresses,
// less those that launches take which EC2 did not count yet; subnets in which launches have just
// found none come last. What the last attempt of the NodeClaim asked for comes first: what others
// launch is no reason for another attempt.
func (c *Controller) byRoom(claim *v1.NodeClaim, class *awsv1.EC2NodeClass) *awsv1.EC2NodeClass {
	var kept []string
	if last, err := lastAttempt(claim); err == nil && last.frozen != nil {
		kept = subnetsOf(last.frozen.Request)
	}
	list := make([]ranked, len(class.Status.Subnets))
	for i, s := range class.Status.Subnets {
		list[i] = ranked{Subnet: s, full: c.subnets.full(s.ID, c.Now()), kept: slices.Contains(kept, s.ID)}
		if free, asked, known := c.World.FreeAddresses(s.ID); known {
			list[i].room, list[i].asked = free, asked
		}
	}
	c.subnets.choose(claim.UID, list, flight{addresses: addressesOf(claim), since: c.Now()})
	sorted := *class
	sorted.Status.Subnets = make([]awsv1.Subnet, len(list))
	for i := range list {
		sorted.Status.Subnets[i] = list[i].Subnet
	}
	return &sorted
}

// choose sorts the subnets, and notes that the NodeClaim takes addresses of the first one of each
// zone: launches that are under way together go to different ones. Where EC2 has not been asked
// for the free addresses, the order is that of the status.
func (s *subnets) choose(claim types.UID, list []ranked, f flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counted := !slices.ContainsFunc(list, func(x ranked) bool { return x.asked.IsZero() })
	for i := range list {
		list[i].room -= s.taken(list[i].ID, list[i].asked, claim)
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		by := cmp.Or(pick.First(b.full, a.full), pick.First(a.kept, b.kept))
		if by == 0 && counted {
			by = cmp.Compare(b.room, a.room)
		}
		return by
	})
	if _, noted := s.flying[claim]; noted {
		return
	}
	zones := map[string]bool{}
	for _, x := range list {
		if !zones[x.Zone] {
			zones[x.Zone], f.in = true, append(f.in, x.ID)
		}
	}
	s.put(claim, f)
}

// scarce notes the subnets that are full, and returns the failures that say of an offering that
// it lacks capacity. A full subnet says so only where the class has no other one in its zone.
func (c *Controller) scarce(claim *v1.NodeClaim, failed []aws.OfferingFailure) []aws.OfferingFailure {
	for _, f := range failed {
		if f.Subnet != "" {
			c.subnets.found(f.Subnet, c.Now())
		}
	}
	class, known := c.World.EC2NodeClass(claim.Spec.NodeClassRef.Name)
	if !known {
		return failed
	}
	return pick.Those(failed, func(f aws.OfferingFailure) bool {
		return f.Subnet == "" || !slices.ContainsFunc(class.Status.Subnets, func(s awsv1.Subnet) bool {
			return s.Zone == f.Zone && !c.subnets.full(s.ID, c.Now())
		})
	})
}
