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

// reserved reads what the kubelet keeps from pods. What cannot be read keeps the class from
// being ready, and is left out here.
func reserved(k *awsv1.KubeletConfiguration) catalog.Kept {
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

// threshold reads a quantity, or a percentage up to 100. Of a percentage with more than two
// decimals the rest is rounded up.
func threshold(text string) (catalog.Threshold, error) {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		whole, fraction, _ := strings.Cut(percent, ".")
		n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
		if len(fraction) > 2 && strings.Trim(fraction[2:], "0") != "" {
			n++
		}
		if err != nil || n > 10_000 || !regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,20})?$`).MatchString(percent) {
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

// isThreshold says whether the kubelet starts with the text as an eviction threshold: 0%
// turns one off, and a quantity of 0 is an error (parseThresholdStatement of the kubelet).
func isThreshold(text string) bool {
	_, err := threshold(text)
	return err == nil
}

// isGracePeriod says the same of the time of a soft threshold.
func isGracePeriod(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d >= 0
}

// isReserved says the same of what is kept from pods.
func isReserved(text string) bool {
	q, err := resource.ParseQuantity(text)
	return err == nil && q.Sign() >= 0
}
