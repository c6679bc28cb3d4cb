package legacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// Manifests of Karpenter may be a part of another object: values of a chart that writes what it is
// given, a template of CloudFormation, an object of Crossplane. They are not read, as nobody knows
// what becomes of them there, and not lost without a word either.

// inner warns of manifests inside an object that is not of Karpenter, and says whether it has some.
func (c *converter) inner(d document) bool {
	if d.text("kind") == "CustomResourceDefinition" { // whose texts have examples
		return false
	}
	remedy := "convert each as a file of its own"
	if strings.HasPrefix(d.text("apiVersion"), "kustomize.config.k8s.io/") || strings.HasPrefix(d.fileName(), "kustomization.y") {
		remedy = "convert the output of kustomize build"
	}
	paths := innerPaths(d.body, "", 0)
	for _, path := range paths {
		c.lose(d.subject(), path, "has a manifest of Karpenter in it, which is not read", remedy)
	}
	return len(paths) > 0
}

// innerPaths are where manifests of Karpenter begin below the top, as objects or as text.
func innerPaths(value any, path string, depth int) (all []string) {
	if depth > maxDepth {
		return nil
	}
	switch v := value.(type) {
	case string:
		if path != "" && ofKarpenter.MatchString(v) && strings.Contains(v, "kind") {
			return []string{path}
		}
	case map[string]any:
		if path != "" && innerManifest(v) {
			return []string{path}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "annotations" && key != "managedFields" && key != "status" {
				all = append(all, innerPaths(v[key], join(path, key), depth+1)...)
			}
		}
	case []any:
		for i, item := range v {
			all = append(all, innerPaths(item, fmt.Sprintf("%s[%d]", path, i), depth+1)...)
		}
	}
	return all
}

// innerManifest says whether an object is a manifest of Karpenter, and not only a reference.
func innerManifest(object map[string]any) bool {
	version, _ := object["apiVersion"].(string)
	group, _, _ := strings.Cut(version, "/")
	_, spec := object["spec"].(map[string]any)
	return spec && (group == wire.CoreGroup || group == wire.AWSGroup)
}
