package provider

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// refreshed has the records of what this run has read, by kind and import id. Terraform hands
// the private state of a refresh to the deletion that follows. Pulumi's Terraform bridge hands
// it to everything but deletions: those take the record that the refresh of the same run has
// proven. Without a refresh they have none, and delete nothing.
type refreshed struct {
	mu      sync.Mutex
	records map[string]made
}

// remember notes what a read has written to the private state.
func (r *refreshed) remember(kind, id string, own made) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.records == nil {
		r.records = map[string]made{}
	}
	r.records[kind+" "+id] = maps.Clone(own)
}

// forget drops the record, as another resource of this run may have the object from now on.
func (r *refreshed) forget(kind, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.records, kind+" "+id)
}

// behind gives the private state, with the record of the refresh if it has none of its own.
func (r *refreshed) behind(private privateReader, kind, id string) privateReader {
	r.mu.Lock()
	defer r.mu.Unlock()
	return withRecord{private, maps.Clone(r.records[kind+" "+id])}
}

// withRecord is a private state with a record in reserve.
type withRecord struct {
	privateReader
	own made
}

// GetKey gives the record in reserve where there is no other.
func (p withRecord) GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics) {
	data, diags := p.privateReader.GetKey(ctx, key)
	if len(data) > 0 || diags.HasError() || key != madeKey || p.own == nil {
		return data, diags
	}
	data, err := json.Marshal(p.own)
	if err != nil {
		diags.AddError("Cannot read the record of the refresh", err.Error())
	}
	return data, diags
}
