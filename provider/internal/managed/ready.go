package managed

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A wait that runs out must not fail a creation: Terraform would replace an object
// that is only slow. Instead, the attribute ready makes the next plan an update,
// and that update continues to wait.

// ReadyModel is embedded by the model of every resource that waits until its object
// is ready.
type ReadyModel struct {
	Wait  types.Bool `tfsdk:"wait"`
	Ready types.Bool `tfsdk:"ready"`
}

// Readiness is the part of a model that says whether its object is ready.
func (m *ReadyModel) Readiness() *ReadyModel { return m }

// Refresh sets what a read finds. Once ready is true, it stays true until the next
// change, or until the object fails.
func (m *ReadyModel) Refresh(now bool) {
	if m.Wait.IsNull() { // imported
		m.Wait = types.BoolValue(true)
	}
	switch {
	case !m.Wait.ValueBool():
		m.Ready = types.BoolNull()
	case !m.Ready.ValueBool():
		m.Ready = types.BoolValue(now)
	}
}

// Fails sets ready for an object that was ready and does nothing any more: the next apply waits
// again.
func (m *ReadyModel) Fails() {
	if m.Wait.ValueBool() {
		m.Ready = types.BoolValue(false)
	}
}

// Begin sets ready to what it is from a change until the wait ends. It tells whether
// the wait is asked for.
func (m *ReadyModel) Begin() bool {
	m.Ready = types.BoolNull()
	if m.Wait.ValueBool() {
		m.Ready = types.BoolValue(false)
	}
	return m.Wait.ValueBool()
}

// WaitAttribute says whether an operation waits until the object is ready.
func WaitAttribute(forWhat string) schema.Attribute {
	return schema.BoolAttribute{
		Optional: true, Computed: true, Default: booldefault.StaticBool(true),
		MarkdownDescription: "Wait until " + forWhat + ". Default `true`. If the timeout ends first, a creation ends with a warning and " +
			"an update ends with an error. Nothing is replaced, and the next apply continues to wait.",
	}
}

// ReadyAttribute says whether the object was ready since the last change.
func ReadyAttribute(what string) schema.Attribute {
	return schema.BoolAttribute{
		Computed: true,
		MarkdownDescription: "Whether " + what + " since Terraform last changed it. While `ready` is `false`, each apply waits again. " +
			"Null if `wait` is `false`.",
		PlanModifiers: []planmodifier.Bool{readyPlan{}},
	}
}

// readyPlan plans the attribute ready.
type readyPlan struct{}

// Description says what is planned.
func (readyPlan) Description(context.Context) string { return "true after the wait" }

// MarkdownDescription says what is planned.
func (m readyPlan) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

// PlanModifyBool plans null without wait, and unknown for a creation, which may end
// before the object is ready. An update that succeeds has waited: true.
func (readyPlan) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	var wait types.Bool
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("wait"), &wait)...)
	switch {
	case wait.IsUnknown(), wait.ValueBool() && req.State.Raw.IsNull():
		resp.PlanValue = types.BoolUnknown()
	case wait.ValueBool():
		resp.PlanValue = types.BoolValue(true)
	default:
		resp.PlanValue = types.BoolNull()
	}
}

// notReady reports that the wait ended before the object was ready. A creation
// gets a warning, because after an error Terraform would replace the object. An
// update gets an error.
func (b *Base) notReady(diags *diag.Diagnostics, verb string, m Identified, err error) {
	if verb != verbCreate {
		b.Fail(diags, verb, m, err)
		return
	}
	diags.AddWarning(fmt.Sprintf("karpenter_%s is not ready", b.Kind), fmt.Sprintf(
		"karpenter_%s %q was created, but is not ready yet: %v\n\nThe next apply continues to wait, and nothing is replaced. "+
			"To check later whether it is ready, run terraform apply -refresh-only.", b.Kind, ImportID(m), err))
}
