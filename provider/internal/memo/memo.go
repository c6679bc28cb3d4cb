package memo

import (
	"sync"
)

// Value makes a value on first use and keeps it. A failure is not kept.
type Value[T any] struct {
	mu    sync.Mutex
	made  bool
	value T
}

// Get gives the value, which build makes if there is none yet.
func (m *Value[T]) Get(build func() (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made {
		return m.value, nil
	}
	value, err := build()
	if err != nil {
		return value, err
	}
	m.value, m.made = value, true
	return m.value, nil
}
