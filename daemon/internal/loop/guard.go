package loop

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

const (
	// asideFor is how long an object at fault is left out of decisions, before one with it is
	// tried again.
	asideFor = 10 * time.Minute
	// searchSteps bounds the decisions that look for the objects at fault. When they are used
	// up, what is left of the suspects is left out whole.
	searchSteps = 256
)

// suspect is an object that a decision can do without: a pod without a node, which waits, or a
// NodePool, which launches nothing then. A decision without a node, a NodeClaim or a pod on a
// node would be about a cluster that does not exist.
type suspect struct{ kind, id string } // Pod: namespace/name; NodePool: name

// guard makes decisions that a panic does not end: one is made again without the objects at
// fault, and says which they are. It is for one goroutine.
type guard struct {
	decide func(engine.Input) engine.Output // nil: engine.Step
	logger hclog.Logger
	count  func() // is called for each decision that panicked; nil: nobody counts

	aside map[suspect]time.Time // until when
}

// make returns the decision, or says that there is none.
func (g *guard) make(in engine.Input) (out engine.Output, decided bool) {
	for s, until := range g.aside {
		if !in.Now.Before(until) {
			delete(g.aside, s)
		}
	}
	whole := in.Snapshot
	in.Snapshot = without(whole, func(s suspect) bool { _, out := g.aside[s]; return out })
	out, fault := g.try(in)
	if fault == nil {
		return out, true
	}
	g.logger.Error("a decision failed by a fault of the daemon; it is made again without the objects at fault: please report it", "error", fault)
	if g.count != nil {
		g.count()
	}
	search := search{guard: g, in: in, whole: whole, left: searchSteps}
	culprits := search.among(pick.Those(suspects(whole), func(s suspect) bool { _, out := g.aside[s]; return !out }))
	if g.aside == nil {
		g.aside = map[suspect]time.Time{}
	}
	for _, s := range culprits {
		g.aside[s] = in.Now.Add(asideFor)
	}
	in.Snapshot = without(whole, func(s suspect) bool { _, out := g.aside[s]; return out })
	if out, fault = g.try(in); fault != nil {
		g.logger.Error("no decision can be made: one fails also without the pods that wait and the NodePools; it is tried again", "error", fault)
		return engine.Output{Memory: in.Memory}, false
	}
	for _, s := range culprits {
		g.logger.Error("an object is left out of decisions, as those with it fail", "kind", s.kind, "name", s.id, "for", asideFor)
	}
	return out, true
}

// try makes the decision; an error says where it panicked.
func (g *guard) try(in engine.Input) (out engine.Output, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	if g.decide != nil {
		return g.decide(in), nil
	}
	return engine.Step(in), nil
}

// search looks for the objects without which the decision does not panic.
type search struct {
	*guard

	in    engine.Input
	whole cluster.Snapshot
	left  int // decisions
}

// among returns those of the suspects that make a decision panic when all others are left out.
// Where it takes several together, it returns all of them.
func (s *search) among(all []suspect) []suspect {
	if len(all) == 0 || !s.panics(all) {
		return nil
	}
	if len(all) == 1 || s.left <= 0 {
		return all
	}
	found := append(s.among(all[:len(all)/2]), s.among(all[len(all)/2:])...)
	if len(found) == 0 {
		return all
	}
	return found
}

func (s *search) panics(with []suspect) bool {
	in, present := s.in, map[suspect]bool{}
	for _, x := range with {
		present[x] = true
	}
	in.Snapshot = without(s.whole, func(x suspect) bool { return !present[x] })
	s.left--
	_, err := s.try(in)
	return err != nil
}

// suspects returns the pods that wait, and the NodePools.
func suspects(in cluster.Snapshot) []suspect {
	var out []suspect
	for p := range in.EachPod() {
		if p.Node == "" {
			out = append(out, suspect{"Pod", p.ID()})
		}
	}
	for _, p := range in.Pools() {
		out = append(out, suspect{"NodePool", p.Name})
	}
	return out
}

// without returns the snapshot without the pods that wait and are out, and with NodePools that
// launch nothing where they are out.
func without(in cluster.Snapshot, out func(suspect) bool) cluster.Snapshot {
	var delta cluster.Delta
	for _, s := range suspects(in) {
		if !out(s) {
			continue
		}
		if s.kind == "Pod" {
			delta.Removed.Pods = append(delta.Removed.Pods, s.id)
			continue
		}
		for _, p := range in.Pools() {
			if p.Name == s.id {
				p.Ready = false
				delta.Put.Pools = append(delta.Put.Pools, p)
			}
		}
	}
	if len(delta.Removed.Pods)+len(delta.Put.Pools) == 0 {
		return in
	}
	less, err := in.Apply(delta)
	if err != nil {
		return in // it panics again, and no decision is made
	}
	return less
}
