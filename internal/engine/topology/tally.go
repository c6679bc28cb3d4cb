package topology

import "slices"

// tally counts pods by domain of one topology.
type tally struct {
	topology *topology
	count    map[int32]int64
}

func (y *tally) at(s *spot) (n int64, domain int32) {
	d := y.topology.at(s)
	if d < 0 {
		return 0, d
	}
	return y.count[d], d
}

// most returns the count and the domain of the place. If the place may come to be
// in several domains, it returns the one with the most pods.
func (y *tally) most(s *spot) (n int64, domain int32) {
	n, domain = y.at(s)
	for _, v := range y.topology.domainsOf(s) {
		if d := y.topology.intern(v); domain < 0 || y.count[d] > n {
			n, domain = y.count[d], d
		}
	}
	return n, domain
}

func (y *tally) add(s *spot, n int64) {
	for _, v := range y.topology.domainsOf(s) {
		y.count[y.topology.intern(v)] += n
	}
	if d := y.topology.number(s); d >= 0 {
		y.count[d] += n
	}
}

func (y *tally) addRunning(list []running) {
	for _, r := range list {
		if d := y.topology.of[r.node]; d >= 0 && r.all > 0 {
			y.count[d] += r.all
		}
	}
}

// levels is how many domains have each count, sorted by count. The least and the
// second least count of thousands of domains are then the first two entries.
type levels []level

type level struct{ count, domains int64 }

func (l levels) find(count int64) (int, bool) {
	return slices.BinarySearchFunc(l, count, func(x level, c int64) int {
		switch {
		case x.count < c:
			return -1
		case x.count > c:
			return 1
		}
		return 0
	})
}

func (l levels) with(count, domains int64) levels {
	i, found := l.find(count)
	switch {
	case !found && domains > 0:
		return slices.Insert(l, i, level{count, domains})
	case !found:
		return l
	}
	l[i].domains += domains
	if l[i].domains == 0 {
		return slices.Delete(l, i, i+1)
	}
	return l
}

// minOther returns the smallest count of the other domains. One domain with the count
// own is left out; if own is negative, none is. It returns false if there is no
// other domain.
func (l levels) minOther(own int64) (int64, bool) {
	for _, x := range l {
		if x.count != own || x.domains > 1 {
			return x.count, true
		}
	}
	return 0, false
}
