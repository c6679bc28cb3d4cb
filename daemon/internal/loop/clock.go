package loop

import "time"

const (
	// mostSlew is how far the clock of the machine and the time that has passed may be apart from
	// one decision to the next: chrony slews by a twelfth at most, and a step is larger.
	mostSlew = 5 * time.Second
	// trustAfter bounds how long no node is disrupted after a jump ahead: for so long at most
	// nodes must be quiet in the settings that people have (consolidateAfter).
	trustAfter = 15 * time.Minute
)

// clock finds jumps of the clock of the machine. Whatever the process has noted itself is compared
// by the time that has passed, and no jump changes that; but the API server and the daemon write
// times of the clock on objects, and all of these are older at once after a jump ahead.
type clock struct {
	now func() time.Time

	last, passed time.Time // the same moment, by this clock and by that of the process
	trusted      time.Time // until when ages of objects may be those of a jump
}

func newClock(now func() time.Time) clock {
	if now == nil {
		now = time.Now
	}
	return clock{now: now}
}

// read returns the time, and by how much the clock has jumped since the last read; 0 for no jump.
func (c *clock) read() (now time.Time, jump time.Duration) {
	now, passed := c.now(), time.Now()
	if !c.last.IsZero() {
		jump = now.Round(0).Sub(c.last) - passed.Sub(c.passed) // Round drops the time of the process
	}
	c.last, c.passed = now.Round(0), passed
	if jump.Abs() <= mostSlew {
		return now, 0
	}
	return now, jump
}

// readClock returns the time. After a jump ahead NodeClaims have time to come up, and no node is
// disrupted for as long as the jump was, within bounds. After a jump back all takes longer, and
// nothing is lost.
func (l *Loop) readClock() time.Time {
	now, jump := l.clock.read()
	if jump == 0 {
		return now
	}
	l.config.Logger.Warn("the clock of the machine has jumped: times on objects seem to be older or younger than they are", "by", jump, "no_disruption_for", max(0, min(jump, trustAfter)))
	if until := now.Add(min(jump, trustAfter)); jump < 0 || until.After(l.clock.trusted) {
		l.clock.trusted = until
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hinders.Back = now
	if jump > 0 {
		l.hinders.Jumped, l.hinders.JumpedAt = jump, now
	}
	return now
}
