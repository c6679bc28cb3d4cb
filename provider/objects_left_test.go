package provider

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// TestDaemon_WaitsForObjectsThatAreBeingDeletedAndForNoOthers has one NodeClaim for 20 minutes.
func TestDaemon_WaitsForObjectsThatAreBeingDeletedAndForNoOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		deleted any
		took    time.Duration
		err     error
	}{
		"deleted": {"2026-01-01T00:00:00Z", 20 * time.Minute, nil},
		"stays":   {nil, releasedWithin, ErrStillNeeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				server := answers(func(r *http.Request) (int, any, error) {
					if body, ok := discoveryOf(r); ok {
						return http.StatusOK, body, nil
					}
					items := []any{}
					if time.Since(start) < 20*time.Minute {
						items = append(items, map[string]any{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{"name": "c", "deletionTimestamp": tt.deleted}})
					}
					return http.StatusOK, map[string]any{"kind": "NodeClaimList", "apiVersion": "karpenter.sh/v1", "items": items}, nil
				})
				definition := kube.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: definitionKind}, Name: "nodeclaims.karpenter.sh"}
				err := server.cluster(t).awaitNothingLeft(t.Context(), made{definition.Key(): "u"})
				if took := time.Since(start).Round(10 * time.Second); !errors.Is(err, tt.err) || took != tt.took.Round(10*time.Second) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
