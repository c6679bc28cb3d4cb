package apiserver_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver/apiservertest"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

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
				c := apiservertest.Answers(func(*http.Request) (int, any, error) {
					if time.Since(start) < tt.fresh {
						return int(tt.status), apiservertest.Failed(tt.status, tt.reason), nil
					}
					return http.StatusOK, map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{"name": "kube-system", "uid": "u"}}, nil
				}).Client(t)
				for range 3 {
					uid, err := c.UID(t.Context(), true)
					if !tt.refused && (err != nil || uid != "u") {
						t.Fatalf("got %q, %v", uid, err)
					}
					if tt.refused && (err == nil || !strings.Contains(failure.RemedyFor(err, ""), "access entry")) {
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
		c := apiservertest.Answers(func(*http.Request) (int, any, error) { return 0, nil, refused }).Client(t)
		if _, err := c.UID(t.Context(), true); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v", took)
		}
	})
}
