package managed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

// The operations, as diagnostics name them.
const (
	VerbPlan   = "plan"
	verbCreate = "create"
	VerbRead   = "read"
	VerbUpdate = "update"
	verbDelete = "delete"
)

// Fail adds one error: the operation, the object, what is wrong, and the remedy.
func (b *Base) Fail(diags *diag.Diagnostics, verb string, m Identified, err error) {
	id := ImportID(m)
	if verb == verbDelete && errors.Is(err, failure.ErrOldCluster) {
		b.warnOldCluster(diags, id, err) // it went with its cluster
		return
	}
	var namesake *failure.NamesakeError
	detail := fmt.Sprintf("karpenter_%s %q: %s.", b.Kind, id, strings.TrimSuffix(err.Error(), "."))
	remedy := b.Remedy(id, err)
	if conflict := errors.Is(err, aws.ErrConflict) || errors.Is(err, kube.ErrExists); conflict && verb == VerbUpdate && !errors.Is(err, failure.ErrOtherAccessEntry) && !errors.Is(err, failure.ErrOtherAssociation) && !errors.Is(err, failure.ErrUnfit) {
		remedy = failure.OtherInPlace(b.importBlock(id))
	}
	if errors.As(err, &namesake) && (verb != VerbUpdate || namesake.Other) {
		remedy = namesake.Remedy(b.importBlock(id))
	}
	if remedy != "" {
		detail += "\n\n" + remedy
	}
	diags.AddError(fmt.Sprintf("Cannot %s karpenter_%s", verb, b.Kind), detail)
}

// importBlock is the configuration that adopts the object.
func (b *Base) importBlock(id string) string {
	return fmt.Sprintf("  import {\n    to = karpenter_%s.NAME\n    id = %q\n  }", b.Kind, id)
}

// unread ends a read for which no client could be made. While the provider's
// configuration is not known yet, the prior state stays: a plan that replaces the
// cluster must still be able to read the resources in it.
func (b *Base) unread(ctx context.Context, resp *resource.ReadResponse, prior Identified, err error) {
	if errors.Is(err, failure.ErrOldCluster) {
		b.warnOldCluster(&resp.Diagnostics, ImportID(prior), err)
		b.forget(ctx, resp, prior)
		return
	}
	if !errors.Is(err, failure.ErrConfigUnknown) {
		b.Fail(&resp.Diagnostics, VerbRead, prior, err)
		return
	}
	b.Identify(ctx, resp.Identity, &resp.Diagnostics, prior)
	resp.Diagnostics.AddWarning(fmt.Sprintf("karpenter_%s was not refreshed", b.Kind),
		fmt.Sprintf("karpenter_%s %q: the %v. The resource keeps its last known state until the configuration is known.", b.Kind, ImportID(prior), err))
}

// warnOldCluster tells that the state lets an object go because its cluster is gone.
func (b *Base) warnOldCluster(diags *diag.Diagnostics, id string, err error) {
	diags.AddWarning(fmt.Sprintf("karpenter_%s leaves the state", b.Kind), fmt.Sprintf(
		"karpenter_%s %q: %v.\n\nThe provider has accept_new_cluster = true, so the resource leaves the state. If the configuration has it, the next plan creates it. Nothing in this cluster was read, taken over or deleted. "+
			"If the other cluster still exists, its objects stay there: correct eks or kubernetes before you apply. Otherwise remove accept_new_cluster after the apply.", b.Kind, id, err))
}

// Remedy says what to do about the error of the object with the id.
func (b *Base) Remedy(id string, err error) string { return failure.RemedyFor(err, b.importBlock(id)) }
