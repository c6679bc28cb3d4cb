package managed

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// undo ends a create that has failed. remove removes what the create made, so that
// no state remains. If remove fails too, keep saves what remains, and the next
// apply or destroy removes it.
func (b *Base) undo(ctx context.Context, diags *diag.Diagnostics, id Identified, m ownership.Record, remove func(context.Context) error, keep func()) {
	if m.Nothing() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if err := remove(ctx); err != nil {
		keep()
		diags.AddError(fmt.Sprintf("Cannot undo the failed creation of karpenter_%s", b.Kind), fmt.Sprintf(
			"karpenter_%s %q: %v.\n\nThe state keeps what remains: the next apply or destroy removes it.", b.Kind, ImportID(id), err))
	}
}

// undoTimeout bounds the removal of what a failed create has made. The create's
// own timeout may have ended by then.
const undoTimeout = 5 * time.Minute
