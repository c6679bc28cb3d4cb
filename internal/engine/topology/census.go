package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// spreads gives the class its rules for required spreads. Soft spreads have none.
func (b *builder) spreads(c *class) {
	hard := slices.DeleteFunc(slices.Clone(c.Shape.Spread), func(x cluster.Spread) bool { return x.Soft })
	if len(hard) == 0 {
		return
	}
	keys := make([]*topology, len(hard))
	for k := range hard {
		keys[k] = b.topology(hard[k].Key)
	}
	for k := range hard {
		x := &hard[k]
		r := &spreadRule{
			census: b.census(c, x, keys[k], keys), maxSkew: x.MaxSkew, minDomains: x.MinDomains,
			self: selects(&x.Selector, &c.Labels), blank: blank(x.Selector), added: map[int32]int64{},
		}
		r.rules = append(r.rules, r)
		c.spreads = append(c.spreads, r)
		b.limitSpread(c, r)
	}
}

func blank(s cluster.PodSelector) bool { return !s.Nothing && len(s.Match) == 0 }

// census returns the census that the spread of the class shares with other spreads.
func (b *builder) census(c *class, x *cluster.Spread, y *topology, keys []*topology) *census {
	voters, id := b.electorate(&c.Shape, x, keys)
	id = label.AppendText(label.AppendText(id, c.Namespace), y.key)
	id = appendSelector(id, x.Selector)
	id = appendPlaces(id, &c.Shape)
	if known, ok := b.censuses[string(id)]; ok {
		return known
	}
	n := &census{topology: y, voters: voters, base: voters.baseOf(y.key), count: map[int32]int64{}}
	n.domains = n.base.domains
	n.levels = n.levels.with(0, n.domains)
	b.censuses[string(id)] = n
	if blank(x.Selector) {
		return n
	}
	for _, k := range b.selected(&x.Selector) {
		if k.namespace != c.Namespace {
			continue
		}
		// The scheduler does not count pods that are being deleted for a spread.
		for _, r := range b.runningOf(k) {
			n.add(&spot{node: r.node}, r.all-r.leaving)
		}
		k.censuses = append(k.censuses, n)
		n.counted = append(n.counted, k)
	}
	for _, x := range b.vacated {
		if i, there := b.byName[x.Node]; there && y.hosts() {
			n.vacate(x, y.of[i])
		}
	}
	return n
}

// electorate returns the nodes whose pods count for the spread, and a key of these
// nodes. Shapes that let the same nodes in share the electorate.
func (b *builder) electorate(shape *cluster.Shape, x *cluster.Spread, keys []*topology) (*electorate, []byte) {
	affine := !x.IgnoreAffinity && (len(shape.Selector) > 0 || len(shape.NodeAffinity) > 0)
	var room [256]byte
	id := room[:0]
	for _, y := range sortedKeys(keys) {
		id = label.AppendText(id, y)
	}
	if affine {
		id = appendAffinity(append(id, 'a'), shape)
	}
	if x.HonorTaints {
		id = appendTolerations(append(id, 't'), shape)
	}
	nodes := b.snapshot.NodeKinds()
	return b.known.electorates.Get(nodes, string(id), func() *electorate {
		own, e := *shape, &electorate{} // outlives the table, so it keeps nothing of it
		if affine {
			e.shape = &own
		}
		if x.HonorTaints {
			e.taints = &own
		}
		for _, y := range keys {
			e.keys = append(e.keys, y.division)
		}
		e.elect(b.nodes, nodes)
		return e
	}), id
}

func sortedKeys(keys []*topology) []string {
	out := make([]string, len(keys))
	for i, y := range keys {
		out[i] = y.key
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// appendPlaces appends a key of what decides which domains new nodes can open for
// the shape.
func appendPlaces(b []byte, s *cluster.Shape) []byte {
	b = appendTolerations(appendAffinity(b, s), s)
	for _, v := range s.Volumes {
		b = label.AppendNumber(b, int64(len(v)))
		for _, t := range v {
			b = t.AppendKey(b)
		}
	}
	return b
}

func appendAffinity(b []byte, s *cluster.Shape) []byte {
	b = label.AppendNumber(s.Selector.AppendKey(b), int64(len(s.NodeAffinity)))
	for _, t := range s.NodeAffinity {
		b = t.AppendKey(b)
	}
	return b
}

func appendTolerations(b []byte, s *cluster.Shape) []byte {
	b = label.AppendNumber(b, int64(len(s.Tolerations)))
	for _, o := range s.Tolerations {
		kind := byte('=')
		if o.Exists {
			kind = '?'
		}
		b = label.AppendText(label.AppendText(label.AppendText(append(b, kind), o.Key), o.Value), o.Effect)
	}
	return b
}

func appendSelector(b []byte, s cluster.PodSelector) []byte {
	if s.Nothing {
		return append(b, '!')
	}
	return s.Match.AppendKey(append(b, '*'))
}
