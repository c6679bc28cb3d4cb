// Package choice says, while a plan is made, what the requirements of a node pool leave to
// choose from: nothing, few instance types, or types that are too large for the limits. It
// knows what internal/catalog/embedded knows. The daemon asks EC2, so what only a newer
// table could tell is never an error here.
package choice

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// fewForSpot is the number of instance types below which spot capacity is hard to get
// (Karpenter's best practices; its controller asks for as many before it replaces spot by
// spot).
const fewForSpot = 15

// Line is a requirement as the configuration has it: an element of requirements, or a
// label, which is a requirement too.
type Line struct {
	At          string // as the user reads it: requirements[0]
	Requirement label.Requirement
	MinValues   int  // 0: none
	Open        bool // Gt or Gte: an instance type that is newer than the table may meet it
}

func (l Line) String() string { return fmt.Sprintf("%s (%s)", l.At, l.Requirement) }

// Limits are those of the pool; 0 stands for no limit.
type Limits struct{ CPU, MemoryMiB int64 }

// Remark is about the lines of a pool.
type Remark struct {
	Line            int // index of the line; -1: about the limits
	Error           bool
	Summary, Detail string
}

// market is what a region sells, by the embedded table.
type market struct {
	everywhere []catalog.InstanceType // all types, whoever sells them
	sold       map[string][]string    // capacity types by instance type; empty: not known
	date       string
}

// Table keeps the markets of regions: to build one takes some milliseconds. It is safe for
// concurrent use.
type Table struct {
	mu      sync.Mutex
	markets map[string]*market
}

func (t *Table) in(region string) (*market, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.markets[region]; m != nil {
		return m, nil
	}
	facts, sells, err := embedded.Load(region)
	if errors.Is(err, embedded.ErrUnknownRegion) {
		facts, sells, err = embedded.Elsewhere(region)
	}
	if err != nil {
		return nil, fmt.Errorf("instance types read: %w", err)
	}
	m := &market{everywhere: everything(facts, region), sold: map[string][]string{}}
	for _, i := range catalog.Build(facts, sells, catalog.Settings{Zones: sells.Zones}) {
		for _, o := range i.Offerings {
			if o.Available && !slices.Contains(m.sold[i.Name], o.CapacityType) {
				m.sold[i.Name] = append(m.sold[i.Name], o.CapacityType)
			}
		}
	}
	for _, source := range sells.Sources {
		if source.Group == "offerings" {
			m.date = source.Date
		}
	}
	if t.markets == nil {
		t.markets = map[string]*market{}
	}
	t.markets[region] = m
	return m, nil
}

// everything has all instance types, as if one zone sold them all.
func everything(facts []catalog.Fact, region string) []catalog.InstanceType {
	zone := catalog.Zone{ID: "any"}
	all := catalog.Market{Region: region, Zones: []catalog.Zone{zone}, Offered: map[string][]int{}}
	for _, f := range facts {
		all.Offered[f.Name] = []int{0}
	}
	return catalog.Build(facts, all, catalog.Settings{Zones: all.Zones})
}

// Check says what is wrong, or doubtful, about the lines and limits of a pool in the
// region. What a region sells that the table lacks is not known.
func (t *Table) Check(region string, lines []Line, limits Limits) []Remark {
	m, err := t.in(region)
	if err != nil {
		return nil
	}
	if unknown := m.unknown(lines); len(unknown) > 0 {
		return unknown
	}
	if wrong := noTenancy(lines); len(wrong) > 0 {
		return wrong
	}
	left := m.meeting(lines)
	if len(left) == 0 {
		return []Remark{m.conflict(lines)}
	}
	return slices.Concat(m.scarce(region, left, lines), tooLarge(left, limits), oneZone(lines))
}

// judged tells whether the table says which types have the label. Zones are those of the
// account, reservations those of the node class, and every type has each tenancy.
func judged(key string) bool {
	switch key {
	case label.Zone, label.ZoneID, label.Region, label.Hostname, label.Tenancy, label.Reservation, label.ReservationType, label.ReservationInterruptible:
		return false
	}
	return label.OfInstance(key)
}

// meets tells whether a type can be launched under the requirement.
func meets(i catalog.InstanceType, r label.Requirement) bool {
	if r.Key() != label.CapacityType {
		return !judged(r.Key()) || r.MetBy(i.Labels)
	}
	return r.Admits(label.Reserved) || slices.ContainsFunc(i.Offerings, func(o catalog.Offering) bool { return r.Admits(o.CapacityType) })
}

// noTenancy names the lines that admit no tenancy which instances are launched with.
func noTenancy(lines []Line) (out []Remark) {
	for n, l := range lines {
		if r := l.Requirement; r.Key() == label.Tenancy && !r.Admits(label.SharedTenancy) && !r.Admits(label.Dedicated) {
			out = append(out, Remark{Line: n, Error: true, Summary: "Requirement without tenancy", Detail: fmt.Sprintf(
				"%s: instances are launched with tenancy %s or %s, so no node can be launched. Admit one of them; dedicated hosts are not supported.", l, label.SharedTenancy, label.Dedicated)})
		}
	}
	return out
}

func (m *market) meeting(lines []Line) []catalog.InstanceType {
	var out []catalog.InstanceType
	for _, i := range m.everywhere {
		if !slices.ContainsFunc(lines, func(l Line) bool { return !meets(i, l.Requirement) }) {
			out = append(out, i)
		}
	}
	return out
}

// unknown has a warning for each line that names an instance type, family or other value
// which no type of the table has: it is misspelt, or newer than the table.
func (m *market) unknown(lines []Line) []Remark {
	var out []Remark
	for n, l := range lines {
		values, listed := l.Requirement.Values()
		if !listed || l.Requirement.AdmitsAbsence() || !judged(l.Requirement.Key()) || l.Requirement.Key() == label.CapacityType {
			continue
		}
		for _, value := range values {
			is := Line{Requirement: label.Is(l.Requirement.Key(), value)}
			if len(m.meeting([]Line{is})) > 0 {
				continue
			}
			out = append(out, Remark{Line: n, Summary: "Unknown value of a requirement", Detail: fmt.Sprintf(
				"%s: this version of the provider knows no instance type with %s %q. Check the spelling. "+
					"If the type is newer than the provider, ignore this warning: the daemon asks EC2.", l.At, l.Requirement.Key(), value)})
			break
		}
	}
	return out
}

// conflict names the lines that no instance type meets together: two where two do, else as
// few as possible.
func (m *market) conflict(lines []Line) Remark {
	few := m.fewest(lines)
	var names []string
	newer, closed := false, false
	for _, n := range few {
		names = append(names, lines[n].String())
		newer = newer || lines[n].Open
		closed = closed || namesTypes(lines[n].Requirement)
	}
	// A type or family that the table has is known; another one may come that meets the rest.
	newer = !closed && (newer || len(few) > 1)
	at := few[len(few)-1]
	if len(few) == 1 {
		return Remark{Line: at, Error: !newer, Summary: "Requirement without instance type", Detail: fmt.Sprintf(
			"%s: no instance type has such a label, so no node can be launched%s. Correct or remove it.", names[0], known(newer))}
	}
	return Remark{Line: at, Error: !newer, Summary: "Requirements without instance type", Detail: fmt.Sprintf(
		"%s and %s: there are instance types for each, but none for all of them, so no node can be launched%s. Correct or remove one of them.",
		strings.Join(names[:len(names)-1], ", "), names[len(names)-1], known(newer))}
}

// namesTypes tells whether the requirement lists instance types or families.
func namesTypes(r label.Requirement) bool {
	_, listed := r.Values()
	return listed && (r.Key() == label.InstanceType || r.Key() == catalog.LabelFamily)
}

// known says why a conflict is only a warning.
func known(newer bool) string {
	if newer {
		return ", unless there is a newer type than this version of the provider knows"
	}
	return ""
}

// fewest are the indexes of lines that leave nothing: no line can be left out.
func (m *market) fewest(lines []Line) []int {
	all := make([]int, len(lines))
	for n := range all {
		all[n] = n
	}
	leaveNothing := func(some []int) bool {
		var chosen []Line
		for _, n := range some {
			chosen = append(chosen, lines[n])
		}
		return len(m.meeting(chosen)) == 0
	}
	for n := range lines {
		if leaveNothing([]int{n}) {
			return []int{n}
		}
	}
	for a := range lines {
		for b := range a {
			if leaveNothing([]int{b, a}) {
				return []int{b, a}
			}
		}
	}
	for n := 0; n < len(all); {
		if rest := slices.Delete(slices.Clone(all), n, n+1); leaveNothing(rest) {
			all = rest
		} else {
			n++
		}
	}
	return all
}

// scarce warns of few types, where few mean that launches fail: nothing that the region
// sells, few types on spot, fewer values than minValues.
func (m *market) scarce(region string, left []catalog.InstanceType, lines []Line) []Remark {
	if len(m.sold) == 0 {
		return nil
	}
	last := len(lines) - 1
	var here []catalog.InstanceType
	spot := 0
	for _, i := range left {
		if len(m.sold[i.Name]) == 0 {
			continue
		}
		here = append(here, i)
		if slices.Contains(m.sold[i.Name], label.Spot) {
			spot++
		}
	}
	if len(here) == 0 {
		return []Remark{{Line: last, Summary: "Requirements without offering", Detail: fmt.Sprintf(
			"The requirements leave %d instance types, and region %s sells none of them, as of %s. If it sells them by now, ignore this warning: the daemon asks EC2.", len(left), region, m.date)}}
	}
	var out []Remark
	for n, l := range lines {
		if l.Requirement.Key() == label.CapacityType && l.Requirement.Admits(label.Spot) && namesSpot(l.Requirement) && spot < fewForSpot {
			out = append(out, Remark{Line: n, Summary: "Few instance types for spot", Detail: fmt.Sprintf(
				"%s: the requirements leave %d instance types on spot in region %s. With fewer than %d, spot capacity is interrupted more often and may not be found. Allow more types, sizes or architectures.",
				l.At, spot, region, fewForSpot)})
		}
		if have := values(here, l.Requirement); l.MinValues > len(have) {
			out = append(out, Remark{Line: n, Summary: "min_values cannot be met", Detail: fmt.Sprintf(
				"%s: min_values is %d, and the requirements leave %d values of %s in region %s. Lower min_values, or allow more.", l.At, l.MinValues, len(have), l.Requirement.Key(), region)})
		}
	}
	return out
}

// namesSpot tells whether the requirement lists spot by name.
func namesSpot(r label.Requirement) bool {
	listed, _ := r.Values()
	return slices.Contains(listed, label.Spot)
}

// values are the different values that the types have of the requirement's label.
func values(types []catalog.InstanceType, r label.Requirement) map[string]bool {
	out := map[string]bool{}
	for _, i := range types {
		if value, has := i.Labels.Get(r.Key()); has && r.Admits(value) {
			out[value] = true
		}
	}
	return out
}

// tooLarge warns of a limit below the smallest instance type. A limit of 0 is meant: such a
// pool launches nothing.
func tooLarge(left []catalog.InstanceType, limits Limits) []Remark {
	least := func(key string) int64 {
		smallest := int64(0)
		for _, i := range left {
			text, _ := i.Labels.Get(key)
			n, err := strconv.ParseInt(text, 10, 64)
			if err == nil && (smallest == 0 || n < smallest) {
				smallest = n
			}
		}
		return smallest
	}
	var out []Remark
	if smallest := least(catalog.LabelCPU); limits.CPU > 0 && limits.CPU < smallest {
		out = append(out, Remark{Line: -1, Summary: "Limit below the smallest instance type", Detail: fmt.Sprintf(
			"limits: cpu is %d, and the smallest instance type that the requirements leave has %d vCPUs, so no node can be launched. Raise the limit, or allow smaller types.", limits.CPU, smallest)})
	}
	if smallest := least(catalog.LabelMemory); limits.MemoryMiB > 0 && limits.MemoryMiB < smallest {
		out = append(out, Remark{Line: -1, Summary: "Limit below the smallest instance type", Detail: fmt.Sprintf(
			"limits: memory is %dMi, and the smallest instance type that the requirements leave has %dMi, so no node can be launched. Raise the limit, or allow smaller types.", limits.MemoryMiB, smallest)})
	}
	return out
}

// oneZone warns of a pool in one zone.
func oneZone(lines []Line) []Remark {
	for n, l := range lines {
		if key := l.Requirement.Key(); key != label.Zone && key != label.ZoneID {
			continue
		}
		if values, listed := l.Requirement.Values(); listed && len(values) == 1 && !l.Requirement.AdmitsAbsence() {
			return []Remark{{Line: n, Summary: "Node pool in one zone", Detail: fmt.Sprintf(
				"%s: all nodes of the pool are in zone %s. If the zone fails, or has no capacity, the pool launches nothing. Allow more zones, unless that is meant.", l.At, values[0])}}
		}
	}
	return nil
}
