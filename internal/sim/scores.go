package sim

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// Scores are the scores that the model gives the nodes for a pod, while other
// pods run. Every node must be able to take the pod. Pods of one owner are of
// one workload. Tests use Scores to compare the model with the kube-scheduler's
// own plugins.
func Scores(nodes []cluster.Node, running []cluster.Pod, p cluster.Pod) []int64 {
	s := newScheduler(&clock{}, &chance{}, time.Millisecond)
	kinds := map[cluster.Owner]*kind{}
	made := func(p cluster.Pod) *pod {
		k, known := kinds[p.Owner]
		if !known {
			k = newKind(p.Owner.Name, p.Shape, p.Labels)
			if k.owned = p.Owner.Name != ""; k.owned {
				kinds[p.Owner] = k
			}
		}
		s.social = s.social || len(p.Shape.PodAffinity)+len(p.Shape.PodAntiAffinity) > 0
		return &pod{Pod: p, kind: k}
	}
	for _, n := range nodes {
		x := newNode(n)
		s.nodes, s.byName[n.Name] = append(s.nodes, x), x
	}
	for _, r := range running {
		s.byName[r.Node].add(made(r))
	}
	return s.scores(made(p), s.nodes)
}
