package convert

import (
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// RequirementType is the type of an element of requirements.
func RequirementType() types.ObjectType { return objectTypeOf(reflect.TypeFor[v1.Requirement]()) }

// TaintType is the type of an element of taints and startup_taints.
func TaintType() types.ObjectType { return objectTypeOf(reflect.TypeFor[v1.Taint]()) }
