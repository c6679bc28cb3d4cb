package loop

import (
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/replay"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

const (
	// asideFor is how long an object at fault is left out of decisions, before one with it is
	// tried again.
	asideFor = 10 * time.Minute
	// searchWithin bounds the search for the objects at fault: once it is over, what is left of
	// the suspects is left out whole.
	searchWithin = 20 * time.Second
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
	// panicked is told of each decision that panicked; nil: nobody is.
	panicked func(engine.Input, *replay.FaultError)

	aside map[suspect]time.Time // until when
}

// make returns the decision, or says that there is none.
func (g *guard) make(in engine.Input) (out engine.Output, decided bool) {
	maps.DeleteFunc(g.aside, func(_ suspect, until time.Time) bool { return !in.Now.Before(until) })
	in.Snapshot = without(in.Snapshot, slices.Collect(maps.Keys(g.aside)))
	out, fault := g.try(in)
	if fault == nil {
		return out, true
	}
	g.logger.Error("a decision failed by a fault of the daemon; it is made again without the objects at fault: please report it", "error", fault)
	if g.panicked != nil {
		g.panicked(in, fault)
	}
	search := search{guard: g, in: in, all: suspects(in.Snapshot), until: time.Now().Add(searchWithin)}
	out, culprits, fault := search.run()
	if fault != nil {
		g.logger.Error("no decision can be made: it fails also without the pods that wait and the NodePools; it is tried again", "again_in", undecided, "error", fault)
		return engine.Output{Memory: in.Memory}, false
	}
	if g.aside == nil {
		g.aside = map[suspect]time.Time{}
	}
	for _, s := range culprits {
		g.aside[s] = in.Now.Add(asideFor)
		g.logger.Error("an object is left out of decisions, as those with it fail", "kind", s.kind, "name", s.id, "for", asideFor)
	}
	return out, true
}

// try makes the decision; an error says where it panicked.
func (g *guard) try(in engine.Input) (out engine.Output, fault *replay.FaultError) {
	if g.decide != nil {
		return replay.Try(g.decide, in)
	}
	return replay.Try(engine.Step, in)
}

// search looks for the objects without which the decision does not panic.
type search struct {
	*guard

	in    engine.Input
	all   []suspect // of the input
	until time.Time

	kept []suspect     // with which the decision does not panic
	out  engine.Output // of the decision with these
}

// run returns the decision without those of the suspects that are at fault, and which these are.
// A fault says that it panics without all of them, too.
func (s *search) run() (out engine.Output, culprits []suspect, fault *replay.FaultError) {
	if s.out, fault = s.with(nil); fault != nil {
		return out, nil, fault
	}
	culprits = s.add(s.all)
	return s.out, culprits, nil
}

// add keeps as many more of the suspects as the decision can be made with, and returns the
// others: those at fault, and of those that are only together, the later ones. Once the time is
// over, none is kept any more.
func (s *search) add(more []suspect) (culprits []suspect) {
	if len(more) == 0 || !time.Now().Before(s.until) {
		return more
	}
	together := slices.Concat(s.kept, more)
	if out, fault := s.with(together); fault == nil {
		s.kept, s.out = together, out
		return nil
	}
	if len(more) == 1 {
		return more
	}
	return append(s.add(more[:len(more)/2]), s.add(more[len(more)/2:])...)
}

// with makes the decision with these of the suspects alone.
func (s *search) with(these []suspect) (engine.Output, *replay.FaultError) {
	in, present := s.in, map[suspect]bool{}
	for _, x := range these {
		present[x] = true
	}
	in.Snapshot = without(in.Snapshot, pick.Those(s.all, func(x suspect) bool { return !present[x] }))
	return s.try(in)
}

// suspects returns the pods that wait, and the NodePools that launch.
func suspects(in cluster.Snapshot) []suspect {
	var out []suspect
	for p := range in.EachPod() {
		if p.Node == "" {
			out = append(out, suspect{"Pod", p.ID()})
		}
	}
	for _, p := range in.Pools() {
		if p.Ready {
			out = append(out, suspect{"NodePool", p.Name})
		}
	}
	return out
}

// without returns the snapshot without those of the pods that wait still, and with those of the
// NodePools launching nothing.
func without(in cluster.Snapshot, out []suspect) cluster.Snapshot {
	if len(out) == 0 {
		return in
	}
	var delta cluster.Delta
	for _, s := range out {
		if p, there := in.Pod(s.id); s.kind == "Pod" && there && p.Node == "" {
			delta.Removed.Pods = append(delta.Removed.Pods, s.id)
		}
	}
	for _, p := range in.Pools() {
		if slices.Contains(out, suspect{"NodePool", p.Name}) {
			p.Ready = false
			delta.Put.Pools = append(delta.Put.Pools, p)
		}
	}
	less, err := in.Apply(delta)
	if err != nil {
		return in // it panics again, and no decision is made
	}
	return less
}
