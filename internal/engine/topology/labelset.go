package topology

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// labelSet is all pods, running and to come, that no selector tells from each
// other: they have one namespace and the same labels.
type labelSet struct {
	namespace  string
	of, labels label.Labels     // labels of the namespace, and of the pods
	groups     []*cluster.Group // with running pods
	running    []running        // where they run, filled by runningOf
	classes    []int32

	// censuses, cohorts and tallies count the pods of the set. inverse is the
	// anti-affinity of other pods against them.
	censuses []*census
	cohorts  []*cohort
	tallies  []*tally
	inverse  []antiAffinityRule
	capped   []int32 // ids of the rules over hostnames that count them
}

// labelSetOf returns the set of pods with these labels, and creates it if needed.
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

// gatherLabelSets sorts running pods and classes into label sets.
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

// selected returns the sets, in any namespace, that the selector selects. It looks
// only at sets that have one of the values of a label that the selector names.
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

// selects returns what PodSelector.Selects returns. It takes pointers, because it
// runs in hot loops.
func selects(s *cluster.PodSelector, l *label.Labels) bool {
	return !s.Nothing && s.Match.Select(l)
}

// running is the pods on one node. leaving counts those that are being deleted.
type running struct {
	node         int32
	all, leaving int64
}

// runningOf returns where pods of the set run.
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

// classesOf returns the classes of the sets, sorted.
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
