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

// flies notes that a launch takes so many addresses of one of the subnets.
func (s *subnets) flies(claim types.UID, f flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// lands notes what came of the launch: an instance in the subnet, or none if that is empty.
func (s *subnets) lands(claim types.UID, subnet string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, known := s.flying[claim]
	delete(s.flying, claim)
	if known && subnet != "" {
		s.flying[claim] = flight{[]string{subnet}, f.addresses, now}
	}
}

// taken is how many addresses of the subnet the launches of other NodeClaims take that EC2 did
// not count when it was asked.
func (s *subnets) taken(subnet string, asked time.Time, but types.UID) (addresses int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// byRoom returns the class with those of its subnets first that have the most free addresses,
// less those that launches take which EC2 did not count yet; subnets in which launches have just
// found none come last.
func (c *Controller) byRoom(claim *v1.NodeClaim, class *awsv1.EC2NodeClass) *awsv1.EC2NodeClass {
	type ranked struct {
		awsv1.Subnet
		full int
		room int64
	}
	counted := true
	list := make([]ranked, len(class.Status.Subnets))
	for i, s := range class.Status.Subnets {
		list[i] = ranked{Subnet: s}
		if c.subnets.full(s.ID, c.Now()) {
			list[i].full = 1
		}
		free, asked, known := c.World.FreeAddresses(s.ID)
		list[i].room, counted = free-c.subnets.taken(s.ID, asked, claim.UID), counted && known
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		if a.full != b.full || !counted { // the status has them in the order of free addresses
			return cmp.Compare(a.full, b.full)
		}
		return cmp.Compare(b.room, a.room)
	})
	sorted := *class
	sorted.Status.Subnets = make([]awsv1.Subnet, len(list))
	for i := range list {
		sorted.Status.Subnets[i] = list[i].Subnet
	}
	return &sorted
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
