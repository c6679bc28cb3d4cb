package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// labelSet is all pods, running and to come, that are alike to every selector: one
// namespace and the same labels.
type labelSet struct {
	namespace  string
	of, labels label.Labels     // of the namespace, and of the pods
	groups     []*cluster.Group // with pods that run
	running    []running        // where; see runningOf
	classes    []int32

	// What they count for, and the anti-affinity of others against them.
	censuses []*census
	cohorts  []*cohort
	tallies  []*tally
	inverse  []antiAffinityRule
	capped   []int32 // the rules over hostnames that count them, by id
}

// labelSetOf returns the set of pods with these labels.
func (b *builder) labelSetOf(namespace string, labels label.Labels) *labelSet {
	b.scratch = labels.AppendKey(label.AppendText(b.scratch[:0], namespace))
	if k, ok := b.labelSetByKey[string(b.scratch)]; ok {
		return k
	}
	k := &labelSet{namespace: namespace, of: b.snapshot.Namespace(namespace).Labels, labels: labels}
	b.labelSetByKey[string(b.scratch)] = k
	for _, l := range labels {
		b.byLabel[l] = append(b.byLabel[l], k)
	}
	b.labelSets = append(b.labelSets, k)
	return k
}

// gatherLabelSets sorts what runs and what is to come.
func (b *builder) gatherLabelSets() {
	for g := range b.snapshot.Groups() {
		if g.Bound() > 0 {
			k := b.labelSetOf(g.Namespace, g.Labels)
			k.groups = append(k.groups, g)
		}
	}
	for i := range b.classes {
		c := &b.classes[i]
		c.labelSet = b.labelSetOf(c.Namespace, c.Labels)
		c.labelSet.classes = append(c.labelSet.classes, int32(i))
	}
}

// selected lists the sets that the selector selects, in any namespace. It looks
// at those only that have one of the values of a label.
func (b *builder) selected(s *cluster.PodSelector) []*labelSet {
	if s.Nothing {
		return nil
	}
	candidates := b.labelSets
	for _, r := range s.Match {
		values, listed := r.Values()
		if !listed || r.AdmitsAbsence() {
			continue
		}
		var found []*labelSet
		for _, v := range values {
			found = append(found, b.byLabel[label.Label{Key: r.Key(), Value: v}]...)
		}
		if len(found) < len(candidates) {
			candidates = found
		}
	}
	var out []*labelSet
	for _, k := range candidates {
		if selects(s, &k.labels) {
			out = append(out, k)
		}
	}
	return out
}

// selects is PodSelector.Selects for hot loops.
func selects(s *cluster.PodSelector, l *label.Labels) bool {
	if s.Nothing {
		return false
	}
	_, unmet := s.Match.Unmet(l)
	return !unmet
}

// running is how many pods are on a node; leaving are those of them that are
// being deleted.
type running struct {
	node         int32
	all, leaving int64
}

// runningOf lists where pods of the set run.
func (b *builder) runningOf(k *labelSet) []running {
	if k.running == nil && len(k.groups) > 0 {
		k.running = []running{}
		for _, g := range k.groups {
			k.running = b.appendRunning(k.running, g)
		}
	}
	return k.running
}

func (b *builder) appendRunning(out []running, g *cluster.Group) []running {
	for node, n := range g.On() {
		if i, ok := b.byName[node]; ok {
			out = append(out, running{node: i, all: n})
		}
	}
	for node, n := range g.Leaving() {
		if i, ok := b.byName[node]; ok {
			out = append(out, running{node: i, leaving: n})
		}
	}
	return out
}

// classesOf lists the classes of the sets, in order.
func classesOf(sets []*labelSet) []int {
	var out []int
	for _, k := range sets {
		for _, c := range k.classes {
			out = append(out, int(c))
		}
	}
	slices.Sort(out)
	return out
}
