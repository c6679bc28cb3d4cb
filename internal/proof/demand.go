package proof

import (
	"cmp"
	"fmt"
	"math/big"
	"reflect"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

type proof struct {
	objects     cluster.Objects
	certificate plan.Certificate
	groups      []*group
	classes     map[string]cluster.Class
	claims      map[string]cluster.Claim // by node
	podsOn      map[string][]cluster.Pod
	nominated   map[string][]cluster.Pod // by node: pods that others than the daemon nominated for it
	sets        map[string]set           // exclusive ones, by name
	contents    map[string]*big.Int      // surcharges of places
	seen        int                      // contents looked at so far
}

func newProof(o cluster.Objects, c plan.Certificate) *proof {
	p := &proof{objects: o, certificate: c, classes: map[string]cluster.Class{}, claims: map[string]cluster.Claim{}, podsOn: map[string][]cluster.Pod{}, nominated: map[string][]cluster.Pod{}, sets: map[string]set{}, contents: map[string]*big.Int{}}
	for _, x := range o.Classes {
		p.classes[x.Name] = x
	}
	for _, x := range o.Pods {
		p.podsOn[x.Node] = append(p.podsOn[x.Node], x)
		if x.NominatedByOthers() {
			p.nominated[x.Nominated] = append(p.nominated[x.Nominated], x)
		}
	}
	nodeOf := map[string]string{}
	for _, n := range o.Nodes {
		nodeOf[n.Claim] = n.Name
	}
	for _, x := range o.Claims {
		if name := cmp.Or(x.Node, nodeOf[x.Name]); name != "" {
			p.claims[name] = x
		}
	}
	return p
}

// group is the pods to which the certificate gives one list of prices.
type group struct {
	key      string
	count    int64           // pods that the certificate claims
	together bool            // the certificate claims that all pods are on one node
	exist    int64           // pods that the objects have
	running  int64           // of them, pods on nodes that are leaving
	shapes   []cluster.Shape // the different ones among its pods
	rules    []rule          // that all its pods have
	need     quantity.Resources
	prices   []int64

	surcharge int64 // of one pod, beside its prices

	fits bool // some place holds one of its pods
}

// gather finds the pods that need a place, and compares them with the
// certificate's claim.
func (p *proof) gather(key Key) error {
	byKey := map[string]*group{}
	for _, d := range p.certificate.Demand {
		if d.Count > 0 {
			g := &group{key: d.Group, count: d.Count, together: d.Together, prices: d.Prices, surcharge: d.Surcharge}
			byKey[d.Group], p.groups = g, append(p.groups, g)
		}
	}
	add := func(namespace string, labels label.Labels, shape cluster.Shape, n int64) {
		g, ok := byKey[key(namespace, labels, shape)]
		if !ok || n <= 0 || len(shape.Unsupported) > 0 {
			return
		}
		rules := rulesOf(namespace, labels, shape)
		if g.exist == 0 {
			g.need, g.rules = shape.Requests, rules
		}
		g.need, g.rules, g.exist = g.need.Min(shape.Requests), common(g.rules, rules), addUp(g.exist, n)
		if !slices.ContainsFunc(g.shapes, func(s cluster.Shape) bool { return reflect.DeepEqual(s, shape) }) {
			g.shapes = append(g.shapes, shape)
		}
	}
	stays, expects := map[string]bool{}, map[string]bool{} // node -> its pods, pods nominated for it need no place
	for _, n := range p.objects.Nodes {
		c := p.claims[n.Name]
		stays[n.Name] = p.keeps(n)
		expects[n.Name] = stays[n.Name] && n.TakesPods(&c)
	}
	for _, x := range p.objects.Pods {
		if (x.Moves() || x.Returns) && !stays[x.Node] && !(x.NominatedByOthers() && expects[x.Nominated]) {
			add(x.Namespace, x.Labels, x.Shape, 1)
			if g, ok := byKey[key(x.Namespace, x.Labels, x.Shape)]; ok && x.Node != "" {
				g.running++
			}
		}
	}
	for _, w := range p.objects.Workloads {
		add(w.Namespace, w.Labels, w.Shape, w.Missing)
	}
	for _, g := range p.groups {
		if g.count > g.exist {
			return fmt.Errorf("%w: %d pods of group %q are claimed and %d need a place", ErrDemand, g.count, g.key, g.exist)
		}
		if g.together {
			if err := p.join(g); err != nil {
				return err
			}
		}
	}
	return p.gatherSets()
}
