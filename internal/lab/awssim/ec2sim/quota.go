package ec2sim

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// quota is one that EC2 counts vCPUs against: the group of instance families, as
// catalog.QuotaOf names it, and the capacity type.
type quota struct{ capacityType, name string }

func quotaOf(off offering) quota { return quota{off.capacityType, catalog.QuotaOf(off.instanceType)} }

// SetQuota sets how many vCPUs instances of the quota that the instance type counts
// against may have, those that run included; with vcpus < 0 there is no quota.
func (s *Service) SetQuota(capacityType, instanceType string, vcpus int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := quotaOf(offering{capacityType, instanceType, ""})
	if vcpus < 0 {
		delete(s.quotas, of)
		return
	}
	s.quotas[of] = vcpus
}

// overQuota says that an instance more would be over its quota.
func (s *Service) overQuota(off offering, more *Type) error {
	of := quotaOf(off)
	limit, limited := s.quotas[of]
	if !limited {
		return nil
	}
	used := more.VCPU
	for _, i := range s.instances {
		if i.State != StateTerminated && quotaOf(i.offering) == of {
			used += i.plan.instanceType.VCPU
		}
	}
	switch {
	case used <= limit:
		return nil
	case of.capacityType == spot:
		return wire.Errorf("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	}
	return wire.Errorf("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", limit)
}

// RequireSpotRole makes launches of spot instances need the service-linked role of EC2
// Spot, as in an account that has never launched one, or stop doing so.
func (s *Service) RequireSpotRole(needed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needsSpotRole = needed
}

// spotRole says that a spot instance cannot be launched because the service-linked role is
// missing, and the caller may not create it, which EC2 does for a caller who may.
func (c *call) spotRole(capacityType string) error {
	if capacityType != spot || !c.s.needsSpotRole || c.s.cfg.SpotRole == nil || c.s.cfg.SpotRole(c.ctx, c.req) {
		return nil
	}
	return wire.Errorf("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.")
}
