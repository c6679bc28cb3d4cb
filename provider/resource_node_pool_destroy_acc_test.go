//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

var budgetsOfPods = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}

// blockDrains makes a PodDisruptionBudget that allows no eviction of the workload.
func (s somebody) blockDrains() error {
	return s.create(budgetsOfPods, "default", map[string]any{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "none"},
		"spec": map[string]any{"maxUnavailable": int64(0), "selector": map[string]any{"matchLabels": map[string]any{"app": "inflate"}}},
	})
}

// TestAccNodePool_ADestroyThatABudgetBlocksEndsAsOnTimeoutSays destroys a pool whose pod
// may not be evicted: on_timeout fail names what blocks, orphan leaves the pool, force
// deletes the pod.
func TestAccNodePool_ADestroyThatABudgetBlocksEndsAsOnTimeoutSays(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	base := l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "")
	with := func(more string) string {
		return base + fmt.Sprintf(poolBlock, more+"\n  timeouts = { delete = \"5s\" }")
	}
	run(t, func() error {
		return errors.Join(l.nothingRuns(), l.kube.Delete(context.Background(), workload(), ""))
	},
		resource.TestStep{Config: with(""), Check: func(*terraform.State) error { return errors.Join(l.launch(t), s.blockDrains()) }},
		resource.TestStep{Config: base, ExpectError: regexp.MustCompile(`(?s)1\s+NodeClaims\s+still\s+exist.*default-.*none`)},
		resource.TestStep{ // of a pool that is being deleted, only this can be changed
			Config: with("  on_timeout = \"force\""), ConfigPlanChecks: planned("karpenter_node_pool.this", plancheck.ResourceActionUpdate),
		},
		resource.TestStep{Config: base, Check: func(*terraform.State) error {
			_, err := l.get("karpenter.sh", "NodePool", "", "default")
			return errors.Join(gone("pool", err, notInCluster), l.nothingRuns())
		}},
		resource.TestStep{Config: with("  on_timeout = \"orphan\""), Check: func(*terraform.State) error { return l.launch(t) }},
		resource.TestStep{Config: base, Check: func(*terraform.State) error {
			if _, err := l.get("karpenter.sh", "NodePool", "", "default"); err != nil {
				return err
			}
			// The drain continues.
			return errors.Join(s.remove(budgetsOfPods, "default", "none"), l.kube.WaitGone(t.Context(), kube.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}, Name: "default"}, "", nil))
		}},
		resource.TestStep{Config: with("  on_destroy = \"orphan\"")},
		resource.TestStep{Config: base, Check: func(*terraform.State) error {
			pool := s.get(nodePools, "", "default")
			if pool.GetDeletionTimestamp() != nil {
				return errors.New("on_destroy is orphan, and the pool is being deleted")
			}
			return s.remove(nodePools, "", "default")
		}},
	)
}

// TestAccNodePool_ADestroyWithoutADaemonTerminatesTheInstancesItself destroys a pool whose
// daemon is scaled to nothing.
func TestAccNodePool_ADestroyWithoutADaemonTerminatesTheInstancesItself(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	base := l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "")
	pool := base + fmt.Sprintf(poolBlock, "  on_destroy = \"terminate\"")
	run(t, func() error {
		return errors.Join(l.nothingRuns(), l.kube.Delete(context.Background(), workload(), ""))
	},
		resource.TestStep{Config: pool, Check: func(*terraform.State) error { return errors.Join(l.launch(t), s.blockDrains()) }},
		resource.TestStep{
			PreConfig: meddle(t, func() error {
				return l.patch(deployments, "karpenter", "karpenterd", `{"spec":{"replicas":0}}`)
			}),
			Config: base,
			Check: func(*terraform.State) error {
				_, err := l.get("karpenter.sh", "NodePool", "", "default")
				return errors.Join(gone("pool", err, notInCluster), l.nothingRuns(), s.remove(budgetsOfPods, "default", "none"))
			},
		},
	)
}
