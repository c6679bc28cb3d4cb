package provider

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// privateReader and privateWriter are the private state of a request and of a response.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readStrings reads a list from the private state; nil where it has none.
func readStrings(ctx context.Context, private privateReader, key string, diags *diag.Diagnostics) []string {
	data, d := private.GetKey(ctx, key)
	diags.Append(d...)
	if len(data) == 0 {
		return nil
	}
	var out []string
	if err := json.Unmarshal(data, &out); err != nil {
		diags.AddError("Cannot read the private state", err.Error())
	}
	return out
}

// writeStrings writes a list, sorted and each once, to the private state.
func writeStrings(ctx context.Context, private privateWriter, key string, values []string, diags *diag.Diagnostics) {
	sorted := slices.Compact(slices.Sorted(slices.Values(values)))
	data, err := json.Marshal(sorted)
	if err != nil {
		diags.AddError("Cannot write the private state", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, key, data)...)
}
