package ownership

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
)

// Record is the record of what a resource has made or imported. Each key is the
// resource's own word for a thing. The value is the identity of the thing, which
// differs from that of another thing of the same name: RoleId, ARN with the second
// of creation, UID. What is not in the record is somebody else's: the resource neither
// changes nor deletes it, except for definitions that were adopted, which have keys of their
// own (KeyAdopted). The record is kept in the private state.
type Record map[string]string

// recordKey is the key of the private state under which the record is kept.
const recordKey = "made"

// Reader is the private state of a request.
type Reader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// Writer is the private state of a response.
type Writer interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// Read reads the record in the private state. recorded is false if there is no
// record: after an import, and in a state that an earlier version of the provider
// wrote. A Read then records what it finds. Every other operation must stop.
func Read(ctx context.Context, private Reader, diags *diag.Diagnostics) (m Record, recorded bool) {
	data, d := private.GetKey(ctx, recordKey)
	diags.Append(d...)
	m = Record{}
	if len(data) == 0 {
		return m, false
	}
	if err := json.Unmarshal(data, &m); err != nil {
		diags.AddError("Cannot read the private state", fmt.Sprintf(
			"The record of what this resource created is not valid: %v. Remove the resource from the state (terraform state rm), then import it.", err))
	}
	return m, true
}

// Write writes m to the private state.
func (m Record) Write(ctx context.Context, private Writer, diags *diag.Diagnostics) {
	m.warnTakenUp(diags)
	data, err := json.Marshal(m)
	if err != nil {
		diags.AddError("Cannot write the private state", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, recordKey, data)...)
}

// Identity returns the identity of the thing under that key, for an update or a
// delete. ErrUnproven.
func (m Record) Identity(name string) (string, error) {
	if m[name] == "" {
		return "", fmt.Errorf("%s: %w", name, failure.ErrUnproven)
	}
	return m[name], nil
}

// Is tells whether the thing with that key and identity is the one in m.
func (m Record) Is(name, identity string) bool {
	known, has := m[name]
	return has && known != "" && known == identity
}

// Nothing tells whether m has nothing that could be removed. The cluster does not count, as
// no resource makes it, nor do adopted definitions, which stay.
func (m Record) Nothing() bool {
	for key := range m {
		if key != KeyCluster && !strings.HasPrefix(key, KeyAdopted) {
			return false
		}
	}
	return true
}
