package legacy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// kubeletValues reports values with which no kubelet starts. An API server refuses them in a
// v1 object; none sees what a daemon serves.
func (c *converter) kubeletValues(s subject, field string, k *wire.Kubelet) {
	c.upTo(s, field+".maxPods", k.MaxPods, 1<<31-1)
	c.upTo(s, field+".podsPerCore", k.PodsPerCore, 1<<31-1)
	c.upTo(s, field+".imageGCHighThresholdPercent", k.ImageGCHighThresholdPercent, 100)
	c.upTo(s, field+".imageGCLowThresholdPercent", k.ImageGCLowThresholdPercent, 100)
	eachKey(k.SystemReserved, func(key string) { c.amount(s, field+".systemReserved["+key+"]", string(k.SystemReserved[key])) })
	eachKey(k.KubeReserved, func(key string) { c.amount(s, field+".kubeReserved["+key+"]", string(k.KubeReserved[key])) })
	eachKey(k.EvictionHard, func(key string) { c.threshold(s, field+".evictionHard["+key+"]", k.EvictionHard[key]) })
	eachKey(k.EvictionSoft, func(key string) { c.threshold(s, field+".evictionSoft["+key+"]", k.EvictionSoft[key]) })
	eachKey(k.EvictionSoftGracePeriod, func(key string) {
		text := k.EvictionSoftGracePeriod[key]
		if d, err := time.ParseDuration(text); (err != nil || d < 0) && !templated(text) {
			c.fail(s, field+".evictionSoftGracePeriod["+key+"]", fmt.Sprintf("%q is no time", text), "write one such as 1m30s")
		}
	})
}

// eachKey calls do with each key, sorted.
func eachKey[V any](of map[string]V, do func(key string)) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		do(key)
	}
}

func (c *converter) upTo(s subject, field string, n wire.Number, most int64) {
	if v, is := n.Value(); is && (v < 0 || v > most) {
		c.fail(s, field, fmt.Sprintf("%d is not between 0 and %d", v, most), "correct it, or remove it")
	}
}

func (c *converter) amount(s subject, field, text string) {
	if templated(text) {
		return
	}
	if q, err := resource.ParseQuantity(text); err != nil || q.Sign() < 0 {
		c.fail(s, field, fmt.Sprintf("%q is no amount", text), "write one such as 100m or 1Gi")
	}
}

func (c *converter) threshold(s subject, field, text string) {
	percent, is := strings.CutSuffix(text, "%")
	if !is || templated(text) {
		c.amount(s, field, text)
		return
	}
	if share, err := strconv.ParseFloat(percent, 64); err != nil || !(share >= 0 && share <= 100) {
		c.fail(s, field, fmt.Sprintf("%q is no share", text), "write one between 0% and 100%")
	}
}
