package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/pace"
)

// answers is an API server in the test's own process, so that its clock can be the test's.
type answers func(*http.Request) (status int, body any, err error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, err := a(r)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))), Request: r}, nil
}

func (a answers) cluster(t *testing.T) *cluster {
	t.Helper()
	client, err := apiserver.New(&rest.Config{Host: "http://cluster", Transport: a, QPS: -1}, pace.Pace{})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{client}
}

func failed(status int32, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: status, Reason: reason, Message: string(reason)}
}

// discoveryOf answers what clients ask before they list NodeClaims; ok is false for other
// requests.
func discoveryOf(r *http.Request) (body any, ok bool) {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "karpenter.sh/v1", Version: "v1"}
	switch r.URL.Path {
	case "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, true
	case "/apis":
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "karpenter.sh", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
		}}, true
	case "/api/v1", "/apis/karpenter.sh/v1":
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")}
		if list.GroupVersion != "v1" {
			list.APIResources = []metav1.APIResource{{Name: "nodeclaims", Kind: "NodeClaim"}}
		}
		return list, true
	}
	return nil, false
}

// TestDrain_LivesThroughAnAPIServerThatFails drains for 25 minutes, in which the API server
// is down for ten, is busy, closes connections, and does not know the caller for a minute.
func TestDrain_LivesThroughAnAPIServerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		server := answers(func(r *http.Request) (int, any, error) {
			if body, ok := discoveryOf(r); ok {
				return http.StatusOK, body, nil
			}
			claims := map[string]any{"kind": "NodeClaimList", "apiVersion": "karpenter.sh/v1", "items": []any{
				map[string]any{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{"name": "c"}},
			}}
			switch minute := int(time.Since(start) / time.Minute); {
			case minute >= 5 && minute < 15:
				return 0, nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			case minute == 16:
				return http.StatusServiceUnavailable, failed(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable), nil
			case minute == 17:
				return 0, nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
			case minute == 18:
				return http.StatusUnauthorized, failed(http.StatusUnauthorized, metav1.StatusReasonUnauthorized), nil
			case minute >= 25:
				claims["items"] = []any{}
			}
			return http.StatusOK, claims, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		if err := server.cluster(t).waitDrained(ctx, "spot", "u"); err != nil {
			t.Error(err)
		}
		if took := time.Since(start).Round(time.Minute); took != 25*time.Minute {
			t.Errorf("the drain took %v", took)
		}
	})
}

// TestRelease_LivesThroughWhatOthersWrite removes the finalizer of an object that somebody
// else writes at the same time, and leaves another object of the name alone.
func TestRelease_LivesThroughWhatOthersWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		replaced bool
		patches  int
	}{"the same": {false, 2}, "another one comes": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			patches, uid := 0, "u"
			server := answers(func(r *http.Request) (int, any, error) {
				if body, ok := discoveryOf(r); ok {
					return http.StatusOK, body, nil
				}
				claim := map[string]any{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{
					"name": "c", "uid": uid, "resourceVersion": strconv.Itoa(patches), "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []string{v1.FinalizerTermination, "theirs"},
				}}
				if r.Method != http.MethodPatch {
					return http.StatusOK, claim, nil
				}
				text, err := io.ReadAll(r.Body)
				if err != nil {
					return 0, nil, err
				}
				if want := fmt.Sprintf(`{"metadata":{"finalizers":["theirs"],"resourceVersion":"%d","uid":"u"}}`, patches); string(text) != want {
					t.Errorf("patch %s, want %s", text, want)
				}
				if patches++; patches == 1 {
					if tt.replaced {
						uid = "other"
					}
					return http.StatusConflict, failed(http.StatusConflict, metav1.StatusReasonConflict), nil
				}
				return http.StatusOK, claim, nil
			})
			ref := kube.Ref{GroupVersionKind: v1.GroupVersion().WithKind(v1.NodeClaimKind), Name: "c"}
			if err := server.cluster(t).release(t.Context(), ref, "u"); err != nil || patches != tt.patches {
				t.Errorf("%d patches: %v", patches, err)
			}
		})
	}
}

func TestDrain_EndsForWhatStaysAndWithItsTimeout(t *testing.T) {
	for name, tt := range map[string]struct {
		status int32
		reason metav1.StatusReason
		want   string
		after  time.Duration
	}{
		"forbidden":   {http.StatusForbidden, metav1.StatusReasonForbidden, "Forbidden", 2 * time.Minute},
		"bad request": {http.StatusBadRequest, metav1.StatusReasonBadRequest, "BadRequest", 0},
		"busy":        {http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "ServiceUnavailable", 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				server := answers(func(r *http.Request) (int, any, error) {
					if body, ok := discoveryOf(r); ok {
						return http.StatusOK, body, nil
					}
					return int(tt.status), failed(tt.status, tt.reason), nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				err := server.cluster(t).waitDrained(ctx, "spot", "u")
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q in it", err, tt.want)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("ended after %v, want %v", took, tt.after)
				}
			})
		})
	}
}

// TestFirstContact_WaitsForAFreshAccessEntryWithinBounds makes several resources look at a
// cluster that does not know the provider.
func TestFirstContact_WaitsForAFreshAccessEntryWithinBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int32
		reason  metav1.StatusReason
		fresh   time.Duration // until the cluster knows the provider
		refused bool
		after   time.Duration
	}{
		"unauthorized for 90 seconds": {http.StatusUnauthorized, metav1.StatusReasonUnauthorized, 90 * time.Second, false, 90 * time.Second},
		"forbidden for 90 seconds":    {http.StatusForbidden, metav1.StatusReasonForbidden, 90 * time.Second, false, 90 * time.Second},
		"unauthorized for good":       {http.StatusUnauthorized, metav1.StatusReasonUnauthorized, time.Hour, true, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := answers(func(*http.Request) (int, any, error) {
					if time.Since(start) < tt.fresh {
						return int(tt.status), failed(tt.status, tt.reason), nil
					}
					return http.StatusOK, map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "kube-system", "uid": "u"}}, nil
				}).cluster(t)
				b := &managed.Base{Kind: "node_pool"}
				for range 3 {
					uid, err := c.UID(t.Context(), true)
					if !tt.refused && (err != nil || uid != "u") {
						t.Fatalf("got %q, %v", uid, err)
					}
					if tt.refused && (err == nil || !strings.Contains(b.Remedy("", err), "access entry")) {
						t.Fatalf("got %v, whose remedy does not name the access entry", err)
					}
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("three resources waited %v, want %v", took, tt.after)
				}
			})
		})
	}
}

func TestFirstContact_DoesNotWaitForAnAddressThatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		c := answers(func(*http.Request) (int, any, error) { return 0, nil, refused }).cluster(t)
		if _, err := c.UID(t.Context(), true); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v", took)
		}
	})
}
