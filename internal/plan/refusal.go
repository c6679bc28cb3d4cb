package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// mostNames is how many names a sentence lists before it counts the rest.
const mostNames = 8

// String makes one clause of a sentence.
func (r Refusal) String() string { return ExplainRefusals([]Refusal{r}) }

// ExplainRefusals says in one clause why no pool takes a pod. It names pools with
// the same reason together.
func ExplainRefusals(list []Refusal) string {
	type reason struct {
		text  string
		pools []string
	}
	var reasons []reason
	for _, r := range list {
		text := r.reason()
		i := slices.IndexFunc(reasons, func(x reason) bool { return x.text == text })
		if i < 0 {
			i, reasons = len(reasons), append(reasons, reason{text: text})
		}
		if r.Pool != "" {
			reasons[i].pools = append(reasons[i].pools, strconv.Quote(r.Pool))
		}
	}
	parts := make([]string, len(reasons))
	for i, x := range reasons {
		switch len(x.pools) {
		case 0:
			parts[i] = x.text
		case 1:
			parts[i] = "NodePool " + x.pools[0] + ": " + x.text
		default:
			parts[i] = "NodePools " + names(x.pools) + ": " + x.text
		}
	}
	return strings.Join(parts, "; ")
}

// reason is the refusal without its pool.
func (r Refusal) reason() string {
	switch {
	case r.Cause == LimitReached && r.Limit != nil:
		return r.Limit.reason()
	case r.Cause == TooLarge && r.Shortage != nil:
		return fmt.Sprintf("%s: %s comes closest of %d and %s", r.Cause, r.Largest, r.Types, lacks(*r.Shortage)) + r.Reported.reason(r.Shortage.Resource)
	case r.Cause == NoType && r.Ask != nil:
		return r.askReason()
	}
	text := string(r.Cause)
	if r.Detail != "" {
		text += " (" + r.Detail + ")"
	}
	if r.Types > 0 {
		text += ", " + quantity.Count(int64(r.Types), "instance type")
	}
	if !r.Until.IsZero() {
		text += "; tried again at " + r.Until.UTC().Format(time.RFC3339)
	}
	if remedy := r.Cause.remedy(); remedy != "" {
		text += "; " + remedy
	}
	return text
}

const withLaunches = "with the launches of this plan"

func (l Limit) reason() string {
	if l.Name == "nodes" {
		return fmt.Sprintf("the limit is %s, and the pool has %d %s", quantity.Count(l.Max, "node"), l.Used, withLaunches)
	}
	limit, used := fmt.Sprintf("the limit is %s %s", amount(l.Name, l.Max, 0), l.Name), "the pool has "+amount(l.Name, l.Used, 0)+" "+withLaunches
	if l.Adds > 0 {
		return fmt.Sprintf("%s, %s, and the smallest node that holds the pod adds %s", limit, used, amount(l.Name, l.Adds, 0))
	}
	return limit + ", and " + used
}

// lacks says what is short and by how much, in the coarsest unit that shows the
// difference. What a type has counts without the share of its DaemonSets.
func lacks(s quantity.Shortage) string {
	need, free := different(s.Resource, s.Need, s.Free)
	return fmt.Sprintf("lacks %s (%s needed, %s left after DaemonSets)", s.Resource, need, free)
}

// different renders two amounts in the coarsest unit that shows the difference.
func different(resource string, a, b int64) (x, y string) {
	fine := 0
	for fine < 3 && amount(resource, a, fine) == amount(resource, b, fine) {
		fine++
	}
	return amount(resource, a, fine), amount(resource, b, fine)
}

// reason says why plans count on less than the catalogue has, and what to do about it.
func (r *Reported) reason(resource string) string {
	if r == nil {
		return ""
	}
	reported, listed := different(resource, r.Amount, r.Listed)
	return fmt.Sprintf(": node %s reported %s of %s for pods, where the catalogue says %s; request less, let the NodePool have larger instance types, or change in the EC2NodeClass what takes it from pods",
		r.Node, reported, resource, listed)
}

// Explain says what follows from the report about the instance type, and what to do about it.
func (r *Reported) Explain(instanceType, resource string) string {
	reported, listed := different(resource, r.Amount, r.Listed)
	return fmt.Sprintf("Nodes of instance type %s have %s of %s for pods, as node %s reported; %s were expected. Plans count on no more than that for new nodes of this type, "+
		"so that no node is launched in vain for a pod that does not fit. To have more, change what takes it from pods: userData, kubelet, blockDeviceMappings or the image of the EC2NodeClass.",
		instanceType, reported, resource, r.Node, listed)
}

// amount renders an amount of a resource: CPUs with up to three decimals, bytes in
// Gi with up to one decimal. With fine at 1, 2 or 3, bytes are in Mi, in Ki or
// without a unit.
func amount(resource string, n int64, fine int) string {
	if n < 0 {
		return "-" + amount(resource, -max(n, -math.MaxInt64), fine)
	}
	switch resource {
	case quantity.CPU:
		return decimal(n, 1000, 3)
	case quantity.Memory, quantity.EphemeralStorage:
		switch {
		case fine == 0 && n >= 1<<30:
			return decimal(n, 1<<30, 1) + "Gi"
		case fine <= 1 && n >= 1<<20:
			return decimal(n, 1<<20, 0) + "Mi"
		case fine <= 2 && n >= 1<<10:
			return decimal(n, 1<<10, 0) + "Ki"
		}
	}
	return strconv.FormatInt(n, 10)
}

// decimal is n/unit, cut off after the given number of decimals, without trailing
// zeros.
func decimal(n, unit int64, decimals int) string {
	rest, digits := n%unit, ""
	for range decimals {
		rest *= 10
		digits += strconv.FormatInt(rest/unit, 10)
		rest %= unit
	}
	text := strconv.FormatInt(n/unit, 10)
	if digits = strings.TrimRight(digits, "0"); digits != "" {
		text += "." + digits
	}
	return text
}

func names(list []string) string {
	if len(list) > mostNames {
		return strings.Join(list[:mostNames], ", ") + fmt.Sprintf(" and %d more", len(list)-mostNames)
	}
	return strings.Join(list, ", ")
}
