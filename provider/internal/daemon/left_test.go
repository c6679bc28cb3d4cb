package daemon

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/apiserver/apiservertest"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// TestDaemon_WaitsForObjectsThatAreBeingDeletedAndForNoOthers has one NodeClaim for 20 minutes.
func TestDaemon_WaitsForObjectsThatAreBeingDeletedAndForNoOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		deleted any
		took    time.Duration
		err     error
	}{
		"deleted": {"2026-01-01T00:00:00Z", 20 * time.Minute, nil},
		"stays":   {nil, managed.ReleasedWithin, failure.ErrStillNeeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := awaitedWhile(t, func() (items []any) {
					if time.Since(start) < 20*time.Minute {
						items = append(items, nodeClaimNamed("c", tt.deleted))
					}
					return items
				})
				if took := time.Since(start).Round(10 * time.Second); !errors.Is(err, tt.err) || took != tt.took.Round(10*time.Second) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// TestDaemon_WaitsAsLongAsDeletionsFollowOneAnother has 30 NodeClaims that nobody has deleted
// yet. One goes every 10 seconds, as where Terraform deletes a few resources at a time.
func TestDaemon_WaitsAsLongAsDeletionsFollowOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := awaitedWhile(t, func() (items []any) {
			for i := int(time.Since(start) / (10 * time.Second)); i < 30; i++ {
				items = append(items, nodeClaimNamed("c-"+strconv.Itoa(i), nil))
			}
			return items
		})
		if took := time.Since(start).Round(10 * time.Second); err != nil || took != 5*time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// awaitedWhile waits in a cluster that has these NodeClaims.
func awaitedWhile(t *testing.T, left func() []any) error {
	t.Helper()
	server := apiservertest.Answers(func(r *http.Request) (int, any, error) {
		if body, ok := apiservertest.Discovery(r); ok {
			return http.StatusOK, body, nil
		}
		return http.StatusOK, map[string]any{"kind": "NodeClaimList", "apiVersion": "karpenter.sh/v1", "items": append([]any{}, left()...)}, nil
	})
	definition := kube.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: definitionKind}, Name: "nodeclaims.karpenter.sh"}
	return NewCluster(server.Client(t)).awaitNothingLeft(t.Context(), ownership.Record{definition.Key(): "u"})
}

func nodeClaimNamed(name string, deleted any) map[string]any {
	return map[string]any{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1", "metadata": map[string]any{"name": name, "deletionTimestamp": deleted}}
}
