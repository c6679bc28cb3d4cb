package ownership

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
)

// Refreshed has the records of what this run has read and proven. Terraform hands the private
// state of a refresh to the deletion that follows. Pulumi's Terraform bridge hands it to
// everything but deletions: those take the record that the refresh of the same run has proven
// of the same state. Without a refresh they have none, and delete nothing.
type Refreshed struct {
	mu      sync.Mutex
	records map[string][]reading // by kind and import id, which resources may share
}

// reading is a state that a read has written, with its record.
type reading struct {
	state attr.Value
	own   Record
}

// Remember notes what a read has written to the state and to the private state, which had a
// record before: without one, the object may be somebody else's.
func (r *Refreshed) Remember(kind, id string, state attr.Value, own Record) {
	if state == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.records == nil {
		r.records = map[string][]reading{}
	}
	key := kind + " " + id
	others := slices.DeleteFunc(r.records[key], func(x reading) bool { return x.state.Equal(state) })
	r.records[key] = append(others, reading{state, maps.Clone(own)})
}

// Forget drops the records, as a resource that was created in this run has the object from now on.
func (r *Refreshed) Forget(kind, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.records, kind+" "+id)
}

// Behind gives the private state, with the record of the refresh of the same state if it has
// none of its own.
func (r *Refreshed) Behind(private Reader, kind, id string, state attr.Value) Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.records[kind+" "+id] {
		if x.state.Equal(state) {
			return withRecord{private, maps.Clone(x.own)}
		}
	}
	return private
}

// Whole is the state as one value, to compare: sets of other orders are equal. It is nil if the
// state cannot be read.
func Whole(ctx context.Context, s tfsdk.State) attr.Value {
	value, err := s.Schema.Type().ValueFromTerraform(ctx, s.Raw)
	if err != nil {
		return nil
	}
	return value
}

// withRecord is a private state with a record in reserve.
type withRecord struct {
	Reader
	own Record
}

// GetKey gives the record in reserve where there is no other.
func (p withRecord) GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics) {
	data, diags := p.Reader.GetKey(ctx, key)
	if len(data) > 0 || diags.HasError() || key != recordKey {
		return data, diags
	}
	data, err := json.Marshal(p.own)
	if err != nil {
		diags.AddError("Cannot read the record of the refresh", err.Error())
	}
	return data, diags
}
