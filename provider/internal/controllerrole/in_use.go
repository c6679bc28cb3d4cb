package controllerrole

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// users finds what the daemon still needs its role for: the instances of node pools, then
// what it has to delete after them.
func (m controllerRoleModel) users(ctx context.Context, client *aws.Clients, own ownership.Record) (*managed.Need, error) {
	if own[ownership.KeyRole] == "" || m.byPodIdentity() && own[ownership.KeyReplaced] != "" {
		return nil, nil // it is gone; or the association of the old role has to go before that of the new one
	}
	cluster := m.ClusterName.ValueString()
	instances, err := client.PoolInstances(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if len(instances) > 0 {
		why := fmt.Sprintf("the node pools of cluster %q have %s", cluster, aws.InstancesText(instances))
		served, err := m.served(ctx, client, own[ownership.KeyRole])
		if served {
			return nil, nil
		}
		if err != nil {
			why += fmt.Sprintf("; whether another role serves the daemon is not known: %v", err)
		}
		return &managed.Need{Why: why, Refuse: fmt.Errorf("%w (nothing was changed): %s", failure.ErrDaemonRoleInUse, why)}, nil
	}
	if made := m.madeByDaemon(ctx, client); made != "" && own[ownership.KeyReplaced] == "" {
		return &managed.Need{Why: "the daemon has to delete " + made, Within: managed.LeftoversWithin}, nil
	}
	return nil, nil
}

// madeByDaemon names what only the daemon deletes in good order; "" for nothing. What AWS does
// not tell keeps no role.
func (m controllerRoleModel) madeByDaemon(ctx context.Context, client *aws.Clients) string {
	cluster := m.ClusterName.ValueString()
	left, err := client.Leftovers(ctx, cluster)
	if err != nil {
		tflog.Warn(ctx, "what the daemon has made is not known", map[string]any{"cluster": cluster, "error": err.Error()})
		return ""
	}
	if len(left.LaunchTemplates)+len(left.InstanceProfiles) == 0 {
		return ""
	}
	return left.String()
}

// served tells whether another role has taken the place of this one: it trusts the same
// service account and is not older, as the role that create_before_destroy has created.
func (m controllerRoleModel) served(ctx context.Context, client *aws.Clients, id string) (bool, error) {
	roles, err := client.RolesTrusting(ctx, m.trust(client.Region()))
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(roles, func(r aws.Role) bool { return r.ID == id })
	return slices.ContainsFunc(roles, func(r aws.Role) bool {
		return r.ID != id && (i < 0 || !r.Created.Before(roles[i].Created))
	}), nil
}
