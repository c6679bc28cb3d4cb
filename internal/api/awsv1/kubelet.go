package awsv1

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// KubeletConfiguration configures the kubelet. Its fields are those of the kubelet's own
// configuration, kubelet.config.k8s.io/v1beta1. The definition takes any field and value, as
// Karpenter's does; package translate says what is wrong with one.
//
// What plans and user data are made of has a Go field. All else is in Further, so that
// nothing is lost when an object is read and written.
type KubeletConfiguration struct {
	// ClusterDNS are the addresses of the DNS servers that pods use.
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// MaxPods of a node: a number, or an expression (see package kubeletcel). Without it the
	// number follows from the network interfaces.
	MaxPods *intstr.IntOrString `json:"maxPods,omitempty"`
	// PodsPerCore is the most pods of a node for each of its vCPUs, where that is
	// fewer than MaxPods. 0 is no limit.
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// SystemReserved is what the kubelet keeps for the system.
	SystemReserved map[string]ReservedQuantity `json:"systemReserved,omitempty"`
	// KubeReserved is what the kubelet keeps for itself and the container runtime.
	KubeReserved map[string]ReservedQuantity `json:"kubeReserved,omitempty"`
	// EvictionHard are the thresholds at which the kubelet evicts pods at once.
	EvictionHard map[string]EvictionThreshold `json:"evictionHard,omitempty"`
	// EvictionSoft are the thresholds at which the kubelet evicts pods after a time.
	EvictionSoft map[string]EvictionThreshold `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod is that time, for each signal of EvictionSoft.
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// EvictionMaxPodGracePeriod bounds the grace period of pods that are evicted at a soft
	// threshold, in seconds.
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// ImageGCHighThresholdPercent is the use of the disk above which the kubelet removes
	// images that no container uses.
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// ImageGCLowThresholdPercent is the use of the disk down to which it removes them.
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// CPUCFSQuota says whether the kubelet enforces CPU limits.
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`

	// Further are the other fields by name, as JSON in one form: keys are sorted, and there
	// is no white space.
	Further map[string]json.RawMessage `json:"-"`
}

// ReservedQuantity is a quantity that the kubelet keeps, or an expression for one.
type ReservedQuantity string

// EvictionThreshold is a quantity, or a percentage of what the node has.
type EvictionThreshold string

// Pods is a number of pods for MaxPods.
func Pods(n int32) *intstr.IntOrString {
	out := intstr.FromInt32(n)
	return &out
}

// PodExpression is an expression for MaxPods.
func PodExpression(text string) *intstr.IntOrString {
	out := intstr.FromString(text)
	return &out
}

// knownKubelet is KubeletConfiguration without its methods.
type knownKubelet KubeletConfiguration

// KubeletFields are the fields of the kubelet that have a Go field.
func KubeletFields() []string {
	var out []string
	for f := range reflect.TypeFor[KubeletConfiguration]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			out = append(out, name)
		}
	}
	return out
}

// MarshalJSON writes all fields, those in Further among them.
func (k KubeletConfiguration) MarshalJSON() ([]byte, error) {
	known, err := json.Marshal(knownKubelet(k))
	if err != nil || len(k.Further) == 0 {
		return known, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(known, &fields); err != nil {
		return nil, err
	}
	own := KubeletFields()
	for name, value := range k.Further {
		if !slices.Contains(own, name) {
			fields[name] = value
		}
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads what MarshalJSON writes. A field that is null is absent.
func (k *KubeletConfiguration) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var known knownKubelet
	if err := utiljson.Unmarshal(data, &known); err != nil {
		return err
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return err
	}
	*k = KubeletConfiguration(known)
	own := KubeletFields()
	for name, value := range fields {
		if value == nil || slices.Contains(own, name) {
			continue
		}
		if err := k.SetFurther(name, value); err != nil {
			return err
		}
	}
	return nil
}

// SetFurther sets a field that has no Go field. The value is as JSON is read without types.
func (k *KubeletConfiguration) SetFurther(name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("field %s encode: %w", name, err)
	}
	if k.Further == nil {
		k.Further = map[string]json.RawMessage{}
	}
	k.Further[name] = raw
	return nil
}
