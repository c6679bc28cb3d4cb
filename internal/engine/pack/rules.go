package pack

import (
	"math"
	"slices"
)

// rules say which pods may share a bin.
type rules []Rule

// countNodes makes a resource of one rule. Some rules allow one pod per bin.
// countNodes turns the one with the most pods into a resource. Each bin has one unit of
// this resource. So the prices know how many bins there must be, and what a bin without
// such a pod wastes. countNodes returns whether there is such a rule. The others stay
// rules.
func (rs rules) countNodes(kinds []kind) bool {
	pods := make([]int64, len(rs))
	for i := range kinds {
		for _, r := range kinds[i].roles {
			if rs[r.Rule].Max != 1 || r.Binds != r.Counts {
				pods[r.Rule] = math.MinInt64 / 2 // never the most
			}
			pods[r.Rule] += kinds[i].count
		}
	}
	most := int64(1)
	rule := -1
	for i, n := range pods {
		if n > most {
			most, rule = n, i
		}
	}
	if rule < 0 {
		return false
	}
	for i := range kinds {
		k := &kinds[i]
		k.single = slices.ContainsFunc(k.roles, func(r Role) bool { return r.Rule == rule })
		if k.roles = slices.DeleteFunc(k.roles, func(r Role) bool { return r.Rule == rule }); len(k.roles) == 0 {
			k.roles = nil
		}
	}
	return true
}

// tally is what a bin holds in the eyes of one rule.
type tally struct {
	rule    int
	counted int64
	bound   bool
}

// allowed is how many more pods of the kind the rules let into the bin.
func (rs rules) allowed(k *kind, in []tally) int64 {
	n := int64(maxCount)
	for _, role := range k.roles {
		var now tally
		for _, t := range in {
			if t.rule == role.Rule {
				now = t
				break
			}
		}
		n = min(n, rs.lets(role, now))
	}
	return n
}

// lets is how many more pods with the role its rule lets in.
func (rs rules) lets(role Role, now tally) int64 {
	switch most := rs[role.Rule].Max; {
	case role.Binds && now.counted > most:
		return 0
	case role.Counts && (role.Binds || now.bound):
		return max(0, most-now.counted)
	}
	return maxCount
}

// enter adds n pods of the kind to the tallies of a bin.
func enter(k *kind, in []tally, n int64) []tally {
roles:
	for _, role := range k.roles {
		counted := int64(0)
		if role.Counts {
			counted = n
		}
		for i := range in {
			if in[i].rule == role.Rule {
				in[i].counted += counted
				in[i].bound = in[i].bound || role.Binds
				continue roles
			}
		}
		in = append(in, tally{role.Rule, counted, role.Binds})
	}
	return in
}
