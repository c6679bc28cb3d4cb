package kubelet

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// address is a pod's: the process binds to local, and to loopback what a
// container would bind to 127.0.0.1; the API is shown the third.
type address struct{ local, loopback, shown string }

// half of the loopback network has pods' addresses, the other half what stands
// for their localhosts: neither is ever taken for the other.
const half = 127

// Addresses hands out pod addresses. Laboratories that run side by side take
// them from different parts of 127.0.0.0/8.
type Addresses struct {
	mu   sync.Mutex
	a, b int
	n    int
}

// NewAddresses picks this laboratory's part of the loopback network.
func NewAddresses() *Addresses {
	return &Addresses{a: 1 + rand.IntN(half), b: rand.IntN(256)} //nolint:gosec // it need not be a secret, only rarely the same
}

// next is an address that no pod has had for the last 250 ones.
func (a *Addresses) next() address {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	host := 1 + (a.n-1)%250
	return address{
		local: fmt.Sprintf("127.%d.%d.%d", a.a, a.b, host), loopback: fmt.Sprintf("127.%d.%d.%d", half+a.a, a.b, host),
		shown: fmt.Sprintf("10.200.%d.%d", (a.n-1)/250%256, host),
	}
}
