package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// awaitNothingLeft returns when no object needs the daemon or its definitions any more. A
// configuration without references is destroyed side by side: an object that is being deleted
// is waited for, as the daemon finishes it. Terraform deletes a few resources at a time, so
// the others are waited for as long as the list changes. Then they are refused: ErrStillNeeded.
func (c *cluster) awaitNothingLeft(ctx context.Context, own made) error {
	since, last := time.Now(), c.nothingLeft(ctx, own)
	if !errors.Is(last, ErrStillNeeded) {
		return last
	}
	err := kube.Polling{Every: leftoversPoll, DeniedWithin: c.DeniedWithin}.Until(ctx, func(ctx context.Context) (bool, error) {
		err := c.nothingLeft(ctx, own)
		if !errors.Is(err, ErrStillNeeded) {
			return err == nil, err
		}
		if err.Error() != last.Error() {
			since = time.Now()
		}
		last = err
		if !errors.Is(err, errEnding) && time.Since(since) >= releasedWithin {
			return false, err
		}
		tflog.Info(ctx, "waiting before the deletion", map[string]any{"object": "daemon", "for": err.Error()})
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return last
	}
	return err
}
