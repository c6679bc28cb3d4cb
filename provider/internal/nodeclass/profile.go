package nodeclass

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// profileFaults says what is wrong with role and instance_profile. The format of
// instance_profile is checked with all that keeps a class from being ready.
func profileFaults(role, profile types.String) []translate.Fault {
	const field, ofProfile = "spec.role", "spec.instanceProfile"
	if !role.IsUnknown() && !profile.IsUnknown() {
		switch {
		case role.IsNull() && profile.IsNull():
			return []translate.Fault{{
				Path: field, Effect: "neither role nor instance_profile is set, and instances without a role cannot join the cluster", Remedy: "set one of them",
			}}
		case !role.IsNull() && !profile.IsNull():
			return []translate.Fault{{Path: field, Effect: "role and instance_profile are both set", Remedy: "remove one of them"}}
		}
	}
	var out []translate.Fault
	if name := role.ValueString(); !role.IsNull() && !role.IsUnknown() && awsspec.CheckRole(name) != nil {
		out = append(out, translate.Fault{
			Path: field, Effect: fmt.Sprintf("%q is not the name of an IAM role", name),
			Remedy: "write its name, 1 to 64 letters, digits and +=,.@_-, or its ARN",
		})
	}
	if !profile.IsNull() && !profile.IsUnknown() && profile.ValueString() == "" {
		out = append(out, translate.Fault{Path: ofProfile, Effect: `"" is not the name of an instance profile`, Remedy: "write the name, or remove the attribute and set role"})
	}
	return out
}

// withoutProfileFaults completes a spec that has none or both of role and instance
// profile. profileFaults has said so, or one is unknown: the definition need not say
// it again without naming an attribute.
func withoutProfileFaults(spec *awsv1.EC2NodeClassSpec) {
	if (spec.Role == "") == (spec.InstanceProfile == "") {
		spec.Role, spec.InstanceProfile = "", "some"
	}
}
