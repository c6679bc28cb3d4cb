package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

// madeRole is the key of a role in made. The identity of a role is its RoleId.
const madeRole = "role"

// undoTimeout bounds the removal of what a failed create has made. The create's
// own timeout may have ended by then.
const undoTimeout = 5 * time.Minute

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

// undo ends a create that has failed. remove removes what the create made, so that
// no state remains. If remove fails too, keep saves what remains, and the next
// apply or destroy removes it.
func (b *base) undo(ctx context.Context, diags *diag.Diagnostics, id identified, m made, remove func(context.Context) error, keep func()) {
	if m.nothing() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if err := remove(ctx); err != nil {
		keep()
		diags.AddError(fmt.Sprintf("Cannot undo the failed creation of karpenter_%s", b.kind), fmt.Sprintf(
			"karpenter_%s %q: %v.\n\nThe state keeps what remains: the next apply or destroy removes it.", b.kind, importID(id), err))
	}
}
