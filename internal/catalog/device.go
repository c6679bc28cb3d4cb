package catalog

import (
	"maps"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Device plugins report devices, and report fewer where some are partitioned, kept back or
// broken. A device that breaks concerns one machine, while a setting concerns all that come.
// So it is the youngest node that counts, with the most that it has ever had, and only if the
// one before it had too few as well.

const (
	// deviceLife is how long the figure of a device counts: then one more node may show
	// whether it still holds.
	deviceLife = 6 * time.Hour
	// devicesWithin is how long after a node has come its devices may be missing altogether:
	// drivers are installed meanwhile.
	devicesWithin = 20 * time.Minute
)

// Accidents is how many nodes in a row that are not as they should be say nothing about the
// next one: a machine may be broken. After more, the fault is taken for one of all of them.
const Accidents = 1

// accident says whether the figure is that of a device, and of too few nodes.
func (f Figure) accident() bool { return f.Short > 0 && f.Short <= Accidents }

// Machine is a node as far as its devices tell about the next one.
type Machine struct {
	Node        string
	Joined      time.Time
	Has, Listed quantity.Resources // what it reports for pods, and what the catalogue says that it has
}

// WithDevices returns the reports with what the machine says of its devices, and whether that
// changes something.
func (all Reports) WithDevices(of Origin, instanceType string, m Machine, now time.Time) (next Reports, changed bool) {
	report := maps.Clone(all[of][instanceType])
	for _, listed := range m.Listed.Extended {
		old, known := report[listed.Name]
		has, own := m.Has.Get(listed.Name), known && old.Node == m.Node && old.Joined.Equal(m.Joined)
		switch {
		case has <= 0 && now.Sub(m.Joined) < devicesWithin: // late, and not short
		case own && has <= old.Least: // it once had as many
		case known && !own && !m.Joined.After(old.Joined): // a younger one has said
		case has >= listed.Count && known:
			delete(report, listed.Name)
			changed = true
		case has >= listed.Count:
		default:
			f := Figure{Least: max(0, has), Node: m.Node, Seen: now, Joined: m.Joined, Short: old.Short + 1}
			if own {
				f.Seen, f.Short = old.Seen, old.Short
			}
			if report == nil {
				report = Report{}
			}
			report[listed.Name], changed = f, true
		}
	}
	if !changed {
		return all, false
	}
	return all.put(of, instanceType, report), true
}
