package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// The daemon's objects in the cluster: making, comparing and removing those that
// are ours, and leaving alone those that are not.

// install makes the objects what is declared, in order, and notes in own what it
// makes. Between the definitions and the rest it waits until the definitions are
// established. What somebody else made is looked at before anything is made: it
// is used as it is where it has all that is declared, and is an error otherwise;
// see madeByOthers.
func (c *cluster) install(ctx context.Context, objects []*unstructured.Unstructured, own made) error {
	theirs := map[string]bool{}
	for _, obj := range objects {
		found, err := c.madeByOthers(ctx, obj, own)
		if err != nil {
			return err
		}
		theirs[kube.RefOf(obj).Key()] = found
	}
	var defined []kube.Ref
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		if ref.Kind == "CustomResourceDefinition" {
			defined = append(defined, ref)
		} else {
			for _, definition := range defined {
				if _, err := c.Wait(ctx, definition, kube.ConditionTrue("Established")); err != nil {
					return err
				}
			}
			defined = nil
		}
		if theirs[ref.Key()] {
			continue
		}
		if err := c.declareOurs(ctx, obj, own); err != nil {
			return err
		}
	}
	return nil
}

// madeByOthers tells whether the object is there and can be used as somebody
// else made it, also in place of the one that was made here. A namespace always
// can. ErrExists where it cannot, or ErrOtherObject where it stands in place of
// ours; a Deployment never can: it is another installation. One that is on its way
// out is waited for.
func (c *cluster) madeByOthers(ctx context.Context, obj *unstructured.Unstructured, own made) (bool, error) {
	ref := kube.RefOf(obj)
	live, err := c.Get(ctx, ref)
	if err == nil && live.GetDeletionTimestamp() != nil {
		if err := c.WaitGone(ctx, ref, live.GetUID(), nil); err != nil {
			return false, err
		}
		err = kube.ErrNotFound
	}
	switch {
	case errors.Is(err, kube.ErrNotFound):
		delete(own, ref.Key())
		return false, nil
	case err != nil, own.is(ref.Key(), string(live.GetUID())):
		return false, err
	}
	refusal := kube.ErrExists
	if _, replaced := own[ref.Key()]; replaced {
		refusal = ErrOtherObject
	}
	if ref.Kind == "Deployment" {
		return false, fmt.Errorf("%s %w", ref, refusal)
	}
	if lacking := changed(obj, common(obj.Object, live.Object)); len(lacking) > 0 && ref.Kind != "Namespace" {
		return false, fmt.Errorf("%s %w and differs from what the daemon needs: %s", ref, refusal, strings.Join(lacking, ", "))
	}
	delete(own, ref.Key())
	return true, nil
}

// common is the part of live that wanted has too.
func common(wanted, live map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range wanted {
		have, there := live[name]
		if !there {
			continue
		}
		inner, isMap := value.(map[string]any)
		haveInner, haveMap := have.(map[string]any)
		if isMap && haveMap {
			have = common(inner, haveInner)
		}
		out[name] = have
	}
	return out
}

// declareOurs makes the object, or makes the one that was made what is declared.
func (c *cluster) declareOurs(ctx context.Context, obj *unstructured.Unstructured, own made) error {
	uid, ours := own[kube.RefOf(obj).Key()]
	if !ours {
		return c.createOurs(ctx, obj, own)
	}
	obj = obj.DeepCopy()
	obj.SetUID(k8stypes.UID(uid)) // the API server refuses any other
	_, err := c.Apply(ctx, obj, true)
	return err
}

// changed lists where the owned part of a live object is not as applied. What
// names an object is not owned by anyone.
func changed(applied *unstructured.Unstructured, owned map[string]any) []string {
	wanted := applied.DeepCopy().Object
	delete(wanted, "apiVersion")
	delete(wanted, "kind")
	unstructured.RemoveNestedField(wanted, "metadata", "name")
	unstructured.RemoveNestedField(wanted, "metadata", "namespace")
	if metadata, ok := wanted["metadata"].(map[string]any); ok && len(metadata) == 0 {
		delete(wanted, "metadata")
	}
	return convert.Differences(wanted, owned)
}

// liveObjects is the objects attribute as the cluster has it: what is gone, or
// was made anew by somebody else, is missing; what was changed says where. It
// forgets in own what is gone. Where nothing is recorded yet, what is there is
// ours, the namespace aside: who made it is not known, and it may hold more than
// the daemon, so it is left behind.
func (m daemonModel) liveObjects(ctx context.Context, c *cluster, own made, recorded bool) (map[string]string, error) {
	objects, err := install.Objects(m.options())
	if err != nil {
		return nil, err
	}
	live := map[string]string{}
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		name, key := ref.String(), ref.Key()
		found, err := c.Get(ctx, ref)
		if errors.Is(err, kube.ErrNotFound) {
			delete(own, key)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !recorded && ref.Kind != "Namespace" {
			own[key] = string(found.GetUID())
		}
		if known, ours := own[key]; ours && known != string(found.GetUID()) {
			continue // an update tells about the other one
		}
		paths, err := drift(obj, found, own)
		if err != nil {
			return nil, err
		}
		live[name] = digest(obj)
		if len(paths) > 0 {
			live[name] = "changed: " + strings.Join(paths, ", ")
		}
	}
	return live, nil
}

// drift lists where the object is not as declared: of one that was made, what
// was applied; of somebody else's, what it is needed for.
func drift(obj, found *unstructured.Unstructured, own made) ([]string, error) {
	ref := kube.RefOf(obj)
	if _, ours := own[ref.Key()]; ours {
		owned, err := kube.Owned(found, kube.FieldManager)
		return changed(obj, owned), err
	}
	if ref.Kind == "Namespace" {
		return nil, nil
	}
	return changed(obj, common(obj.Object, found.Object)), nil
}

// removeStale removes what was made before and is not declared any more.
func (c *cluster) removeStale(ctx context.Context, objects []*unstructured.Unstructured, own made) error {
	wanted := map[string]bool{}
	for _, obj := range objects {
		wanted[kube.RefOf(obj).Key()] = true
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if ref, isObject := kube.ParseKey(key); isObject && !wanted[key] {
			if err := c.deleteObject(ctx, ref, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// uninstall removes the objects that were made, last applied first, and waits for
// each. It refuses while something needs them (ErrStillNeeded), and leaves a
// namespace in which somebody else has put something.
func (c *cluster) uninstall(ctx context.Context, m daemonModel, own made, diags *diag.Diagnostics) error {
	if err := c.nothingLeft(ctx, own); err != nil {
		return err
	}
	return c.remove(ctx, m, own, diags)
}

// takeBack is uninstall for what was made a moment ago: pools that were there
// before do not need it, but nothing of a definition of ours may be lost.
func (c *cluster) takeBack(ctx context.Context, m daemonModel, own made, diags *diag.Diagnostics) error {
	definitions := maps.Clone(own)
	maps.DeleteFunc(definitions, func(key, _ string) bool {
		ref, _ := kube.ParseKey(key)
		return ref.Kind == "Deployment"
	})
	if err := c.nothingLeft(ctx, definitions); err != nil {
		return err
	}
	return c.remove(ctx, m, own, diags)
}

// remove is uninstall without asking whether something needs the objects.
func (c *cluster) remove(ctx context.Context, m daemonModel, own made, diags *diag.Diagnostics) error {
	objects, err := install.Objects(m.options())
	if err != nil {
		return err
	}
	if err := c.removeStale(ctx, objects, own); err != nil {
		return err
	}
	for _, obj := range slices.Backward(objects) {
		ref := kube.RefOf(obj)
		if ref.Kind == "ServiceAccount" { // what it may do is gone: the Lease does not come again
			if err := c.removeLease(ctx, m); err != nil {
				return err
			}
		}
		if _, ours := own[ref.Key()]; !ours {
			continue
		}
		if ref.Kind == "Namespace" {
			others, err := c.othersIn(ctx, ref.Name)
			if err != nil {
				return err
			}
			if len(others) > 0 {
				delete(own, ref.Key())
				diags.AddWarning("The namespace was not deleted", fmt.Sprintf(
					"karpenter_daemon %q: namespace %q holds objects that this configuration did not create: %s. The namespace and these objects were not deleted. Delete the namespace yourself if nobody needs it.",
					importID(m), ref.Name, strings.Join(others, ", ")))
				continue
			}
		}
		if err := c.deleteObject(ctx, ref, own); err != nil {
			return err
		}
		tflog.Debug(ctx, "removed", map[string]any{"object": ref.String()})
	}
	return nil
}

// removeLease removes the Lease that the daemon has made itself. Karpenter's has
// the same name and not our labels.
func (c *cluster) removeLease(ctx context.Context, m daemonModel) error {
	ref := kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		Namespace:        m.Namespace.ValueString(), Name: install.LeaseName,
	}
	live, err := c.Get(ctx, ref)
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for key, value := range install.LeaseLabels() {
		if live.GetLabels()[key] != value {
			return nil
		}
	}
	return c.Delete(ctx, ref, live.GetUID())
}

// nothingLeft refuses while there are objects that only what was made can bring
// to an end: without the daemon their finalizers hold them for ever, and their
// instances go on running; without a definition of ours they would go unseen.
func (c *cluster) nothingLeft(ctx context.Context, own made) error {
	var runs bool
	defined := map[string]bool{}
	for key := range own {
		ref, _ := kube.ParseKey(key)
		runs = runs || ref.Kind == "Deployment"
		defined[ref.Name] = defined[ref.Name] || ref.Kind == "CustomResourceDefinition"
	}
	var left []string
	for definition, kind := range map[string]schema.GroupVersionKind{
		v1.NodePoolResource + "." + v1.Group:           v1.GroupVersion().WithKind(v1.NodePoolKind),
		v1.NodeClaimResource + "." + v1.Group:          v1.GroupVersion().WithKind(v1.NodeClaimKind),
		awsv1.EC2NodeClassResource + "." + awsv1.Group: awsv1.GroupVersion().WithKind(awsv1.EC2NodeClassKind),
	} {
		if !runs && !defined[definition] {
			continue
		}
		items, err := c.List(ctx, kind, "", "")
		if err != nil && !errors.Is(err, kube.ErrKindNotServed) {
			return err
		}
		for _, item := range items {
			left = append(left, kube.RefOf(&item).String())
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("%w: %s", ErrStillNeeded, strings.Join(left, ", "))
}
