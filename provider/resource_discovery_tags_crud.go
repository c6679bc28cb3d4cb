package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// Create adds all tags with one call: all or none. If it is not known whether the call has
// added them, Create removes them.
func (r *discoveryTags) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[discoveryTagsModel](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Create, discoveryTagsTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		return
	}
	key, value := plan.tag()
	plan.SelectorTags = mapValue(map[string]string{key: value})
	own := made{}
	save := func() {
		own.write(ctx, resp.Private, &resp.Diagnostics)
		r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
	}
	if err := own.putTag(ctx, client, key, value, plan.resourceIDs(ctx, &resp.Diagnostics)); err != nil {
		r.fail(&resp.Diagnostics, verbCreate, plan, err)
		r.undo(ctx, &resp.Diagnostics, plan, own, func(ctx context.Context) error {
			return own.takeOff(ctx, client, key, value, slices.Sorted(maps.Keys(own)))
		}, save)
		return
	}
	save()
}

// putTag adds the tag where it is missing, and notes the tags that it adds. A tag
// that exists already is somebody else's.
func (m made) putTag(ctx context.Context, client *aws.Clients, key, value string, ids []string) error {
	created, err := client.CreateNetworkTag(ctx, key, value, ids...)
	if errors.Is(err, aws.ErrConflict) {
		err = fmt.Errorf("%w: %w", ErrOtherCluster, err)
	}
	for _, id := range created {
		m[id] = key + "=" + value
	}
	return err
}

// refreshTags deletes from m the tags that are gone or have another value.
func (m made) refreshTags(ctx context.Context, client *aws.Clients) error {
	current, err := client.NetworkTags(ctx, slices.Sorted(maps.Keys(m))...)
	if err != nil {
		return err
	}
	maps.DeleteFunc(m, func(id, tag string) bool {
		key, value, _ := strings.Cut(tag, "=")
		return current[id][key] != value
	})
	return nil
}

// takeOff removes the tags that this resource added and that still have their value.
func (m made) takeOff(ctx context.Context, client *aws.Clients, key, value string, ids []string) error {
	ids = slices.DeleteFunc(ids, func(id string) bool { return !m.is(id, key+"="+value) })
	if err := client.DeleteNetworkTag(ctx, key, value, ids...); err != nil {
		return err
	}
	for _, id := range ids {
		delete(m, id)
	}
	return nil
}

// Read keeps the ids that still have the tag. On import it finds the ids by the tag.
func (r *discoveryTags) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[discoveryTagsModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.unread(ctx, resp, state, err)
		return
	}
	imported := state.SubnetIDs.IsNull() && state.SecurityGroupIDs.IsNull()
	if imported {
		err = state.discover(ctx, client)
	} else {
		err = state.refresh(ctx, client, &resp.Diagnostics)
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbRead, state, err)
		return
	}
	if len(state.SubnetIDs.Elements())+len(state.SecurityGroupIDs.Elements()) == 0 {
		r.forget(ctx, resp, state)
		return
	}
	// A tag that is gone is no longer ours: if it comes back, somebody else has
	// added it.
	own, _ := readMade(ctx, req.Private, &resp.Diagnostics)
	if err := own.refreshTags(ctx, client); err != nil {
		r.fail(&resp.Diagnostics, verbRead, state, err)
		return
	}
	own.write(ctx, resp.Private, &resp.Diagnostics)
	key, value := state.tag()
	state.SelectorTags = mapValue(map[string]string{key: value})
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, state)
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
		return setValue(slices.DeleteFunc(stringsOf(ctx, s, diags), func(id string) bool { return current[id][key] != value }))
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
		m.SubnetIDs, m.SecurityGroupIDs = setOrNull(subnetIDs), setOrNull(groupIDs)
		if len(subnetIDs)+len(groupIDs) > 0 {
			return nil
		}
	}
	return nil
}

// Update tags the new ids, then removes the tag from ids that are no longer listed,
// if this resource added it.
func (r *discoveryTags) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[discoveryTagsModel](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.Timeouts.Update, discoveryTagsTimeout)
	defer cancel()
	client, err := r.session.AWS(ctx)
	if err != nil {
		r.fail(&resp.Diagnostics, verbUpdate, plan, err)
		return
	}
	own, _ := readMade(ctx, req.Private, &resp.Diagnostics)
	wanted := plan.resourceIDs(ctx, &resp.Diagnostics)
	before := prior.resourceIDs(ctx, &resp.Diagnostics)
	key, value := plan.tag()
	err = own.putTag(ctx, client, key, value, wanted)
	if err == nil {
		err = own.takeOff(ctx, client, key, value, without(before, wanted))
	}
	own.write(ctx, resp.Private, &resp.Diagnostics)
	if err != nil {
		r.fail(&resp.Diagnostics, verbUpdate, plan, err)
		return
	}
	plan.SelectorTags = mapValue(map[string]string{key: value})
	r.save(ctx, &resp.State, resp.Identity, &resp.Diagnostics, plan)
}

// Delete removes the tags that this resource added and that still have their value.
// A tag that existed before, or that somebody has changed, stays.
func (r *discoveryTags) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[discoveryTagsModel](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.Timeouts.Delete, discoveryTagsTimeout)
	defer cancel()
	own, _ := readMade(ctx, req.Private, &resp.Diagnostics)
	if len(own) == 0 || resp.Diagnostics.HasError() {
		return
	}
	client, err := r.session.AWS(ctx)
	if err == nil {
		key, value := state.tag()
		err = own.takeOff(ctx, client, key, value, slices.Sorted(maps.Keys(own)))
	}
	if err != nil {
		r.fail(&resp.Diagnostics, verbDelete, state, err)
	}
}

// setOrNull is null for no values.
func setOrNull(values []string) types.Set {
	if len(values) == 0 {
		return types.SetNull(types.StringType)
	}
	return setValue(values)
}
