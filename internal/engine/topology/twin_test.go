package topology_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// twin recounts everything for every question, one pod at a time.
type twin struct {
	classes    []topology.Class
	places     []topology.Place // nodes first
	nodes      int
	namespaces map[string]label.Labels
	exact      bool // see topology.Known.Build
	pods       []twinPod
	offered    map[string]string // domain by key
}

type twinPod struct {
	namespace string
	labels    label.Labels
	apart     []cluster.PodTerm
	place     string
	deleting  bool
}

func (w *twin) domain(p topology.Place, key string, node bool) (string, bool) {
	v, ok := p.Labels.Get(key)
	if !ok && !node && key == label.Hostname {
		return p.Name, true
	}
	return v, ok
}

func (w *twin) isNode(p topology.Place) bool {
	return slices.ContainsFunc(w.places[:w.nodes], func(q topology.Place) bool { return q.Name == p.Name })
}

func (w *twin) eligible(c topology.Class, s cluster.Spread, p topology.Place) bool {
	for _, o := range c.Shape.Spread {
		if _, ok := w.domain(p, o.Key, w.isNode(p)); !ok && !o.Soft {
			return false
		}
	}
	if _, unmet := c.Shape.Selector.Unmet(p.Labels); unmet && !s.IgnoreAffinity {
		return false
	}
	_, kept := cluster.Untolerated(p.Taints, c.Shape.Tolerations)
	return !kept || !s.HonorTaints
}

func (w *twin) spreadAllows(c topology.Class, s cluster.Spread, p topology.Place) bool {
	own, ok := w.domain(p, s.Key, w.isNode(p))
	if !ok {
		return false
	}
	counts := map[string]int64{}
	for k, q := range w.places {
		if !w.eligible(c, s, q) {
			continue
		}
		d, _ := w.domain(q, s.Key, k < w.nodes)
		matching := int64(0)
		for _, x := range w.pods {
			if x.place == q.Name && !x.deleting && x.namespace == c.Namespace && s.Selector.Selects(x.labels) && len(s.Selector.Match) > 0 {
				matching++
			}
		}
		if k < w.nodes || matching > 0 {
			counts[d] += matching
		}
	}
	if d, ok := w.offered[s.Key]; ok {
		counts[d] += 0
	}
	if w.eligible(c, s, p) {
		counts[own] += 0
	}
	least := int64(math.MaxInt64)
	for _, n := range counts {
		least = min(least, n)
	}
	if len(counts) < int(max(1, s.MinDomains)) || !w.isNode(p) && s.Key == label.Hostname {
		least = 0
	}
	self := int64(0)
	if s.Selector.Selects(c.Labels) {
		self = 1
	}
	return counts[own]+self-least <= s.MaxSkew
}

func (w *twin) reaches(t cluster.PodTerm, namespace string) bool {
	return slices.Contains(t.Namespaces, namespace) || t.InNamespaces.Selects(w.namespaces[namespace])
}

func (w *twin) wants(t cluster.PodTerm, namespace string, l label.Labels) bool {
	return (w.reaches(t, namespace) || !w.exact && t.InNamespaces.Selects(nil)) && t.Selector.Selects(l)
}

// share says whether the pods' place is in p's domain of the key.
func (w *twin) share(x twinPod, p topology.Place, key string) bool {
	own, ok := w.domain(p, key, w.isNode(p))
	for k, q := range w.places {
		if d, there := w.domain(q, key, k < w.nodes); q.Name == x.place && there && ok && d == own {
			return true
		}
	}
	return false
}

func (w *twin) together(c topology.Class, p topology.Place) bool {
	meets := func(namespace string, l label.Labels) bool {
		return !slices.ContainsFunc(c.Shape.PodAffinity, func(t cluster.PodTerm) bool { return t.Weight == 0 && !w.wants(t, namespace, l) })
	}
	counted, satisfied := false, true
	for _, t := range c.Shape.PodAffinity {
		if t.Weight != 0 {
			continue
		}
		if _, ok := w.domain(p, t.Key, w.isNode(p)); !ok {
			return false
		}
		here := false
		for _, x := range w.pods {
			if !meets(x.namespace, x.labels) {
				continue
			}
			for k, q := range w.places {
				if _, ok := w.domain(q, t.Key, k < w.nodes); ok && q.Name == x.place {
					counted = true
				}
			}
			here = here || w.share(x, p, t.Key)
		}
		satisfied = satisfied && here
	}
	return satisfied || !counted && meets(c.Namespace, c.Labels)
}

func (w *twin) apart(c topology.Class, p topology.Place) bool {
	for _, x := range w.pods {
		for _, t := range c.Shape.PodAntiAffinity {
			if t.Weight == 0 && w.wants(t, x.namespace, x.labels) && w.share(x, p, t.Key) {
				return false
			}
		}
		for _, t := range x.apart {
			if t.Weight == 0 && w.reaches(t, c.Namespace) && t.Selector.Selects(c.Labels) && w.share(x, p, t.Key) {
				return false
			}
		}
	}
	return true
}

func (w *twin) allows(i int, p topology.Place) bool {
	c := w.classes[i]
	for _, s := range c.Shape.Spread {
		if !s.Soft && !w.spreadAllows(c, s, p) {
			return false
		}
	}
	return w.together(c, p) && w.apart(c, p)
}

func (w *twin) add(i int, p topology.Place) {
	c := w.classes[i]
	if !slices.ContainsFunc(w.places, func(q topology.Place) bool { return q.Name == p.Name }) {
		w.places = append(w.places, p)
	}
	w.pods = append(w.pods, twinPod{c.Namespace, c.Labels, c.Shape.PodAntiAffinity, p.Name, false})
}

// room asks for one pod after the other, up to most, and leaves no trace.
func (w *twin) room(i int, p topology.Place, most int64) int64 {
	copied := *w
	copied.pods, copied.places = slices.Clone(w.pods), slices.Clone(w.places)
	n := int64(0)
	for ; n < most && copied.allows(i, p); n++ {
		copied.add(i, p)
	}
	return n
}

func TestTable_AgreesWithARecountOfEveryPod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, table := drawWorld(t)
		for range rapid.IntRange(1, 12).Draw(t, "moves") {
			i := rapid.IntRange(0, len(w.classes)-1).Draw(t, "class")
			p := w.drawPlace(t)
			const most = 6
			want, got := w.room(i, p, most), table.Room(i, p)
			if min(got, most) != want {
				t.Fatalf("class %d on %+v: room %d, one by one %d; %s", i, p, got, want, table.Why(i, p))
			}
			if (table.Why(i, p) == "") != (want > 0) {
				t.Fatalf("class %d on %+v: room %d, but why = %q", i, p, want, table.Why(i, p))
			}
			if p.Name == "fresh" {
				continue
			}
			n := min(want, rapid.Int64Range(0, 3).Draw(t, "n"))
			table.Add(i, p, n)
			for range n {
				w.add(i, p)
			}
		}
	})
}
