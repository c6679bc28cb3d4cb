package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/kubeobject"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// The daemon's objects in the cluster. The provider creates, compares and removes
// its own objects, and leaves other objects alone.

// install creates or updates the objects in order, and notes in own what it
// creates. After the definitions it waits until they are established. Before it
// creates anything, it looks at the objects that somebody else made: such an object
// is used as it is if it has everything that is declared, and is an error otherwise
// (see madeByOthers). Definitions of somebody else are adopted if adopting is set.
func (c *Cluster) install(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record, adopting bool) error {
	theirs, err := c.foreign(ctx, objects, own, adopting)
	if err != nil {
		return err
	}
	var defined []kube.Ref
	var account k8stypes.UID
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		if ref.Kind == kubeobject.DeploymentKind {
			if obj, err = install.BoundTo(obj, account); err != nil {
				return err
			}
		}
		if ref.Kind == definitionKind {
			defined = append(defined, ref)
		} else {
			for _, definition := range defined {
				if _, err := c.Wait(ctx, definition, kube.ConditionTrue("Established")); err != nil {
					return err
				}
			}
			defined = nil
		}
		switch live := theirs[ref.Key()]; {
		case live == nil:
			err = c.declareOurs(ctx, obj, own)
		case adopting && ref.Kind == definitionKind:
			err = c.adopt(ctx, obj, live, own)
		}
		if err != nil {
			return err
		}
		if ref.Kind == serviceAccountKind {
			account = cmp.Or(uidOf(theirs[ref.Key()]), k8stypes.UID(own[ref.Key()]))
		}
	}
	return nil
}

func uidOf(obj *unstructured.Unstructured) k8stypes.UID {
	if obj == nil {
		return ""
	}
	return obj.GetUID()
}

// foreign gives the live objects that somebody else has made and that can be used as they
// are or adopted, by key. It refuses what stands in the way of the installation; see
// madeByOthers and allReadable.
func (c *Cluster) foreign(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record, adopting bool) (map[string]*unstructured.Unstructured, error) {
	if err := c.allReadable(ctx, objects, adopting); err != nil {
		return nil, err
	}
	objects, err := c.boundToAccount(ctx, objects)
	if err != nil {
		return nil, err
	}
	theirs, left := map[string]*unstructured.Unstructured{}, c.findLeft(ctx, objects, own)
	for _, obj := range objects {
		found, err := c.madeByOthers(ctx, obj, own, adopting, left)
		if err != nil {
			return nil, err
		}
		theirs[kube.RefOf(obj).Key()] = found
	}
	return theirs, nil
}

// boundToAccount gives the objects with the Deployment as it is declared for the service account
// that exists: so a Deployment that an apply has left is compared.
func (c *Cluster) boundToAccount(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	out := slices.Clone(objects)
	var account k8stypes.UID
	for i, obj := range out {
		switch obj.GetKind() {
		case serviceAccountKind:
			live, err := c.Get(ctx, kube.RefOf(obj))
			switch {
			case err == nil:
				account = live.GetUID()
			case !errors.Is(err, kube.ErrNotFound):
				return nil, err
			}
		case kubeobject.DeploymentKind:
			var err error
			if out[i], err = install.BoundTo(obj, account); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// madeByOthers gives the live object if somebody else made it and it can be used as it
// is, and nil if there is none or it is ours. It may have replaced an object of ours. A
// namespace can always be used, a Deployment never: it is another installation. An object
// that cannot be used gives ErrExists, or ErrOtherObject if it has replaced ours. If
// adopting is set, a definition can be used if nothing is lost when it gets our content. If
// the object is being deleted, madeByOthers waits until it is gone. What left notes as left by
// an apply that was cut off is ours.
func (c *Cluster) madeByOthers(ctx context.Context, obj *unstructured.Unstructured, own ownership.Record, adopting bool, left func(obj, live *unstructured.Unstructured) (bool, error)) (*unstructured.Unstructured, error) {
	ref := kube.RefOf(obj)
	live, err := c.Get(ctx, ref)
	if err == nil && live.GetDeletionTimestamp() != nil {
		if err := c.WaitGone(ctx, ref, live.GetUID(), nil); err != nil {
			return nil, err
		}
		err = kube.ErrNotFound
	}
	switch {
	case errors.Is(err, kube.ErrNotFound):
		delete(own, ref.Key())
		delete(own, ownership.KeyAdopted+ref.Key())
		return nil, nil //nolint:nilnil // nothing is an answer
	case err != nil, own.Is(ref.Key(), string(live.GetUID())):
		return nil, err
	}
	if ours, err := left(obj, live); err != nil || ours {
		return nil, err
	}
	refusal := kube.ErrExists
	if _, replaced := own[ref.Key()]; replaced {
		refusal = failure.ErrOtherObject
	}
	if err := usable(obj, live, refusal, adopting); err != nil {
		return nil, err
	}
	delete(own, ref.Key())
	return live, nil
}

// usable refuses an object of somebody else that cannot be used as it is, nor adopted.
func usable(obj, live *unstructured.Unstructured, refusal error, adopting bool) error {
	ref := kube.RefOf(obj)
	lacks := lacking(obj, live)
	switch {
	case ref.Kind == kubeobject.DeploymentKind:
		return fmt.Errorf("%s %w", ref, refusal)
	case ref.Kind == definitionKind && adopting:
		return adoptable(obj, live, refusal)
	case ref.Kind == definitionKind && len(lacks) > 0:
		return fmt.Errorf("%s %w and %w: %s", ref, refusal, failure.ErrUnfit, strings.Join(lacks, ", "))
	case len(lacks) > 0:
		return fmt.Errorf("%s %w and differs from what the daemon needs: %s", ref, refusal, strings.Join(lacks, ", "))
	}
	return nil
}

// declareOurs creates the object, or updates the one that was made.
func (c *Cluster) declareOurs(ctx context.Context, obj *unstructured.Unstructured, own ownership.Record) error {
	uid, ours := own[kube.RefOf(obj).Key()]
	if !ours {
		return c.CreateOurs(ctx, obj, own)
	}
	obj = obj.DeepCopy()
	obj.SetUID(k8stypes.UID(uid)) // the API server refuses any other
	_, err := c.Apply(ctx, obj, true)
	if apierrors.IsInvalid(err) {
		if live, readErr := c.Get(ctx, kube.RefOf(obj)); readErr == nil {
			return renamedError(obj, live, err)
		}
	}
	return err
}

// daemonObjects is what a refresh finds of the daemon's objects.
type daemonObjects struct {
	states  map[string]string            // the attribute objects
	going   []*unstructured.Unstructured // those that are being deleted
	renamed []renamedIn
}

// liveObjects are the objects as the cluster has them. An object that is gone, or that somebody
// else has replaced, has no state. The state of a changed object names the changed fields. An
// object that is gone is deleted from own. If nothing is recorded yet, the live objects become
// ours: see record.
func (m daemonModel) liveObjects(ctx context.Context, c *Cluster, own ownership.Record, recorded bool) (seen daemonObjects, err error) {
	objects, err := m.objects(ctx)
	if err != nil {
		return seen, err
	}
	seen.states = map[string]string{}
	var account k8stypes.UID
	for _, obj := range objects {
		ref := kube.RefOf(obj)
		key := ref.Key()
		found, err := c.Get(ctx, ref)
		if errors.Is(err, kube.ErrNotFound) {
			delete(own, key)
			delete(own, ownership.KeyAdopted+key)
			continue
		}
		if err == nil && !recorded {
			err = record(own, found)
		}
		if err != nil {
			return seen, err
		}
		if ref.Kind == serviceAccountKind {
			account = found.GetUID()
		}
		if known, ours := own[key]; ours && known != string(found.GetUID()) {
			continue // the update reports the object that replaced ours
		}
		if seen.states[ref.String()], err = objectState(obj, found, account, own, m.AdoptDefinitions.ValueBool()); err != nil {
			return seen, err
		}
		if renamed := renamedEntries(obj, found); own[key] != "" && len(renamed) > 0 {
			seen.renamed = append(seen.renamed, renamedIn{ref, renamed})
		}
		if found.GetDeletionTimestamp() != nil {
			seen.going = append(seen.going, found)
		}
	}
	return seen, nil
}

// objectState is the value of an object in the attribute objects. Of another service account, the
// Deployment is changed: its pods are to be replaced.
func objectState(obj, found *unstructured.Unstructured, account k8stypes.UID, own ownership.Record, adopting bool) (string, error) {
	declared := obj
	if obj.GetKind() == kubeobject.DeploymentKind {
		var err error
		if declared, err = install.BoundTo(obj, account); err != nil {
			return "", err
		}
	}
	paths, err := drift(declared, found, own, adopting)
	switch {
	case err != nil:
		return "", err
	case found.GetDeletionTimestamp() != nil:
		return "being deleted", nil
	case len(paths) > 0:
		return "changed: " + strings.Join(paths, ", "), nil
	}
	return digest(obj), nil
}

// drift lists the paths at which the object differs from what is declared. Of our
// object, only the fields that we own count; of somebody else's object, only the
// fields that the daemon needs, or all if it is a definition to adopt.
func drift(obj, found *unstructured.Unstructured, own ownership.Record, adopting bool) ([]string, error) {
	ref := kube.RefOf(obj)
	if _, ours := own[ref.Key()]; ours {
		owned, err := kube.Owned(found, kube.FieldManager)
		return kubeobject.Changed(obj, owned), err
	}
	if adopting && ref.Kind == definitionKind {
		return adoptedDrift(obj, found)
	}
	return lacking(obj, found), nil
}

// takeBack removes what a create has made that has failed. Objects that existed before
// the Deployment do not need it, so the Deployment does not count as needed. A
// definition of ours counts: its removal would delete all objects of its kind.
func (c *Cluster) takeBack(ctx context.Context, m daemonModel, own ownership.Record, diags *diag.Diagnostics) error {
	definitions := maps.Clone(own)
	maps.DeleteFunc(definitions, func(key, _ string) bool {
		ref, _ := kube.ParseKey(key)
		return ref.Kind == kubeobject.DeploymentKind
	})
	if err := c.nothingLeft(ctx, definitions); err != nil {
		return err
	}
	return c.remove(ctx, m, own, diags)
}

// remove removes the objects that were made, the last first, and waits until each is
// gone. It leaves the namespace if the namespace holds objects of somebody else.
func (c *Cluster) remove(ctx context.Context, m daemonModel, own ownership.Record, diags *diag.Diagnostics) error {
	objects, err := m.objects(ctx)
	if err != nil {
		return err
	}
	if err := c.removeStale(ctx, objects, own, diags); err != nil {
		return err
	}
	for _, obj := range slices.Backward(objects) {
		if obj.GetKind() == serviceAccountKind { // its rights are removed: the daemon cannot create the Lease again
			if err := c.removeLease(ctx, obj.GetNamespace()); err != nil {
				return err
			}
		}
		if err := c.removeOne(ctx, kube.RefOf(obj), own, diags); err != nil {
			return err
		}
	}
	return nil
}

// handedBack says whether the cluster was given back to Karpenter (karpenterd handback): the
// daemon is scaled to nothing, and no NodePool has the finalizer that it puts on each.
func (c *Cluster) handedBack(ctx context.Context, deployment kube.Ref) (bool, error) {
	live, err := c.Get(ctx, deployment)
	if errors.Is(err, kube.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	wanted, set, err := unstructured.NestedInt64(live.Object, "spec", "replicas")
	there, _, _ := unstructured.NestedInt64(live.Object, "status", "replicas")
	if err != nil || !set || wanted+there > 0 {
		return false, err
	}
	pools, err := c.finalized(ctx)
	return len(pools) == 0, err
}

// runsOurs tells whether a Deployment was made and the cluster was not handed back.
func (c *Cluster) runsOurs(ctx context.Context, own ownership.Record) (bool, error) {
	for _, key := range slices.Sorted(maps.Keys(own)) {
		ref, _ := kube.ParseKey(key)
		if ref.Kind != kubeobject.DeploymentKind {
			continue
		}
		if back, err := c.handedBack(ctx, ref); err != nil || !back {
			return err == nil, err
		}
	}
	return false, nil
}

// nothingLeft refuses while there are objects that still need what was made.
// Without the daemon, their finalizers would hold them for ever and their instances
// would run on. Without our definition, the API server would delete them.
func (c *Cluster) nothingLeft(ctx context.Context, own ownership.Record) error {
	runs, err := c.runsOurs(ctx, own)
	if err != nil {
		return err
	}
	defined := map[string]bool{}
	for key := range own {
		ref, _ := kube.ParseKey(key)
		defined[ref.Name] = defined[ref.Name] || ref.Kind == definitionKind
	}
	var kinds []schema.GroupVersionKind
	for definition, kind := range map[string]schema.GroupVersionKind{
		v1.NodePoolResource + "." + v1.Group:           v1.GroupVersion().WithKind(v1.NodePoolKind),
		v1.NodeClaimResource + "." + v1.Group:          v1.GroupVersion().WithKind(v1.NodeClaimKind),
		awsv1.EC2NodeClassResource + "." + awsv1.Group: awsv1.GroupVersion().WithKind(awsv1.EC2NodeClassKind),
	} {
		if runs || defined[definition] {
			kinds = append(kinds, kind)
		}
	}
	for definition, kind := range legacyKinds() {
		// A Provisioner has finalizers of the daemon, a node template has none.
		if defined[definition] || runs && kind.Kind == legacy.KindProvisioner {
			kinds = append(kinds, kind)
		}
	}
	var left []string
	ending := true
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	for _, kind := range kinds {
		items, err := c.List(ctx, kind, "", "")
		if err != nil && !errors.Is(err, kube.ErrKindNotServed) {
			return err
		}
		for _, item := range items {
			left = append(left, kube.RefOf(&item).String())
			ending = ending && item.GetDeletionTimestamp() != nil
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	if ending {
		return fmt.Errorf("%w: %s (%w)", failure.ErrStillNeeded, strings.Join(left, ", "), failure.ErrEnding)
	}
	return fmt.Errorf("%w: %s", failure.ErrStillNeeded, strings.Join(left, ", "))
}
