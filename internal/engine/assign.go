package engine

import (
	"cmp"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/packold"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// assign puts demand onto hosts: first pods where they are nominated, then
// every NodeClaim's planned content, then the rest where the least room is
// left over. What a class still lacks stays in its counts.
func (s *step) assign() {
	for i := range s.classes {
		s.keepNominations(&s.classes[i])
	}
	for i := range s.classes {
		s.fillPlanned(&s.classes[i])
	}
	for i := range s.classes {
		s.bestFit(&s.classes[i])
	}
}

func (s *step) keepNominations(c *demandClass) {
	c.pods = filter(c.pods, func(p cluster.Pod) bool {
		if p.Nominated == "" {
			return true
		}
		i := slices.IndexFunc(s.hosts, func(h host) bool { return h.node.Name == p.Nominated })
		if i < 0 || !s.hosts[i].accepts(c.shape) || !c.shape.Requests.Fits(s.hosts[i].free) {
			return true
		}
		s.hosts[i].free = s.hosts[i].free.Sub(c.shape.Requests)
		s.give(c, &s.hosts[i], &[]cluster.Pod{p}, nil, 1)
		return false
	})
}

// fillPlanned takes for each NodeClaim what it was launched for, less what
// already runs there.
func (s *step) fillPlanned(c *demandClass) {
	for i := range s.hosts {
		h := &s.hosts[i]
		if h.claim.Name == "" || h.stage == stageNode || c.count() == 0 {
			continue
		}
		for _, slot := range s.memory.plannedFor(h.claim.Name) {
			if slot.Class != c.key {
				continue
			}
			want := slot.Count
			for _, p := range s.in.Snapshot.PodsOn(h.node.Name) {
				if h.node.Name != "" && p.Shape.Key() == c.key {
					want--
				}
			}
			if h.accepts(c.shape) {
				s.take(c, h, min(want, c.count()))
			}
		}
	}
}

// bestFit gives the class to the hosts that keep the least work free, those
// that run first.
func (s *step) bestFit(c *demandClass) {
	if c.count() == 0 {
		return
	}
	type candidate struct {
		host int
		left int64
	}
	var candidates []candidate
	for i, h := range s.hosts {
		if c.shape.Requests.Fits(h.free) && h.accepts(c.shape) {
			n := c.shape.Requests.CountIn(h.free, c.count())
			candidates = append(candidates, candidate{i, packold.Work(h.free.Sub(c.shape.Requests.Times(n)))})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(s.hosts[a.host].stage, s.hosts[b.host].stage), cmp.Compare(a.left, b.left))
	})
	for _, x := range candidates {
		s.take(c, &s.hosts[x.host], c.count())
	}
}

// take moves up to n of the class onto the host, real pods first.
func (s *step) take(c *demandClass, h *host, n int64) {
	n = c.shape.Requests.CountIn(h.free, n)
	if n <= 0 {
		return
	}
	h.free = h.free.Sub(c.shape.Requests.Times(n))
	s.give(c, h, &c.pods, &c.displaced, n)
}

func (s *step) give(c *demandClass, h *host, pods, displaced *[]cluster.Pod, n int64) {
	verdict := plan.OnNode
	if h.stage != stageNode {
		verdict = plan.OnClaim
	}
	s.trace.Placed += n
	place := func(list *[]cluster.Pod) []cluster.Pod {
		k := min(n, int64(len(*list)))
		taken := (*list)[:k]
		*list = (*list)[k:]
		n -= k
		for _, p := range taken {
			s.outcomes = append(s.outcomes, plan.Outcome{Pod: p.ID(), Verdict: verdict, On: h.name()})
		}
		return taken
	}
	h.pods = append(h.pods, place(pods)...)
	if displaced != nil {
		h.displaced += int64(len(place(displaced)))
	}
	h.declared += n
	c.declared -= n
}
