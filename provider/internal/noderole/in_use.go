package noderole

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// users finds what needs the role, and so its access entry. An instance profile without
// instances keeps the role from being deleted, too: a destroy deletes both side by side, and
// the daemon deletes those that it has made when their node class goes.
func (m nodeRoleModel) users(ctx context.Context, client *aws.Clients) (*managed.Need, error) {
	cluster, name := m.ClusterName.ValueString(), m.Name.ValueString()
	users, err := client.RoleUsers(ctx, cluster, name)
	if m.existing() && errors.Is(err, aws.ErrUnauthorized) {
		// Whoever may use the role need not be allowed to look at it. Without instances of
		// node pools, nobody else is asked.
		users, err = client.PoolRoleUsers(ctx, cluster, name)
	}
	if err != nil || users.None() {
		return nil, err
	}
	used := fmt.Errorf("role %q: %w by %s", name, aws.ErrInUse, users)
	found := &managed.Need{Why: used.Error(), Refuse: fmt.Errorf("%w (nothing was changed): %w", failure.ErrRoleInUse, used)}
	if users.Count() > 0 {
		return found, nil
	}
	found.Within = managed.ReleasedWithin
	for _, p := range users.Profiles {
		if strings.HasPrefix(p.Path, awsspec.ProfilePath(client.Region(), cluster)) {
			found.Within = managed.LeftoversWithin
		}
	}
	return found, nil
}
