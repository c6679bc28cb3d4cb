package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kubeletcel"
)

// expressions are those of a class, by the field and the resource that they are of; see
// expressionAt.
type expressions map[string]kubeletcel.Expression

const maxPodsField = "maxPods"

func expressionAt(field, resource string) string { return field + "[" + resource + "]" }

// isExpression says whether the text is not a quantity, as what is kept from pods is
// otherwise.
func isExpression(text awsv1.ReservedQuantity) bool {
	_, err := resource.ParseQuantity(string(text))
	return err != nil
}

// reservations are the maps of the configuration whose values may be expressions.
func reservations(k *awsv1.KubeletConfiguration) map[string]map[string]awsv1.ReservedQuantity {
	return map[string]map[string]awsv1.ReservedQuantity{"kubeReserved": k.KubeReserved, "systemReserved": k.SystemReserved}
}

// compiled reads the expressions of the class. What does not compile keeps the class from
// being ready, and is left out here.
func compiled(k *awsv1.KubeletConfiguration) expressions {
	out := expressions{}
	if k == nil {
		return out
	}
	add := func(at, text string) {
		if x, err := kubeletcel.Compile(text); err == nil {
			out[at] = x
		}
	}
	if k.MaxPods != nil && k.MaxPods.Type == intstr.String {
		add(maxPodsField, k.MaxPods.StrVal)
	}
	for field, values := range reservations(k) {
		for name, text := range values {
			if isExpression(text) {
				add(expressionAt(field, name), string(text))
			}
		}
	}
	return out
}

// kubeletOn is the configuration with the numbers of the instance type in place of the
// expressions. The settings are those of the class without expressions.
func kubeletOn(k *awsv1.KubeletConfiguration, all expressions, f catalog.Fact, s catalog.Settings) (*awsv1.KubeletConfiguration, error) {
	out := k.DeepCopy()
	machine := kubeletcel.Machine{
		InstanceType: f.Name, VCPUs: int64(f.VCPU), MemoryMiB: f.MemoryMiB, DefaultENIs: int64(f.ENIs), IPsOfENI: int64(f.IPv4PerENI), MaxPods: f.Pods(s),
	}
	if x, ok := all[maxPodsField]; ok {
		pods, err := numberOn(machine, maxPodsField, x)
		if err != nil {
			return nil, err
		}
		out.MaxPods = awsv1.Pods(int32(pods))
		if pods == 0 {
			return out, nil // no such node is launched
		}
		s.MaxPods = int(pods)
		machine.MaxPods = f.Pods(s)
	}
	values := reservations(out)
	for _, field := range slices.Sorted(maps.Keys(values)) {
		for _, name := range slices.Sorted(maps.Keys(values[field])) {
			x, ok := all[expressionAt(field, name)]
			if !ok {
				continue
			}
			amount, err := numberOn(machine, expressionAt(field, name), x)
			if err != nil {
				return nil, err
			}
			values[field][name] = amountOf(name, amount)
		}
	}
	return out, nil
}

// numberOn is the result of the expression of a field on the machine: a number that a kubelet
// takes.
func numberOn(machine kubeletcel.Machine, field string, x kubeletcel.Expression) (int64, error) {
	n, err := x.Evaluate(machine)
	if err == nil && (n < 0 || n > math.MaxInt32) {
		err = fmt.Errorf("the result %d is not between 0 and %d", n, math.MaxInt32)
	}
	if err != nil {
		return 0, fmt.Errorf("spec.kubelet.%s: the expression has no result for the instance type %s: %w: correct it so that it has one for every type that the class can launch", field, machine.InstanceType, err)
	}
	return n, nil
}

// amountOf writes a result in the unit of the resource, which is the one that people write
// it in: thousandths of a CPU, MiB of memory, GiB of disk, and numbers of processes. Of CPU
// and memory it is rounded up to a multiple, as Karpenter does it, so that few instance types
// need user data of their own.
func amountOf(name string, n int64) awsv1.ReservedQuantity {
	upTo := func(multiple int64) int64 { return (n + multiple - 1) / multiple * multiple }
	text := strconv.FormatInt(n, 10)
	switch name {
	case "cpu":
		text = strconv.FormatInt(upTo(10), 10) + "m"
	case "memory":
		text = strconv.FormatInt(upTo(16), 10) + "Mi"
	case "ephemeral-storage":
		text += "Gi"
	}
	return awsv1.ReservedQuantity(text)
}

// typesOf makes the instance types of the class. With expressions, what a node has is made
// of the numbers that its user data gets. Types without room for pods are left out. What an
// expression gives for types that the class cannot launch does not matter.
func typesOf(c *awsv1.EC2NodeClass, facts []catalog.Fact, market catalog.Market, s catalog.Settings) ([]catalog.InstanceType, error) {
	k := c.Spec.Kubelet
	all := compiled(k)
	if len(all) == 0 {
		return catalog.Build(facts, market, s), nil
	}
	var out []catalog.InstanceType
	for _, f := range slices.SortedFunc(slices.Values(facts), func(a, b catalog.Fact) int { return strings.Compare(a.Name, b.Name) }) {
		on, err := kubeletOn(k, all, f, s)
		switch {
		case err != nil && launches(c, f, market, s):
			return nil, err
		case err != nil:
			continue
		}
		own := s
		own.Kept = reserved(on)
		if n, ok := podLimit(on); ok && n == 0 {
			continue
		} else if ok {
			own.MaxPods = n
		}
		text, err := json.Marshal(on)
		if err != nil {
			return nil, fmt.Errorf("spec.kubelet encode: %w", err)
		}
		for _, t := range catalog.Build([]catalog.Fact{f}, market, own) {
			t.Kubelet = string(text)
			out = append(out, t)
		}
	}
	return out, nil
}

// launches says whether the class can launch the type: AWS sells it in a zone of the class,
// and the class has an image for it. Of a class whose images nobody has looked for yet, any
// may be.
func launches(c *awsv1.EC2NodeClass, f catalog.Fact, market catalog.Market, s catalog.Settings) bool {
	return slices.ContainsFunc(catalog.Build([]catalog.Fact{f}, market, s), func(t catalog.InstanceType) bool {
		_, fits := ImageFor(c, t.Labels)
		return fits || len(c.Status.AMIs) == 0
	})
}

// CheckExpressions says which expression of the class has no result for one of the instance
// types that the class can launch; nil if each has. A class whose subnets nobody has looked
// for yet can launch in any zone.
func CheckExpressions(c *awsv1.EC2NodeClass, facts []catalog.Fact, market catalog.Market, overhead catalog.Overhead) error {
	all := compiled(c.Spec.Kubelet)
	if len(all) == 0 {
		return nil
	}
	s := kubeletSettings(c, overhead)
	if s.Zones = zonesOf(c); len(s.Zones) == 0 {
		s.Zones = market.Zones
	}
	for _, f := range facts {
		if _, err := kubeletOn(c.Spec.Kubelet, all, f, s); err != nil && launches(c, f, market, s) {
			return err
		}
	}
	return nil
}

// KubeletOf is the configuration of the kubelet on a node of the type: that of the class,
// with numbers in place of expressions, and with the pods that are planned for where the image
// would find another number. A number that the class has counts, as the plan has followed it.
func KubeletOf(c *awsv1.EC2NodeClass, t catalog.InstanceType) (*awsv1.KubeletConfiguration, error) {
	out := c.Spec.Kubelet
	if t.Kubelet != "" {
		out = &awsv1.KubeletConfiguration{}
		if err := json.Unmarshal([]byte(t.Kubelet), out); err != nil {
			return nil, fmt.Errorf("ec2nodeclass %s: settings of the kubelet on %s read: %w", c.Name, t.Name, err)
		}
	}
	if n, ok := podLimit(out); t.MaxPods == 0 || ok && n > 0 {
		return out, nil
	}
	if out = out.DeepCopy(); out == nil {
		out = &awsv1.KubeletConfiguration{}
	}
	out.MaxPods = awsv1.Pods(int32(min(t.MaxPods, math.MaxInt32)))
	return out, nil
}
