package ownership

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// ForgetMarks drops what only says in which way the object is to be deleted.
func (m Record) ForgetMarks() {
	delete(m, KeyReplaced)
	delete(m, KeyHalfMade)
}

// PlanReplacement notes in the plan whether it is one of a replacement.
func PlanReplacement(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	own, recorded := Read(ctx, req.Private, &resp.Diagnostics)
	_, was := own[KeyReplaced]
	is := req.State.Raw.IsNull() && !req.Plan.Raw.IsNull()
	if !recorded || is == was {
		return
	}
	if is {
		own[KeyReplaced] = "true"
	} else {
		delete(own, KeyReplaced) // of a replacement that has failed
	}
	own.Write(ctx, resp.Private, &resp.Diagnostics)
}

// ReplacedOwn is the record of an object that the plan replaces, also where only the user asks for it
// (-replace). Terraform asks for the plan of the new object with the record of the old one. ok is
// false for any other plan.
func ReplacedOwn(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) (own Record, ok bool) {
	own, recorded := Read(ctx, req.Private, diags)
	return own, recorded && req.State.Raw.IsNull() && !req.Plan.Raw.IsNull()
}
