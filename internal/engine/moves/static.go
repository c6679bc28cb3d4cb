package moves

import (
	"fmt"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/disrupt"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// isStatic says whether the NodeClaim is of a static pool that stays.
func isStatic(s cluster.Snapshot, c *cluster.Claim) bool {
	pool, _ := s.Pool(c.Pool)
	return pool.Static && !pool.Deleting
}

// replaceStatic begins to replace a node of a static pool that is due: one more node of
// the pool is launched first. It says whether it begins. It does not if a pod of the node
// has no place even then.
func replaceStatic(m *mover, d disrupt.Due, x Supposition) bool {
	c := d.Claim
	pool, _ := m.View.Snapshot.Pool(c.Pool)
	if holds(m, c.Pool) {
		return false
	}
	notes := &journal.Journal{}
	launch, _ := static.NewLauncher(m.View, &m.out.Memory, notes, m.Seed).One(pool)
	if launch == nil {
		if !notes.Wait.Until.IsZero() {
			m.wait(notes.Wait.Until, notes.Wait.Why)
		}
		return false
	}
	launch.Move = &cluster.Move{
		ID: fmt.Sprintf("%016x", m.Seed), Count: 1, Reason: string(d.Why), Sources: []cluster.Source{{Claim: c.Name, UID: c.UID}},
		Deadline: deadline(m.View),
	}
	with, err := m.View.Snapshot.Apply(cluster.Delta{Put: cluster.Objects{Claims: []cluster.Claim{static.Claim(launch, m.View.Now)}}})
	if err != nil {
		return false // the NodeClaim would be left out of plans, too
	}
	x.Going = map[string]plan.DeleteReason{c.Name: d.Why}
	if out := supposeIn(m, with, x); !out.Trace.Complete || m.harms(out) || m.stay([]string{c.Name}, out) {
		m.out.Memory.Restored, _ = memory.Remember(m.out.Memory.Restored, c.Name, m.View.Now)
		m.wait(m.View.Now.Add(sliceEvery), plan.NextSweep)
		return false
	}
	m.out.Plan.Actions = append(slices.Clip(m.out.Plan.Actions), *launch)
	m.out.Plan.Cost, m.out.Plan.Extra = m.out.Plan.Cost.Add(launch.Price), m.out.Plan.Extra.Add(m.View.ExtraOf(launch.Class))
	m.out.Trace.Launches++
	return true
}
