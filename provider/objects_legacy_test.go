package provider

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// crd is a CustomResourceDefinition that stores new objects in one version, and may
// have objects that are stored in others.
func crd(name, stores string, stored ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": definitionKind, "metadata": map[string]any{"name": name},
		"spec":   map[string]any{"versions": []any{map[string]any{"name": stores, "storage": true}}},
		"status": map[string]any{"storedVersions": stored},
	}}
}

func TestDaemon_RefusesAClusterThatMayHaveObjectsInV1beta1(t *testing.T) {
	if err := refuseBeta([]*unstructured.Unstructured{crd("nodepools.karpenter.sh", "v1", "v1"), crd("nodeclaims.karpenter.sh", "v1")}); err != nil {
		t.Error(err)
	}
	err := refuseBeta([]*unstructured.Unstructured{crd("nodepools.karpenter.sh", "v1", "v1beta1", "v1"), crd("nodeclaims.karpenter.sh", "v1", "v1")})
	for _, want := range []string{
		"status.storedVersions of: nodepools.karpenter.sh\n", "Nothing was changed",
		"kubectl get nodepools.karpenter.sh -o json | kubectl replace -f -",
		`kubectl patch customresourcedefinition nodepools.karpenter.sh --subresource=status --type=merge -p '{"status":{"storedVersions":["v1"]}}'`,
	} {
		if !errors.Is(err, ErrStoredBeta) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	err = refuseBeta([]*unstructured.Unstructured{crd("nodepools.karpenter.sh", "v1beta1", "v1beta1")})
	if err == nil || !strings.Contains(err.Error(), "upgrade Karpenter to 1.0 first") || strings.Contains(err.Error(), "nodeclaims") {
		t.Error(err)
	}
}
