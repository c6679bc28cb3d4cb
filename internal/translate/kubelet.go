package translate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// kept reads what the kubelet keeps from pods. What cannot be read keeps the class from
// being ready, and is left out here.
func kept(k *awsv1.KubeletConfiguration) catalog.Kept {
	var out catalog.Kept
	if k == nil {
		return out
	}
	out.KubeMilliCPU, out.KubeMemory, out.KubeDisk = amounts(k.KubeReserved)
	system := func(told, into *int64) {
		if told != nil {
			*into = *told
		}
	}
	cpu, memory, disk := amounts(k.SystemReserved)
	system(cpu, &out.SystemMilliCPU)
	system(memory, &out.SystemMemory)
	system(disk, &out.SystemDisk)
	for signal, into := range map[string]**catalog.Threshold{"memory.available": &out.EvictMemory, "nodefs.available": &out.EvictDisk} {
		if text, told := k.EvictionHard[signal]; told {
			if t, err := threshold(string(text)); err == nil {
				*into = &t
			}
		}
	}
	return out
}

func amounts(in map[string]awsv1.ReservedQuantity) (milliCPU, memory, disk *int64) {
	read := func(name string, value func(resource.Quantity) int64) *int64 {
		q, err := resource.ParseQuantity(string(in[name]))
		if err != nil {
			return nil
		}
		n := value(q)
		return &n
	}
	bytes := func(q resource.Quantity) int64 { return q.Value() }
	return read("cpu", func(q resource.Quantity) int64 { return q.MilliValue() }), read("memory", bytes), read("ephemeral-storage", bytes)
}

// threshold reads a quantity, or a percentage with at most two decimals, as the definition
// has it.
func threshold(text string) (catalog.Threshold, error) {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		whole, fraction, _ := strings.Cut(percent, ".")
		n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
		if err != nil || !regexp.MustCompile(`^([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)$`).MatchString(percent) {
			return catalog.Threshold{}, fmt.Errorf("threshold %q: must be a percentage such as 5%%", text)
		}
		return catalog.Threshold{PerTenThousand: n}, nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return catalog.Threshold{}, fmt.Errorf("threshold %q: must be a quantity such as 100Mi or a percentage such as 5%%", text)
	}
	return catalog.Threshold{Bytes: q.Value()}, nil
}

// unreadable says of a map whether one of its values cannot be read. The kubelet of such a
// node does not start.
func unreadable(readable func(string) bool) func(any) bool {
	return func(value any) bool {
		texts, _ := value.(map[string]any)
		for _, inner := range texts {
			if text, ok := inner.(string); !ok || !readable(text) {
				return true
			}
		}
		return false
	}
}

// IsThreshold says whether the kubelet starts with the text as an eviction threshold: 0%
// turns one off, and a quantity of 0 is an error (parseThresholdStatement of the kubelet).
func IsThreshold(text string) bool {
	_, err := threshold(text)
	return err == nil
}

// IsGracePeriod says the same of the time of a soft threshold.
func IsGracePeriod(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d >= 0
}

// IsReserved says the same of what is kept from pods.
func IsReserved(text string) bool {
	q, err := resource.ParseQuantity(text)
	return err == nil && q.Sign() >= 0
}

// The kubelet's own thresholds, in percent of the disk; see imageGCHighThresholdPercent and
// imageGCLowThresholdPercent of its configuration.
const imageGCHigh, imageGCLow = 85, 80

// refusedThresholds says whether the class sets one threshold of image collection beyond
// the other one's default. The kubelet of such a node does not start.
func refusedThresholds(c *awsv1.EC2NodeClass) []Fault {
	k := c.Spec.Kubelet
	if k == nil || k.ImageGCHighThresholdPercent != nil && k.ImageGCLowThresholdPercent != nil {
		return nil // the schema compares them
	}
	fault := func(name string, high, low int32) []Fault {
		return []Fault{{"spec.kubelet." + name, fmt.Sprintf("the kubelet does not start with a high threshold of images that is not above the low one (%d and %d)", high, low), "set both"}}
	}
	switch high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent; {
	case high != nil && *high <= imageGCLow:
		return fault("imageGCHighThresholdPercent", *high, imageGCLow)
	case low != nil && *low >= imageGCHigh:
		return fault("imageGCLowThresholdPercent", imageGCHigh, *low)
	}
	return nil
}
