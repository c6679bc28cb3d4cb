package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// made is what a resource has made, or taken over by an import: for each thing,
// by a name of the resource's own, the identity by which it is told from another
// thing of that name (RoleId, ARN with the second of creation, UID). What is not
// in it is somebody else's: the resource neither changes nor deletes it. It is
// kept in the private state.
type made map[string]string

// madeKey is the key of the private state under which made is kept.
const madeKey = "made"

// madeRole is the name of a role among what was made; its identity is the RoleId.
const madeRole = "role"

// undoTimeout bounds the removal of what a failed create has made. The create's
// own time may be over by then.
const undoTimeout = 5 * time.Minute

// privateReader and privateWriter are the private state of a request and of a response.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readMade reads the private state. recorded is false where it has none: only an
// import comes that way, and state that an earlier version of the provider
// wrote. A Read then takes over what it finds; nothing else may go on.
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

// mine gives what an update or delete needs: the clients, and what the resource
// made, without which nothing is changed. ErrUnproven.
func (b *base) mine(ctx context.Context, private privateReader, diags *diag.Diagnostics) (*aws.Clients, made, error) {
	own, recorded := readMade(ctx, private, diags)
	if !recorded {
		return nil, nil, ErrUnproven
	}
	client, err := b.session.AWS(ctx)
	return client, own, err
}

// write writes m to the private state.
func (m made) write(ctx context.Context, private privateWriter, diags *diag.Diagnostics) {
	data, err := json.Marshal(m)
	if err != nil {
		diags.AddError("Cannot write the private state", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, madeKey, data)...)
}

// identity is that of the thing of that name, for a change or a delete. ErrUnproven.
func (m made) identity(name string) (string, error) {
	if m[name] == "" {
		return "", fmt.Errorf("%s: %w", name, ErrUnproven)
	}
	return m[name], nil
}

// is tells whether the thing of that name and identity is the one in m.
func (m made) is(name, identity string) bool {
	known, has := m[name]
	return has && known != "" && known == identity
}

// nothing tells whether m has nothing; the cluster is not something made.
func (m made) nothing() bool {
	_, cluster := m[madeCluster]
	return len(m) == 0 || len(m) == 1 && cluster
}

// undo ends a create that has failed: remove takes away what it made, so that no
// state is left. Where that fails too, keep saves what is left: the next apply or
// destroy removes it.
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
