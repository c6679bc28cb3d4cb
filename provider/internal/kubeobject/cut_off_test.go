package kubeobject

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// applied is the object as the API server has it after the manager has applied it.
func applied(obj *unstructured.Unstructured, manager, fields string, operation metav1.ManagedFieldsOperationType) *unstructured.Unstructured {
	live := obj.DeepCopy()
	live.SetUID("1")
	live.SetManagedFields(append(live.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}))
	return live
}

func TestCutOff_OnlyWhatThisProviderAloneHasAppliedIsTakenUp(t *testing.T) {
	const (
		spec       = `{"f:spec":{"f:weight":{}}}`
		specLimits = `{"f:spec":{"f:weight":{},"f:limits":{"f:cpu":{}}}}`
	)
	thing := func(kind string, weight int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "one"}, "spec": map[string]any{"weight": weight},
		}}
	}
	annotated := func(obj *unstructured.Unstructured, key string) *unstructured.Unstructured {
		obj.SetAnnotations(map[string]string{key: "x"})
		return obj
	}
	more := applied(thing("NodePool", 7), kube.FieldManager, specLimits, metav1.ManagedFieldsOperationApply)
	more.Object["spec"].(map[string]any)["limits"] = map[string]any{"cpu": "5"}
	ours := func(kind string, weight int64) *unstructured.Unstructured {
		return applied(thing(kind, weight), kube.FieldManager, spec, metav1.ManagedFieldsOperationApply)
	}
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"a pool as declared":                               {ours("NodePool", 7), true},
		"a pool with another value":                        {ours("NodePool", 8), false},
		"a pool with one field more":                       {more, false},
		"a Deployment as declared":                         {ours("Deployment", 7), true},
		"a Deployment with another value":                  {ours("Deployment", 8), false},
		"a ServiceAccount with another value":              {ours("ServiceAccount", 8), true},
		"a ServiceAccount of kubectl's":                    {applied(thing("ServiceAccount", 7), "kubectl-create", spec, metav1.ManagedFieldsOperationUpdate), false},
		"a ServiceAccount that another has applied, too":   {applied(ours("ServiceAccount", 7), "argocd", spec, metav1.ManagedFieldsOperationApply), false},
		"a ServiceAccount that a controller has changed":   {applied(ours("ServiceAccount", 7), "kube-controller-manager", spec, metav1.ManagedFieldsOperationUpdate), true},
		"a Deployment whose creation was cut off half-way": {annotated(applied(thing("Deployment", 8), kube.FieldManager, spec, metav1.ManagedFieldsOperationUpdate), "karpenterd.sh/create"), true},
		"a definition that was adopted":                    {annotated(ours("CustomResourceDefinition", 7), AdoptedMark), false},
		"an EC2NodeClass that nobody has noted":            {thing("EC2NodeClass", 7), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CutOff(thing(c.live.GetKind(), 7), c.live)
			if err != nil || got != c.want {
				t.Errorf("taken up: %v, %v, want %v", got, err, c.want)
			}
		})
	}
}
