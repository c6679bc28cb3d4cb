package simulate

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/sim/forecast"
)

// Schema names the form of a Report in JSON. Fields may come; none changes its meaning.
const Schema = "karpenterd.sh/simulation/v1"

// HoursPerMonth is a month as AWS counts it.
const HoursPerMonth = 730

// Report is what the daemon would make of a cluster. Money is in dollars.
type Report struct {
	Schema  string   `json:"schema"`          // the form of the report
	Region  string   `json:"region"`          // of AWS
	Time    string   `json:"time"`            // of the cluster, by RFC 3339
	Prices  string   `json:"prices"`          // where prices are from
	Nodes   Nodes    `json:"nodes"`           // which nodes may be replaced: those of NodePools, or all
	Scratch bool     `json:"scratch"`         // as if no node that may be replaced were there
	Notes   []string `json:"notes,omitempty"` // what stands in for what the input does not say, and what of it cannot be read

	Forecast
	NotCarriedOut []Uncarried `json:"notCarriedOut,omitempty"` // what the input asks for and the daemon does not do
	Advised       bool        `json:"advised,omitempty"`       // whether advice was sought
	Advice        []Advice    `json:"advice,omitempty"`        // changes of NodePools that save more, the best first
	Observed      *Observed   `json:"observed,omitempty"`      // what a shadow in the cluster has seen, where one has
	With          *Forecast   `json:"with,omitempty"`          // the same with the objects of --with
}

// Forecast is one future of the cluster.
type Forecast struct {
	Now            Fleet        `json:"now"`                      // the fleet as it is
	Foreign        ForeignNodes `json:"foreign"`                  // nodes that stay as they are
	WouldLaunch    []Launches   `json:"wouldLaunch,omitempty"`    // all launches on the way, also of nodes that are removed later
	WouldRemove    Removals     `json:"wouldRemove"`              // all removals on the way
	Drift          Drift        `json:"drift"`                    // which nodes have drifted at the start
	Then           Fleet        `json:"then"`                     // the fleet in the end
	Stays          []Stays      `json:"stays,omitempty"`          // why the nodes stay that are there then
	CannotBePlaced []Unplaced   `json:"cannotBePlaced,omitempty"` // pods that have no place in the end
	Seconds        int64        `json:"seconds"`                  // how long after the start the end is
	Changed        int64        `json:"changed"`                  // how many seconds after the start the last node was launched or removed; 0 if none was
	Played         int64        `json:"played"`                   // how many seconds were to be played, as --for says
	Settled        bool         `json:"settled"`                  // whether nothing more is due but that nodes expire; else more is to come after the end
}

// Fleet is the nodes that may be replaced.
type Fleet struct {
	Nodes         int      `json:"nodes"`                // how many there are
	Pods          int64    `json:"pods"`                 // on these nodes, without those that do not move, as of DaemonSets
	PodsElsewhere int64    `json:"podsElsewhere"`        // the same on nodes that stay as they are
	PodsWaiting   int64    `json:"podsWaiting"`          // that run nowhere; no other figure counts them
	CostPerHour   float64  `json:"costPerHour"`          // of instances, volumes and public addresses
	CostPerMonth  float64  `json:"costPerMonth"`         // the same for 730 hours
	BoundPerHour  float64  `json:"boundPerHour"`         // no fleet for the pods that run costs less; nodes of static NodePools are in it
	GapPercent    float64  `json:"gapPercent,omitempty"` // how far the cost is above the bound, where there is one
	CPUPercent    float64  `json:"cpuPercent"`           // requested, of what nodes have for pods
	MemoryPercent float64  `json:"memoryPercent"`        // requested, of what nodes have for pods
	Pools         []Pool   `json:"pools,omitempty"`      // the same by NodePool
	Unpriced      []string `json:"unpriced,omitempty"`   // nodes without a known price: neither they nor their pods are in cost and bound
}

// Pool is the nodes of a NodePool.
type Pool struct {
	Name        string  `json:"name"`        // of the NodePool
	Nodes       int     `json:"nodes"`       // how many it has
	CostPerHour float64 `json:"costPerHour"` // of the instances
}

// ForeignNodes are nodes of no NodePool.
type ForeignNodes struct {
	Nodes       int     `json:"nodes"`       // how many there are
	CostPerHour float64 `json:"costPerHour"` // of their instances, as far as known
	Unpriced    int     `json:"unpriced"`    // of these, nodes whose price nobody knows
}

// Launches are nodes of one NodePool, type and capacity type that would be launched.
type Launches struct {
	Pool         string  `json:"pool"`         // the NodePool
	Type         string  `json:"type"`         // the instance type
	CapacityType string  `json:"capacityType"` // on-demand, spot or reserved
	Nodes        int     `json:"nodes"`        // how many are launched
	Pods         int64   `json:"pods"`         // that they are launched for
	CostPerHour  float64 `json:"costPerHour"`  // of their instances
	Why          string  `json:"why"`          // of the first
}

// Removals are the nodes that would be deleted.
type Removals struct {
	Nodes       int       `json:"nodes"`              // how many are deleted
	Launched    int       `json:"launched"`           // of these, nodes that are launched before
	CostPerHour float64   `json:"costPerHour"`        // of their instances
	EvictedPods int64     `json:"evictedPods"`        // a pod counts as often as it is moved
	LostPods    []string  `json:"lostPods,omitempty"` // pods that nothing creates anew
	Reasons     []Reason  `json:"reasons,omitempty"`  // how many nodes for which reason
	List        []Removed `json:"list,omitempty"`     // the nodes, in their order
}

// Reason counts removals for one reason.
type Reason struct {
	Why   string `json:"why"`   // such as Underutilized
	Nodes int    `json:"nodes"` // how many are deleted for it
}

// Removed is one node that would be deleted.
type Removed struct {
	Node        string  `json:"node"`        // its name
	Pool        string  `json:"pool"`        // its NodePool
	Type        string  `json:"type"`        // its instance type
	CostPerHour float64 `json:"costPerHour"` // of its instance
	Pods        int64   `json:"pods"`        // that move
	Why         string  `json:"why"`         // such as Underutilized
	Seconds     int64   `json:"seconds"`     // how long after the start
}

// Stays counts nodes that stay for one reason.
type Stays struct {
	Reason  string `json:"reason"`  // such as NothingCheaper
	Nodes   int    `json:"nodes"`   // how many stay for it
	Example string `json:"example"` // one of the nodes, and why it stays
}

// Unplaced are pods that have no place for one reason.
type Unplaced struct {
	Pods    int      `json:"pods"`    // how many there are
	Example []string `json:"example"` // some of them
	Why     string   `json:"why"`     // they have no place, with the remedy
}

// Uncarried is something that the input asks for and the daemon does not do.
type Uncarried struct {
	Object string `json:"object"`          // kind and name
	Field  string `json:"field,omitempty"` // of the object
	What   string `json:"what"`            // happens instead
	Remedy string `json:"remedy"`          // what to do about it
}

// Saving is what the fleet costs less an hour in the end.
func (f *Forecast) Saving() float64 { return cents(f.Now.CostPerHour - f.Then.CostPerHour) }

// SavingPercent is the same of what it costs now.
func (f *Forecast) SavingPercent() float64 {
	if f.Now.CostPerHour == 0 {
		return 0
	}
	return tenth(100 * f.Saving() / f.Now.CostPerHour)
}

// UnplacedPods is how many pods have no place in the end.
func (f *Forecast) UnplacedPods() (n int) {
	for _, u := range f.CannotBePlaced {
		n += u.Pods
	}
	return n
}

func dollars(m quantity.Money) float64 { return float64(m) / quantity.NanoDollars }

// cents rounds to a hundredth of a cent, as prices have it.
func cents(d float64) float64 { return math.Round(d*1e4) / 1e4 }

func tenth(percent float64) float64 { return math.Round(percent*10) / 10 }

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return tenth(100 * float64(part) / float64(whole))
}

// read makes the forecast of the answer.
func (f *Forecast) read(a forecast.Answer, foreign ForeignNodes, played time.Duration) {
	f.Now, f.Then, f.Foreign = fleetOf(a.Now), fleetOf(a.Then), foreign
	f.Seconds, f.Played, f.Settled = seconds(a.Played), seconds(played), a.Settled
	for _, l := range a.Launches {
		f.Changed = max(f.Changed, seconds(l.At))
	}
	for _, x := range a.Removals {
		f.Changed = max(f.Changed, seconds(x.At))
	}
	f.launches(a.Launches)
	f.removals(a)
	f.stays(a.Standings)
	f.unplaced(a.Waiting)
	if n := len(a.Unsettled); n > 0 {
		f.CannotBePlaced = append(f.CannotBePlaced, Unplaced{Pods: n, Example: a.Unsettled[:min(n, examples)], Why: "they would get a place after the time that was played: give a longer --for"})
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func fleetOf(x forecast.Fleet) Fleet {
	out := Fleet{
		Nodes: x.Nodes, Pods: x.Pods, PodsElsewhere: x.Elsewhere, PodsWaiting: x.Waiting, CostPerHour: cents(dollars(x.Audit.Total() + x.Static)), BoundPerHour: cents(dollars(x.Audit.Proof.Bound + x.Static)),
		CPUPercent: share(x.Used.MilliCPU, x.Allocatable.MilliCPU), MemoryPercent: share(x.Used.MemoryBytes, x.Allocatable.MemoryBytes), Unpriced: x.Audit.Unpriced,
	}
	out.CostPerMonth = math.Round(out.CostPerHour * HoursPerMonth)
	if out.BoundPerHour > 0 {
		out.GapPercent = tenth(100 * (out.CostPerHour/out.BoundPerHour - 1))
	}
	for _, p := range x.ByPool {
		out.Pools = append(out.Pools, Pool{p.Pool, p.Nodes, cents(dollars(p.Cost))})
	}
	return out
}

func (f *Forecast) launches(all []forecast.Launch) {
	for _, l := range all {
		i := slices.IndexFunc(f.WouldLaunch, func(x Launches) bool {
			return x.Pool == l.Plan.Pool && x.Type == l.Type && x.CapacityType == l.Plan.CapacityType
		})
		if i < 0 {
			i = len(f.WouldLaunch)
			f.WouldLaunch = append(f.WouldLaunch, Launches{Pool: l.Plan.Pool, Type: l.Type, CapacityType: l.Plan.CapacityType, Why: l.Plan.Why.Explain()})
		}
		x := &f.WouldLaunch[i]
		x.Nodes++
		x.CostPerHour = cents(x.CostPerHour + dollars(l.Price))
		for _, slot := range l.Plan.Planned {
			x.Pods += slot.Count
		}
	}
	slices.SortStableFunc(f.WouldLaunch, func(a, b Launches) int {
		return cmp.Or(strings.Compare(a.Pool, b.Pool), cmp.Compare(b.CostPerHour, a.CostPerHour), strings.Compare(a.Type, b.Type), strings.Compare(a.CapacityType, b.CapacityType))
	})
}

func (f *Forecast) removals(a forecast.Answer) {
	r := &f.WouldRemove
	r.Nodes, r.EvictedPods, r.LostPods = len(a.Removals), a.Evicted, slices.Sorted(slices.Values(a.Lost))
	launched := map[string]bool{}
	for _, l := range a.Launches {
		launched[l.Plan.Name] = true
	}
	for _, x := range a.Removals {
		if launched[x.Claim] {
			r.Launched++
		}
		r.CostPerHour = cents(r.CostPerHour + dollars(x.Price))
		r.List = append(r.List, Removed{cmp.Or(x.Node, x.Claim), x.Pool, x.Type, cents(dollars(x.Price)), x.Evicted, string(x.Why), seconds(x.At)})
		i := slices.IndexFunc(r.Reasons, func(y Reason) bool { return y.Why == string(x.Why) })
		if i < 0 {
			i = len(r.Reasons)
			r.Reasons = append(r.Reasons, Reason{Why: string(x.Why)})
		}
		r.Reasons[i].Nodes++
	}
	slices.SortStableFunc(r.Reasons, func(a, b Reason) int { return cmp.Or(b.Nodes-a.Nodes, strings.Compare(a.Why, b.Why)) })
}

func (f *Forecast) stays(s plan.Standings) {
	for i := range s.Nodes {
		x := &s.Nodes[i]
		if x.DeletedFor != "" {
			continue
		}
		k := slices.IndexFunc(f.Stays, func(y Stays) bool { return y.Reason == string(x.Stay.Reason) })
		if k < 0 {
			k = len(f.Stays)
			f.Stays = append(f.Stays, Stays{Reason: string(x.Stay.Reason), Example: cmp.Or(x.Node, x.Claim) + " " + x.Explain()})
		}
		f.Stays[k].Nodes++
	}
	slices.SortStableFunc(f.Stays, func(a, b Stays) int { return cmp.Or(b.Nodes-a.Nodes, strings.Compare(a.Reason, b.Reason)) })
}

// examples is how many pods of one reason are named.
const examples = 3

func (f *Forecast) unplaced(all []plan.Outcome) {
	for _, o := range all {
		why := plan.ExplainRefusals(o.Reasons)
		switch {
		case o.Verdict == plan.Preempting:
			why = "the kube-scheduler preempts other pods for them"
		case why == "":
			why = "they wait for room that is on its way"
		}
		i := slices.IndexFunc(f.CannotBePlaced, func(x Unplaced) bool { return x.Why == why })
		if i < 0 {
			i = len(f.CannotBePlaced)
			f.CannotBePlaced = append(f.CannotBePlaced, Unplaced{Why: why})
		}
		x := &f.CannotBePlaced[i]
		x.Pods += len(o.Pods)
		x.Example = append(x.Example, o.Pods[:min(len(o.Pods), max(0, examples-len(x.Example)))]...)
	}
	slices.SortStableFunc(f.CannotBePlaced, func(a, b Unplaced) int { return cmp.Or(b.Pods-a.Pods, strings.Compare(a.Why, b.Why)) })
}
