package handback

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// awaitNodes waits until the Nodes of all launched NodeClaims have joined, and takes the
// daemon's marks off each: a kubelet registers its Node whatever controllers run, and nobody
// but the daemon removes its startup taint. It says which NodeClaims are late, and what to do
// about them.
func (h *Handback) awaitNodes(ctx context.Context, claims []v1.NodeClaim, joined nodesByProvider) error {
	missing, late := lateOf(claims, joined)
	if len(missing) > 0 && h.Wait > 0 && !h.DryRun {
		h.say("waiting up to %s for the nodes of nodeclaims %s, which are launched and join with the taint %s", h.Wait, strings.Join(missing, ", "), v1.TaintAwaitingPods)
		limit, tick := time.NewTimer(h.Wait), time.NewTicker(h.Look)
		defer limit.Stop()
		defer tick.Stop()
		for over := false; len(missing) > 0 && !over; missing, late = lateOf(claims, joined) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("nodes wait: %w", ctx.Err())
			case <-limit.C:
				over = true
			case <-tick.C:
			}
			err := h.stopped(ctx)
			if err == nil {
				joined, err = h.nodes(ctx, claims)
			}
			if err != nil {
				return err
			}
		}
	}
	if len(late) > 0 {
		h.say("nodeclaims %s are launched, and their nodes get the taint %s when they join, which keeps pods away. "+
			"Start Karpenter, wait until the condition Registered of these nodeclaims is True, and run this command again", strings.Join(late, ", "), v1.TaintAwaitingPods)
	}
	return nil
}

// lateOf returns the names of the NodeClaims whose Nodes may yet get the daemon's startup
// taint: missing are those without a Node. Late are these, and those of which Karpenter
// writes the taints on the Node when it registers it, as the Node does not say that it has
// them.
func lateOf(claims []v1.NodeClaim, joined nodesByProvider) (missing, late []string) {
	for i := range claims {
		c := &claims[i]
		if c.Status.ProviderID == "" || c.DeletionTimestamp != nil || c.Conditions().Get(v1.ConditionRegistered).IsTrue() ||
			!slices.ContainsFunc(c.Spec.StartupTaints, func(t v1.Taint) bool { return t.Key == v1.TaintAwaitingPods }) {
			continue
		}
		node := joined[c.Status.ProviderID]
		if node == nil {
			missing = append(missing, c.Name)
		}
		if node == nil || node.Labels[v1.LabelDoNotSyncTaints] != v1.LabelTrue {
			late = append(late, c.Name)
		}
	}
	return missing, late
}
