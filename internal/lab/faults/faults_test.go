package faults

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// counted is a fault that counts how often it was begun and ended.
type counted struct {
	mu            sync.Mutex
	begun, ended  int
	delay         time.Duration
	share         float64
	allEndedAfter chan struct{}
}

func (c *counted) fault() Fault {
	return Fault{
		Name: "rain", Does: "rains",
		Takes: []Parameter{{Name: "delay", Means: "time before each drop", Default: "2s"}, {Name: "share", Means: "of the drops", Default: "1"}, {Name: "where", Means: "the place"}},
		Begin: func(_ context.Context, v *Values) (func(context.Context) error, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.delay, c.share = v.Duration("delay"), v.Share("share")
			if v.Err() != nil {
				return nil, v.Err()
			}
			c.begun++
			return func(context.Context) error {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.ended++
				close(c.allEndedAfter)
				return nil
			}, nil
		},
	}
}

func started(t *testing.T, all ...Fault) (*Server, Client) {
	t.Helper()
	s, err := Start(all, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, Client{s.URL()}
}

func TestServer_FaultIsInForceUntilItIsEnded(t *testing.T) {
	rain := &counted{allEndedAfter: make(chan struct{})}
	_, c := started(t, rain.fault())
	id, err := c.Begin(t.Context(), "rain", "where", "here", "share", "0.25")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.State(t.Context())
	if err != nil || len(s.Known) != 1 || len(s.Active) != 1 || s.Active[0].ID != id || s.Active[0].Values.Get("where") != "here" {
		t.Errorf("state is %+v, %v; want the fault with id %s in force", s, err, id)
	}
	if rain.delay != 2*time.Second || rain.share != 0.25 {
		t.Errorf("delay %s and share %v; want the default 2s, and 0.25", rain.delay, rain.share)
	}
	if err := c.End(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := c.End(t.Context(), id); !errors.Is(err, ErrRefused) {
		t.Errorf("ended twice: %v, want a refusal", err)
	}
	if rain.begun != 1 || rain.ended != 1 {
		t.Errorf("begun %d times and ended %d times, want once each", rain.begun, rain.ended)
	}
}

// What could not be ended, as while the API server is away, is not forgotten.
func TestServer_AFaultThatCannotBeEndedIsStillInForce(t *testing.T) {
	tries := 0
	_, c := started(t, Fault{Name: "hail", Does: "hails", Begin: func(context.Context, *Values) (func(context.Context) error, error) {
		return func(context.Context) error {
			if tries++; tries == 1 {
				return errors.New("not now")
			}
			return nil
		}, nil
	}})
	if _, err := c.Begin(t.Context(), "hail"); err != nil {
		t.Fatal(err)
	}
	if err := c.EndAll(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "not now") {
		t.Errorf("error %v", err)
	}
	if s, err := c.State(t.Context()); err != nil || len(s.Active) != 1 {
		t.Errorf("state is %+v, %v; want the fault in force", s, err)
	}
	if err := c.EndAll(t.Context()); err != nil || tries != 2 {
		t.Errorf("error %v after %d tries", err, tries)
	}
}

func TestServer_ParameterForEndsAFault(t *testing.T) {
	rain := &counted{allEndedAfter: make(chan struct{})}
	_, c := started(t, rain.fault())
	if _, err := c.Begin(t.Context(), "rain", "where", "here", "for", "1ms"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-rain.allEndedAfter:
	case <-time.After(time.Minute):
		t.Error("the fault is still in force")
	}
}

func TestServer_CloseEndsWhatIsInForce(t *testing.T) {
	rain := &counted{allEndedAfter: make(chan struct{})}
	s, c := started(t, rain.fault())
	if _, err := c.Begin(t.Context(), "rain", "where", "here"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || rain.ended != 1 {
		t.Errorf("closed with %v, %d faults ended; want 1", err, rain.ended)
	}
}

func TestServer_WrongRequestsSayWhatIsRight(t *testing.T) {
	rain := &counted{allEndedAfter: make(chan struct{})}
	_, c := started(t, rain.fault())
	for _, x := range []struct {
		name       string
		parameters []string
		says       string
	}{
		{"snow", nil, `"snow": no such fault`},
		{"rain", nil, "where is missing: the place"},
		{"rain", []string{"where", "here", "wind", "1"}, `no parameter "wind"; it takes for, delay, share, where`},
		{"rain", []string{"where", "here", "delay", "soon"}, `delay is "soon"; want a duration`},
		{"rain", []string{"where", "here", "share", "2"}, `share is "2"; want a number from 0 to 1`},
		{"rain", []string{"where", "here", "for", "-1s"}, `for is "-1s"`},
	} {
		if _, err := c.Begin(t.Context(), x.name, x.parameters...); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s %q: %v; want %q", x.name, x.parameters, err, x.says)
		}
	}
	if rain.begun != 0 {
		t.Errorf("%d faults were begun", rain.begun)
	}
}
