package sim

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// start puts up what runs when the run begins. It panics where that contradicts
// itself.
func (r *run) start() {
	running := r.cfg.Running
	nodes := map[string]*node{}
	for _, n := range running.Nodes {
		nodes[n.Name] = newNode(n)
	}
	for _, x := range running.Claims {
		c := &claim{Claim: x, node: nodes[x.Node]}
		if c.node == nil {
			panic(fmt.Sprintf("sim: nodeclaim %s: its node %q does not run; add the node", x.Name, x.Node)) //nolint:forbidigo // a broken configuration must not report numbers
		}
		c.price, c.node.claim = r.priceOf(c), c
		r.claims = append(r.claims, c)
		r.addDaemons(c.node, c.Taints)
		r.scheduler.addNode(c.node)
		r.view.claim(c)
		r.view.node(c.node)
	}
	workloads := map[string]*workload{}
	for _, w := range r.controllers.all {
		workloads[w.Name] = w
	}
	for _, x := range running.Pods {
		w, n := workloads[x.Owner.Name], nodes[x.Node]
		if w == nil || n == nil {
			panic(fmt.Sprintf("sim: pod %s: its workload %q or its node %q is missing; add it", x.ID(), x.Owner.Name, x.Node)) //nolint:forbidigo // as above
		}
		x.Owner = w.owner() // of the pods that come in their place, too
		p := &pod{Pod: x, workload: w, kind: w.kind, evicted: -1, seen: -1}
		p.Ready = true
		r.health(w, 1)
		w.pods = append(w.pods, p)
		w.created++
		w.missing--
		r.pods[p.ID()] = p
		r.all = append(r.all, p)
		n.add(p)
		r.view.pod(p)
	}
	r.report.Start, r.report.NodesStart = r.cost(), len(r.claims)
}

// priceOf is the price of the NodeClaim's instance by the catalogue.
func (r *run) priceOf(c *claim) quantity.Money {
	for _, class := range r.cfg.Classes {
		for _, t := range class.Types {
			for _, o := range t.Offerings {
				if class.Name == c.Class && t.Name == c.InstanceType && o.Zone == c.Zone && o.CapacityType == c.CapacityType && o.Reservation == c.Reservation {
					return o.Price
				}
			}
		}
	}
	panic(fmt.Sprintf("sim: nodeclaim %s: %s in %s has no price; add the offering", c.Name, c.InstanceType, c.Zone)) //nolint:forbidigo // as above
}
