package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

// worthwhile is the least saving that is advised, in percent of what the fleet would cost then: two
// forecasts of one fleet may differ by about as much.
const worthwhile = 1

// Advice is a change of NodePools that was simulated, and what it would save beside what the daemon
// saves without it.
type Advice struct {
	Change        string   `json:"change"`        // what is changed
	NodePools     []string `json:"nodePools"`     // that are changed
	SavesPerHour  float64  `json:"savesPerHour"`  // beside what the daemon saves without it
	SavesPerMonth float64  `json:"savesPerMonth"` // the same for 730 hours
	Percent       float64  `json:"percent"`       // of what the fleet would cost then
	Mind          string   `json:"mind"`          // what to know before
}

// variant is a change of NodePools that may save money.
type variant struct {
	change, mind string
	apply        func(*v1.NodePool) bool // says whether the pool can be changed so
}

// variants are the changes that are simulated.
func variants() []variant {
	return []variant{
		{
			"allow arm64 beside amd64: add arm64 to the requirement on " + label.Arch,
			"the images of the pods must be built for arm64; a nodeSelector keeps pods of others on amd64",
			func(p *v1.NodePool) bool { return widen(p, label.Arch, "amd64", "arm64") },
		},
		{
			"allow spot beside on-demand: add spot to the requirement on " + label.CapacityType,
			"AWS may take a spot instance with two minutes' notice: the pods must bear that",
			func(p *v1.NodePool) bool { return widen(p, label.CapacityType, label.OnDemand, label.Spot) },
		},
		{
			"allow one more generation of instances: lower the requirement on " + catalog.LabelGeneration + " by one",
			"older instances are slower",
			olderGeneration,
		},
		{
			"allow all sizes: drop the requirements on instance types, sizes, CPU and memory",
			"pods that need a certain size or type ask for it themselves, by a nodeSelector",
			anySize,
		},
		{
			"consolidate as soon as nothing has changed: consolidationPolicy WhenEmptyOrUnderutilized, consolidateAfter 0s",
			"pods move more often; PodDisruptionBudgets and the pool's budgets hold",
			consolidateSoon,
		},
	}
}

// widen adds the value to the requirement on the key that has the other one alone.
func widen(p *v1.NodePool, key, has, add string) bool {
	list := p.Spec.Template.Spec.Requirements
	i := slices.IndexFunc(list, func(r v1.Requirement) bool { return label.Canonical(r.Key) == key })
	if i < 0 {
		return false // without a requirement the pool has all of them
	}
	if r := &list[i]; r.Operator == corev1.NodeSelectorOpIn && slices.Equal(r.Values, []string{has}) {
		r.Values = []string{has, add}
		return true
	}
	return false
}

func olderGeneration(p *v1.NodePool) bool {
	for i := range p.Spec.Template.Spec.Requirements {
		r := &p.Spec.Template.Spec.Requirements[i]
		if r.Key != catalog.LabelGeneration || len(r.Values) != 1 || r.Operator != corev1.NodeSelectorOpGt && r.Operator != "Gte" {
			continue
		}
		if n, err := strconv.Atoi(r.Values[0]); err == nil && n > 1 {
			r.Values = []string{strconv.Itoa(n - 1)}
			return true
		}
	}
	return false
}

func anySize(p *v1.NodePool) bool {
	t := &p.Spec.Template.Spec
	left := pick.Those(t.Requirements, func(r v1.Requirement) bool {
		switch r.Key {
		case label.InstanceType, catalog.LabelSize, catalog.LabelCPU, catalog.LabelMemory:
			return false
		}
		return true
	})
	changed := len(left) < len(t.Requirements)
	t.Requirements = left
	return changed
}

func consolidateSoon(p *v1.NodePool) bool {
	d := &p.Spec.Disruption
	if d.ConsolidationPolicy == v1.ConsolidationWhenEmptyOrUnderutilized && d.ConsolidateAfter == (v1.NillableDuration{}) {
		return false
	}
	d.ConsolidationPolicy, d.ConsolidateAfter = v1.ConsolidationWhenEmptyOrUnderutilized, v1.NillableDuration{}
	return true
}

// advise simulates each variant for all NodePools together, and returns those that are worth it, the
// best first.
func (p *player) advise(ctx context.Context, base *Forecast) ([]Advice, error) {
	c := p.cluster
	pools, claims, before := c.pools, c.claims, p.world
	defer func() { c.pools, c.claims, p.world = pools, claims, before }()
	var out []Advice
	for _, v := range variants() {
		c.pools, c.claims = maps.Clone(pools), maps.Clone(claims)
		var changed []string
		for _, name := range slices.Sorted(maps.Keys(pools)) {
			pool := pools[name].DeepCopy()
			if pool.Spec.Replicas == nil && !closed(pool) && v.apply(pool) {
				c.pools[name], changed = pool, append(changed, name)
			}
		}
		if len(changed) == 0 {
			continue
		}
		p.world = c.build(p.facts, p.market, p.now, p.options.Settings)
		var f Forecast
		if err := p.play(ctx, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", v.change, err)
		}
		saves := cents(base.Then.CostPerHour - f.Then.CostPerHour)
		if base.Then.CostPerHour == 0 || 100*saves < worthwhile*base.Then.CostPerHour || f.UnplacedPods() > base.UnplacedPods() {
			continue
		}
		out = append(out, Advice{v.change, changed, saves, cents(saves * HoursPerMonth), tenth(100 * saves / base.Then.CostPerHour), v.mind})
	}
	slices.SortStableFunc(out, func(a, b Advice) int { return cmp.Compare(b.SavesPerHour, a.SavesPerHour) })
	return out, nil
}

// advice is the part of the page.
func (r *Report) advice() part {
	out := part{heading: "What would save more"}
	if len(r.Advice) == 0 {
		out.lines = []string{fmt.Sprintf("No change of the NodePools that was simulated saves %d %% or more: arm64, spot, another generation, all sizes, consolidation at once.", worthwhile)}
		return out
	}
	out.table = [][]string{{"Saves an hour", "A month", "Share", "NodePools", "Change", "Mind"}}
	for _, a := range r.Advice {
		out.table = append(out.table, []string{money(a.SavesPerHour), monthly(a.SavesPerHour), fmt.Sprintf("%.1f %%", a.Percent), strings.Join(a.NodePools, ", "), a.Change, a.Mind})
	}
	out.after = []string{"Each change was simulated by itself, beside what the daemon saves without it: two changes together save less than their sum."}
	return out
}
