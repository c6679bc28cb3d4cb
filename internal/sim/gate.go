package sim

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/machine"
)

// gate lets launch calls of a pool through few at a time while none is known to
// succeed; see daemon/internal/claim. It holds up no call of a run that does not ask
// for it.
type gate struct {
	waiting       []*claim
	under, window int // calls under way, and how many may be
}

// As in daemon/internal/claim.
const fewCalls, mostCalls = 4, 24

// call makes the launch call of the NodeClaim when the gate lets it.
func (r *run) call(c *claim) {
	if !r.cfg.Gated {
		r.clock.after(r.cfg.Fleet, func() { r.launch(c) })
		return
	}
	if r.daemon.gates == nil {
		r.daemon.gates = map[string]*gate{}
	}
	g := r.daemon.gates[c.Pool]
	if g == nil {
		g = &gate{window: fewCalls}
		r.daemon.gates[c.Pool] = g
	}
	g.waiting = append(g.waiting, c)
	r.pass(g)
}

// pass lets calls through the gate. A NodeClaim of which all offerings are out ends without
// a call.
func (r *run) pass(g *gate) {
	for g.under < g.window && len(g.waiting) > 0 {
		c := g.waiting[0]
		g.waiting = g.waiting[1:]
		if c.gone || c.Deleting {
			continue
		}
		if r.shut(c) {
			r.report.Dropped++
			r.end(c)
			continue
		}
		g.under++
		r.clock.after(r.cfg.Fleet, func() {
			g.under--
			r.launch(c)
			if c.Launched {
				g.window = min(g.window+fewCalls, mostCalls)
			} else {
				g.window = 1
			}
			r.pass(g)
		})
	}
}

// shut says whether every offering of the NodeClaim is known to lack capacity.
func (r *run) shut(c *claim) bool {
	return !slices.ContainsFunc(r.candidates(c), func(x machine.Offer) bool {
		_, _, shut := r.daemon.known.Shut(c.Pool, x.Key(), date(r.clock.now))
		return !shut
	})
}

// outage returns why the offering is out, if it is.
func (r *run) outage(x machine.Offer) (engine.Lack, bool) {
	key := x.Key()
	for _, o := range r.cfg.Outages {
		if o.From <= r.clock.now && r.clock.now < o.To && o.meets(key) {
			return engine.Lack{Offering: key, Reach: o.reach(), Why: engine.Cause{Code: "Outage"}}, true
		}
	}
	return engine.Lack{}, false
}
