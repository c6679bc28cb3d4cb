package legacy

import (
	"path/filepath"
	"strings"
)

// patchesOf names the sources, as filepath.Clean writes them, that kustomizations among the
// documents use as patches, each with its kustomization. A patch is a part of an object and
// would be taken for another one.
func patchesOf(all []document) map[string]string {
	patches := map[string]string{}
	for _, d := range all {
		base := d.fileName()
		if base != "kustomization.yaml" && base != "kustomization.yml" && base != "Kustomization" && !strings.HasPrefix(d.text("apiVersion"), "kustomize.config.k8s.io/") {
			continue
		}
		for _, field := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
			list, _ := d.body[field].([]any)
			for _, item := range list {
				name, _ := item.(string)
				if patch, ok := item.(map[string]any); ok {
					name, _ = patch["path"].(string)
				}
				if name != "" && !strings.Contains(name, "\n") { // else the patch itself
					patches[filepath.Join(filepath.Dir(d.source), name)] = d.source
				}
			}
		}
	}
	return patches
}

// fileName is the name of the file, without its folder.
func (d document) fileName() string { return filepath.Base(d.source) }
