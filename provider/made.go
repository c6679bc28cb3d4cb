package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// made is the record of what a resource has made or imported. Each key is the
// resource's own word for a thing. The value is the identity of the thing, which
// differs from that of another thing of the same name: RoleId, ARN with the second
// of creation, UID. What is not in made is somebody else's: the resource neither
// changes nor deletes it, except for definitions that were adopted, which have keys of their
// own (adoptedPrefix). made is kept in the private state.
type made map[string]string

// madeKey is the key of the private state under which made is kept.
const madeKey = "made"

// privateReader and privateWriter are the private state of a request and of a response.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readMade reads the record in the private state. recorded is false if there is no
// record: after an import, and in a state that an earlier version of the provider
// wrote. A Read then records what it finds. Every other operation must stop.
func readMade(ctx context.Context, private privateReader, diags *diag.Diagnostics) (m made, recorded bool) {
	data, d := private.GetKey(ctx, madeKey)
	diags.Append(d...)
	m = made{}
	if len(data) == 0 {
		return m, false
	}
	if err := json.Unmarshal(data, &m); err != nil {
		diags.AddError("Cannot read the private state", fmt.Sprintf(
			"The record of what this resource created is not valid: %v. Remove the resource from the state (terraform state rm), then import it.", err))
	}
	return m, true
}

// write writes m to the private state.
func (m made) write(ctx context.Context, private privateWriter, diags *diag.Diagnostics) {
	m.warnTakenUp(diags)
	data, err := json.Marshal(m)
	if err != nil {
		diags.AddError("Cannot write the private state", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, madeKey, data)...)
}

// identity returns the identity of the thing under that key, for an update or a
// delete. ErrUnproven.
func (m made) identity(name string) (string, error) {
	if m[name] == "" {
		return "", fmt.Errorf("%s: %w", name, ErrUnproven)
	}
	return m[name], nil
}

// is tells whether the thing with that key and identity is the one in m.
func (m made) is(name, identity string) bool {
	known, has := m[name]
	return has && known != "" && known == identity
}

// nothing tells whether m has nothing that could be removed. The cluster does not count, as
// no resource makes it, nor do adopted definitions, which stay.
func (m made) nothing() bool {
	for key := range m {
		if key != madeCluster && !strings.HasPrefix(key, adoptedPrefix) {
			return false
		}
	}
	return true
}
