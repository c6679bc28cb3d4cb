package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/demand"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/memory"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// explainer says why demand has no place.
type explainer struct {
	view.View
	memory *memory.Memory
	market *offer.Market
	slots  room.AttachSlots
	unmet  map[string]bool // pools whose minValues could not be met
	known  *Known
}

// Known is refusals that follow from what pools can launch, kept from Step to Step.
type Known = memory.Cache[*offer.Fleet, question, answer]

// question is all that such a refusal depends on.
type question struct {
	pool     int
	requests string // key of them
	place    string // by demand.PlaceKey
}

// answer is a refusal, or none where it depends on more.
type answer struct {
	plan.Refusal
	lasts bool
}

// Unplaced refuses what is left of the demand and says why. The unmet pools are
// those whose minValues could not be met.
func Unplaced(v view.View, mem *memory.Memory, known *Known, d *demand.Demand, m *offer.Market, slots room.AttachSlots, unmet map[string]bool) {
	e := explainer{View: v, memory: mem, market: m, slots: slots, unmet: unmet, known: known}
	for _, c := range d.Classes {
		if c.Count() > 0 {
			c.Level = c.Last()
			d.Refuse(c, e.refusals(c))
		}
	}
}

// refusals says, for each pool, why it does not take the class at its level.
func (e *explainer) refusals(c *demand.Class) []plan.Refusal {
	if list := c.Shape().Unsupported; len(list) > 0 {
		out := make([]plan.Refusal, len(list))
		for i, u := range list {
			out[i] = plan.Refusal{Cause: plan.NotSupported, Detail: u}
		}
		return out
	}
	if len(e.market.Fleet.Pools) == 0 {
		return []plan.Refusal{{Cause: plan.NoPool}}
	}
	out := make([]plan.Refusal, len(e.market.Fleet.Pools))
	requests, place := cluster.Shape{Requests: c.Shape().Requests}.Key(), demand.PlaceKey(c.Shape(), false)
	for i := range e.market.Fleet.Pools {
		lasting := e.known.Get(e.market.Fleet, question{i, requests, place}, func() answer { return e.lasting(c, i) })
		if out[i] = lasting.Refusal; !lasting.lasts {
			out[i] = e.refusal(c, i)
		}
	}
	return out
}

// lasting returns the refusal of the pool where that follows from what the pool can
// launch: not from what has capacity, what limits leave or what other pods say, nor
// from the slots to attach volumes that drivers have named.
func (e *explainer) lasting(c *demand.Class, pool int) answer {
	if slices.ContainsFunc(c.Shape().Requests.Extended, func(a quantity.Amount) bool { return cluster.IsAttachSlots(a.Name) }) {
		return answer{}
	}
	r := e.refusal(c, pool)
	causes := []plan.Cause{plan.PoolNotReady, plan.IsStatic, plan.UntoleratedTaint, plan.Requirements, plan.NoType, plan.Volumes, plan.HostPorts, plan.TooLarge}
	return answer{r, slices.Contains(causes, r.Cause)}
}

// refusal says why the pool does not take the class.
func (e *explainer) refusal(c *demand.Class, pool int) plan.Refusal {
	p, shape := e.market.Fleet.Pools[pool], c.Shape()
	r := plan.Refusal{Pool: p.Name}
	class, ok := e.Snapshot.Class(p.Class)
	switch {
	case p.Deleting:
		r.Cause, r.Detail = plan.PoolNotReady, "it is being deleted"
		return r
	case p.Static:
		r.Cause = plan.IsStatic
		return r
	case !p.Ready:
		r.Cause, r.Detail = plan.PoolNotReady, p.NotReady
		return r
	case !ok:
		r.Cause, r.Detail = plan.PoolNotReady, "its EC2NodeClass "+p.Class+" does not exist"
		return r
	case !class.Ready:
		r.Cause, r.Detail = plan.PoolNotReady, "its EC2NodeClass "+p.Class+" is not ready: "+class.NotReady
		return r
	}
	if taint, untolerated := cluster.Untolerated(p.Taints, shape.Tolerations); untolerated {
		r.Cause, r.Detail, r.Taint = plan.UntoleratedTaint, taint.String(), &taint
		return r
	}
	if text, contradicts := contradiction(shape, p); contradicts {
		r.Cause, r.Detail = plan.Requirements, text
		return r
	}
	return e.refusalByRow(r, c, pool)
}

// contradiction returns the label on which the pool and the shape contradict each
// other, as text.
func contradiction(shape *cluster.Shape, p cluster.Pool) (text string, found bool) {
	for _, alternative := range shape.Alternatives() {
		x, bad := alternative.And(p.Requirements).Contradiction()
		if !bad {
			return "", false
		}
		asked, _ := alternative.Get(x.Key())
		if has, ruled := p.Requirements.Get(x.Key()); ruled && !asked.Contradicts() {
			text = "the pool has " + has.String() + ", the pod asks for " + asked.String()
		} else {
			text = "the pod's requirements on " + x.Key() + " contradict each other"
		}
	}
	return text, true
}

// mostDomains is how many domains are explained one by one.
const mostDomains = 3

// why asks the topology rules about the domains of the pool: about all of them
// where they are few, else about the first that they exclude.
func (e *explainer) why(c *demand.Class, pool int) string {
	if c.Table == nil {
		return ""
	}
	domains := launch.Domains(e.market, pool, c)
	var texts []string
	for _, place := range domains {
		if text := c.Table.Why(c.Rule(), place); text != "" {
			texts = append(texts, text)
		}
	}
	if n := len(texts); n > mostDomains {
		return fmt.Sprintf("%s; the same or other rules in %d more domains", texts[0], n-1)
	}
	if len(texts) > 0 {
		return strings.Join(slices.Compact(texts), "; ")
	}
	if must := c.DemandedKeys(); len(domains) == 0 && len(must) > 0 {
		return "its nodes lack the label " + strings.Join(must, " or ")
	}
	return ""
}
