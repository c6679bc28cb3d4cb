//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// TestAccDaemon_PauseKeepsAnEmptyNodeUntilItEnds empties a node while disruption is
// paused: an Event says which setting keeps the node. After the pause the node goes.
func TestAccDaemon_PauseKeepsAnEmptyNodeUntilItEnds(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
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
								err = eventually(t, func() error { return s.told("DisruptionBlocked", "PAUSE_DISRUPTION", "pause_disruption of karpenter_daemon") })
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
		})
	}
}

// told fails unless an Event of that reason has all the parts.
func (s somebody) told(reason string, parts ...string) error {
	list, err := s.client.Resource(events).List(context.Background(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		text, _ := e.Object["message"].(string)
		found := true
		for _, part := range parts {
			found = found && strings.Contains(text, part)
		}
		if found {
			return nil
		}
	}
	return fmt.Errorf("none of %d Events %s says %q", len(list.Items), reason, parts)
}

// eventually repeats the check until it succeeds, for two minutes at most.
func eventually(t *testing.T, check func() error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
