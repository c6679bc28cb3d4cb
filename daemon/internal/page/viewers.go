package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// lookEvery is the shortest time between two looks at the fleet, for all viewers together:
	// what changes is on the page two seconds later at most, in a cluster of usual size.
	lookEvery = 2 * time.Second
	// lookShare is how many times as long as a look took the next one waits: with what the events
	// take, less than a fiftieth of a core goes into the page, however large the cluster is. A look
	// at 2,000 nodes with 40,000 pods takes about 35 ms (BenchmarkLook).
	lookShare = 80
	// timeEvery is how often viewers are told the time where no look is due: far more often than
	// within the minute after which a browser takes silence for a lost connection.
	timeEvery = 5 * lookEvery
	// mostViewers is how many browsers may follow at a time, and mostBehind how many changes one
	// may be behind before it is sent away, to come back for a whole snapshot.
	mostViewers, mostBehind = 32, 16
	// mostRecent is how many changes are kept for those who come back: a minute of them.
	mostRecent = 30
)

var errTooMany = errors.New("too many pages are open: close one")

// event is one server-sent event: the whole snapshot, or what has changed since the one before.
type event struct {
	number int
	whole  bool
	data   []byte
}

// viewers follow the page together. A look is made while somebody follows, or when somebody asks.
type viewers struct {
	mu     sync.Mutex
	self   string // distinguishes the numbers of this process from those of another
	open   map[chan event]bool
	next   time.Time // when the next look may be made
	told   time.Time // when viewers were last told something
	seen   time.Time // input.Now of the last look
	last   look      // for questions about one node
	table  map[string]map[string]json.RawMessage
	number int // of the last change
	recent []event
	entire event  // the whole snapshot, where somebody has asked for it since the last look
	ending bool   // idle comes
	known  bool   // this replica decides
	fault  string // why the last look failed
	closed chan struct{}
}

// change is the data of an event. A whole snapshot has everything in Set.
type change struct {
	At       int64                                 `json:"at"`
	Deciding bool                                  `json:"deciding"`
	Fault    string                                `json:"fault,omitempty"`
	Set      map[string]map[string]json.RawMessage `json:"set,omitempty"`
	Gone     map[string][]string                   `json:"gone,omitempty"`
}

// follow returns what the viewer has missed since the event with the id, or the whole snapshot,
// and the channel of what comes then. The channel is closed for a viewer that is too slow.
func (p *Page) follow(lastID string) ([]event, chan event, error) {
	v := &p.viewers
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.open) >= mostViewers {
		return nil, nil, errTooMany
	}
	if v.open == nil {
		v.open, v.self = map[chan event]bool{}, uuid.NewString()[:8]
	}
	p.look()
	first := v.missed(lastID)
	if first == nil {
		first = []event{v.snapshot()}
	}
	to := make(chan event, mostBehind)
	v.open[to] = true
	if len(v.open) == 1 {
		v.closed = make(chan struct{})
		go p.keepLooking(v.closed)
	}
	return first, to, nil
}

// leave ends what follow began.
func (p *Page) leave(from chan event) {
	v := &p.viewers
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop(from)
}

// drop forgets the viewer. The last one ends the looks.
func (v *viewers) drop(to chan event) {
	if !v.open[to] {
		return
	}
	delete(v.open, to)
	close(to)
	if len(v.open) == 0 {
		close(v.closed)
		v.forget()
	}
}

// forget drops what would keep an old cluster in memory. Who asks next gets a look of its own.
func (v *viewers) forget() {
	v.last, v.table, v.recent, v.entire = look{}, nil, nil, event{}
	v.seen, v.next = time.Time{}, time.Time{}
	v.number++ // who comes back needs everything: the next change does not say what is gone
}

// idle forgets, where nobody follows, what somebody asked for once, when a look has become old.
func (p *Page) idle() {
	v := &p.viewers
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ending = false
	if len(v.open) == 0 {
		v.forget()
	}
}

// ask makes a look for who asks once. It holds the lock.
func (p *Page) ask() {
	p.look()
	if v := &p.viewers; len(v.open) == 0 && !v.ending {
		v.ending = true
		time.AfterFunc(max(lookEvery, time.Until(v.next)), p.idle)
	}
}

// keepLooking looks again and again, until nobody follows.
func (p *Page) keepLooking(closed <-chan struct{}) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-closed:
			return
		case <-ticker.C:
			p.viewers.mu.Lock()
			p.look()
			p.viewers.mu.Unlock()
		}
	}
}

// look looks at what is known, if it is time, and tells all viewers what has changed. They are told
// the time also where nothing has, and so see that the connection stands. It holds the lock.
func (p *Page) look() {
	v := &p.viewers
	now := time.Now()
	if now.Before(v.next) {
		if len(v.open) > 0 && now.Sub(v.told) >= timeEvery {
			v.tell(change{At: now.Unix(), Deciding: v.known, Fault: v.fault})
		}
		return
	}
	v.next, v.entire = now.Add(lookEvery), event{}
	c := change{At: now.Unix()}
	if l, known := p.take(); known {
		c.Deciding = true
		if !l.input.Now.Equal(v.seen) || v.fault != "" {
			v.fault = v.renew(&l, &c)
		}
		v.seen, v.known = l.input.Now, true
	}
	c.Fault = v.fault
	v.next = time.Now().Add(max(lookEvery, lookShare*time.Since(now)))
	v.tell(c)
}

// renew works the snapshot out anew, and notes what has changed. It returns why it could not, as a
// fault here must not end the daemon.
func (v *viewers) renew(l *look, c *change) (failed string) {
	defer func() {
		if fault := recover(); fault != nil {
			failed = fmt.Sprint(fault)
		}
	}()
	table := map[string]map[string]json.RawMessage{}
	for section, values := range l.sections() {
		table[section] = make(map[string]json.RawMessage, len(values))
		for key, value := range values {
			text, is := value.(json.RawMessage)
			if !is {
				var err error
				if text, err = json.Marshal(value); err != nil {
					return err.Error()
				}
			}
			table[section][key] = text
		}
	}
	c.Set, c.Gone = difference(v.table, table)
	v.table, v.last = table, *l
	return ""
}

// difference is what of the tables has changed.
func difference(was, is map[string]map[string]json.RawMessage) (set map[string]map[string]json.RawMessage, gone map[string][]string) {
	set, gone = map[string]map[string]json.RawMessage{}, map[string][]string{}
	for section, values := range is {
		for key, text := range values {
			if string(was[section][key]) != string(text) {
				if set[section] == nil {
					set[section] = map[string]json.RawMessage{}
				}
				set[section][key] = text
			}
		}
		for _, key := range slices.Sorted(maps.Keys(was[section])) {
			if _, stays := values[key]; !stays {
				gone[section] = append(gone[section], key)
			}
		}
	}
	return set, gone
}

// tell sends the change to all.
func (v *viewers) tell(c change) {
	v.number, v.told = v.number+1, time.Now()
	data, err := json.Marshal(c)
	if err != nil {
		v.fault = err.Error()
		return
	}
	e := event{number: v.number, data: data}
	if v.recent = append(v.recent, e); len(v.recent) > mostRecent {
		v.recent = v.recent[1:]
	}
	for to := range v.open {
		select {
		case to <- e:
		default:
			v.drop(to)
		}
	}
}

// snapshot is everything. It is written once for all who ask between two looks.
func (v *viewers) snapshot() event {
	if v.entire.whole {
		v.entire.number = v.number // between two looks viewers are told the time alone
		return v.entire
	}
	data, err := json.Marshal(change{At: time.Now().Unix(), Deciding: v.known, Fault: v.fault, Set: v.table})
	if err != nil {
		data = []byte(`{"fault":"the snapshot cannot be written"}`)
	}
	v.entire = event{number: v.number, whole: true, data: data}
	return v.entire
}

// id is what the browser remembers of an event.
func (v *viewers) id(e event) string { return fmt.Sprintf("%s-%d", v.self, e.number) }

// missed are the changes since the event with the id; nil where they are not known any more, or
// where there is no such event.
func (v *viewers) missed(id string) []event {
	number, ours := strings.CutPrefix(id, v.self+"-")
	n, err := strconv.Atoi(number)
	if !ours || err != nil || len(v.recent) == 0 || n > v.number || n < v.recent[0].number-1 {
		return nil
	}
	return slices.Clone(v.recent[n-v.recent[0].number+1:])
}
