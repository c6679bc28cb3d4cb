package fwtype_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwtype"
)

func TestSemanticEquals_ComparesWhatIsMeant(t *testing.T) {
	tests := []struct {
		typ  fwtype.Type
		a, b string
		want bool
	}{
		{fwtype.Quantity(), "1000m", "1", true},
		{fwtype.Quantity(), "1Gi", "1024Mi", true},
		{fwtype.Quantity(), "1G", "1Gi", false},
		{fwtype.Quantity(), "x", "y", false},
		{fwtype.Duration(), "60s", "1m", true},
		{fwtype.Duration(), "1h", "1h0m0s", true},
		{fwtype.Duration(), "Never", "Never", true},
		{fwtype.Duration(), "Never", "0s", false},
	}
	for _, tt := range tests {
		got, _ := tt.typ.Value(tt.a).StringSemanticEquals(t.Context(), tt.typ.Value(tt.b))
		if got != tt.want {
			t.Errorf("%s: %q is %q: %v, want %v", tt.typ, tt.a, tt.b, got, tt.want)
		}
	}
	if same, _ := fwtype.Quantity().Value("1").StringSemanticEquals(t.Context(), fwtype.Duration().Value("1")); same {
		t.Error("a quantity equals a duration")
	}
}
