package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// What nodes need in AWS is deleted only when no instance needs it. The order of a destroy is
// not enough: a configuration without references is destroyed side by side, and a replacement
// deletes first. So a deletion waits, and refuses in the end. Nothing is changed before.

// need says what still needs a thing that is to be deleted.
type need struct {
	why    string
	within time.Duration // how long it is worth to wait; 0: as long as the deletion may take
	refuse error         // what the deletion ends with then; nil: it goes on
}

// lookup finds what needs a thing; nil for nothing.
type lookup func(ctx context.Context, client *aws.Clients) (*need, error)

// awaitUnused returns when nothing needs the thing that is to be deleted, or when another
// resource has taken it up. What it refuses with has the sentinel of the thing.
func awaitUnused(ctx context.Context, j job[*aws.Clients], what string, look lookup) error {
	if j.own[madeHalf] != "" {
		return nil // a creation that has failed: nothing uses it
	}
	if j.own[madeReplaced] != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, leftoversWithin)
		defer cancel()
	}
	var last *need
	since := time.Now()
	err := wait.PollUntilContextCancel(ctx, leftoversPoll, true, func(context.Context) (bool, error) {
		j.spare()
		found, err := look(ctx, j.client)
		switch {
		case err != nil && (last == nil || errors.Is(err, aws.ErrUnauthorized) || errors.Is(err, aws.ErrCredentials)):
			return false, err
		case err != nil:
			logSurvived(ctx, what, err)
			return false, nil // it may pass
		case found == nil:
			return true, nil
		}
		if last == nil || last.within != found.within {
			since = time.Now()
		}
		last = found
		if found.within > 0 && time.Since(since) >= found.within {
			return found.refuse == nil, found.refuse
		}
		tflog.Info(ctx, "waiting before the deletion", map[string]any{"object": what, "for": found.why})
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && last != nil && last.refuse != nil {
		return last.refuse
	}
	j.spare() // the last look took its time
	return err
}

// logSurvived logs an error after which a wait goes on.
func logSurvived(ctx context.Context, what string, err error) {
	tflog.Warn(ctx, "asking again what needs the object", map[string]any{"object": what, "error": err.Error()})
}

// warnOfUse warns that a plan does something to an object which instances need.
func (b *base) warnOfUse(ctx context.Context, m identified, does, way string, diags *diag.Diagnostics, look lookup) {
	if does == "" {
		return
	}
	client, err := b.session.AWS(ctx)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, planCheckTimeout)
	defer cancel()
	found, err := look(ctx, client)
	if err != nil || found == nil {
		return // a plan must also work if AWS cannot be asked: the deletion asks again
	}
	diags.AddWarning(fmt.Sprintf("karpenter_%s is in use", b.kind), fmt.Sprintf("karpenter_%s %q: the plan %s, and %s.\n\n%s", b.kind, importID(m), does, found.why, way))
}

// The words for what a plan does with an object.
const (
	planDestroys = "destroys it"
	planReplaces = "replaces it"
)

// destroyWaits is what a destroy does with an object that instances need.
const destroyWaits = "The destroy waits until these instances are gone, as long as delete of the timeouts attribute says. Then it ends with an error, and nothing of the object was changed."
