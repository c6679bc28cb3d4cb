package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/convert"
)

// The daemon's objects in the cluster: making, comparing and removing those that
// are ours, and leaving alone those that are not.

// install makes the objects what is declared, in order, and notes in own what it
// makes. Between the definitions and the rest it waits until the definitions are
// established. What somebody else made is looked at before anything is made: it
// is used as it is where it has all that is declared, and is an ErrConflict
// otherwise.
func (c *cluster) install(ctx context.Context, objects []*unstructured.Unstructured, own made) error {
	theirs := map[string]bool{}
	for _, obj := range objects {
		found, err := c.madeByOthers(ctx, obj, own)
		if err != nil {
			return err
		}
		theirs[kube.RefOf(obj).String()] = found
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
		if theirs[ref.String()] {
			continue
		}
		if err := c.declareOurs(ctx, obj, own); err != nil {
			return err
		}
	}
	return nil
}

// madeByOthers tells whether the object is there and can be used as somebody
// else made it. A namespace always can. ErrConflict where it cannot, and where it
// is a Deployment, which is another installation; ErrOtherObject where the one
// that was made has been replaced. One that is on its way out is waited for.
func (c *cluster) madeByOthers(ctx context.Context, obj *unstructured.Unstructured, own made) (bool, error) {
	ref := kube.RefOf(obj)
	live, err := c.Get(ctx, ref)
	if err == nil && live.GetDeletionTimestamp() != nil {
		if err := c.WaitGone(ctx, ref, live.GetUID(), nil); err != nil {
			return false, err
		}
		err = kube.ErrNotFound
	}
	switch _, ours := own[ref.String()]; {
	case errors.Is(err, kube.ErrNotFound):
		delete(own, ref.String())
		return false, nil
	case err != nil, own.is(ref.String(), string(live.GetUID())):
		return false, err
	case ours:
		return false, fmt.Errorf("%s: %w", ref, ErrOtherObject)
	case ref.Kind == "Namespace":
		return true, nil
	case ref.Kind == "Deployment":
		return false, fmt.Errorf("%s %w", ref, aws.ErrConflict)
	}
	if lacking := changed(obj, common(obj.Object, live.Object)); len(lacking) > 0 {
		return false, fmt.Errorf("%s %w, and is not what the daemon needs: %s", ref, aws.ErrConflict, strings.Join(lacking, ", "))
	}
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
	ref := kube.RefOf(obj)
	uid, ours := own[ref.String()]
	if ours {
		obj = obj.DeepCopy()
		obj.SetUID(k8stypes.UID(uid)) // the API server refuses any other
	}
	live, err := c.Apply(ctx, obj, ours)
	if err == nil {
		own[ref.String()] = string(live.GetUID())
	}
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
		name := ref.String()
		found, err := c.Get(ctx, ref)
		if errors.Is(err, kube.ErrNotFound) {
			delete(own, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !recorded && ref.Kind != "Namespace" {
			own[name] = string(found.GetUID())
		}
		if known, ours := own[name]; ours && known != string(found.GetUID()) {
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
	if _, ours := own[ref.String()]; ours {
		owned, err := kube.Owned(found, kube.FieldManager)
		return changed(obj, owned), err
	}
	if ref.Kind == "Namespace" {
		return nil, nil
	}
	return changed(obj, common(obj.Object, found.Object)), nil
}

// removeStale removes what was made before and is not declared any more.
func (c *cluster) removeStale(ctx context.Context, prior daemonModel, objects []*unstructured.Unstructured, own made) error {
	before, err := install.Objects(prior.options())
	if err != nil {
		return err
	}
	var wanted []kube.Ref
	for _, obj := range objects {
		wanted = append(wanted, kube.RefOf(obj))
	}
	for _, obj := range before {
		if ref := kube.RefOf(obj); !slices.Contains(wanted, ref) {
			if err := c.deleteObject(ctx, ref, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// nothingLeft refuses while objects of our definitions exist: without the daemon
// their finalizers hold them for ever, and their instances go on running.
func (c *cluster) nothingLeft(ctx context.Context) error {
	var left []string
	for _, kind := range []schema.GroupVersionKind{
		v1.GroupVersion().WithKind(v1.NodePoolKind), v1.GroupVersion().WithKind(v1.NodeClaimKind), awsv1.GroupVersion().WithKind(awsv1.EC2NodeClassKind),
	} {
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
	return fmt.Errorf("%w: %s", ErrStillNeeded, strings.Join(left, ", "))
}

// uninstall removes the objects that were made, last applied first, and waits for
// each. It refuses while something needs them. ErrStillNeeded.
func (c *cluster) uninstall(ctx context.Context, m daemonModel, own made) error {
	if err := c.nothingLeft(ctx); err != nil {
		return err
	}
	objects, err := install.Objects(m.options())
	if err != nil {
		return err
	}
	// The daemon makes its Lease itself.
	lease := kube.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		Namespace:        m.Namespace.ValueString(), Name: install.LeaseName,
	}
	for _, obj := range slices.Backward(objects) {
		ref := kube.RefOf(obj)
		if _, ours := own[ref.String()]; !ours {
			continue
		}
		if err := c.deleteObject(ctx, ref, own); err != nil {
			return err
		}
		tflog.Debug(ctx, "removed", map[string]any{"object": ref.String()})
		if ref.Kind == "Deployment" {
			if err := c.Delete(ctx, lease, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
