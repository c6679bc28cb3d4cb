package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// finalizersPath is where JSON patches find the finalizers.
const finalizersPath = "/metadata/finalizers"

// Patcher patches objects of one kind.
type Patcher[T any] interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (T, error)
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// SetFinalizers gives the object these finalizers in place of those that it was read with.
// The API server refuses that only if another object has the name now, or if somebody else
// has changed the finalizers: changes of the status, as kubelets and controllers make all
// the time, do not matter. A refusal is a conflict.
func SetFinalizers[T any](ctx context.Context, w Patcher[T], object metav1.Object, want []string, o metav1.PatchOptions) (T, error) {
	got, err := w.Patch(ctx, object.GetName(), types.JSONPatchType, finalizersPatch(object, want), o)
	if testFailed(err) {
		err = apierrors.NewConflict(schema.GroupResource{}, object.GetName(), err)
	}
	return got, err
}

// FinalizersWithout returns the finalizers of the object but this one.
func FinalizersWithout(object metav1.Object, finalizer string) []string {
	return slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return f == finalizer })
}

// testFailed says whether the API server could not apply the patch, which is how it reports a
// test that fails. Where it refuses the object that comes of the patch, it names the object.
func testFailed(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

func finalizersPatch(object metav1.Object, want []string) []byte {
	var is any // null, if the object has none
	if list := object.GetFinalizers(); len(list) > 0 {
		is = list
	}
	if want == nil {
		want = []string{}
	}
	data, err := json.Marshal([]operation{
		{"test", "/metadata/uid", object.GetUID()},
		{"test", finalizersPath, is},
		{"add", finalizersPath, want}, // in place of what is there
	})
	if err != nil {
		panic(fmt.Errorf("patch marshal: %w", err)) //nolint:forbidigo // strings always marshal
	}
	return data
}

// ReadFinalizers returns the finalizers that a patch of SetFinalizers asks for.
func ReadFinalizers(patch []byte) (want []string, err error) {
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("patch read: %w", err)
	}
	for _, x := range operations {
		if x.Op == "add" && x.Path == finalizersPath {
			if err := json.Unmarshal(x.Value, &want); err != nil {
				return nil, fmt.Errorf("patch read: %w", err)
			}
			return want, nil
		}
	}
	return nil, fmt.Errorf("patch read: %w", errNoFinalizers)
}
