package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// What nodes need in AWS is deleted only when no instance needs it. The order of a destroy is
// not enough: a configuration without references is destroyed side by side, and a replacement
// deletes first. So a deletion waits, and refuses in the end. Nothing is changed before.

// inUseTimeout is how long a deletion waits for instances, if timeouts does not say
// otherwise: a node pool that is destroyed at the same time drains for drainTimeout, then its
// instances shut down, and the daemon removes what it has made.
const inUseTimeout = drainTimeout + 10*time.Minute

// need says what still needs a thing that is to be deleted.
type need struct {
	why    string
	within time.Duration // how long it is worth to wait; 0: as long as the deletion may take
	refuse error         // what the deletion ends with then; nil: it goes on
}

// lookup finds what needs a thing; nil for nothing.
type lookup func(ctx context.Context, client *aws.Clients) (*need, error)

// awaitUnused returns when nothing needs the thing that is to be deleted, or when another
// resource has taken it up. What it refuses with has the sentinel of the thing.
func awaitUnused(ctx context.Context, j job[*aws.Clients], what string, look lookup) error {
	if j.own[madeHalf] != "" {
		return nil // a creation that has failed: nothing uses it
	}
	if j.own[madeReplaced] != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, leftoversWithin)
		defer cancel()
	}
	var last *need
	since := time.Now()
	err := wait.PollUntilContextCancel(ctx, leftoversPoll, true, func(context.Context) (bool, error) {
		j.spare()
		found, err := look(ctx, j.client)
		switch {
		case err != nil && (last == nil || errors.Is(err, aws.ErrUnauthorized) || errors.Is(err, aws.ErrCredentials)):
			return false, err
		case err != nil:
			logSurvived(ctx, what, err)
			return false, nil // it may pass
		case found == nil:
			return true, nil
		}
		if last == nil || last.within != found.within {
			since = time.Now()
		}
		last = found
		if found.within > 0 && time.Since(since) >= found.within {
			return found.refuse == nil, found.refuse
		}
		tflog.Info(ctx, "waiting before the deletion", map[string]any{"object": what, "for": found.why})
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && last != nil && last.refuse != nil {
		return last.refuse
	}
	j.spare() // the last look took its time
	return err
}

// logSurvived logs an error after which a wait goes on.
func logSurvived(ctx context.Context, what string, err error) {
	tflog.Warn(ctx, "asking again what needs the object", map[string]any{"object": what, "error": err.Error()})
}

// warnOfUse warns that a plan does something to an object which instances need.
func (b *base) warnOfUse(ctx context.Context, m identified, does, way string, diags *diag.Diagnostics, look lookup) {
	if does == "" {
		return
	}
	client, err := b.session.AWS(ctx)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, planCheckTimeout)
	defer cancel()
	found, err := look(ctx, client)
	if err != nil || found == nil {
		return // a plan must also work if AWS cannot be asked: the deletion asks again
	}
	diags.AddWarning(fmt.Sprintf("karpenter_%s is in use", b.kind), fmt.Sprintf("karpenter_%s %q: the plan %s, and %s.\n\n%s", b.kind, importID(m), does, found.why, way))
}

// The words for what a plan does with an object.
const (
	planDestroys = "destroys it"
	planReplaces = "replaces it"
)

// destroyWaits is what a destroy does with an object that instances need.
const destroyWaits = "The destroy waits until these instances are gone, as long as delete of the timeouts attribute says. Then it ends with an error, and nothing of the object was changed."

// madeReplaced is the key in made of the plan of a replacement. Terraform plans the new object
// with the private state of the old one. If the old object goes first, it is deleted with the
// private state of that plan; after create_before_destroy, with its own.
const madeReplaced = "replaced"

// madeHalf is the key in made of what a failed creation has left.
const madeHalf = "half made"

// forgetMarks drops what only says in which way the object is to be deleted.
func (m made) forgetMarks() {
	delete(m, madeReplaced)
	delete(m, madeHalf)
}

// planReplacement notes in the plan whether it is one of a replacement.
func planReplacement(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	_, was := own[madeReplaced]
	is := req.State.Raw.IsNull() && !req.Plan.Raw.IsNull()
	if !recorded || is == was {
		return
	}
	if is {
		own[madeReplaced] = "true"
	} else {
		delete(own, madeReplaced) // of a replacement that has failed
	}
	own.write(ctx, resp.Private, &resp.Diagnostics)
}

// replacedOwn is the record of an object that the plan replaces, also where only the user asks for it
// (-replace). Terraform asks for the plan of the new object with the record of the old one. ok is
// false for any other plan.
func replacedOwn(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) (own made, ok bool) {
	own, recorded := readMade(ctx, req.Private, diags)
	return own, recorded && req.State.Raw.IsNull() && !req.Plan.Raw.IsNull()
}

// priorOf is the state that a plan begins with. ok is false if there is none.
func priorOf[M any](ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) (prior M, ok bool) {
	if req.State.Raw.IsNull() {
		return prior, false
	}
	return get[M](ctx, req.State, diags)
}

// users finds the instances that have the profile.
func (m instanceProfileModel) users(ctx context.Context, client *aws.Clients, own made) (*need, error) {
	found, err := client.GetInstanceProfile(ctx, m.Name.ValueString())
	if errors.Is(err, aws.ErrNotFound) || err == nil && !own.is(madeProfile, found.ID) {
		return nil, nil // it is gone
	}
	if err != nil {
		return nil, err
	}
	instances, err := client.InstancesWithProfile(ctx, found.ARN)
	if err != nil || len(instances) == 0 {
		return nil, err
	}
	why := aws.InstancesText(instances)
	return &need{why: "instances have the instance profile (" + why + ")", refuse: fmt.Errorf("%w (nothing was changed): %s", ErrProfileInUse, why)}, nil
}

// users finds what needs the role, and so its access entry. An instance profile without
// instances keeps the role from being deleted, too: a destroy deletes both side by side, and
// the daemon deletes those that it has made when their node class goes.
func (m nodeRoleModel) users(ctx context.Context, client *aws.Clients) (*need, error) {
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
	found := &need{why: used.Error(), refuse: fmt.Errorf("%w (nothing was changed): %w", ErrRoleInUse, used)}
	if users.Count() > 0 {
		return found, nil
	}
	found.within = releasedWithin
	for _, p := range users.Profiles {
		if strings.HasPrefix(p.Path, awsspec.ProfilePath(client.Region(), cluster)) {
			found.within = leftoversWithin
		}
	}
	return found, nil
}

// users finds what the daemon still needs its role for: the instances of node pools, then
// what it has to delete after them.
func (m controllerRoleModel) users(ctx context.Context, client *aws.Clients, own made) (*need, error) {
	if own[madeRole] == "" || m.byPodIdentity() && own[madeReplaced] != "" {
		return nil, nil // it is gone; or the association of the old role has to go before that of the new one
	}
	cluster := m.ClusterName.ValueString()
	instances, err := client.PoolInstances(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if len(instances) > 0 {
		why := fmt.Sprintf("the node pools of cluster %q have %s", cluster, aws.InstancesText(instances))
		served, err := m.served(ctx, client, own[madeRole])
		if served {
			return nil, nil
		}
		if err != nil {
			why += fmt.Sprintf("; whether another role serves the daemon is not known: %v", err)
		}
		return &need{why: why, refuse: fmt.Errorf("%w (nothing was changed): %s", ErrDaemonRoleInUse, why)}, nil
	}
	if made := m.madeByDaemon(ctx, client); made != "" && own[madeReplaced] == "" {
		return &need{why: "the daemon has to delete " + made, within: leftoversWithin}, nil
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

// users finds the instances whose interruptions the daemon hears of by the queue. A queue
// that is replaced loses the events between the two, and the rules have to change over: the
// old queue goes first, whatever runs.
func (m interruptionQueueModel) users(ctx context.Context, client *aws.Clients, own made) (*need, error) {
	if own[madeQueue] == "" || own[madeReplaced] != "" {
		return nil, nil
	}
	cluster := m.ClusterName.ValueString()
	instances, err := client.PoolInstances(ctx, cluster)
	if err != nil || len(instances) == 0 {
		return nil, err
	}
	why := fmt.Sprintf("the node pools of cluster %q have %s", cluster, aws.InstancesText(instances))
	return &need{why: why, refuse: fmt.Errorf("%w (nothing was changed): %s", ErrQueueInUse, why)}, nil
}
