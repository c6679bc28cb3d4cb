package difftest

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const sequences = 150

// TestTable_StaysInStepWithTheKubeScheduler places pods one after the other: the
// table that is told of each must judge the rest as the scheduler does, which
// sees the cluster anew each time.
func TestTable_StaysInStepWithTheKubeScheduler(t *testing.T) {
	worlds := make([]*world, sequences)
	for i := range worlds {
		worlds[i] = randomWorld(uint64(10_000+i), sizes{nodes: 6, bound: 8, pending: 14})
	}
	for _, filter := range []string{names.PodTopologySpread, names.InterPodAffinity} {
		s, c := newScheduler(t, worlds, filter), &count{}
		for i, w := range worlds {
			w = w.copied()
			o := newOurs(t, w)
			for _, p := range w.pending() {
				o.put(p, w.nodes)
				if s.see(w); !compare(t, filter, s, w, o, c) {
					t.Fatalf("world %d, after pod %s", i, p.Name)
				}
			}
		}
		c.judge(t, filter)
	}
}

// put binds the pod to the first node that its rules about other pods allow.
func (o *ours) put(p *corev1.Pod, nodes []*corev1.Node) {
	i := o.index[p.Name]
	for _, n := range nodes {
		state, _ := o.snapshot.State(n.Name)
		if _, place := o.place(state); !o.hopeless(p.Name) && o.table.Room(i, place) > 0 {
			p.Spec.NodeName = n.Name
			o.table.Add(i, place, 1)
			o.pods.Add(i, place, 1)
			return
		}
	}
}

func (w *world) copied() *world {
	out := *w
	out.pods = make([]*corev1.Pod, len(w.pods))
	for i, p := range w.pods {
		out.pods[i] = p.DeepCopy()
	}
	return &out
}

// TestTable_RoomIsHowManyTheKubeSchedulerTakesInARow binds copies of a pod to a
// node for as long as the scheduler accepts them.
func TestTable_RoomIsHowManyTheKubeSchedulerTakesInARow(t *testing.T) {
	const most = 5
	worlds := make([]*world, sequences)
	for i := range worlds {
		worlds[i] = randomWorld(uint64(20_000+i), sizes{nodes: 4, bound: 6, pending: 6})
	}
	s := newScheduler(t, worlds, names.PodTopologySpread, names.InterPodAffinity)
	seen := map[int64]int{}
	for seed, w := range worlds {
		o := newOurs(t, w)
		for i, p := range w.pending() {
			for k, n := range w.nodes {
				if o.hopeless(p.Name) {
					continue
				}
				state, _ := o.snapshot.State(n.Name)
				_, place := o.place(state)
				want := min(most, o.table.Room(i, place))
				full := *w
				got := int64(0)
				for s.see(&full); got < most && s.verdicts(t, &full, p)[k] == ""; s.see(&full) {
					got++
					full.pods = append(full.pods[:len(full.pods):len(full.pods)], copyOn(p, n.Name, got))
				}
				if got != want {
					t.Fatalf("world %d, pod %s on %s: the scheduler takes %d, we say %d: %s", seed, p.Name, n.Name, got, want, o.table.Why(i, place))
				}
				seen[got]++
			}
		}
	}
	t.Logf("pods in a row: %v", seen)
	if seen[0] == 0 || seen[1] == 0 || seen[2] == 0 || seen[most] == 0 {
		t.Errorf("pods in a row: %v: none, one, two and many should all be seen", seen)
	}
}

func copyOn(p *corev1.Pod, node string, i int64) *corev1.Pod {
	c := p.DeepCopy()
	c.Name, c.Spec.NodeName = fmt.Sprintf("%s-copy-%d", p.Name, i), node
	c.UID = types.UID(c.Name)
	return c
}
