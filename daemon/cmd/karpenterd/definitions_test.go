package main

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestDefinitions_LegacyOnesAreApart(t *testing.T) {
	names := func(args ...string) (out []string) {
		t.Helper()
		text, _, err := invoke(t.Context(), "", append([]string{"definitions"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(text, "---\n")[1:] {
			var crd struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(document), &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
				t.Fatalf("%v: %s", err, document)
			}
			out = append(out, crd.Metadata.Name)
		}
		return out
	}
	if got, want := names(), []string{"nodeclaims.karpenter.sh", "nodepools.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := names("--legacy"), []string{"provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws"}; !slices.Equal(got, want) {
		t.Errorf("--legacy: %v, want %v", got, want)
	}
	if _, _, err := invoke(t.Context(), "", "definitions", "--legacy", "x"); err == nil || !strings.Contains(err.Error(), `unexpected argument "x"`) {
		t.Errorf("an argument: %v", err)
	}
}
