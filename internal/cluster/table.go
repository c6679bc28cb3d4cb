package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// table holds the objects of one kind by id. No two of its objects have the same
// id or the same uid.
type table[T any] struct {
	rows tree[*T]
	uids tree[string] // uid -> id
}

// kind says what a table has to know of its objects.
type kind[T any] struct {
	name    string // as people know it
	id, uid func(*T) string
	check   func(*T) error
}

// change is one row that was removed, put or replaced.
type change[T any] struct{ old, now *T }

// apply removes the deleted rows, then sorts the other rows and puts them. It
// returns what changed.
func (t table[T]) apply(e *edit, k kind[T], put []*T, removed []string) (table[T], []change[T], error) {
	var changes []change[T]
	for _, id := range removed {
		if old, there := t.rows.get(id); there {
			changes = append(changes, change[T]{old: old})
			t.rows = t.rows.remove(e, id)
			t.uids = t.uids.remove(e, k.uid(old))
		}
	}
	if err := k.vet(put); err != nil {
		return t, nil, err
	}
	changes = slices.Grow(changes, len(put))
	first := len(changes)
	for _, row := range put {
		old, there := t.rows.get(k.id(row))
		if there && k.uid(old) != k.uid(row) {
			t.uids = t.uids.remove(e, k.uid(old))
		}
		changes = append(changes, change[T]{old: old, now: row})
	}
	for _, c := range changes[first:] {
		uid, id := k.uid(c.now), k.id(c.now)
		if uid == "" || c.old != nil && k.uid(c.old) == uid {
			continue
		}
		if other, taken := t.uids.get(uid); taken {
			return t, nil, fmt.Errorf("cluster index: %s %s and %s %s have the same uid %s; delete one of them", k.name, other, k.name, id, uid)
		}
		t.uids = t.uids.put(e, uid, id)
	}
	if t.rows.size == 0 {
		ids := make([]string, len(put))
		for i, row := range put {
			ids[i] = k.id(row)
		}
		t.rows = grow(ids, put)
		return t, changes, nil
	}
	for _, row := range put {
		t.rows = t.rows.put(e, k.id(row), row)
	}
	return t, changes, nil
}

// vet sorts the rows, checks each of them, and refuses two rows with one id.
func (k kind[T]) vet(put []*T) error {
	byID := func(a, b *T) int { return strings.Compare(k.id(a), k.id(b)) }
	if !slices.IsSortedFunc(put, byID) {
		slices.SortFunc(put, byID)
	}
	for i, row := range put {
		if id := k.id(row); strings.Trim(id, "/") == "" {
			return fmt.Errorf("cluster index: %s without a name; give it one", k.name)
		} else if i > 0 && k.id(put[i-1]) == id {
			return fmt.Errorf("cluster index: %s %s is given twice; give it once", k.name, id)
		}
		if err := k.check(row); err != nil {
			return err
		}
	}
	return nil
}

// pointers copies objects so that their owner may use them further.
func pointers[T any](in []T) []*T {
	out := make([]*T, len(in))
	for i := range in {
		x := in[i]
		out[i] = &x
	}
	return out
}
