package translate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// FreeVolume is a volume that a claim can still get, with the places where it can be used.
type FreeVolume struct {
	*corev1.PersistentVolume

	places []label.Requirements
	usable bool // else its places cannot be read
}

// ReadFree reads the volume, which is Free.
func ReadFree(v *corev1.PersistentVolume) FreeVolume {
	places, err := placesOf(v, false)
	return FreeVolume{v, places, err == nil}
}

// FreeVolumes are the free volumes of one storage class. Whoever asks again for the same gets
// the answer that was found, so that thousands of volumes are looked through once for all
// replicas of a workload.
type FreeVolumes struct {
	all      []FreeVolume   // the smallest first; volumes are numbers of it below
	prebound map[string]int // by claim: the volume that is kept for it
	sites    []site
	near     map[string]*nearBy // by key: which sites a place can share nodes with
	matches  map[string][]int   // by what a claim asks for
	answers  map[string]answer  // by what all claims of a pod ask for
}

// site is a place that one or more volumes name. No requirements are any node.
type site struct {
	at      label.Requirements
	volumes []int
}

// nearBy is the sites by the values of one key.
type nearBy struct {
	of   map[string][]int // sites that name these values
	also []int            // sites that name none
}

// answer is where claims get their volumes: the alternatives, of which none means any node,
// and one of the volumes; nil if there is no such place.
type answer struct {
	places []label.Requirements
	one    *corev1.PersistentVolume
}

// NewFreeVolumes makes the index of the volumes, in any order.
func NewFreeVolumes(volumes []FreeVolume) *FreeVolumes {
	f := &FreeVolumes{all: volumes, prebound: map[string]int{}, near: map[string]*nearBy{}, matches: map[string][]int{}, answers: map[string]answer{}}
	slices.SortFunc(f.all, func(a, b FreeVolume) int {
		return cmp.Or(a.Spec.Capacity.Storage().Cmp(*b.Spec.Capacity.Storage()), cmp.Compare(a.Name, b.Name))
	})
	at, holds := map[string]label.Requirements{}, map[string][]int{}
	for i, v := range f.all {
		if ref := v.Spec.ClaimRef; ref != nil {
			f.prebound[ref.Namespace+"/"+ref.Name] = i
		}
		places := v.places
		if v.usable && len(places) == 0 {
			places = []label.Requirements{nil}
		}
		for _, place := range places {
			key := string(place.AppendKey(nil))
			if at[key] = place; !slices.Contains(holds[key], i) {
				holds[key] = append(holds[key], i)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(at)) {
		f.sites = append(f.sites, site{at[key], holds[key]})
	}
	f.indexSites()
	return f
}

// indexSites fills near.
func (f *FreeVolumes) indexSites() {
	for _, s := range f.sites {
		for _, r := range s.at {
			if _, names := valuesNamed(r); names {
				f.near[r.Key()] = &nearBy{of: map[string][]int{}}
			}
		}
	}
	for key, by := range f.near {
		for i, s := range f.sites {
			r, asks := s.at.Get(key)
			values, names := valuesNamed(r)
			if !asks || !names {
				by.also = append(by.also, i)
				continue
			}
			for _, v := range values {
				by.of[v] = append(by.of[v], i)
			}
		}
	}
}

// valuesNamed returns the values that the requirement names, one of which a node must have.
func valuesNamed(r label.Requirement) ([]string, bool) {
	values, listed := r.Values()
	return values, listed && !r.AdmitsAbsence()
}

// around returns the sites that can share nodes with the place: all but those that surely
// share none.
func (f *FreeVolumes) around(at label.Requirements) []int {
	var out []int
	found := false
	for _, r := range at {
		values, names := valuesNamed(r)
		by := f.near[r.Key()]
		if !names || by == nil {
			continue
		}
		var sites []int
		for _, v := range values {
			sites = append(sites, by.of[v]...)
		}
		sites = append(sites, by.also...)
		if !found || len(sites) < len(out) {
			out, found = sites, true
		}
	}
	if !found {
		for i := range f.sites {
			out = append(out, i)
		}
		return out
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// asked says what the claim asks for, of all that decides which of the volumes it can get:
// for all sizes between those of two volumes the same.
func (f *FreeVolumes) asked(c *corev1.PersistentVolumeClaim) string {
	if i, prebound := f.prebound[c.Namespace+"/"+c.Name]; prebound && matches(f.all[i].PersistentVolume, c) {
		return "kept " + f.all[i].Name
	}
	size := storage(c)
	first, _ := slices.BinarySearchFunc(f.all, 0, func(v FreeVolume, _ int) int {
		if v.Spec.Capacity.Storage().Cmp(*size) < 0 {
			return -1
		}
		return 1
	})
	selector, _ := json.Marshal(c.Spec.Selector) // it marshals: it came as JSON
	return fmt.Sprintf("%d %s %q %s %s", first, valueOr(c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem), valueOr(c.Spec.VolumeAttributesClassName, ""), c.Spec.AccessModes, selector)
}

// matching returns the volumes that the claim can get wherever they can be used.
func (f *FreeVolumes) matching(c *corev1.PersistentVolumeClaim) []int {
	asked := f.asked(c)
	out, known := f.matches[asked]
	if !known {
		i, prebound := f.prebound[c.Namespace+"/"+c.Name]
		switch prebound = prebound && matches(f.all[i].PersistentVolume, c); {
		case prebound: // it gets no other
			out = []int{i}
		default:
			for i := range f.all {
				if matches(f.all[i].PersistentVolume, c) {
					out = append(out, i)
				}
			}
		}
		f.matches[asked] = out
	}
	return out
}

// answer says where all the claims of a pod get volumes. They choose in this order: the
// smallest comes first.
func (f *FreeVolumes) answer(claims []*corev1.PersistentVolumeClaim) answer {
	asked := make([]string, 0, len(claims))
	for _, c := range claims {
		asked = append(asked, f.asked(c))
	}
	key := strings.Join(asked, "\n")
	out, known := f.answers[key]
	if !known {
		s := search{FreeVolumes: f, seen: map[string]bool{}}
		for _, c := range claims {
			can := make([]bool, len(f.all))
			for _, i := range f.matching(c) {
				can[i] = true
			}
			s.can = append(s.can, can)
		}
		out = s.run()
		f.answers[key] = out
	}
	return out
}

// search looks for the places where each of some claims gets a volume.
type search struct {
	*FreeVolumes

	can  [][]bool        // by claim, the smallest first: the volumes that it can get
	seen map[string]bool // places that were looked at
	out  answer
}

// mostPlaces bounds how many places are looked at for the claims of a pod. Zones, racks and
// hosts do not come near: places that share nodes are few, or few of them differ.
const mostPlaces = 100_000

// run tries the sites alone, then what two of them share, and so on: as many as there are
// claims may each have the volume of one claim. What lies within a place that serves is left
// out.
func (s *search) run() answer {
	if one := s.served(nil, s.around(nil)); one >= 0 {
		return answer{nil, s.all[one].PersistentVolume}
	}
	var level []label.Requirements
	for _, site := range s.sites {
		if len(site.at) > 0 && slices.ContainsFunc(site.volumes, s.wanted) {
			level = s.tryPlace(site.at, level)
		}
	}
	for range len(s.can) - 1 {
		var next []label.Requirements
		for _, at := range level {
			for _, i := range s.around(at) {
				if both := at.And(s.sites[i].at); slices.ContainsFunc(s.sites[i].volumes, s.wanted) {
					next = s.tryPlace(both, next)
				}
			}
		}
		level = next
	}
	s.out.places = united(s.out.places)
	return s.out
}

// wanted says whether one of the claims can get the volume.
func (s *search) wanted(volume int) bool {
	return slices.ContainsFunc(s.can, func(can []bool) bool { return can[volume] })
}

// tryPlace tries the place unless it was tried before, and adds it to those that do not serve.
func (s *search) tryPlace(at label.Requirements, unserved []label.Requirements) []label.Requirements {
	key := string(at.AppendKey(nil))
	if _, contradicts := at.Contradiction(); contradicts || s.seen[key] || len(s.seen) >= mostPlaces {
		return unserved
	}
	s.seen[key] = true
	if one := s.served(at, s.around(at)); one >= 0 {
		s.out.places, s.out.one = append(s.out.places, at), s.all[one].PersistentVolume
		return unserved
	}
	return append(unserved, at)
}

// served returns the volume that one of the claims gets on a node that is at the place and
// at no other; -1 if one of the claims gets none.
func (s *search) served(at label.Requirements, sites []int) int {
	key := at.AppendKey(nil)
	var volumes []int
	for _, i := range sites {
		if bytes.Equal(at.And(s.sites[i].at).AppendKey(nil), key) {
			volumes = append(volumes, s.sites[i].volumes...)
		}
	}
	slices.Sort(volumes)
	volumes = slices.Compact(volumes)
	last := -1
	for _, can := range s.can {
		i := slices.IndexFunc(volumes, func(v int) bool { return can[v] })
		if i < 0 {
			return -1
		}
		last = volumes[i]
		volumes = slices.Delete(volumes, i, i+1)
	}
	return last
}
