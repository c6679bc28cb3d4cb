package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// An apply that is killed saves neither state nor private state: nobody knows what it has
// made. The next apply takes up what equals what it would make itself, in AWS by content and
// in the cluster by the managed fields, and says so: the object may be that of another
// configuration with the same content, and then two configurations manage it. What differs
// is somebody else's.

// takenUp begins keys of made that live during one operation only. What follows is the key
// of a thing that was taken up, and the value names the thing to the user.
const takenUp = "taken up/"

// takeUp notes a thing that a creation which was cut off has left.
func (m made) takeUp(key, identity, name string) { m[key], m[takenUp+key] = identity, name }

// tookUp are the names of what was taken up, sorted.
func (m made) tookUp() []string {
	var names []string
	for key, name := range m {
		if strings.HasPrefix(key, takenUp) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// warnTakenUp says what was taken up, and ends that it is noted.
func (m made) warnTakenUp(diags *diag.Diagnostics) {
	if names := m.tookUp(); len(names) > 0 {
		diags.AddWarning("An apply that was cut off is continued", fmt.Sprintf(
			"%s existed already, as this configuration creates it, and the state did not know of it: an apply that was cut off has left it. "+
				"This configuration now manages it, and a destroy deletes it. If another configuration manages it, too, remove this resource from one of the two: "+
				"terraform state rm, then remove its block. Two configurations must not manage one object.", strings.Join(names, ", ")))
	}
	maps.DeleteFunc(m, func(key, _ string) bool { return strings.HasPrefix(key, takenUp) })
}

// leaveTakenUp ends a creation that has failed after it had taken something up. What the
// creation has added stays, too: it belongs to what was taken up, and the next apply takes
// up both. It returns false if nothing was taken up.
func (m made) leaveTakenUp(diags *diag.Diagnostics) bool {
	names := m.tookUp()
	if len(names) == 0 {
		return false
	}
	diags.AddWarning("An apply that was cut off is not finished yet", fmt.Sprintf(
		"%s existed already, as this configuration creates it: an apply that was cut off has left it. It was not deleted, and is not in the state. "+
			"Remove the cause of the error, then apply again: the apply goes on from what there is now.", strings.Join(names, ", ")))
	return true
}

// claims are what resources of this run have made or taken up. Terraform starts the provider
// anew for each run.
type claims struct {
	mu    sync.Mutex
	taken map[string]bool // by key and identity: whether the thing was taken up
}

// unclaimed are the keys of made that identify nothing that a resource has for itself.
func unclaimed(key string) bool {
	return key == madeCluster || key == madePrincipal || key == foundEntry || key == madeKept ||
		strings.HasPrefix(key, attaching) || strings.HasPrefix(key, adoptedPrefix) || strings.HasPrefix(key, takenUp)
}

// claim notes what a creation has made or taken up. ErrTwice if another resource of this run
// has it, and then it notes nothing.
func (c *claims) claim(own made) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if was, has := c.taken[key+"="+own[key]]; has && !unclaimed(key) && (was || own[takenUp+key] != "") {
			return fmt.Errorf("%s: %w", key, ErrTwice)
		}
	}
	for key, identity := range own {
		if unclaimed(key) {
			continue
		}
		if c.taken == nil {
			c.taken = map[string]bool{}
		}
		c.taken[key+"="+identity] = own[takenUp+key] != ""
	}
	return nil
}

// spare removes from own what this run has taken up for another resource: with
// create_before_destroy, the new resource takes up what the old one has if both are equal,
// and the destruction of the old one must leave it.
func (c *claims) spare(own made, diags *diag.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var spared []string
	for key, identity := range own {
		if c.taken[key+"="+identity] {
			delete(own, key)
			spared = append(spared, key)
		}
	}
	if len(spared) > 0 {
		slices.Sort(spared)
		diags.AddWarning("Something was not deleted, as its replacement needs it", fmt.Sprintf(
			"%s: the new resource equals the old one, and has taken up what the old one had. Nothing was replaced.", strings.Join(spared, ", ")))
	}
}

// Things in AWS.

// finishPolicy gives the result of CreatePolicy, or the policy that was left.
func finishPolicy(ctx context.Context, client *aws.Clients, want, policy aws.Policy, failure error, own made) (aws.Policy, error) {
	return aws.Finish(policy, failure, func() (aws.Policy, error) { return client.FinishPolicy(ctx, want) },
		func(p aws.Policy) { own.takeUp(p.ARN, p.ID, fmt.Sprintf("policy %q", p.Name)) })
}

// finishEntry gives the result of CreateAccessEntry, or the entry that was left. Of a role
// that exists without this configuration, EKS makes such entries itself, for managed node
// groups: the entry needs tags of this configuration.
func (m *nodeRoleModel) finishEntry(ctx context.Context, client *aws.Clients, entry aws.AccessEntry, failure error, own made) (aws.AccessEntry, error) {
	want := m.accessEntry()
	return aws.Finish(entry, failure, func() (aws.AccessEntry, error) {
		if m.existing() {
			if len(want.Tags) == 0 {
				return aws.AccessEntry{}, aws.ErrNotFound
			}
			return client.FinishAccessEntry(ctx, want, aws.Role{})
		}
		role, err := client.GetRole(ctx, m.Name.ValueString())
		if err != nil {
			return aws.AccessEntry{}, err
		}
		return client.FinishAccessEntry(ctx, want, role)
	}, func(e aws.AccessEntry) {
		own.takeUp(madeAccessEntry, e.ARN, "access entry for "+e.PrincipalARN)
	})
}

// Things in the cluster.

// cutOff tells whether the provider has made the object without that a state knows of it.
// A Deployment, a pool or a class must be as declared: with anything else in it, another
// configuration runs it.
func cutOff(obj, live *unstructured.Unstructured) (bool, error) {
	if live.GetAnnotations()[adoptedMark] != "" || !appliedByUsAlone(live) {
		return false, nil
	}
	if kube.Unfinished(live) {
		return true, nil
	}
	if kind := live.GetKind(); kind != deploymentKind && kind != nodePoolRef("").Kind && kind != nodeClassRef("").Kind {
		return true, nil
	}
	owned, err := kube.Owned(live, kube.FieldManager)
	if err != nil {
		return false, err
	}
	return len(changed(obj, owned)) == 0 && extras(obj.Object, owned) == nil, nil
}

// appliedByUsAlone tells whether the provider has applied the object, and nobody else.
func appliedByUsAlone(obj *unstructured.Unstructured) bool {
	return declaredByUs(obj) && !slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Operation == metav1.ManagedFieldsOperationApply && f.Manager != kube.FieldManager
	})
}

// rival tells whether another configuration of this provider has a daemon in the cluster:
// its objects are not left over. deployment is the declared one.
func (c *cluster) rival(ctx context.Context, deployment *unstructured.Unstructured, own made) (bool, error) {
	all, err := c.List(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: deploymentKind}, "", "")
	if err != nil {
		return false, err
	}
	for i := range all {
		live, ref := &all[i], kube.RefOf(&all[i])
		if ref.Name != deployment.GetName() || !declaredByUs(live) || own.is(ref.Key(), string(live.GetUID())) {
			continue
		}
		if ref.Key() != kube.RefOf(deployment).Key() {
			return true, nil
		}
		if left, err := cutOff(deployment, live); err != nil || !left {
			return !left, err
		}
	}
	return false, nil
}

// findLeft gives a function that notes an object in own and returns true if an apply that
// was cut off has left the object. It looks for a rival once, when there is something to
// take up.
func (c *cluster) findLeft(ctx context.Context, objects []*unstructured.Unstructured, own made) func(obj, live *unstructured.Unstructured) (bool, error) {
	rival := sync.OnceValues(func() (bool, error) {
		for _, obj := range objects {
			if obj.GetKind() == deploymentKind {
				return c.rival(ctx, obj, own)
			}
		}
		return false, nil
	})
	return func(obj, live *unstructured.Unstructured) (bool, error) {
		left, err := cutOff(obj, live)
		if err != nil || !left {
			return false, err
		}
		if others, err := rival(); err != nil || others {
			return false, err
		}
		own.takeUp(kube.RefOf(obj).Key(), string(live.GetUID()), kube.RefOf(obj).String())
		return true, nil
	}
}

// usedOfOthers names the objects of somebody else that are used as they are.
func (c *cluster) usedOfOthers(ctx context.Context, objects []*unstructured.Unstructured, own made) ([]string, error) {
	var names []string
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		if own[ref.Key()] != "" || own[adoptedPrefix+ref.Key()] != "" {
			continue
		}
		_, err := c.Get(ctx, ref)
		switch {
		case err == nil:
			names = append(names, ref.String())
		case !errors.Is(err, kube.ErrNotFound):
			return nil, err
		}
	}
	return names, nil
}
