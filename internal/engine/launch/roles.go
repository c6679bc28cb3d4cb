package launch

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/pack"
)

// roles collects the packer's rules for one node, made from host ports and from
// topology rules over hostnames.
type roles struct {
	rules  []pack.Rule
	number map[any]int
}

func newRoles() *roles { return &roles{number: map[any]int{}} }

func (r *roles) rule(key any, most int64) int {
	n, known := r.number[key]
	if !known {
		n = len(r.rules)
		r.number[key] = n
		r.rules = append(r.rules, pack.Rule{Max: most})
	}
	return n
}

// of returns the roles of a class in the rules.
func (r *roles) of(c *demand.Class) []pack.Role {
	var out []pack.Role
	for _, p := range c.Shape().Ports {
		out = append(out, r.ofPort(p)...)
	}
	if c.Table == nil {
		return out
	}
	for _, h := range c.Table.Host(c.Rule()).Rules {
		out = append(out, pack.Role{Rule: r.rule(h.ID, h.Max), Binds: h.Binds, Counts: h.Counted})
	}
	return out
}

// keepOthersOff adds the roles by which pods of the problem share no node with those that
// may run in other places.
func (r *roles) keepOthersOff(p *pack.Problem) {
	type only struct{ where int }
	for i := range p.Classes {
		c := &p.Classes[i]
		for where := range p.Where {
			c.Roles = append(c.Roles, pack.Role{Rule: r.rule(only{where}, 0), Binds: where == c.Where, Counts: where != c.Where})
		}
	}
}

// ofPort returns the roles of a host port. Two pods with the same address and port
// exclude each other. A pod that listens on all addresses excludes every other pod
// with the port.
func (r *roles) ofPort(p cluster.HostPort) []pack.Role {
	anywhere := cluster.HostPort{IP: "0.0.0.0", Protocol: p.Protocol, Port: p.Port}
	wild := p.Conflicts(cluster.HostPort{IP: "an address of its own", Protocol: p.Protocol, Port: p.Port})
	out := []pack.Role{{Rule: r.rule(anywhere, 1), Binds: wild, Counts: true}}
	if !wild {
		out = append(out, pack.Role{Rule: r.rule(p, 1), Binds: true, Counts: true})
	}
	return out
}
