package difftest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"sigs.k8s.io/yaml"
)

// Random worlds are compared in batches that share schedulers, one for each
// filter.
const (
	batches = 20
	batch   = 100
)

type count struct{ accepted, refused int }

func TestFilters_AgreeWithTheKubeScheduler(t *testing.T) {
	counts := map[string]*count{}
	for _, f := range filters() {
		counts[f] = &count{}
	}
	for b := range uint64(batches) {
		worlds := make([]*world, batch)
		our := make([]*ours, batch)
		for i := range worlds {
			worlds[i] = randomWorld(b*batch+uint64(i), sizes{nodes: 8, bound: 14, pending: 12})
			our[i] = newOurs(t, worlds[i])
		}
		for _, f := range filters() {
			s := newScheduler(t, worlds, f)
			for i, w := range worlds {
				s.see(w)
				if !compare(t, f, s, w, our[i], counts[f]) {
					t.Fatalf("seed %d", b*batch+uint64(i))
				}
			}
		}
	}
	for _, f := range filters() {
		counts[f].judge(t, f)
	}
}

// judge demands that a fifth at least was accepted, and a fifth refused: a test
// that all agree on one answer says little.
func (c *count) judge(t *testing.T, filter string) {
	t.Helper()
	t.Logf("%s: %d accepted, %d refused", filter, c.accepted, c.refused)
	if least := (c.accepted + c.refused) / 5; c.accepted < least || c.refused < least {
		t.Errorf("%s: %d accepted, %d refused: each should be a fifth at least", filter, c.accepted, c.refused)
	}
}

// compare asks both about each pending pod and node, and says whether they agree.
func compare(t *testing.T, filter string, s *scheduler, w *world, o *ours, c *count) bool {
	t.Helper()
	for _, p := range w.pending() {
		if filter == names.PodTopologySpread && o.hopeless(p.Name) {
			continue // how a pod is spread that no node can take is moot
		}
		for k, theirs := range s.verdicts(t, w, p) {
			our := o.verdict(filter, p.Name, w.nodes[k].Name)
			if (our == "") != (theirs == "") {
				t.Errorf("%s, pod %s on %s: we say %q, the scheduler %q\n%s", filter, p.Name, w.nodes[k].Name, our, theirs, w.describe(p, w.nodes[k]))
				return false
			}
			if theirs == "" {
				c.accepted++
			} else {
				c.refused++
			}
		}
	}
	return true
}

func (w *world) describe(p *corev1.Pod, n *corev1.Node) string {
	text, err := yaml.Marshal(map[string]any{"pod": p, "node": n, "claim": w.claims[p.Namespace+"/data-"+p.Name], "volume": w.volumes["data-"+p.Name]})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
