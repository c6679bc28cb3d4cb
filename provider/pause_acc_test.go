//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// TestAccDaemon_PauseKeepsAnEmptyNodeUntilItEnds empties a node while disruption is
// paused: an Event says which setting keeps the node. After the pause the node goes.
func TestAccDaemon_PauseKeepsAnEmptyNodeUntilItEnds(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	const address = "karpenter_daemon.this"
	config := func(more string) string {
		return l.infrastructure() + fmt.Sprintf(daemonBlock, more) + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "")
	}
	run(t, l.nothingRuns,
		resource.TestStep{
			Config: config("  pause_disruption = true"),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(address, "pause_disruption", "true"),
				func(*terraform.State) error {
					err := errors.Join(l.launch(t), l.kube.Delete(t.Context(), workload(), ""))
					if err == nil {
						err = eventually(t, func() error {
							return s.toldOfClaim("DisruptionBlocked", "PAUSE_DISRUPTION", "pause_disruption of karpenter_daemon")
						})
					}
					return errors.Join(err, s.claimsAreOf("default"))
				}),
		},
		resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: "karpenter", ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "id"},
		resource.TestStep{
			Config: config(""), ConfigPlanChecks: planned(address, plancheck.ResourceActionUpdate),
			Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr(address, "pause_disruption", "false"),
				func(*terraform.State) error { return eventually(t, l.nothingRuns) }),
		},
	)
}

// toldOfClaim fails unless an Event of that reason about a NodeClaim that exists has all
// the parts.
func (s somebody) toldOfClaim(reason string, parts ...string) error {
	claims, err := s.client.Resource(nodeClaims).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	list, err := s.client.Resource(events).List(context.Background(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		text, _, _ := unstructured.NestedString(e.Object, "message")
		uid, _, _ := unstructured.NestedString(e.Object, "involvedObject", "uid")
		about := slices.ContainsFunc(claims.Items, func(c unstructured.Unstructured) bool { return string(c.GetUID()) == uid })
		if about && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) }) {
			return nil
		}
	}
	return fmt.Errorf("none of %d Events %s is about one of %d NodeClaims and says %q", len(list.Items), reason, len(claims.Items), parts)
}

// eventually repeats the check until it succeeds, for as long as patience lasts.
func eventually(t *testing.T, check func() error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
