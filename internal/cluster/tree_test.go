package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sound checks the invariants of a tree and returns its keys.
func sound(t *rapid.T, tr tree[int]) []string {
	t.Helper()
	var keys []string
	for k := range tr.all() {
		keys = append(keys, k)
	}
	if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) || len(keys) != tr.size {
		t.Fatalf("size %d, keys %q", tr.size, keys)
	}
	var pages func(p *page[int])
	pages = func(p *page[int]) {
		if len(p.keys) == 0 || len(p.keys) > pageFull {
			t.Fatalf("a page of %d keys", len(p.keys))
		}
		for i, k := range p.kids {
			if k.keys[0] != p.keys[i] {
				t.Fatalf("a page is listed as %q and begins with %q", p.keys[i], k.keys[0])
			}
			pages(k)
		}
	}
	if tr.root != nil {
		pages(tr.root)
	}
	return keys
}

func TestTree_IsAMapWhoseOldVersionsStay(t *testing.T) {
	type version struct {
		tree tree[int]
		want map[string]int
	}
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]int{1, 100, 7919}).Draw(t, "step") // neighbours, or all over the tree
		key := func(n int) string { return fmt.Sprintf("%05d", n*step%100_000) }
		few := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 900))
		want := map[string]int{}
		var keys []string
		var values []int
		for i := range rapid.IntRange(0, 300).Draw(t, "grown") {
			want[fmt.Sprintf("%05d", i*300)] = i
			keys, values = append(keys, fmt.Sprintf("%05d", i*300)), append(values, i)
		}
		versions := []version{{grow(keys, values), maps.Clone(want)}}
		for range rapid.IntRange(1, 12).Draw(t, "versions") {
			now := versions[rapid.IntRange(0, len(versions)-1).Draw(t, "from")]
			tr, want, e := now.tree, maps.Clone(now.want), &edit{}
			from, count := rapid.IntRange(0, 1000).Draw(t, "first"), few.Draw(t, "count")
			for i := range count {
				tr, want[key(from+i)] = tr.put(e, key(from+i), i), i
			}
			gone := rapid.IntRange(0, 1000).Draw(t, "gone")
			for i := range few.Draw(t, "removed") {
				tr = tr.remove(e, key(gone+i))
				delete(want, key(gone+i))
			}
			versions = append(versions, version{tr, want})
		}
		for _, v := range versions {
			other := versions[rapid.IntRange(0, len(versions)-1).Draw(t, "other")]
			if got, want := changed(v.tree, other.tree), differing(v.want, other.want); !slices.Equal(got, want) {
				t.Fatalf("changed %q, want %q", got, want)
			}
			keys := sound(t, v.tree)
			if !slices.Equal(keys, slices.Sorted(maps.Keys(v.want))) {
				t.Fatalf("keys %q, want %q", keys, slices.Sorted(maps.Keys(v.want)))
			}
			for k, n := range v.want {
				if got, ok := v.tree.get(k); !ok || got != n {
					t.Fatalf("%s = %d %v, want %d", k, got, ok, n)
				}
			}
			start := key(rapid.IntRange(0, 2000).Draw(t, "start"))
			at, _ := slices.BinarySearch(keys, start)
			for k := range v.tree.from(start) {
				if k != keys[at] {
					t.Fatalf("from %s: %s, want %s", start, k, keys[at])
				}
				at++
			}
			if at != len(keys) {
				t.Fatalf("from %s ends at %d of %d", start, at, len(keys))
			}
		}
	})
}

// differing returns the keys that only one of the maps has, or both with different values.
func differing(a, b map[string]int) (keys []string) {
	for k, v := range a {
		if w, there := b[k]; !there || v != w {
			keys = append(keys, k)
		}
	}
	for k := range b {
		if _, there := a[k]; !there {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
