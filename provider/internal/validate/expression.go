package validate

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// expressions checks one expression of a selector: an object with key, operator and values.
type expressions struct{ operators []string }

// Expression accepts expressions with one of the operators, and as many values as it takes.
func Expression(operators ...string) validator.Object { return expressions{operators} }

// Description says what is accepted.
func (e expressions) Description(context.Context) string {
	return "an expression whose operator and values fit each other"
}

// MarkdownDescription says what is accepted.
func (e expressions) MarkdownDescription(ctx context.Context) string { return e.Description(ctx) }

// ValidateObject checks the known parts.
func (e expressions) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	attributes := req.ConfigValue.Attributes()
	operator, isText := attributes["operator"].(types.String)
	values, isSet := attributes["values"].(types.Set)
	if !isText || !isSet || operator.IsNull() || operator.IsUnknown() {
		return
	}
	if name := operator.ValueString(); !slices.Contains(e.operators, name) {
		resp.Diagnostics.AddAttributeError(req.Path.AtName("operator"), "Invalid value",
			fmt.Sprintf("%s: %q is no operator here: write one of %q.", req.Path.AtName("operator"), name, e.operators))
		return
	}
	if values.IsUnknown() {
		return
	}
	if problem := e.mismatch(operator.ValueString(), values); problem != "" {
		resp.Diagnostics.AddAttributeError(req.Path.AtName("values"), "Invalid value", fmt.Sprintf("%s: %s.", req.Path.AtName("values"), problem))
	}
}

// mismatch says why the values do not fit the operator; empty if they do.
func (e expressions) mismatch(operator string, values types.Set) string {
	n := len(values.Elements())
	switch operator {
	case "Exists", "DoesNotExist":
		if n > 0 {
			return fmt.Sprintf("operator %s takes no values: remove them, or use another operator", operator)
		}
	case "Gt", "Lt":
		if n != 1 {
			return fmt.Sprintf("operator %s takes one value, and there are %d: give one whole number", operator, n)
		}
		text, isText := values.Elements()[0].(types.String)
		if !isText || text.IsUnknown() {
			return ""
		}
		if _, err := strconv.ParseInt(text.ValueString(), 10, 64); err != nil {
			return fmt.Sprintf("operator %s takes a whole number, and the value is %q", operator, text.ValueString())
		}
	default:
		if n == 0 {
			return fmt.Sprintf("operator %s takes at least one value, and there is none: add values, or use Exists or DoesNotExist", operator)
		}
	}
	return ""
}
