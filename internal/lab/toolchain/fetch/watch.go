package fetch

import (
	"fmt"
	"sync/atomic"
	"time"
)

// counter counts what has come.
type counter struct {
	got, size int64
	seen      atomic.Int64
	heard     func(got, size int64)
}

func (c *counter) Write(b []byte) (int, error) {
	c.got += int64(len(b))
	c.seen.Store(c.got)
	if c.heard != nil {
		c.heard(c.got, c.size)
	}
	return len(b), nil
}

// watch gives a download up that has become too slow.
func (c Client) watch(counted *counter, giveUp func(error), done <-chan struct{}) {
	tick := time.NewTicker(c.Window)
	defer tick.Stop()
	for before := int64(0); ; {
		select {
		case <-done:
			return
		case <-tick.C:
			now := counted.seen.Load()
			if now-before < c.Slowest {
				giveUp(fmt.Errorf("%d bytes came in %s", now-before, c.Window))
				return
			}
			before = now
		}
	}
}
