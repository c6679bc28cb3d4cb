package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// Karpenter's own examples are taken as they are, and each becomes resources but for what the
// daemon does not launch.
func TestExamples_OfKarpenterAreTaken(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(module(t, "github.com/aws/karpenter-provider-aws"), "examples", "v1", "*.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		result := legacy.Convert([]legacy.Source{{Name: name, Text: string(text)}}, legacy.Options{})
		all, err := result.Manifests()
		if err != nil || len(result.Errors)+len(result.Warnings) > 0 || len(all) == 0 {
			t.Errorf("%s: %d objects, %v, %v, %v", name, len(all), err, result.Errors, result.Warnings)
		}
		hcl, said := result.HCL("karpenter_daemon.this.id")
		got := strings.Count(hcl, "resource \"karpenter_")
		for _, p := range said {
			if strings.HasSuffix(p.What, "so that no resource is written") {
				got++
			}
		}
		if got != len(all) {
			t.Errorf("%s: %d resources of %d objects:\n%s", name, got, len(all), hcl)
		}
	}
}
