package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// Supply is what new nodes can be made of, and the DaemonSets that run on them.
// Snapshots share the pointer as long as no part of it changes, so that callers
// can cache results by the pointer.
type Supply struct {
	Pools      []Pool      // by name
	Classes    []Class     // by name
	DaemonSets []DaemonSet // by namespace/name
}

// apply returns the supply itself where the delta changes nothing.
func (s *Supply) apply(d Delta) (*Supply, error) {
	pools, poolsNew, err := merge("nodepool", s.Pools, d.Put.Pools, d.Removed.Pools, poolID, func(p Pool) string { return p.UID }, checkPool, samePool)
	if err != nil {
		return s, err
	}
	classes, classesNew, err := merge("ec2nodeclass", s.Classes, d.Put.Classes, d.Removed.Classes, classID, nil, checkClass, sameClass)
	if err != nil {
		return s, err
	}
	daemons, daemonsNew, err := merge("daemonset", s.DaemonSets, d.Put.DaemonSets, d.Removed.DaemonSets, DaemonSet.ID,
		func(d DaemonSet) string { return d.UID }, checkDaemonSet, sameDaemonSet)
	if err != nil || !poolsNew && !classesNew && !daemonsNew {
		return s, err
	}
	return &Supply{Pools: pools, Classes: classes, DaemonSets: daemons}, nil
}

func poolID(p Pool) string { return p.Name }

func classID(c Class) string { return c.Name }

// merge returns the sorted list without the removed objects and with the put
// objects. It also says whether the result differs from the list. An object that
// is put unchanged keeps its old memory.
func merge[T any](kind string, list, put []T, removed []string, id, uid func(T) string, check func(T) error, same func(a, b T) bool) ([]T, bool, error) {
	if len(put) == 0 && len(removed) == 0 {
		return list, false, nil
	}
	order := func(x T, id2 string) int { return strings.Compare(id(x), id2) }
	out := slices.DeleteFunc(slices.Clone(list), func(x T) bool { return slices.Contains(removed, id(x)) })
	changed := false
	given := map[string]bool{}
	for _, x := range slices.SortedStableFunc(slices.Values(put), func(a, b T) int { return strings.Compare(id(a), id(b)) }) {
		switch name := id(x); {
		case strings.Trim(name, "/") == "":
			return list, false, fmt.Errorf("cluster index: %s without a name; give it one", kind)
		case given[name]:
			return list, false, fmt.Errorf("cluster index: %s %s is given twice; give it once", kind, name)
		}
		given[id(x)] = true
		if err := check(x); err != nil {
			return list, false, err
		}
		old, was := slices.BinarySearchFunc(list, id(x), order)
		if was && same(list[old], x) {
			x = list[old]
		} else {
			changed = true
		}
		i, there := slices.BinarySearchFunc(out, id(x), order)
		if there {
			out[i] = x
		} else {
			out = slices.Insert(out, i, x)
		}
	}
	if uid != nil {
		owner := map[string]string{}
		for _, x := range out {
			if other, taken := owner[uid(x)]; taken && uid(x) != "" {
				return list, false, fmt.Errorf("cluster index: %s %s and %s %s have the same uid %s; delete one of them", kind, other, kind, id(x), uid(x))
			}
			owner[uid(x)] = id(x)
		}
	}
	return out, changed || len(out) != len(list), nil
}

func samePool(a, b Pool) bool { return reflect.DeepEqual(a, b) }

func sameDaemonSet(a, b DaemonSet) bool { return reflect.DeepEqual(a, b) }

// sameClass compares the memory of the types first, since there are over a
// thousand types.
func sameClass(a, b Class) bool {
	at, bt := a.Types, b.Types
	a.Types, b.Types = nil, nil
	if len(at) != len(bt) || !reflect.DeepEqual(a, b) {
		return false
	}
	return len(at) == 0 || &at[0] == &bt[0] || slices.EqualFunc(at, bt, sameType)
}

func sameType(a, b catalog.InstanceType) bool {
	return a.Name == b.Name && slices.Equal(a.Offerings, b.Offerings) && slices.Equal(a.Labels, b.Labels) &&
		a.Capacity.Compare(b.Capacity) == 0 && a.Allocatable.Compare(b.Allocatable) == 0 && slices.Equal(a.Smaller, b.Smaller)
}
