package validate_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/validate"
)

func TestChecks_RefuseMalformedValuesNamingPathAndRemedy(t *testing.T) {
	tests := []struct {
		name    string
		check   validator.String
		good    []string
		bad     []string
		mention string // every message has it, besides the path
	}{
		{"iam path", validate.IAMPath(), []string{"/", "/team/", "/a/b/"}, []string{"", "team/", "/team"}, "/team/"},
		{"role arn", validate.ARN("iam", "role/"), []string{"arn:aws:iam::123456789012:role/x", "arn:aws-us-gov:iam::123456789012:role/p/x"}, []string{"x", "arn:aws:iam::123456789012:user/x", "arn:aws:iam::1:role/x"}, "arn:aws:iam"},
		{"policy arn", validate.ARN("iam", "policy/"), []string{"arn:aws:iam::aws:policy/ReadOnlyAccess"}, []string{"arn:aws:iam::aws:role/x"}, "policy/"},
		{"subnet", validate.ID("subnet"), []string{"subnet-0a1b"}, []string{"sg-0a1b", "subnet-", "subnet-XYZ"}, "subnet-"},
		{"object", validate.ObjectName(), []string{"default", "a.b"}, []string{"", "Upper", "a_b"}, ""},
		{"label key", validate.LabelKey(), []string{"team", "example.com/team"}, []string{"", "a b", "/x"}, ""},
		{"label value", validate.LabelValue(), []string{"", "a-b"}, []string{"a b", "-a"}, ""},
		{"quantity", validate.Quantity(), []string{"0", "1000m", "64Gi", "1e3"}, []string{"", "lots", "-1", "1gb"}, ""},
		{"duration", validate.Duration(), []string{"0s", "1h30m"}, []string{"", "Never", "1d", "-5m", "1.5h", strings.Repeat("9", 30) + "h"}, ""},
		{"duration or never", validate.Duration("Never"), []string{"Never", "5m"}, []string{"never", "5"}, "Never"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, value := range tt.good {
				if got := run(t, tt.check, types.StringValue(value)); got != "" {
					t.Errorf("%q is refused: %s", value, got)
				}
			}
			for _, value := range tt.bad {
				got := run(t, tt.check, types.StringValue(value))
				if !strings.HasPrefix(got, "field: ") || !strings.Contains(got, tt.mention) {
					t.Errorf("%q: message %q, want one that names the field and has %q", value, got, tt.mention)
				}
			}
			if got := run(t, tt.check, types.StringUnknown()); got != "" {
				t.Errorf("an unknown value is refused: %s", got)
			}
		})
	}
}

func run(t *testing.T, check validator.String, value types.String) string {
	t.Helper()
	var resp validator.StringResponse
	check.ValidateString(t.Context(), validator.StringRequest{Path: path.Root("field"), ConfigValue: value}, &resp)
	if !resp.Diagnostics.HasError() {
		return ""
	}
	return resp.Diagnostics.Errors()[0].Detail()
}
