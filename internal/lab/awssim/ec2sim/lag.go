package ec2sim

import (
	"math/rand/v2"
	"time"
)

// draw draws how long a change is not seen.
func (s *Service) draw() time.Duration {
	if s.cfg.Lag <= 0 {
		return 0
	}
	return rand.N(s.cfg.Lag) //nolint:gosec // no secret
}

// shown is the state of an instance that EC2 shows by now.
func (s *Service) shown(i *instance) State {
	if i.before != "" && i.stale.After(s.cfg.Now()) {
		return i.before
	}
	return i.State
}

// retag changes tags of a resource once the change is seen, in the order of the changes.
func (s *Service) retag(r *resource, change func()) {
	now := s.cfg.Now()
	at := now.Add(s.draw())
	if at.Before(r.settled) {
		at = r.settled.Add(time.Millisecond)
	}
	r.settled = at
	s.after(at.Sub(now), change)
}

// RefuseKey makes instances end instead of running, as when EC2 may not use the KMS key of
// their volumes, or stop doing so.
func (s *Service) RefuseKey(refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyRefused = refused
}
