package legacy_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/tools/txtar"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// FuzzConvert_NeverPanicsAndWritesWhatParses converts any text: nothing panics, the same
// text gives the same output, and Terraform's parser reads the configuration.
func FuzzConvert_NeverPanicsAndWritesWhatParses(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	for _, c := range slices.Concat(badDocuments(), badProvisioners(), badTemplates(), badTemplating(), badCurrent(), badLater()) {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, config := all(t, text)
		if second, _ := all(t, text); first != second {
			t.Errorf("two conversions differ:\n%s\n%s", first, second)
		}
		if _, problems := hclsyntax.ParseConfig([]byte(config), "out.tf", hcl.InitialPos); problems.HasErrors() {
			t.Errorf("%v\n%s", problems, config)
		}
	})
}

// all converts a text to everything that there is.
func all(t *testing.T, text string) (everything, config string) {
	t.Helper()
	result := legacy.Convert([]legacy.Source{{Text: text}}, legacy.Options{})
	manifests, err := result.YAML()
	if err != nil {
		t.Fatal(err)
	}
	config, more := result.HCL("")
	return fmt.Sprint(result.Errors, result.Warnings, result.Others, more, manifests, config), config
}

// BenchmarkConvert_1000Objects converts 500 Provisioners and 500 AWSNodeTemplates, to
// YAML and to HCL. A second is what the command may take for them.
func BenchmarkConvert_1000Objects(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		one := provisioner("labels: {karpenter.sh/capacity-spread: '1'}", "ttlSecondsAfterEmpty: 30", "requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]") + "\n---\n" + template("userData: |\n    echo ${X}\n    echo y\n") + "\n---\n"
		one = strings.NewReplacer("{name: a}", fmt.Sprintf("{name: a%d}", i), "{name: b}", fmt.Sprintf("{name: b%d}", i)).Replace(one)
		text.WriteString(one)
	}
	for b.Loop() {
		result := legacy.Convert([]legacy.Source{{Text: text.String()}}, legacy.Options{})
		if len(result.Errors) > 0 {
			b.Fatal(result.Errors[0])
		}
		manifests, err := result.Manifests()
		if err != nil || len(manifests) != 1000 {
			b.Fatalf("%d manifests, %v", len(manifests), err)
		}
		result.HCL("")
	}
}
