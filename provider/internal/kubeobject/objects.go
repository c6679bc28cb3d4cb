package kubeobject

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// stuckAfter is how long Ready may be False for an object's current generation
// before the wait for it ends. It is long enough for the eventual consistency of
// IAM and EC2, and short enough that a misspelt tag does not cost the whole timeout.
const stuckAfter = time.Minute

// NodePoolRef names a NodePool.
func NodePoolRef(name string) kube.Ref {
	return kube.Ref{GroupVersionKind: v1.GroupVersion().WithKind(v1.NodePoolKind), Name: name}
}

// NodeClassRef names an EC2NodeClass.
func NodeClassRef(name string) kube.Ref {
	return kube.Ref{GroupVersionKind: awsv1.GroupVersion().WithKind(awsv1.EC2NodeClassKind), Name: name}
}

// NodeRef names a Node.
func NodeRef(name string) kube.Ref {
	return kube.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, Name: name}
}

// ResourceOf is the API resource of the kinds without a namespace that are patched.
func ResourceOf(ref kube.Ref) schema.GroupVersionResource {
	names := map[string]string{
		v1.NodePoolKind: v1.NodePoolResource, v1.NodeClaimKind: v1.NodeClaimResource, awsv1.EC2NodeClassKind: awsv1.EC2NodeClassResource, "Node": "nodes",
	}
	return ref.GroupVersion().WithResource(names[ref.Kind])
}

// Manifest is the declared object, with the kept fields of own.
func Manifest(ref kube.Ref, want Declared, own ownership.Record) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s convert: %w", ref, err)
	}
	// When an object field loses its last field, server-side apply makes it null,
	// and the schema refuses the null. With an empty map of labels, metadata stays an
	// object.
	if template, ok := fields["template"].(map[string]any); ok {
		if metadata, ok := template["metadata"].(map[string]any); ok && metadata["labels"] == nil {
			metadata["labels"] = map[string]any{}
		}
	}
	if err := withKept(own, fields); err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	obj.SetGroupVersionKind(ref.GroupVersionKind)
	obj.SetName(ref.Name)
	if len(want.Labels) > 0 {
		obj.SetLabels(want.Labels)
	}
	if len(want.annotations) > 0 {
		obj.SetAnnotations(want.annotations)
	}
	return obj, nil
}

// SpecInto reads the object's spec into a Go value of the API's types. A field that somebody
// has given a value of another type, as the definition of EC2NodeClass allows below kubelet,
// is left out: then it is drift, and no reason to read nothing.
func SpecInto(obj *unstructured.Unstructured, spec any) error {
	fields, _, err := unstructured.NestedMap(obj.Object, "spec")
	if err != nil {
		return fmt.Errorf("%s read spec: %w", kube.RefOf(obj), err)
	}
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, spec); err == nil {
		return nil
	}
	reflect.ValueOf(spec).Elem().SetZero() // it has parts of the first reading
	data, fault := json.Marshal(fields)
	if fault == nil {
		fault = json.Unmarshal(kube.Fitting(data, spec), spec)
	}
	if fault != nil {
		return fmt.Errorf("%s read spec: %w", kube.RefOf(obj), err)
	}
	return nil
}

// CreateObject creates an object that must not exist yet. If an object of that
// name is being deleted, CreateObject waits until it is gone. What an apply that was cut
// off has left is taken up. It also waits until the definition is served: daemon, node classes and node pools can be in one apply.
func (c *Cluster) CreateObject(ctx context.Context, ref kube.Ref, want Declared, own ownership.Record) error {
	obj, err := Manifest(ref, want, own)
	if err != nil {
		return err
	}
	return c.CreateNew(ctx, obj, own, CutOff)
}

// CreateNew is CreateObject for a manifest. left tells whether an existing object is one that
// an apply which was cut off has left: it is taken up.
func (c *Cluster) CreateNew(ctx context.Context, obj *unstructured.Unstructured, own ownership.Record, left func(obj, live *unstructured.Unstructured) (bool, error)) error {
	ref := kube.RefOf(obj)
	existing, err := c.Get(ctx, ref)
	switch {
	case errors.Is(err, kube.ErrNotFound):
	case err != nil:
		return err
	case existing.GetDeletionTimestamp() == nil:
		if ours, err := left(obj, existing); err != nil || !ours {
			return cmp.Or(err, fmt.Errorf("%s %w", ref, kube.ErrExists))
		}
		own.TakeUp(ref.Key(), string(existing.GetUID()), ref.String())
		return c.Declare(ctx, obj, own)
	default:
		if err := c.WaitGone(ctx, ref, existing.GetUID(), nil); err != nil {
			return err
		}
	}
	return c.CreateOurs(ctx, obj, own)
}

// CreateOurs creates the object and notes it in own.
func (c *Cluster) CreateOurs(ctx context.Context, obj *unstructured.Unstructured, own ownership.Record) error {
	live, err := c.Create(ctx, obj)
	if live != nil {
		own[kube.RefOf(obj).Key()] = string(live.GetUID())
	}
	return err
}

// DeclareObject gives the object that was made exactly the declared spec. The apply
// sets the given fields and removes the fields that we set before. A patch then
// removes the fields that others have added: a spec of Karpenter has the user's
// intent and nothing else, and no controller writes to it. Labels and annotations of others
// stay. ErrOtherObject.
func (c *Cluster) DeclareObject(ctx context.Context, ref kube.Ref, want Declared, own ownership.Record) error {
	obj, err := Manifest(ref, want, own)
	if err != nil {
		return err
	}
	return c.Declare(ctx, obj, own)
}

// Declare is DeclareObject for a manifest.
func (c *Cluster) Declare(ctx context.Context, obj *unstructured.Unstructured, own ownership.Record) error {
	ref := kube.RefOf(obj)
	if err := c.stillOurs(ctx, ref, own); err != nil {
		return err
	}
	uid := types.UID(own[ref.Key()])
	obj.SetUID(uid) // the API server refuses any other
	live, err := c.Apply(ctx, obj, true)
	if apierrors.IsInvalid(err) {
		live, err = c.applyAlone(ctx, obj, err)
	}
	if err != nil {
		return err
	}
	added := extras(obj.Object["spec"], live.Object["spec"])
	if added == nil {
		return nil
	}
	return c.patchSpec(ctx, ref, uid, added)
}

// applyAlone applies the object after an apply that was invalid. The fields that others
// have added may be the cause, such as an instance profile beside our role: a patch sets
// our fields and removes theirs at once. Without such fields the error is invalid.
func (c *Cluster) applyAlone(ctx context.Context, obj *unstructured.Unstructured, invalid error) (*unstructured.Unstructured, error) {
	ref := kube.RefOf(obj)
	live, err := c.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	wanted := obj.Object["spec"]
	if extras(wanted, live.Object["spec"]) == nil {
		return nil, invalid
	}
	if err := c.patchSpec(ctx, ref, obj.GetUID(), exactly(wanted, live.Object["spec"])); err != nil {
		return nil, err
	}
	return c.Apply(ctx, obj, true)
}

// patchSpec changes the spec of the object with the UID by a merge patch.
func (c *Cluster) patchSpec(ctx context.Context, ref kube.Ref, uid types.UID, spec any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "spec": spec})
	if err != nil {
		return fmt.Errorf("%s patch: %w", ref, err)
	}
	return c.Merge(ctx, ResourceOf(ref), ref.Name, patch)
}

// stillOurs checks that the live object is the one that was made, and stays. ErrOtherObject,
// ErrGoing.
func (c *Cluster) stillOurs(ctx context.Context, ref kube.Ref, own ownership.Record) error {
	live, err := c.Get(ctx, ref)
	if err != nil {
		return err
	}
	if !own.Is(ref.Key(), string(live.GetUID())) {
		return fmt.Errorf("%s %w", ref, failure.ErrOtherObject)
	}
	return GoingError(live)
}

// DeleteObject deletes the object that was made and waits until it is gone.
// Another object of that name stays.
func (c *Cluster) DeleteObject(ctx context.Context, ref kube.Ref, own ownership.Record) error {
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

// WaitReady waits until the object's Ready condition is True. It gives up early if
// Ready stays False (ErrStaysNotReady), and if somebody deletes the object (ErrGoing).
func (c *Cluster) WaitReady(ctx context.Context, ref kube.Ref) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	ready := kube.ConditionTrue(v1.ConditionReady)
	var since time.Time
	var early error
	_, err := c.Wait(ctx, ref, func(obj *unstructured.Unstructured) (bool, string) {
		done, missing := ready(obj)
		switch {
		case obj.GetDeletionTimestamp() != nil:
			done, early = false, GoingError(obj)
			giveUp()
		case done || !readyIsFalse(obj):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > cmp.Or(c.Pace.Stuck, stuckAfter):
			early = failure.ErrStaysNotReady
			giveUp()
		}
		return done, missing
	})
	if err != nil && early != nil {
		return fmt.Errorf("%w: %w", early, err)
	}
	return err
}

// IsReady tells whether the object's Ready condition is True for its current
// generation.
func IsReady(obj *unstructured.Unstructured) bool {
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

// Quoted are the names in quotation marks.
func Quoted(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%q", name)
	}
	return out
}
