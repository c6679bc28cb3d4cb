package kubeobject

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// DeploymentKind is the kind of what runs the daemon.
const DeploymentKind = "Deployment"

// CutOff tells whether the provider has made the object without that a state knows of it.
// A Deployment, a pool or a class must be as declared: with anything else in it, another
// configuration runs it.
func CutOff(obj, live *unstructured.Unstructured) (bool, error) {
	if live.GetAnnotations()[AdoptedMark] != "" || !appliedByUsAlone(live) {
		return false, nil
	}
	if kube.Unfinished(live) {
		return true, nil
	}
	if kind := live.GetKind(); kind != DeploymentKind && kind != NodePoolRef("").Kind && kind != NodeClassRef("").Kind {
		return true, nil
	}
	owned, err := kube.Owned(live, kube.FieldManager)
	if err != nil {
		return false, err
	}
	return len(Changed(obj, owned)) == 0 && extras(obj.Object, owned) == nil, nil
}

// appliedByUsAlone tells whether the provider has applied the object, and nobody else.
func appliedByUsAlone(obj *unstructured.Unstructured) bool {
	return DeclaredByUs(obj) && !slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Operation == metav1.ManagedFieldsOperationApply && f.Manager != kube.FieldManager
	})
}

// DeclaredByUs tells whether the provider has applied the object. A copy that somebody
// makes with kubectl has the label, too.
func DeclaredByUs(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == kube.FieldManager })
}

// AdoptedMark is the annotation of an adopted definition. An import has no record of what was
// adopted, and knows it by the mark.
const AdoptedMark = "karpenterd.sh/adopted"
