package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/page"
)

// replica serves a page that says its name, and how it was asked for.
func replica(t *testing.T, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, name+" "+r.Host+" "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

// get returns what is at the address.
func get(t *testing.T, address string) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// The address that the user has open shows the replica that decides, also after another is elected.
func TestUI_TheAddressStaysWhenAnotherReplicaIsElected(t *testing.T) {
	one, two := replica(t, "one"), replica(t, "two")
	var elected atomic.Pointer[httptest.Server]
	elected.Store(one)
	said, opened := make(chan string, 1), make(chan string, 1)
	v := &viewing{
		every: time.Millisecond, again: time.Millisecond,
		open: func(url string, _ func(error)) error { opened <- url; return nil },
		leader: func(ctx context.Context, _ int, do func(context.Context, string) error) error {
			return do(ctx, strings.TrimPrefix(elected.Load().URL, "http://"))
		},
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- v.serve(ctx, func(url string) { said <- url }, func(error) {}) }()
	address := <-said
	if url := <-opened; url != address || !strings.HasSuffix(url, page.Path) {
		t.Errorf("%q is opened, and %q said", url, address)
	}
	host := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), page.Path)
	if code, text := get(t, address); code != http.StatusOK || text != "one "+host+" "+page.Path {
		t.Errorf("%d %q", code, text)
	}
	if code, text := get(t, "http://"+host+"/ui"); code != http.StatusOK || !strings.HasPrefix(text, "one") {
		t.Errorf("without the last slash: %d %q", code, text)
	}
	if code, text := get(t, "http://"+host+"/"); code != http.StatusOK || !strings.HasPrefix(text, "one") {
		t.Errorf("the root: %d %q", code, text)
	}
	if code, text := get(t, "http://"+host+"/debug/pprof/heap"); code != http.StatusNotFound {
		t.Errorf("what is not of the page: %d %q", code, text)
	}
	elected.Store(two)
	one.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if code, text := get(t, address); code == http.StatusOK && strings.HasPrefix(text, "two") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the second replica is not shown")
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// An election may take a while: what is known is said once.
func TestUI_TheSameReasonIsSaidOnce(t *testing.T) {
	one := replica(t, "one")
	ctx, end := context.WithCancel(t.Context())
	tries, warned := 0, 0
	v := &viewing{
		noBrowser: true, every: time.Millisecond, again: time.Millisecond,
		leader: func(ctx context.Context, _ int, do func(context.Context, string) error) error {
			switch tries++; tries {
			case 1:
				return do(ctx, strings.TrimPrefix(one.URL, "http://"))
			case 9:
				end()
			}
			return errors.New("no replica is elected")
		},
	}
	if err := v.serve(ctx, func(string) { one.Close() }, func(error) { warned++ }); err != nil || warned != 2 {
		t.Errorf("%v, %d warnings, want one of the replica that is gone and one of the election", err, warned)
	}
}

func TestUI_WithoutALeaderItEndsWithTheReason(t *testing.T) {
	none := errors.New("no replica of the daemon is elected")
	v := &viewing{leader: func(context.Context, int, func(context.Context, string) error) error { return none }}
	err := v.serve(t.Context(), func(string) { t.Error("an address is said") }, func(error) {})
	if !errors.Is(err, none) {
		t.Errorf("error %v", err)
	}
}

func TestUI_ADaemonWithoutThePageIsSaidToBeOlder(t *testing.T) {
	old := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(old.Close)
	v := &viewing{leader: func(ctx context.Context, _ int, do func(context.Context, string) error) error {
		return do(ctx, strings.TrimPrefix(old.URL, "http://"))
	}}
	err := v.serve(t.Context(), func(string) { t.Error("an address is said") }, func(error) {})
	if err == nil || !strings.Contains(err.Error(), "older than this program") {
		t.Errorf("error %v", err)
	}
}
