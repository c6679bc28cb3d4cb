package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// forgetMarks drops what only says in which way the object is to be deleted.
func (m made) forgetMarks() {
	delete(m, madeReplaced)
	delete(m, madeHalf)
}

// planReplacement notes in the plan whether it is one of a replacement.
func planReplacement(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	_, was := own[madeReplaced]
	is := req.State.Raw.IsNull() && !req.Plan.Raw.IsNull()
	if !recorded || is == was {
		return
	}
	if is {
		own[madeReplaced] = "true"
	} else {
		delete(own, madeReplaced) // of a replacement that has failed
	}
	own.write(ctx, resp.Private, &resp.Diagnostics)
}

// replacedOwn is the record of an object that the plan replaces, also where only the user asks for it
// (-replace). Terraform asks for the plan of the new object with the record of the old one. ok is
// false for any other plan.
func replacedOwn(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) (own made, ok bool) {
	own, recorded := readMade(ctx, req.Private, diags)
	return own, recorded && req.State.Raw.IsNull() && !req.Plan.Raw.IsNull()
}
