package plan

import (
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Extra is what nodes cost an hour beside their instances, by kind. Plans are
// compared by the sum of both, and bounds are on the sum.
type Extra struct {
	Volumes   quantity.Money // EBS volumes that the nodes are launched with
	Addresses quantity.Money // public IPv4 addresses
	Nodes     quantity.Money // the policy's cost of each node
}

// Total is what the launches cost an hour, by which plans are compared.
func (p Plan) Total() quantity.Money { return p.Cost.Add(p.Extra.Total()) }

// Add returns the sum by kind.
func (e Extra) Add(o Extra) Extra {
	return Extra{e.Volumes.Add(o.Volumes), e.Addresses.Add(o.Addresses), e.Nodes.Add(o.Nodes)}
}

// Total is the sum of all kinds.
func (e Extra) Total() quantity.Money { return e.Volumes.Add(e.Addresses).Add(e.Nodes) }

// parts says what a cost consists of; nothing where it is that of instances alone.
func (e Extra) parts(instances quantity.Money) string {
	if e == (Extra{}) {
		return ""
	}
	out := []string{"instances " + instances.Dollars()}
	for _, kind := range []struct {
		name string
		cost quantity.Money
	}{{"volumes", e.Volumes}, {"public addresses", e.Addresses}, {"node cost", e.Nodes}} {
		if kind.cost != 0 {
			out = append(out, kind.name+" "+kind.cost.Dollars())
		}
	}
	return " (" + strings.Join(out, ", ") + ")"
}
