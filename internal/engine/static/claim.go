package static

import (
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Claim returns the NodeClaim that the launch becomes, as long as it is not launched.
func Claim(l *plan.Launch, now time.Time) cluster.Claim {
	types := make([]string, len(l.Types))
	for i, t := range l.Types {
		types[i] = t.Type
	}
	slices.Sort(types)
	asked := label.Requirements{label.Is(label.CapacityType, l.CapacityType)}
	for key, values := range map[string][]string{label.InstanceType: types, label.Zone: l.Zones} {
		if r, err := label.NewRequirement(key, label.In, values...); err == nil { // an empty list would be an error, and there is none
			asked = append(asked, r)
		}
	}
	return cluster.Claim{
		Name: l.Name, Pool: l.Pool, Class: l.Class, Labels: l.Labels, Taints: l.Taints, StartupTaints: l.StartupTaints,
		Requirements: l.Requirements.And(label.All(asked...)), Reservation: l.Reservation, Requests: l.Content, Move: l.Move, Created: now,
	}
}
