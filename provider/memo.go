package provider

import (
	"sync"
)

// memo makes a value on first use and keeps it. A failure is not kept.
type memo[T any] struct {
	mu    sync.Mutex
	made  bool
	value T
}

func (m *memo[T]) get(build func() (T, error)) (T, error) {
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
