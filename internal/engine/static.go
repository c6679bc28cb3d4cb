package engine

import (
	"math"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/assign"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/journal"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/static"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// staticLaunches is what a Step does to keep the nodes of static pools.
type staticLaunches struct {
	in       Input
	launcher *static.Launcher // nil where there is no static pool
	journal  *journal.Journal
}

// staticEvery is how long after a Step the nodes are launched that static pools still
// lack: their NodeClaims could not be created.
const staticEvery = time.Second

// launchStatic launches what static pools lack.
func launchStatic(in Input) staticLaunches {
	k := staticLaunches{in: in, journal: &journal.Journal{}}
	for _, p := range in.Snapshot.Supply().Pools {
		if p.Static && k.launcher == nil {
			remembered := in.Memory.Next(in.Snapshot, in.Now)
			k.launcher = static.NewLauncher(in.view(), &remembered, k.journal, in.Seed)
		}
	}
	if k.launcher != nil {
		k.launcher.LaunchMissing()
	}
	return k
}

// first returns the Step that launches the nodes, and whether the demand waits for them.
func (k staticLaunches) first() (out Output, yes bool) {
	if k.launcher == nil || len(k.launcher.Launches) == 0 || k.in.Memory.launchedStatic {
		return Output{}, false
	}
	t := cursor{in: k.in, try: 1}.begin(math.MaxInt)
	a := t.gather()
	a.Demand.Evacuees().PutAside()
	unfinished := []plan.Refusal{{Cause: plan.PlanUnfinished}}
	for _, c := range a.Demand.Classes {
		c.Postpone(a.Journal, c.Count(), unfinished)
	}
	a.WaitUntil(t.Now, plan.RestOfPlan)
	return k.output(t, a), true
}

// output returns the launches alone.
func (k staticLaunches) output(t *try, a *assign.Assigner) Output {
	out := Output{Plan: plan.Plan{Outcomes: a.Outcomes, Lacking: k.launcher.Lacking}}
	sortOutcomes(out.Plan.Outcomes)
	for _, l := range k.launcher.Launches {
		out.Plan.Actions = append(out.Plan.Actions, l)
		out.Plan.Cost, out.Plan.Extra = out.Plan.Cost.Add(l.Price), out.Plan.Extra.Add(t.ExtraOf(l.Class))
	}
	out.Plan.Actions = append(out.Plan.Actions, a.Wait)
	out.Memory = k.in.Memory
	out.Memory.Memory, out.Memory.cursor, out.Memory.launchedStatic = *a.Memory, nil, true
	out.Trace = a.Trace
	out.Trace.Launches = len(k.launcher.Launches)
	return out
}

// rest returns the Step with what static pools lack.
func (k staticLaunches) rest(out Output) Output {
	out.Memory.launchedStatic = false
	if k.launcher == nil {
		return out
	}
	out.Plan.Lacking = k.launcher.Lacking
	if len(k.launcher.Launches) > 0 {
		out.Plan.Actions = plan.WaitUntil(out.Plan.Actions, k.in.Now.Add(staticEvery), plan.StaticNodes)
	}
	if at := k.journal.Wait.Until; !at.IsZero() {
		out.Plan.Actions = plan.WaitUntil(out.Plan.Actions, at, k.journal.Wait.Why)
	}
	return out
}
