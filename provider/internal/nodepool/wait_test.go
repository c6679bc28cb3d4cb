package nodepool

import (
	"context"
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

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver/apiservertest"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
)

// TestDrain_LivesThroughAnAPIServerThatFails drains for 25 minutes, in which the API server
// is down for ten, is busy, closes connections, and does not know the caller for a minute.
func TestDrain_LivesThroughAnAPIServerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		server := apiservertest.Answers(func(r *http.Request) (int, any, error) {
			if body, ok := apiservertest.Discovery(r); ok {
				return http.StatusOK, body, nil
			}
			claims := map[string]any{"kind": "NodeClaimList", "apiVersion": "karpenter.sh/v1", "items": []any{
				map[string]any{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{"name": "c"}},
			}}
			switch minute := int(time.Since(start) / time.Minute); {
			case minute >= 5 && minute < 15:
				return 0, nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			case minute == 16:
				return http.StatusServiceUnavailable, apiservertest.Failed(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable), nil
			case minute == 17:
				return 0, nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
			case minute == 18:
				return http.StatusUnauthorized, apiservertest.Failed(http.StatusUnauthorized, metav1.StatusReasonUnauthorized), nil
			case minute >= 25:
				claims["items"] = []any{}
			}
			return http.StatusOK, claims, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		if err := (&poolCluster{kubeobject.New(server.Client(t))}).waitDrained(ctx, "spot", "u"); err != nil {
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
			server := apiservertest.Answers(func(r *http.Request) (int, any, error) {
				if body, ok := apiservertest.Discovery(r); ok {
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
					return http.StatusConflict, apiservertest.Failed(http.StatusConflict, metav1.StatusReasonConflict), nil
				}
				return http.StatusOK, claim, nil
			})
			ref := kube.Ref{GroupVersionKind: v1.GroupVersion().WithKind(v1.NodeClaimKind), Name: "c"}
			if err := (&poolCluster{kubeobject.New(server.Client(t))}).release(t.Context(), ref, "u"); err != nil || patches != tt.patches {
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
				server := apiservertest.Answers(func(r *http.Request) (int, any, error) {
					if body, ok := apiservertest.Discovery(r); ok {
						return http.StatusOK, body, nil
					}
					return int(tt.status), apiservertest.Failed(tt.status, tt.reason), nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				err := (&poolCluster{kubeobject.New(server.Client(t))}).waitDrained(ctx, "spot", "u")
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
