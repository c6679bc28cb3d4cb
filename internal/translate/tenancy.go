package translate

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// tenancies lists the tenancies that instances are launched with, in the order in which they
// are preferred: as with Karpenter, an instance has hardware of its own only where the default
// is not admitted.
func tenancies() []string { return []string{label.SharedTenancy, label.Dedicated} }

// Tenancy is the tenancy of instances under the requirements, and under the label if there is
// one; "" where they admit none. Of two that contradict each other, the requirements count.
func Tenancy(rs label.Requirements, labels label.Labels) string {
	fixed, ok := labels.Get(label.Tenancy)
	out := ""
	for _, t := range tenancies() {
		if !rs.Admits(label.Tenancy, t) {
			continue
		}
		if !ok || fixed == t {
			return t
		}
		if out == "" {
			out = t
		}
	}
	return out
}

// tenancyOfPool is the tenancy of the pool's nodes, or why there is none.
func tenancyOfPool(rs label.Requirements, labels label.Labels) (tenancy, refused string) {
	fixed, ok := labels.Get(label.Tenancy)
	tenancy = Tenancy(rs, labels)
	if tenancy == "" || ok && fixed != tenancy {
		return "", fmt.Sprintf("its requirements and labels leave no tenancy to launch instances with: let %s admit %s or %s (dedicated hosts are not supported)",
			label.Tenancy, label.SharedTenancy, label.Dedicated)
	}
	return tenancy, ""
}
