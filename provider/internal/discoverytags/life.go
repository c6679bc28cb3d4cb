package discoverytags

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// Make adds all tags with one call: all or none. If it is not known whether the call has
// added them, they are removed.
func (r *discoveryTags) Make(ctx context.Context, j managed.Job[*aws.Clients], plan *discoveryTagsModel) error {
	key, value := plan.tag()
	plan.SelectorTags = fwvalue.MapValue(map[string]string{key: value})
	return putTag(ctx, j.Client, j.Own, key, value, plan.resourceIDs(ctx, j.Diags))
}

// Observe keeps the ids that still have the tag. On import it finds the ids by the tag.
func (r *discoveryTags) Observe(ctx context.Context, j managed.Job[*aws.Clients], state *discoveryTagsModel) (bool, error) {
	var err error
	if state.SubnetIDs.IsNull() && state.SecurityGroupIDs.IsNull() { // imported
		err = state.discover(ctx, j.Client)
	} else {
		err = state.refresh(ctx, j.Client, j.Diags)
	}
	if err != nil {
		return true, err
	}
	// A tag that is gone is no longer ours: if it comes back, somebody else has
	// added it.
	if err := refreshTags(ctx, j.Client, j.Own); err != nil {
		return true, err
	}
	key, value := state.tag()
	state.SelectorTags = fwvalue.MapValue(map[string]string{key: value})
	// A failed update may have added tags that the state does not have.
	return len(state.SubnetIDs.Elements())+len(state.SecurityGroupIDs.Elements())+len(j.Own) > 0, nil
}

// Change tags the new ids, then removes the tag from ids that are no longer listed, if
// this resource added it.
func (r *discoveryTags) Change(ctx context.Context, j managed.Job[*aws.Clients], plan *discoveryTagsModel, prior discoveryTagsModel) error {
	wanted, before := plan.resourceIDs(ctx, j.Diags), prior.resourceIDs(ctx, j.Diags)
	key, value := plan.tag()
	plan.SelectorTags = fwvalue.MapValue(map[string]string{key: value})
	if err := putTag(ctx, j.Client, j.Own, key, value, wanted); err != nil {
		return err
	}
	return takeOff(ctx, j.Client, j.Own, key, value, fwvalue.Without(slices.Concat(before, fwvalue.Without(slices.Sorted(maps.Keys(j.Own)), before)), wanted))
}

// Remove removes the tags that this resource added and that still have their value. A
// tag that existed before, or that somebody has changed, stays.
func (r *discoveryTags) Remove(ctx context.Context, j managed.Job[*aws.Clients], state discoveryTagsModel) error {
	key, value := state.tag()
	used := fwvalue.Without(state.resourceIDs(ctx, j.Diags), slices.Collect(maps.Keys(j.Own)))
	if err := takeOff(ctx, j.Client, j.Own, key, value, slices.Sorted(maps.Keys(j.Own))); err != nil || len(used) == 0 {
		return err
	}
	slices.Sort(used)
	j.Diags.AddWarning("Tags of others were not removed", fmt.Sprintf(
		"karpenter_%s %q: %s had the tag %s before this resource, or have it from somebody else since. The tag stays there. Remove it yourself if nobody needs it.", r.Kind, managed.ImportID(state), strings.Join(used, ", "), key))
	return nil
}

// putTag adds the tag where it is missing, and notes the tags that it adds. A tag
// that exists already is somebody else's.
func putTag(ctx context.Context, client *aws.Clients, own ownership.Record, key, value string, ids []string) error {
	created, err := client.CreateNetworkTag(ctx, key, value, ids...)
	if errors.Is(err, aws.ErrConflict) {
		err = fmt.Errorf("%w: %w", failure.ErrOtherCluster, err)
	}
	for _, id := range created {
		own[id] = key + "=" + value
	}
	return err
}

// refreshTags deletes from own the tags that are gone or have another value.
func refreshTags(ctx context.Context, client *aws.Clients, own ownership.Record) error {
	current, err := client.NetworkTags(ctx, slices.Sorted(maps.Keys(own))...)
	if err != nil {
		return err
	}
	maps.DeleteFunc(own, func(id, tag string) bool {
		key, value, _ := strings.Cut(tag, "=")
		return current[id][key] != value
	})
	return nil
}

// takeOff removes the tags that this resource added and that still have their value.
func takeOff(ctx context.Context, client *aws.Clients, own ownership.Record, key, value string, ids []string) error {
	ids = slices.DeleteFunc(ids, func(id string) bool { return !own.Is(id, key+"="+value) })
	if err := client.DeleteNetworkTag(ctx, key, value, ids...); err != nil {
		return err
	}
	for _, id := range ids {
		delete(own, id)
	}
	return nil
}

func (m *discoveryTagsModel) refresh(ctx context.Context, client *aws.Clients, diags *diag.Diagnostics) error {
	current, err := client.NetworkTags(ctx, m.resourceIDs(ctx, diags)...)
	if err != nil {
		return err
	}
	key, value := m.tag()
	still := func(s types.Set) types.Set {
		if s.IsNull() {
			return s
		}
		return fwvalue.SetValue(slices.DeleteFunc(fwvalue.StringsOf(ctx, s, diags), func(id string) bool { return current[id][key] != value }))
	}
	m.SubnetIDs, m.SecurityGroupIDs = still(m.SubnetIDs), still(m.SecurityGroupIDs)
	return nil
}

// discover finds the subnets and security groups that have the tag, first with the
// key for one cluster, then with the shared key.
func (m *discoveryTagsModel) discover(ctx context.Context, client *aws.Clients) error {
	for _, shared := range []bool{false, true} {
		m.Shared = types.BoolValue(shared)
		key, value := m.tag()
		selector := []aws.Selector{{Tags: map[string]string{key: value}}}
		subnets, err := client.Subnets(ctx, selector)
		if err != nil {
			return err
		}
		groups, err := client.SecurityGroups(ctx, selector)
		if err != nil {
			return err
		}
		var subnetIDs, groupIDs []string
		for _, s := range subnets {
			subnetIDs = append(subnetIDs, s.ID)
		}
		for _, g := range groups {
			groupIDs = append(groupIDs, g.ID)
		}
		m.SubnetIDs, m.SecurityGroupIDs = fwvalue.SetOrNull(subnetIDs), fwvalue.SetOrNull(groupIDs)
		if len(subnetIDs)+len(groupIDs) > 0 {
			return nil
		}
	}
	return nil
}
