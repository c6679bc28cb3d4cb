package managed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// What nodes need in AWS is deleted only when no instance needs it. The order of a destroy is
// not enough: a configuration without references is destroyed side by side, and a replacement
// deletes first. So a deletion waits, and refuses in the end. Nothing is changed before.

// Need says what still needs a thing that is to be deleted.
type Need struct {
	Why    string
	Within time.Duration // how long it is worth to wait; 0: as long as the deletion may take
	Refuse error         // what the deletion ends with then; nil: it goes on
}

// lookup finds what needs a thing; nil for nothing.
type lookup func(ctx context.Context, client *aws.Clients) (*Need, error)

// AwaitUnused returns when nothing needs the thing that is to be deleted, or when another
// resource has taken it up. What it refuses with has the sentinel of the thing.
func AwaitUnused(ctx context.Context, j Job[*aws.Clients], what string, look lookup) error {
	if j.Own[ownership.KeyHalfMade] != "" {
		return nil // a creation that has failed: nothing uses it
	}
	if j.Own[ownership.KeyReplaced] != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, LeftoversWithin)
		defer cancel()
	}
	var last *Need
	since := time.Now()
	err := wait.PollUntilContextCancel(ctx, LeftoversPoll, true, func(context.Context) (bool, error) {
		j.Spare()
		found, err := look(ctx, j.Client)
		switch {
		case err != nil && (last == nil || errors.Is(err, aws.ErrUnauthorized) || errors.Is(err, aws.ErrCredentials)):
			return false, err
		case err != nil:
			logSurvived(ctx, what, err)
			return false, nil // it may pass
		case found == nil:
			return true, nil
		}
		if last == nil || last.Within != found.Within {
			since = time.Now()
		}
		last = found
		if found.Within > 0 && time.Since(since) >= found.Within {
			return found.Refuse == nil, found.Refuse
		}
		tflog.Info(ctx, "waiting before the deletion", map[string]any{"object": what, "for": found.Why})
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && last != nil && last.Refuse != nil {
		return last.Refuse
	}
	j.Spare() // the last look took its time
	return err
}

// logSurvived logs an error after which a wait goes on.
func logSurvived(ctx context.Context, what string, err error) {
	tflog.Warn(ctx, "asking again what needs the object", map[string]any{"object": what, "error": err.Error()})
}

// WarnOfUse warns that a plan does something to an object which instances need.
func (b *Base) WarnOfUse(ctx context.Context, m Identified, does, way string, diags *diag.Diagnostics, look lookup) {
	if does == "" {
		return
	}
	client, err := b.Session.AWS(ctx)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, PlanCheckTimeout)
	defer cancel()
	found, err := look(ctx, client)
	if err != nil || found == nil {
		return // a plan must also work if AWS cannot be asked: the deletion asks again
	}
	diags.AddWarning(fmt.Sprintf("karpenter_%s is in use", b.Kind), fmt.Sprintf("karpenter_%s %q: the plan %s, and %s.\n\n%s", b.Kind, ImportID(m), does, found.Why, way))
}

// The words for what a plan does with an object.
const (
	PlanDestroys = "destroys it"
	PlanReplaces = "replaces it"
)

// DestroyWaits is what a destroy does with an object that instances need.
const DestroyWaits = "The destroy waits until these instances are terminated, as long as delete of the timeouts attribute says. Then it ends with an error, and nothing of the object was changed."
