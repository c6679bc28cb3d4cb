package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	kubelet "k8s.io/kubelet/config/v1beta1"
	sigsjson "sigs.k8s.io/json"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kubeletcel"
)

// kubeletFaults names what is wrong in spec.kubelet, at most one fault for each field. The
// definition takes every field and value there, as Karpenter's does; a kubelet does not, and
// its node would never join.
func kubeletFaults(c *awsv1.EC2NodeClass) []Fault {
	k := c.Spec.Kubelet
	if k == nil {
		return nil
	}
	var out []Fault
	note := func(field, effect, remedy string) {
		if effect != "" {
			out = append(out, Fault{"spec.kubelet." + field, effect, remedy})
		}
	}
	note(maxPodsField, podsFault(k.MaxPods), "write a number from 1 on, or an expression such as min(110, max_pods), or remove the field")
	for _, field := range []string{"systemReserved", "kubeReserved"} {
		effect, remedy := reservedFault(reservations(k)[field])
		note(field, effect, remedy)
	}
	for _, x := range []struct {
		name  string
		value *int32
	}{{"podsPerCore", k.PodsPerCore}, {"evictionMaxPodGracePeriod", k.EvictionMaxPodGracePeriod}} {
		if x.value != nil && *x.value < 0 {
			note(x.name, fmt.Sprintf("%d is below 0", *x.value), "write a number from 0 on, or remove the field")
		}
	}
	out = append(out, evictionFaults(k)...)
	out = append(out, imageFaults(k)...)
	for _, name := range slices.Sorted(maps.Keys(k.Further)) {
		effect, remedy := furtherFault(name, k.Further[name])
		note(name, effect, remedy)
	}
	return append(out, ignoredKubelet(c, true)...)
}

func podsFault(pods *intstr.IntOrString) string {
	switch {
	case pods == nil:
	case pods.Type == intstr.String:
		if _, err := kubeletcel.Compile(pods.StrVal); err != nil {
			return fmt.Sprintf("%q is no expression for a number: %v", pods.StrVal, err)
		}
	case pods.IntVal == 0:
		return "nodes without room for pods are of no use"
	case pods.IntVal < 0:
		return fmt.Sprintf("%d is no number of pods", pods.IntVal)
	}
	return ""
}

// reservable are the resources that a kubelet keeps from pods.
func reservable() []string { return []string{"cpu", "memory", "ephemeral-storage", "pid"} }

func reservedFault(values map[string]awsv1.ReservedQuantity) (effect, remedy string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text := values[name]
		if !slices.Contains(reservable(), name) {
			return fmt.Sprintf("a kubelet keeps no %q", name), "write " + oneOf(reservable())
		}
		switch {
		case isReserved(string(text)):
		case !isExpression(text):
			return fmt.Sprintf("%q for %s is below 0", text, name), "write a quantity such as 100m or 1Gi, 0 or more, or an expression"
		default:
			if _, err := kubeletcel.Compile(string(text)); err != nil {
				return fmt.Sprintf("%q for %s is neither a quantity nor an expression for a number: %v", text, name, err), "write a quantity such as 100m or 1Gi, or an expression such as max(100, max_pods * 11)"
			}
		}
	}
	return "", ""
}

// oneOf lists names to choose from.
func oneOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// signals are what a kubelet evicts pods by.
func signals() []string {
	return []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
}

func evictionFaults(k *awsv1.KubeletConfiguration) []Fault {
	const threshold = "write a quantity above 0 such as 100Mi, or a percentage up to 100% such as 5%"
	reclaim := map[string]string{}
	if raw, there := k.Further["evictionMinimumReclaim"]; there && json.Unmarshal(raw, &reclaim) != nil {
		reclaim = nil // its type is a fault of its own
	}
	out := slices.Concat(
		signalFaults("evictionHard", k.EvictionHard, isThreshold, threshold),
		signalFaults("evictionSoft", k.EvictionSoft, isThreshold, threshold),
		signalFaults("evictionSoftGracePeriod", k.EvictionSoftGracePeriod, isGracePeriod, "write a duration such as 1m30s, 0s or more"),
		signalFaults("evictionMinimumReclaim", reclaim, func(text string) bool { return isReserved(text) || isThreshold(text) }, threshold),
	)
	if len(out) > 0 {
		return out
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, there := k.EvictionSoftGracePeriod[signal]; !there {
			return []Fault{{"spec.kubelet.evictionSoft", signal + " has no grace period", "add it to evictionSoftGracePeriod"}}
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		if _, there := k.EvictionSoft[signal]; !there {
			return []Fault{{"spec.kubelet.evictionSoftGracePeriod", signal + " has no threshold", "add it to evictionSoft"}}
		}
	}
	return nil
}

// signalFaults is about the first value that the kubelet does not start with.
func signalFaults[T ~string](field string, values map[string]T, readable func(string) bool, remedy string) []Fault {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch text := string(values[name]); {
		case !slices.Contains(signals(), name):
			return []Fault{{"spec.kubelet." + field, fmt.Sprintf("%q is no eviction signal", name), "write " + oneOf(signals())}}
		case !readable(text):
			return []Fault{{"spec.kubelet." + field, fmt.Sprintf("the kubelet does not start with %q for %s", text, name), remedy}}
		}
	}
	return nil
}

// The kubelet's own thresholds, in percent of the disk; see imageGCHighThresholdPercent and
// imageGCLowThresholdPercent of its configuration.
const imageGCHigh, imageGCLow int32 = 85, 80

// imageFaults says whether a threshold of image collection is none, or is beyond the other
// one or its default.
func imageFaults(k *awsv1.KubeletConfiguration) []Fault {
	const highField, lowField = "imageGCHighThresholdPercent", "imageGCLowThresholdPercent"
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	var out []Fault
	for _, x := range []struct {
		name  string
		value *int32
	}{{highField, high}, {lowField, low}} {
		if x.value != nil && (*x.value < 0 || *x.value > 100) {
			out = append(out, Fault{"spec.kubelet." + x.name, fmt.Sprintf("%d is no share of the disk in percent", *x.value), "write a number between 0 and 100"})
		}
	}
	if len(out) > 0 {
		return out
	}
	fault := func(name string, high, low int32, remedy string) []Fault {
		return []Fault{{"spec.kubelet." + name, fmt.Sprintf("the kubelet does not start with a high threshold of images that is not above the low one (%d and %d)", high, low), remedy}}
	}
	switch {
	case high != nil && low != nil && *high <= *low:
		return fault(highField, *high, *low, "raise it above imageGCLowThresholdPercent")
	case high != nil && low == nil && *high <= imageGCLow:
		return fault(highField, *high, imageGCLow, "set both")
	case low != nil && high == nil && *low >= imageGCHigh:
		return fault(lowField, imageGCHigh, *low, "set both")
	}
	return nil
}

// laterFields are fields that the kubelet's configuration has in Kubernetes 1.37, and the types
// that this program is made with do not, with values of their types.
func laterFields() map[string]any { return map[string]any{"defaultPodSysctls": &map[string]string{}} }

// furtherFault says what is wrong with a field that is carried to the kubelet as it is. The
// kubelet's own types say which fields there are.
func furtherFault(name string, value json.RawMessage) (effect, remedy string) {
	if name == "registerWithTaints" {
		return "the daemon sets it, so that pods come to a node when it is ready", "remove the field, and write the taints in the NodePool"
	}
	into, document := any(&kubelet.KubeletConfiguration{}), []byte(fmt.Sprintf("{%q:%s}", name, value))
	if like, known := laterFields()[name]; known {
		into, document = like, value
	}
	unknown, err := sigsjson.UnmarshalStrict(document, into)
	switch {
	case err != nil:
		return "the kubelet cannot read it: " + err.Error(), "correct the value, or remove the field"
	case len(unknown) > 0:
		return "the configuration of a kubelet (kubelet.config.k8s.io/v1beta1) has no such field: " + unknown[0].Error(), "correct its name, or remove the field"
	}
	return "", ""
}
