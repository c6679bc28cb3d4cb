package catalog_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// ParseName never panics; its parts are pieces of the name.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{"m5.large", "u-12tb1.metal", "m7i-flex.xlarge", "u7i-12tb.224xlarge", "hpc7g.16xlarge", "", ".", "-tb.", "u-tb1.x", "a.b.c", "m99999999999999999999.large"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p := catalog.ParseName(name)
		if p.Generation < 0 || (p.Category == "") != (p.Generation == 0 && p.Category == "") {
			t.Fatalf("%q: %+v", name, p)
		}
		if !strings.HasPrefix(p.Family, p.Category) || !strings.HasPrefix(name, p.Family) || !strings.HasSuffix(name, p.Size) {
			t.Fatalf("%q: %+v is not what the name says", name, p)
		}
		if p.Size != "" && p.Family+"."+p.Size != name {
			t.Fatalf("%q: family %q and size %q", name, p.Family, p.Size)
		}
	})
}
