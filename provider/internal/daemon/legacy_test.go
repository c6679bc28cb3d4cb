package daemon

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
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

// unread is refuseUnreadable for definitions of somebody else beside ours, which have v1.
func unread(t *testing.T, adopting bool, live ...*unstructured.Unstructured) error {
	t.Helper()
	var found []unreadable
	for _, d := range live {
		versions, err := unreadableIn(crd(d.GetName(), "v1"), d, adopting)
		if err != nil {
			t.Fatal(err)
		}
		if len(versions) > 0 {
			found = append(found, unreadable{d, versions, "v1"})
		}
	}
	return refuseUnreadable(found)
}

func TestDaemon_RefusesAClusterThatMayHaveObjectsInV1beta1(t *testing.T) {
	if err := unread(t, false, crd("nodepools.karpenter.sh", "v1", "v1"), crd("nodeclaims.karpenter.sh", "v1")); err != nil {
		t.Error(err)
	}
	err := unread(t, false, crd("nodepools.karpenter.sh", "v1", "v1beta1", "v1"), crd("nodeclaims.karpenter.sh", "v1", "v1"))
	for _, want := range []string{
		"status.storedVersions of: nodepools.karpenter.sh (v1beta1)\n", "Nothing was changed",
		"kubectl get nodepools.karpenter.sh -o json | kubectl replace -f -",
		`kubectl patch customresourcedefinition nodepools.karpenter.sh --subresource=status --type=merge -p '{"status":{"storedVersions":["v1"]}}'`,
	} {
		if !errors.Is(err, failure.ErrStoredOtherwise) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	err = unread(t, false, crd("nodepools.karpenter.sh", "v1beta1", "v1beta1"))
	if err == nil || !strings.Contains(err.Error(), "upgrade Karpenter to 1.0 first") || strings.Contains(err.Error(), "nodeclaims") {
		t.Error(err)
	}
}

func TestAdopt_EveryStoredVersionThatOursLacksIsRefused(t *testing.T) {
	older := crd("nodepools.karpenter.sh", "v1", "v1alpha5", "v1beta1", "v1")
	if err := unread(t, true, older); !errors.Is(err, failure.ErrStoredOtherwise) || !strings.Contains(err.Error(), "nodepools.karpenter.sh (v1alpha5, v1beta1)") {
		t.Error(err)
	}
	// A definition that is not adopted keeps its versions.
	if err := unread(t, false, crd("nodepools.karpenter.sh", "v1", "v1", "v2")); err != nil {
		t.Error(err)
	}
	if err := unread(t, true, crd("nodepools.karpenter.sh", "v1", "v1", "v2")); err == nil {
		t.Error("v2 is not refused")
	}
}
