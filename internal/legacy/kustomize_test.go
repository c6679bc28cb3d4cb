package legacy_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

func TestConvert_PatchesAreFoundHoweverFilesAreNamed(t *testing.T) {
	const (
		kustomization = "resources: [pool.yaml]\npatches: [{path: patch.yaml}]\n"
		patch         = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {weight: 5}\n"
	)
	for _, names := range [][2]string{{"a/kustomization.yaml", "a/patch.yaml"}, {"./a/kustomization.yaml", "./a/patch.yaml"}, {"a/kustomization.yaml", "./a//patch.yaml"}, {"./kustomization.yaml", "patch.yaml"}} {
		result := legacy.Convert([]legacy.Source{{Name: names[0], Text: kustomization}, {Name: names[1], Text: patch}}, legacy.Options{})
		want := names[1] + `: Provisioner "a": is left out, as it is a patch in ` + names[0] + "; convert the output of kustomize build"
		if len(result.Errors) > 0 || len(result.Warnings) != 1 || result.Warnings[0].String() != want {
			t.Errorf("%v: errors %v, warnings %v; want %s", names, result.Errors, result.Warnings, want)
		}
	}
}
