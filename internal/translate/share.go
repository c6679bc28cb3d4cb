package translate

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// generation is how many different values are remembered at least. A cluster has
// a few values for each of its templates.
const generation = 4096

// shared finds a value by its key, so that equal values are kept once. It
// remembers the values that were asked for lately: a generation of new ones, and
// the generation before. A forgotten value stays where it is in use, but is not
// found again.
type shared[T any] struct{ recent, old map[string]T }

// get returns the value of the key. Where there is none, get makes it.
func (s *shared[T]) get(key []byte, value func() T) T {
	if v, known := s.recent[string(key)]; known {
		return v
	}
	v, known := s.old[string(key)]
	if !known {
		v = value()
	}
	if len(s.recent) >= generation {
		s.recent, s.old = nil, s.recent
	}
	if s.recent == nil {
		s.recent = map[string]T{}
	}
	s.recent[string(key)] = v
	return v
}

// text returns the first of all equal texts that were seen.
func (k *Keeper) text(t string) string {
	if t == "" {
		return ""
	}
	k.key = append(k.key[:0], t...)
	return k.texts.get(k.key, func() string { return t })
}

func (k *Keeper) labelsOf(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	k.key = appendMap(k.key[:0], m)
	return k.labels.get(k.key, func() map[string]string { return m })
}

func (k *Keeper) ownersOf(refs []metav1.OwnerReference) []metav1.OwnerReference {
	if len(refs) == 0 {
		return nil
	}
	k.key = k.key[:0]
	for _, r := range refs {
		for _, t := range []string{r.APIVersion, r.Kind, r.Name, string(r.UID)} {
			k.key = appendText(k.key, t)
		}
	}
	return k.owners.get(k.key, func() []metav1.OwnerReference { return refs })
}

// parts returns the first of all equal parts that were seen. Parts are equal if
// their bytes on the wire are equal. Parts that cannot be written on the wire
// are not shared.
func (k *Keeper) parts(own *podParts) *podParts {
	pod := corev1.Pod{Spec: own.spec, Status: own.status}
	pod.Annotations = own.notes
	key, err := pod.Marshal()
	if err != nil {
		return own
	}
	return k.specs.get(key, func() *podParts { return own })
}

func appendMap(b []byte, m map[string]string) []byte {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b = appendText(appendText(b, key), m[key])
	}
	return b
}

func appendText(b []byte, t string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(t)), 10), ':'), t...)
}

// Remembered is how many values are remembered to be shared.
func (k *Keeper) Remembered() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.labels.size() + k.owners.size() + k.specs.size() + k.texts.size()
}

func (s *shared[T]) size() int { return len(s.recent) + len(s.old) }
