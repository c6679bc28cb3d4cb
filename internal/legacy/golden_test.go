package legacy_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

// TestConvert_EveryRuleAsRecorded converts in.yaml of each file in testdata, whose first
// lines say the rule, and compares the problems, the manifests and the Terraform
// configuration with what is recorded there.
func TestConvert_EveryRuleAsRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := txtar.Archive{Comment: archive.Comment, Files: append(archive.Files[:1:1], outcome(t, string(archive.Files[0].Data))...)}
			if *update {
				if err := os.WriteFile(file, txtar.Format(&got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(&got))); diff != "" {
				t.Errorf("-update records it:\n%s", diff)
			}
		})
	}
}

// outcome is what comes of a text: the problems, and the output where there is no error.
func outcome(t *testing.T, text string) []txtar.File {
	t.Helper()
	result := legacy.Convert([]legacy.Source{{Text: text}}, legacy.Options{})
	var problems []string
	for _, p := range result.Errors {
		problems = append(problems, "error: "+p.String()+"\n")
	}
	for _, p := range result.Warnings {
		problems = append(problems, "warning: "+p.String()+"\n")
	}
	for _, name := range result.Others {
		problems = append(problems, "skipped: "+name+"\n")
	}
	config, more := result.HCL("")
	for _, p := range more {
		problems = append(problems, "warning of hcl: "+p.String()+"\n")
	}
	out := []txtar.File{{Name: "problems", Data: []byte(strings.Join(problems, ""))}}
	if len(result.Errors) > 0 {
		return out
	}
	manifests, err := result.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return append(out, txtar.File{Name: "out.yaml", Data: []byte(manifests)}, txtar.File{Name: "out.tf", Data: []byte(config)})
}
