package values

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// The guide has values three times: for manifests, for Argo CD and for Flux.
func TestRead_TheGuidesValuesMakeTheDaemon(t *testing.T) {
	text, err := os.ReadFile("../../../templates/guides/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, part := range strings.Split(string(text), "```") {
		block, ok := strings.CutPrefix(part, "yaml\n")
		if i%2 == 0 || !ok {
			continue
		}
		for document := range strings.SplitSeq(block, "---\n") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			if given := valuesIn(object); given != nil {
				found++
				makesTheDaemon(t, given)
			}
		}
	}
	if found != 3 {
		t.Errorf("the guide has values %d times, want 3", found)
	}
}

// valuesIn are the values of a block: the whole of it, or those of an Application or a HelmRelease.
func valuesIn(object map[string]any) map[string]any {
	if object["settings"] != nil {
		return object
	}
	for key, child := range object {
		inner, isObject := child.(map[string]any)
		if !isObject {
			continue
		}
		if key == "values" || key == "valuesObject" {
			return inner
		}
		if given := valuesIn(inner); given != nil {
			return given
		}
	}
	return nil
}

func makesTheDaemon(t *testing.T, given map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Read(text)
	if err != nil {
		t.Errorf("values of the guide: %v", err)
		return
	}
	if objects, err := v.Objects("karpenter", install.Image{}); err != nil || len(objects) == 0 {
		t.Errorf("values of the guide make %d objects: %v", len(objects), err)
	}
}
