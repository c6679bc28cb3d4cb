package legacy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// reservedKeys are the resources that a kubelet reserves.
func reservedKeys() []string { return []string{"cpu", "memory", "ephemeral-storage", "pid"} }

// signals are what a kubelet evicts by.
func signals() []string {
	return []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
}

// keys reports keys that v1 does not take.
func (c *converter) keys(s subject, field string, keys, known []string) {
	for _, key := range keys {
		if !slices.Contains(known, key) && !templated(key) {
			c.fail(s, fmt.Sprintf("%s[%s]", field, key), "no such key", "write one of "+strings.Join(known, ", "))
		}
	}
}

// kubelet checks the settings of a kubelet and drops what v1 does not have.
func (c *converter) kubelet(s subject, field string, k *wire.Kubelet) *wire.Kubelet {
	if k == nil {
		return nil
	}
	out := *k
	if out.ContainerRuntime != "" && out.ContainerRuntime != "containerd" {
		c.lose(s, field+".containerRuntime", out.ContainerRuntime+" is dropped, as nodes run containerd only", "make sure that no pod mounts the socket of another runtime")
	}
	out.ContainerRuntime = ""
	if !whollyOf(out.EvictionSoft) && !whollyOf(out.EvictionSoftGracePeriod) {
		c.softPairs(s, field, out)
	}
	c.keys(s, field+".systemReserved", slices.Sorted(maps.Keys(out.SystemReserved)), reservedKeys())
	c.keys(s, field+".kubeReserved", slices.Sorted(maps.Keys(out.KubeReserved)), reservedKeys())
	c.keys(s, field+".evictionHard", slices.Sorted(maps.Keys(out.EvictionHard)), signals())
	c.keys(s, field+".evictionSoft", slices.Sorted(maps.Keys(out.EvictionSoft)), signals())
	high, isHigh := out.ImageGCHighThresholdPercent.Value()
	if low, isLow := out.ImageGCLowThresholdPercent.Value(); isHigh && isLow && high <= low {
		c.fail(s, field+".imageGCHighThresholdPercent", fmt.Sprintf("%d is not above imageGCLowThresholdPercent, %d", high, low), "raise it, or lower imageGCLowThresholdPercent")
	}
	c.kubeletValues(s, field, &out)
	if reflect.DeepEqual(out, wire.Kubelet{}) {
		return nil
	}
	return &out
}

// softPairs reports soft thresholds without their times, and times without their thresholds.
func (c *converter) softPairs(s subject, field string, k wire.Kubelet) {
	for _, key := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, ok := k.EvictionSoftGracePeriod[key]; !ok {
			c.fail(s, field+".evictionSoft", key+" has no evictionSoftGracePeriod", "add "+key+" to evictionSoftGracePeriod")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		if _, ok := k.EvictionSoft[key]; !ok {
			c.fail(s, field+".evictionSoftGracePeriod", key+" is not in evictionSoft", "add "+key+" to evictionSoft, or remove it here")
		}
	}
}

// placeKubelets moves the kubelet settings of pools to their classes, as v1 has them
// there. A class whose pools have different settings becomes several.
func (c *converter) placeKubelets() {
	users := map[*class][]*pool{}
	for _, p := range c.pools {
		name := p.out.Spec.Template.Spec.NodeClassRef.Name
		cl := c.classFor(p.source, name)
		known := cl != nil
		if p.class = cl; known {
			users[cl] = append(users[cl], p)
		}
		switch {
		case name == "":
		case p.current: // says nothing of kubelets, and stays as it is
		case !known && c.unread[name]: // an error says what is wrong with it
		case !known && p.kubelet != nil:
			c.fail(p.subject, p.kubeletField, fmt.Sprintf("v1 has it in the EC2NodeClass %q, which is not in the input", name), "convert what the NodePool refers to together with it")
		case !known:
			c.warn(p.subject, p.refField, fmt.Sprintf("%q is not in the input", name), "see that an EC2NodeClass of this name exists")
		case cl.current != nil && p.kubelet != nil:
			c.fail(p.subject, p.kubeletField, fmt.Sprintf("v1 has it in the EC2NodeClass %q, which is in the input as v1 already", name), "move it to spec.kubelet there")
		}
	}
	for _, cl := range append([]*class(nil), c.order...) {
		if name := cl.out.Metadata.Name; cl.current == nil && name != "" {
			c.share(cl, users[cl])
		}
	}
}

// share gives a class the settings that its first pools have, pools without settings
// before others, and makes copies for the rest.
func (c *converter) share(cl *class, users []*pool) {
	settings := map[string][]*pool{}
	var texts []string
	for _, p := range users {
		text := ""
		if p.kubelet != nil {
			data, err := json.Marshal(p.kubelet)
			if err != nil {
				c.fail(p.subject, p.kubeletField, "cannot be written: "+err.Error(), "correct the value")
				continue
			}
			text = string(bytes.TrimSpace(data))
		}
		if settings[text] == nil {
			texts = append(texts, text)
		}
		settings[text] = append(settings[text], p)
	}
	if settings[""] == nil && len(texts) > 0 {
		cl.out.Spec.Kubelet = settings[texts[0]][0].kubelet
		texts = texts[1:]
	}
	for _, text := range texts {
		if text == "" {
			continue
		}
		first := settings[text][0]
		copied := *cl
		copied.subject, copied.copies, copied.copied = first.subject, first.copies, true
		copied.out.Spec.Kubelet = first.kubelet
		copied.out.Metadata.Name = cl.out.Metadata.Name + "-" + first.out.Metadata.Name
		c.warn(first.subject, first.kubeletField, fmt.Sprintf("v1 has it in the EC2NodeClass, and other NodePools of %q have other settings, so %q is a copy with these", cl.out.Metadata.Name, copied.out.Metadata.Name), "")
		c.addClass(&copied)
		for _, p := range settings[text] {
			p.class, p.out.Spec.Template.Spec.NodeClassRef.Name = &copied, copied.out.Metadata.Name
		}
	}
}
