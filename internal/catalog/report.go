package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	// ReportLife is how long a report counts after a node last reported as little: as long
	// as Karpenter remembers the memory of an instance type.
	ReportLife = 60 * 24 * time.Hour
	// MostReports bounds how many reports are remembered: what nodes of some hundred types
	// report, with several classes and images. Beyond, the report that is oldest goes.
	MostReports = 1000
	// Alike is of how many instance types nodes must have reported less before other types
	// are taken to have less, too: two may have less by chance.
	Alike = 3
	// reportStep is how exact Seen is, so that nodes which report the same all day cause
	// one write.
	reportStep = 24 * time.Hour
)

// Origin is what a node was made of beside its instance type, as far as its size depends on
// it. Another spec or image may leave pods another part of the machine.
type Origin struct {
	Class string
	Spec  string // the hash of the class's spec
	Image string
}

// Figure is the least amount of one resource that nodes have reported for pods; of a device,
// see WithDevices, what the youngest node has.
type Figure struct {
	Least int64
	Node  string    // that reported it
	Seen  time.Time // when a node last reported as little
	// Of devices alone: when the node was made, and how many nodes in a row had fewer than
	// their NodeClaims promised.
	Joined time.Time `json:",omitzero"`
	Short  int       `json:",omitempty"`
}

// Report is what nodes of one origin and instance type have reported, by resource.
type Report map[string]Figure

// Reports are what nodes have reported, by origin and instance type. A value is not changed
// once it is made.
type Reports map[Origin]map[string]Report

// resourcesReported lists the resources that a Report can have.
func resourcesReported() []string {
	return []string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods}
}

// With returns the reports with what the node reports for pods, and whether that changes
// something. Of each resource the least counts, so that nodes which differ are not launched
// in vain by turns. A node that reports more than before takes back its own figure. A
// resource of which it reports nothing is late, and not small.
func (all Reports) With(of Origin, instanceType, node string, allocatable quantity.Resources, now time.Time) (next Reports, changed bool) {
	report := maps.Clone(all[of][instanceType])
	for _, name := range resourcesReported() {
		n := allocatable.Get(name)
		if n <= 0 {
			continue
		}
		old, known := report[name]
		known = known && !old.over(now)
		if known && (n > old.Least && node != old.Node || n == old.Least && now.Sub(old.Seen) < reportStep) {
			continue
		}
		by := node
		if known && n == old.Least {
			by = old.Node // it reported that first
		}
		if report == nil {
			report = Report{}
		}
		report[name], changed = Figure{Least: n, Node: by, Seen: now}, true
	}
	if !changed {
		return all, false
	}
	return all.put(of, instanceType, report), true
}

// over says whether the figure does not count any more. A date that is still to come was not
// read from a clock.
func (f Figure) over(now time.Time) bool {
	age, life := now.Sub(f.Seen), ReportLife
	if f.Short > 0 {
		life = deviceLife
	}
	return age >= life || age <= -reportStep
}

// put returns the reports with the report. Where they are too many, the oldest goes.
func (all Reports) put(of Origin, instanceType string, r Report) Reports {
	next := maps.Clone(all)
	if next == nil {
		next = Reports{}
	}
	types := maps.Clone(next[of])
	if types == nil {
		types = map[string]Report{}
	}
	types[instanceType] = r
	next[of] = types
	count := 0
	for _, types := range next {
		count += len(types)
	}
	if count > MostReports {
		next.dropOldest()
	}
	return next
}

// dropOldest changes a value that nobody else has yet.
func (all Reports) dropOldest() {
	type key struct {
		of           Origin
		instanceType string
		seen         time.Time
	}
	var keys []key
	for of, types := range all {
		for name, r := range types {
			k := key{of: of, instanceType: name}
			for _, f := range r {
				if f.Seen.After(k.seen) {
					k.seen = f.Seen
				}
			}
			keys = append(keys, k)
		}
	}
	oldest := slices.MinFunc(keys, func(a, b key) int {
		return cmp.Or(a.seen.Compare(b.seen), a.of.Compare(b.of), strings.Compare(a.instanceType, b.instanceType))
	})
	types := maps.Clone(all[oldest.of])
	delete(types, oldest.instanceType)
	if all[oldest.of] = types; len(types) == 0 {
		delete(all, oldest.of)
	}
}

// Compare orders origins by their fields.
func (o Origin) Compare(p Origin) int {
	return cmp.Or(strings.Compare(o.Class, p.Class), strings.Compare(o.Spec, p.Spec), strings.Compare(o.Image, p.Image))
}

// Merge returns the reports of both; of each resource the lesser figure counts.
func (all Reports) Merge(others Reports) Reports {
	out := all
	for of, types := range others {
		for name, r := range types {
			out = out.put(of, name, merge(out[of][name], r))
		}
	}
	return out
}

func merge(a, b Report) Report {
	out := maps.Clone(a)
	if out == nil {
		out = Report{}
	}
	for name, f := range b {
		// Joined is zero for all but devices.
		if old, known := out[name]; !known || cmp.Or(old.Joined.Compare(f.Joined), cmp.Compare(f.Least, old.Least), old.Seen.Compare(f.Seen), strings.Compare(f.Node, old.Node)) < 0 {
			out[name] = f
		}
	}
	return out
}

// Of returns what counts now for nodes of the class, by instance type. Of several images
// a type boots one; which one is not asked, as the least counts.
func (all Reports) Of(class, spec string, images []string, now time.Time) map[string]Report {
	out := map[string]Report{}
	for _, image := range images {
		for name, r := range all[Origin{class, spec, image}] {
			current := maps.Clone(r)
			maps.DeleteFunc(current, func(_ string, f Figure) bool { return f.over(now) || f.accident() })
			out[name] = merge(out[name], current)
		}
	}
	return out
}

// Smaller says that plans count on less of a resource than the catalogue says.
type Smaller struct {
	Resource string
	Listed   int64  // what the catalogue says that pods can use
	Node     string // that reported less
}

// AsReported returns the types as plans count on them: with the smaller of what the
// catalogue says and of what nodes have reported. More than the catalogue says is not
// believed: the next node of the type may have less than this one, and would be launched in
// vain.
//
// Where the cause is not the type, as with a disk or user data, many types have less, and
// each would be launched in vain once. So what Alike types report counts for every type
// of which the catalogue says the same amount and no node has reported anything yet.
func AsReported(types []InstanceType, reports map[string]Report) []InstanceType {
	if len(reports) == 0 {
		return types
	}
	alike := commonly(types, reports)
	out := slices.Clone(types)
	for i := range out {
		t := &out[i]
		names := resourcesReported()
		for _, a := range t.Allocatable.Extended {
			names = append(names, a.Name)
		}
		for _, name := range names {
			listed := t.Allocatable.Get(name)
			f, known := reports[t.Name][name]
			if !known {
				f, known = alike[quantity.Amount{Name: name, Count: listed}]
			}
			if !known || f.Least >= listed {
				continue
			}
			t.Smaller = append(slices.Clip(t.Smaller), Smaller{Resource: name, Listed: listed, Node: f.Node})
			t.Allocatable = t.Allocatable.With(name, f.Least)
		}
	}
	return out
}

// commonly returns, by what the catalogue says, the most of what nodes have reported; only
// where Alike types have reported, and all of them less.
func commonly(types []InstanceType, reports map[string]Report) map[quantity.Amount]Figure {
	out, count := map[quantity.Amount]Figure{}, map[quantity.Amount]int{}
	for i := range types {
		for name, f := range reports[types[i].Name] {
			said := quantity.Amount{Name: name, Count: types[i].Allocatable.Get(name)}
			if count[said]++; count[said] == 1 || f.Least > out[said].Least {
				out[said] = f
			}
		}
	}
	maps.DeleteFunc(out, func(said quantity.Amount, f Figure) bool { return count[said] < Alike || f.Least >= said.Count })
	return out
}
