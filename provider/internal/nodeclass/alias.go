package nodeclass

import (
	"fmt"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// aliasFaults says which aliases name no image: the definition takes any text around the @, and
// the class would never be ready. Those of Windows are refused by themselves.
func aliasFaults(terms []awsv1.AMISelectorTerm) []translate.Fault {
	var out []translate.Fault
	for i, t := range terms {
		if !strings.Contains(t.Alias, "@") || strings.HasPrefix(t.Alias, "windows") {
			continue
		}
		if _, err := family.ParseAlias(t.Alias); err != nil {
			what, remedy, _ := strings.Cut(err.Error(), ": ")
			out = append(out, translate.Fault{Path: fmt.Sprintf("spec.amiSelectorTerms[%d].alias", i), Effect: what, Remedy: remedy})
		}
	}
	return out
}
