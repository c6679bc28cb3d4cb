package sim

import (
	"container/heap"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
)

// clock runs events in the order of their times. Events of one time run in the
// order in which they were scheduled.
type clock struct {
	now   time.Duration
	queue eventHeap
	count int64
	each  func() // called after every event; may be nil
}

type event struct {
	at  time.Duration
	seq int64
	do  func()
}

// after runs do once d has passed.
func (c *clock) after(d time.Duration, do func()) { c.at(c.now+d, do) }

// at runs do at t, or now if that is past.
func (c *clock) at(t time.Duration, do func()) {
	c.count++
	heap.Push(&c.queue, event{at: max(t, c.now), seq: c.count, do: do})
}

// run plays events until done says so, none is left or the limit is reached.
func (c *clock) run(limit time.Duration, done func() bool) {
	for len(c.queue) > 0 && !done() && c.queue[0].at <= limit {
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.do()
		if c.each != nil {
			c.each()
		}
	}
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}

// chance is a source of random numbers.
type chance struct{ seed, drawn uint64 }

func (c *chance) next() uint64 {
	c.drawn++
	return random.At(c.seed, c.drawn)
}

// below returns a number in [0, n). The bias is small, since n is small.
func (c *chance) below(n int64) int64 {
	if n <= 1 {
		return 0
	}
	return int64(c.next() >> 1 % uint64(n))
}

func (c *chance) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(c.below(int64(i+1))))
	}
}
