package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
)

// Thing is something that an account holds, for tests that compare what was there
// before and after.
type Thing struct {
	// Identity is what another thing of the same name does not have, such as a RoleId
	// or the time of creation; empty if the service has nothing of the kind.
	Identity string
	// Content is all that a user can set, as JSON with sorted keys.
	Content string
}

// Holdings are what users make at a service, by kind. Tests look at them, and change them
// without a call that somebody would have to be allowed.
type Holdings struct {
	Lock  sync.Locker // the service's
	Kinds []Kind
}

// Kind is one kind of things; Map is one. Its methods are called under the lock.
type Kind interface {
	Inventory() map[string]Thing
	Snapshot() (restore func())
	Overwrite(key, content string) error
	Remove(key string)
}

// Inventory is every thing by its key.
func (h Holdings) Inventory() map[string]Thing {
	h.Lock.Lock()
	defer h.Lock.Unlock()
	all := map[string]Thing{}
	for _, k := range h.Kinds {
		maps.Copy(all, k.Inventory())
	}
	return all
}

// Snapshot returns a function that makes everything as it is now, with the same identities.
func (h Holdings) Snapshot() (restore func()) {
	h.Lock.Lock()
	defer h.Lock.Unlock()
	var restores []func()
	for _, k := range h.Kinds {
		restores = append(restores, k.Snapshot())
	}
	return func() {
		h.Lock.Lock()
		defer h.Lock.Unlock()
		for _, restore := range restores {
			restore()
		}
	}
}

// Overwrite gives a thing other content. Content that is not as the service would have it is an
// error.
func (h Holdings) Overwrite(key, content string) error {
	return h.of(key, func(k Kind) error { return k.Overwrite(key, content) })
}

// Remove removes a thing, with what the service would ask to be removed first.
func (h Holdings) Remove(key string) error {
	return h.of(key, func(k Kind) error {
		k.Remove(key)
		return nil
	})
}

func (h Holdings) of(key string, do func(Kind) error) error {
	h.Lock.Lock()
	defer h.Lock.Unlock()
	for _, k := range h.Kinds {
		if _, there := k.Inventory()[key]; there {
			return do(k)
		}
	}
	return fmt.Errorf("%s: not in the inventory", key)
}

// Map is a kind whose things a service keeps in a map. C is what a user can set of a thing:
// a struct with its fields in the order of their JSON names, none of which is ever null.
type Map[T, C any] struct {
	Prefix   string // of the keys: the kind and a slash
	Of       *map[string]*T
	Identity func(*T) string
	Content  func(*T) C
	Set      func(*T, C) error
	Copy     func(*T) *T
	Foreign  func(*T) bool               // what is not the account's, nil: nothing
	Removed  func(name string, thing *T) // what else follows, nil: nothing
}

// Inventory is the things by prefix and name.
func (m Map[T, C]) Inventory() map[string]Thing {
	all := map[string]Thing{}
	for name, t := range *m.Of {
		if m.Foreign == nil || !m.Foreign(t) {
			all[m.Prefix+name] = Thing{Identity: m.Identity(t), Content: Text(m.Content(t))}
		}
	}
	return all
}

// Snapshot copies the things, and again when they are restored.
func (m Map[T, C]) Snapshot() (restore func()) {
	saved := m.copy(*m.Of)
	return func() { *m.Of = m.copy(saved) }
}

func (m Map[T, C]) copy(things map[string]*T) map[string]*T {
	out := make(map[string]*T, len(things))
	for name, t := range things {
		out[name] = m.Copy(t)
	}
	return out
}

// Overwrite reads the content and sets it.
func (m Map[T, C]) Overwrite(key, content string) error {
	var in C
	if err := json.Unmarshal([]byte(content), &in); err != nil {
		return err
	}
	return m.Set((*m.Of)[strings.TrimPrefix(key, m.Prefix)], in)
}

// Remove deletes the thing.
func (m Map[T, C]) Remove(key string) {
	name := strings.TrimPrefix(key, m.Prefix)
	thing := (*m.Of)[name]
	delete(*m.Of, name)
	if m.Removed != nil {
		m.Removed(name, thing)
	}
}

// Text is what a thing holds, as its Content has it.
func Text(content any) string {
	text, err := json.Marshal(content)
	if err != nil {
		return err.Error() // cannot happen: strings, numbers, maps and lists of strings
	}
	return string(text)
}

// Given is a map that is never null in a content: so a reader knows that it is one.
func Given(of map[string]string) map[string]string {
	if of == nil {
		return map[string]string{}
	}
	return of
}
