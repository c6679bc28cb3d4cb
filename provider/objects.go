package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// stuckAfter is how long Ready may be False for an object's current generation
// before a wait for it is given up: long enough for IAM's and EC2's eventual
// consistency, short enough not to sit out the whole timeout on a misspelt tag.
const stuckAfter = time.Minute

func nodePoolRef(name string) kube.Ref {
	return kube.Ref{GroupVersionKind: v1.GroupVersion().WithKind(v1.NodePoolKind), Name: name}
}

func nodeClassRef(name string) kube.Ref {
	return kube.Ref{GroupVersionKind: awsv1.GroupVersion().WithKind(awsv1.EC2NodeClassKind), Name: name}
}

// resourceOf is the API of the two kinds that the provider declares by spec.
func resourceOf(ref kube.Ref) schema.GroupVersionResource {
	names := map[string]string{v1.NodePoolKind: v1.NodePoolResource, awsv1.EC2NodeClassKind: awsv1.EC2NodeClassResource}
	return ref.GroupVersion().WithResource(names[ref.Kind])
}

// manifest is the object with the spec given, a Go value of the API's types.
func manifest(ref kube.Ref, spec any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return nil, fmt.Errorf("%s convert: %w", ref, err)
	}
	// Server-side apply leaves null where an object loses its last field, and the
	// schema then refuses the null. An empty map of labels keeps it an object.
	if template, ok := fields["template"].(map[string]any); ok {
		if metadata, ok := template["metadata"].(map[string]any); ok && metadata["labels"] == nil {
			metadata["labels"] = map[string]any{}
		}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	obj.SetGroupVersionKind(ref.GroupVersionKind)
	obj.SetName(ref.Name)
	return obj, nil
}

// specInto reads the object's spec into a Go value of the API's types.
func specInto(obj *unstructured.Unstructured, spec any) error {
	fields, _, err := unstructured.NestedMap(obj.Object, "spec")
	if err != nil {
		return fmt.Errorf("%s read spec: %w", kube.RefOf(obj), err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, spec); err != nil {
		return fmt.Errorf("%s read spec: %w", kube.RefOf(obj), err)
	}
	return nil
}

// createObject declares an object that must not exist yet, and gives it as it
// then is. One that is on its way out is waited for. While the definitions are on
// their way in, so is that: daemon, node classes and node pools can be in one apply.
func (c *cluster) createObject(ctx context.Context, ref kube.Ref, spec any, own made) error {
	existing, err := c.Get(ctx, ref)
	switch {
	case errors.Is(err, kube.ErrNotFound):
	case err != nil:
		return err
	case existing.GetDeletionTimestamp() == nil:
		return fmt.Errorf("%s %w", ref, kube.ErrExists)
	default:
		if err := c.WaitGone(ctx, ref, existing.GetUID(), nil); err != nil {
			return err
		}
	}
	// Nobody has added anything to what is new: what is declared is the whole of it.
	obj, err := manifest(ref, spec)
	if err != nil {
		return err
	}
	return c.createOurs(ctx, obj, own)
}

// createOurs makes the object and notes it.
func (c *cluster) createOurs(ctx context.Context, obj *unstructured.Unstructured, own made) error {
	live, err := c.Create(ctx, obj)
	if live != nil {
		own[kube.RefOf(obj).Key()] = string(live.GetUID())
	}
	return err
}

// declareObject makes the spec of the object that was made the one given, the
// whole of it: apply sets what is given and removes what we set before, and what
// others have added since is then removed too. Karpenter's specs are a user's
// intent and nothing else; no controller writes to them. ErrOtherObject.
func (c *cluster) declareObject(ctx context.Context, ref kube.Ref, spec any, own made) error {
	obj, err := manifest(ref, spec)
	if err != nil {
		return err
	}
	if err := c.stillOurs(ctx, ref, own); err != nil {
		return err
	}
	uid := types.UID(own[ref.Key()])
	obj.SetUID(uid) // the API server refuses any other
	live, err := c.Apply(ctx, obj, true)
	if err != nil {
		return err
	}
	added := extras(obj.Object["spec"], live.Object["spec"])
	if added == nil {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "spec": added})
	if err != nil {
		return fmt.Errorf("%s patch: %w", ref, err)
	}
	return c.unset(ctx, resourceOf(ref), ref.Name, patch)
}

// stillOurs reads the object and wants it to be the one that was made.
// ErrOtherObject.
func (c *cluster) stillOurs(ctx context.Context, ref kube.Ref, own made) error {
	live, err := c.Get(ctx, ref)
	if err != nil {
		return err
	}
	if !own.is(ref.Key(), string(live.GetUID())) {
		return fmt.Errorf("%s %w", ref, ErrOtherObject)
	}
	return nil
}

// deleteObject deletes the object that was made and waits until it is gone.
// Another one of its name stays.
func (c *cluster) deleteObject(ctx context.Context, ref kube.Ref, own made) error {
	uid, has := own[ref.Key()]
	if !has {
		return nil
	}
	if err := c.Delete(ctx, ref, types.UID(uid)); err != nil {
		return err
	}
	if err := c.WaitGone(ctx, ref, types.UID(uid), nil); err != nil {
		return err
	}
	delete(own, ref.Key())
	return nil
}

// extras is the merge patch that removes from live what wanted has not; nil for
// nothing. Lists are atomic in the API's specs and never have extras.
func extras(wanted, live any) map[string]any {
	have, isMap := live.(map[string]any)
	want, wantsMap := wanted.(map[string]any)
	if !isMap || !wantsMap {
		return nil
	}
	patch := map[string]any{}
	for name, value := range have {
		asked, there := want[name]
		if !there {
			patch[name] = nil
			continue
		}
		if inner := extras(asked, value); inner != nil {
			patch[name] = inner
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// waitReady waits until the object's Ready condition is True. It gives up early
// when Ready stays False.
func (c *cluster) waitReady(ctx context.Context, ref kube.Ref) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	ready := kube.ConditionTrue(v1.ConditionReady)
	var since time.Time
	_, err := c.Wait(ctx, ref, func(obj *unstructured.Unstructured) (bool, string) {
		done, missing := ready(obj)
		switch {
		case done || !readyIsFalse(obj):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > stuckAfter:
			giveUp()
		}
		return done, missing
	})
	return err
}

// isReady tells whether the object's Ready condition is True for what it is now.
func isReady(obj *unstructured.Unstructured) bool {
	ready, _ := kube.ConditionTrue(v1.ConditionReady)(obj)
	return ready
}

func readyIsFalse(obj *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, entry := range conditions {
		condition, ok := entry.(map[string]any)
		if ok && condition["type"] == v1.ConditionReady {
			return condition["status"] == string(metav1.ConditionFalse) && reflect.DeepEqual(condition["observedGeneration"], obj.GetGeneration())
		}
	}
	return false
}
