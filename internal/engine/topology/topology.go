package topology

import (
	"cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Domains that have no number.
const (
	missing int32 = -1 // the place lacks the topology key
	unseen  int32 = -2 // the place has a domain that has no number yet, and no counted pods
)

// topology is one topology key and the domains into which it divides places: those of the
// nodes, and further ones of places to come.
type topology struct {
	*division
	more    map[string]int32 // domains that no node has
	further []string         // these, by number
}

// hosts says whether every node is a domain of its own.
func (d *division) hosts() bool { return d.key == label.Hostname }

// find returns the number of the domain, if it has one.
func (y *topology) find(value string) (int32, bool) {
	d, ok := y.domains[value]
	if !ok {
		d, ok = y.more[value]
	}
	return d, ok
}

func (y *topology) intern(value string) int32 {
	d, ok := y.find(value)
	if !ok {
		d = int32(len(y.values) + len(y.further))
		if y.more == nil {
			y.more = map[string]int32{}
		}
		y.more[value] = d
		y.further = append(y.further, value)
	}
	return d
}

// at returns the domain of the place.
func (y *topology) at(s *spot) int32 {
	if s.node >= 0 {
		return y.of[s.node]
	}
	if s.last == y {
		return s.domain
	}
	d := y.lookUp(s.Place)
	if d != unseen { // an unseen domain may get a number later
		s.last, s.domain = y, d
	}
	return d
}

func (y *topology) lookUp(p Place) int32 {
	value, ok := y.value(p)
	if !ok {
		return missing
	}
	if d, ok := y.find(value); ok && value != "" {
		return d
	}
	return unseen
}

// number returns the domain of a place that pods are added to. Unlike at, it gives
// the domain a number, unless the place is a host without a name.
func (y *topology) number(s *spot) int32 {
	d := y.at(s)
	if d != unseen {
		return d
	}
	if value, _ := y.value(s.Place); value != "" || !y.hosts() {
		return y.intern(value)
	}
	return unseen
}

// value returns the domain of the place by name; false if the place lacks the key.
func (d *division) value(p Place) (string, bool) {
	if d.hosts() {
		if value, ok := p.Labels.Get(d.key); ok {
			return value, true
		}
		return p.Name, true
	}
	return p.value(d.key)
}

// value returns the label that the place certainly has.
func (p Place) value(key string) (string, bool) {
	if p.Possible != nil {
		return p.Possible.agreed(key)
	}
	return p.Labels.Get(key)
}

// name returns the name of the domain for people. A new node has no hostname yet.
func (y *topology) name(d int32, p Place) string {
	switch n := int32(len(y.values)); {
	case d >= n:
		return y.further[d-n]
	case d >= 0:
		return y.values[d]
	}
	value, _ := y.value(p)
	return cmp.Or(value, "a new node")
}

func (b *builder) topology(key string) *topology {
	key = label.Canonical(key)
	y, made := b.topologies[key]
	if !made {
		y = &topology{division: b.known.divide(b.snapshot, key)}
		b.topologies[key] = y
	}
	return y
}
