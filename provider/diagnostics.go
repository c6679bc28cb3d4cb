package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// The operations, as diagnostics name them.
const (
	verbPlan   = "plan"
	verbCreate = "create"
	verbRead   = "read"
	verbUpdate = "update"
	verbDelete = "delete"
)

// fail adds one error: the operation, the object, what is wrong, and the remedy.
func (b *base) fail(diags *diag.Diagnostics, verb string, m identified, err error) {
	id := importID(m)
	if verb == verbDelete && errors.Is(err, ErrOldCluster) {
		b.warnOldCluster(diags, id, err) // it went with its cluster
		return
	}
	var namesake *namesakeError
	detail := fmt.Sprintf("karpenter_%s %q: %s.", b.kind, id, strings.TrimSuffix(err.Error(), "."))
	remedy := b.remedy(id, err)
	if conflict := errors.Is(err, aws.ErrConflict) || errors.Is(err, kube.ErrExists); conflict && verb == verbUpdate && !errors.Is(err, ErrOtherAccessEntry) && !errors.Is(err, ErrOtherAssociation) && !errors.Is(err, ErrUnfit) {
		remedy = otherInPlace(b.importBlock(id))
	}
	if errors.As(err, &namesake) && (verb != verbUpdate || namesake.other) {
		remedy = namesake.remedy(b.importBlock(id))
	}
	if remedy != "" {
		detail += "\n\n" + remedy
	}
	diags.AddError(fmt.Sprintf("Cannot %s karpenter_%s", verb, b.kind), detail)
}

// importBlock is the configuration that adopts the object.
func (b *base) importBlock(id string) string {
	return fmt.Sprintf("  import {\n    to = karpenter_%s.NAME\n    id = %q\n  }", b.kind, id)
}

// unread ends a read for which no client could be made. While the provider's
// configuration is not known yet, the prior state stays: a plan that replaces the
// cluster must still be able to read the resources in it.
func (b *base) unread(ctx context.Context, resp *resource.ReadResponse, prior identified, err error) {
	if errors.Is(err, ErrOldCluster) {
		b.warnOldCluster(&resp.Diagnostics, importID(prior), err)
		b.forget(ctx, resp, prior)
		return
	}
	if !errors.Is(err, ErrConfigUnknown) {
		b.fail(&resp.Diagnostics, verbRead, prior, err)
		return
	}
	b.identify(ctx, resp.Identity, &resp.Diagnostics, prior)
	resp.Diagnostics.AddWarning(fmt.Sprintf("karpenter_%s was not refreshed", b.kind),
		fmt.Sprintf("karpenter_%s %q: the %v. The resource keeps its last known state until the configuration is known.", b.kind, importID(prior), err))
}

// warnOldCluster tells that the state lets an object go because its cluster is gone.
func (b *base) warnOldCluster(diags *diag.Diagnostics, id string, err error) {
	diags.AddWarning(fmt.Sprintf("karpenter_%s leaves the state", b.kind), fmt.Sprintf(
		"karpenter_%s %q: %v.\n\nThe provider has accept_new_cluster = true, so the resource leaves the state. If the configuration has it, the next plan creates it. Nothing in this cluster was read, taken over or deleted. "+
			"If the other cluster still exists, its objects stay there: correct eks or kubernetes before you apply. Otherwise remove accept_new_cluster after the apply.", b.kind, id, err))
}

// remedy says what to do about the error of the object with the id.
func (b *base) remedy(id string, err error) string { return remedyFor(err, b.importBlock(id)) }
