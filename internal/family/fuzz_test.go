package family_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

// What ParseAlias accepts names a family and a version of the text.
func FuzzParseAlias(f *testing.F) {
	for _, s := range []string{"al2023@latest", "al2023@v20260115", "al2023@v", "al2@latest", "bottlerocket@1.20.0", "custom@latest", "windows2022@latest", "al2023@latest\n", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		alias, err := family.ParseAlias(text)
		if err == nil && alias.String() != text {
			t.Fatalf("%q is %+v", text, alias)
		}
		if err != nil && alias != (family.Alias{}) {
			t.Fatalf("%q: %+v and %v", text, alias, err)
		}
	})
}
