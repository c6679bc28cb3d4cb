package relay

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo answers each byte by itself.
func echo(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	return l.Addr().String()
}

func through(t *testing.T) (*Relay, net.Conn) {
	t.Helper()
	r, err := Start(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return r, c
}

// ask sends a byte and waits for it to come back.
func ask(c net.Conn, patience time.Duration) error {
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, err := c.Read(make([]byte, 1))
	return err
}

func TestRelay_CarriesBothWays(t *testing.T) {
	_, c := through(t)
	for range 3 {
		if err := ask(c, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRelay_CutEndsConnectionsAndRefusesNewOnes(t *testing.T) {
	r, c := through(t)
	if err := ask(c, time.Minute); err != nil {
		t.Fatal(err)
	}
	r.Set(State{Cut: true})
	if err := ask(c, time.Minute); err == nil {
		t.Error("the connection still answers")
	}
	if c, err := net.Dial("tcp", r.Addr); err == nil {
		if err := ask(c, time.Minute); err == nil {
			t.Error("a new connection answers")
		}
		_ = c.Close()
	}
	r.Set(State{})
	c, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := ask(c, time.Minute); err != nil {
		t.Errorf("after the cut: %v", err)
	}
}

func TestRelay_SilentKeepsConnectionsAndLosesNothing(t *testing.T) {
	r, c := through(t)
	r.Set(State{Silent: true})
	if err := ask(c, 50*time.Millisecond); err == nil {
		t.Fatal("an answer came through")
	}
	r.Set(State{})
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("what was held does not come: %v", err)
	}
}

func TestRelay_DelayHoldsWhatTheServerSends(t *testing.T) {
	r, c := through(t)
	const delay = 100 * time.Millisecond
	r.Set(State{Delay: delay})
	began := time.Now()
	if err := ask(c, time.Minute); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < delay {
		t.Errorf("the answer came after %s, want at least %s", took, delay)
	}
}
