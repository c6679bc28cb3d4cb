//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

var nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}

// TestAccNodePool_ARenameIsOneUpdateThatMovesThePods renames a pool whose node runs a
// pod: the pod gets a node of the new pool, and the old pool and its node go.
func TestAccNodePool_ARenameIsOneUpdateThatMovesThePods(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	const pool = "karpenter_node_pool.this"
	base := l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "")
	named := func(name, more string) string {
		return base + strings.Replace(fmt.Sprintf(poolBlock, more), `name         = "default"`, fmt.Sprintf("name = %q", name), 1)
	}
	var before string
	run(t, func() error {
		return errors.Join(l.nothingRuns(), l.kube.Delete(context.Background(), workload(), ""))
	},
		resource.TestStep{Config: named("default", ""), Check: func(*terraform.State) error { return l.launch(t) }},
		resource.TestStep{ // the new name is taken
			PreConfig: meddle(t, func() error {
				if err := s.hashed("default"); err != nil {
					return err
				}
				before = s.look(nodePools, "", "default")
				spec := s.get(nodePools, "", "default").Object["spec"]
				return s.create(nodePools, "", map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "other"}, "spec": spec})
			}),
			Config: named("other", ""), ConfigPlanChecks: planned(pool, plancheck.ResourceActionUpdate),
			ExpectError: regexp.MustCompile(`(?s)NodePool\s+"other"\s+already\s+exists.*Nothing\s+was\s+changed`),
		},
		resource.TestStep{
			PreConfig: meddle(t, func() error {
				return errors.Join(s.unchanged(before, nodePools, "", "default"), s.remove(nodePools, "", "other"))
			}),
			Config: named("other", ""), ConfigPlanChecks: planned(pool, plancheck.ResourceActionUpdate),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(pool, "name", "other"), resource.TestCheckResourceAttr(pool, "ready", "true"),
				func(*terraform.State) error {
					_, old := l.get("karpenter.sh", "NodePool", "", "default")
					return errors.Join(gone("the old pool", old, notInCluster), s.claimsAreOf("other"), l.launch(t))
				}),
		},
		resource.TestStep{Config: named("other", ""), PlanOnly: true},
		resource.TestStep{
			Config: named("other", "  deletion_protection = true"), ConfigPlanChecks: planned(pool, plancheck.ResourceActionUpdate),
		},
		resource.TestStep{
			ResourceName: pool, ImportState: true, ImportStateId: "other", ImportStateVerify: true,
			ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"deletion_protection"},
		},
		resource.TestStep{Config: named("other", "  deletion_protection = true"), Destroy: true, ExpectError: regexp.MustCompile(`(?s)deletion_protection\s+is\s+true`)},
		resource.TestStep{Config: base, ExpectError: regexp.MustCompile(`(?s)deletion_protection\s+is\s+true`)},
		resource.TestStep{Config: named("third", "  deletion_protection = true"), ExpectError: regexp.MustCompile(`(?s)deletion_protection\s+is\s+true.*"third"`)},
		resource.TestStep{Config: named("other", ""), ConfigPlanChecks: planned(pool, plancheck.ResourceActionUpdate)},
	)
}

// hashed waits until the daemon has written the pool's hash: then it changes the pool no more.
func (s somebody) hashed(pool string) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if s.get(nodePools, "", pool).GetAnnotations()["karpenter.sh/nodepool-hash"] != "" {
			return nil
		}
	}
	return fmt.Errorf("the daemon has not written the hash of NodePool %s within %s", pool, patience)
}

// claimsAreOf fails if a NodeClaim is of another pool, or if there is none.
func (s somebody) claimsAreOf(pool string) error {
	list, err := s.client.Resource(nodeClaims).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, c := range list.Items {
		if got := c.GetLabels()["karpenter.sh/nodepool"]; got != pool {
			err = errors.Join(err, fmt.Errorf("NodeClaim %s is of pool %s", c.GetName(), got))
		}
	}
	if len(list.Items) == 0 {
		err = errors.New("there is no NodeClaim")
	}
	return err
}

// renaming is a provider whose requests can be cut off, in a cluster without the
// daemon: pools are ready as soon as the provider looks.
type renaming struct {
	somebody
	h      *harness
	writes atomic.Int64 // that are still let through, if cut
	cut    atomic.Bool
	wait   atomic.Bool // no pool becomes ready
}

func startRenaming(t *testing.T) *renaming {
	t.Helper()
	l := startLab(t)
	r := &renaming{somebody: l.somebody(t)}
	crds, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if err := r.create(definitions, "", crd.Object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.remove(definitions, "", crd.GetName()); err != nil {
				t.Error(err)
			}
		})
	}
	r.h = l.behind(t, func(w http.ResponseWriter, req *http.Request) bool {
		write := req.Method != http.MethodGet
		if r.cut.Load() && (r.writes.Load() <= 0 || write && r.writes.Add(-1) < 0) {
			http.Error(w, "the connection is cut", http.StatusTeapot)
			return true
		}
		if name, isPool := strings.CutPrefix(req.URL.Path, "/apis/karpenter.sh/v1/nodepools/"); isPool && !write && !r.wait.Load() {
			r.markReady(name)
		}
		return false
	})
	return r
}

// markReady does what the daemon does with a pool that it can use.
func (r *renaming) markReady(name string) {
	client := r.client.Resource(nodePools)
	pool, err := client.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return
	}
	status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":%d}]}}`, pool.GetGeneration())
	if _, err := client.Patch(context.Background(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil && !notFound(err) {
		r.t.Error(err)
	}
}

// pools are the names of the pools in the cluster.
func (r *renaming) pools() []string {
	r.t.Helper()
	list, err := r.client.Resource(nodePools).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, p := range list.Items {
		names = append(names, p.GetName())
	}
	slices.Sort(names)
	return names
}

func (r *renaming) wantPools(want ...string) {
	r.t.Helper()
	if got := r.pools(); !slices.Equal(got, want) {
		r.t.Errorf("the NodePools are %v, want %v", got, want)
	}
}

func called(name string, changes object) object {
	config := poolConfig(changes)
	config["name"] = name
	return config
}

// killed applies, and lets so many writes through. The update saves nothing, as if the
// process had been killed.
func (r *renaming) killed(i *instance, config object, writes int64) {
	r.t.Helper()
	state, private, identity := i.state, i.private, i.identity
	r.writes.Store(writes)
	r.cut.Store(true)
	if diags := i.apply(config); !hasError(diags) {
		r.t.Fatalf("the update ends well after %d writes", writes)
	}
	r.cut.Store(false)
	i.state, i.private, i.identity = state, private, identity
}

// The writes of a rename are the creation, two that make its fields ours, and the
// deletion.
func TestRename_AnUpdateThatIsKilledAfterAnyWriteIsFinishedOrTakenBack(t *testing.T) {
	r := startRenaming(t)
	for writes := range int64(5) {
		for _, refresh := range []bool{true, false} {
			for _, name := range []string{"after", "before"} {
				if writes == 4 && name == "before" && !refresh {
					continue // the old pool is gone, and only a refresh can tell
				}
				pool := r.h.resource("karpenter_node_pool")
				wantNoError(t, pool.apply(called("before", nil)))
				r.killed(pool, called("after", object{"weight": 3}), writes)
				if refresh {
					wantNoError(t, pool.read())
				}
				t.Logf("%d writes, then name = %s: NodePools %v", writes, name, r.pools())
				wantNoError(t, pool.apply(called(name, object{"weight": 4})))
				r.wantPools(name)
				pool.settled(called(name, object{"weight": 4}))
				wantNoError(t, pool.destroy())
				r.wantPools()
			}
		}
	}
}

func TestRename_ADestroyTakesWhatAKilledUpdateCreated(t *testing.T) {
	r := startRenaming(t)
	pool := r.h.resource("karpenter_node_pool")
	wantNoError(t, pool.apply(called("before", nil)))
	r.killed(pool, called("after", nil), 3)
	r.wantPools("after", "before")
	wantNoError(t, pool.destroy())
	r.wantPools()
}

func TestRename_TheOldPoolStaysUntilTheNewOneIsReady(t *testing.T) {
	r := startRenaming(t)
	for _, wait := range []bool{true, false} {
		pool := r.h.resource("karpenter_node_pool")
		wantNoError(t, pool.apply(called("before", object{"wait": wait})))
		uid := r.get(nodePools, "", "before").GetUID()
		next := called("after", object{"wait": wait, "timeouts": object{"update": "2s"}})
		r.wait.Store(true)
		for range 2 {
			wantError(t, pool.apply(next), `karpenter_node_pool "before"`, `NodePool "after" exists and is not ready, so NodePool "before" was not deleted`, "condition Ready",
				"apply again: the apply continues", `set name = "before" and apply: the apply deletes NodePool "after"`)
			r.wantPools("after", "before")
			if got := pool.text("name"); got != "before" {
				t.Errorf("the state has the name %s", got)
			}
			wantNoError(t, pool.read())
		}
		r.wait.Store(false)
		back := called("before", object{"wait": wait})
		pool.drifted(back, "ready")
		wantNoError(t, pool.apply(back))
		r.wantPools("before")
		pool.settled(back)
		if r.get(nodePools, "", "before").GetUID() != uid {
			t.Error("the old pool was replaced")
		}
		wantNoError(t, pool.apply(next))
		r.wantPools("after")
		pool.settled(next)
		wantNoError(t, pool.destroy())
	}
}

func TestRename_TheNextApplyWaitsForTheNodesOfTheOldPool(t *testing.T) {
	r := startRenaming(t)
	for _, refreshed := range []bool{true, false} {
		pool := r.h.resource("karpenter_node_pool")
		wantNoError(t, pool.apply(called("before", nil)))
		old := r.get(nodePools, "", "before")
		claim := map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
			"metadata": map[string]any{
				"name": "n", "labels": map[string]any{"karpenter.sh/nodepool": "before"}, "finalizers": []any{"karpenter.sh/termination"},
				"ownerReferences": []any{map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "before", "uid": string(old.GetUID())}},
			},
			"spec": map[string]any{"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": []any{}},
		}
		if err := r.create(nodeClaims, "", claim); err != nil {
			t.Fatal(err)
		}
		next := called("after", object{"timeouts": object{"delete": "2s"}})
		wantError(t, pool.apply(next), `karpenter_node_pool "before"`, `NodePool "after" is ready, and NodePool "before" or its nodes are still there`, "1 NodeClaims still exist",
			"The daemon continues to drain", "Apply again", "delete of the timeouts attribute")
		if got := pool.text("name"); got != "after" {
			t.Errorf("the state has the name %s", got)
		}
		wantNoError(t, pool.read())
		pool.drifted(next, "ready")
		if err := r.remove(nodeClaims, "", "n"); err != nil && !notFound(err) {
			t.Fatal(err)
		}
		if refreshed { // a refresh alone sees that nothing is left to do
			pool.settled(next)
		}
		wantNoError(t, pool.apply(next))
		pool.settled(next)
		r.wantPools("after")
		wantNoError(t, pool.destroy())
	}
}

func TestRename_ATakenNameIsRefusedBeforeAnythingIsChanged(t *testing.T) {
	r := startRenaming(t)
	pool := r.h.resource("karpenter_node_pool")
	wantNoError(t, pool.apply(called("before", nil)))
	ours := r.get(nodePools, "", "before")
	// A copy with every label of ours is not ours.
	theirs := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": ours.Object["spec"],
		"metadata": map[string]any{"name": "after", "labels": map[string]any{"karpenterd.sh/renamed-from": string(ours.GetUID())}},
	}
	if err := r.create(nodePools, "", theirs); err != nil {
		t.Fatal(err)
	}
	before, others := r.look(nodePools, "", "before"), r.look(nodePools, "", "after")
	wantError(t, pool.apply(called("after", object{"weight": 3})), `NodePool "after" already exists`, "Nothing was changed", "Choose another name", `delete NodePool "after"`)
	if err := errors.Join(r.unchanged(before, nodePools, "", "before"), r.unchanged(others, nodePools, "", "after")); err != nil {
		t.Error(err)
	}
	pool.settled(called("before", nil))
	wantNoError(t, pool.destroy())
	r.wantPools("after")
	if err := r.remove(nodePools, "", "after"); err != nil {
		t.Fatal(err)
	}
}
