package world

import (
	"reflect"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// alikeMost bounds how many sets of labels are remembered: clusters have a few thousand
// templates. Beyond that all are forgotten, and pods that come later have copies of their own.
const alikeMost = 10_000

// alike lets pods of one template share what their translations have alike: labels and shape.
// Of 40,000 pods that is some 20 MB. Package translate keeps one map of labels for all pods of a
// template (Keeper), by which the template is known here.
type alike struct {
	byLabels map[uintptr]likeness // by the address of the map
}

type likeness struct {
	labels map[string]string // kept, so that no other map gets its address
	pod    cluster.Pod       // its labels and shape
}

// share gives the translation of a pod with these labels the parts of an equal one before it.
func (a *alike) share(labels map[string]string, p *cluster.Pod) {
	if len(labels) == 0 {
		return
	}
	at := reflect.ValueOf(labels).Pointer()
	known, there := a.byLabels[at]
	there = there && slices.Equal(known.pod.Labels, p.Labels)
	if !there || !reflect.DeepEqual(known.pod.Shape, p.Shape) {
		if a.byLabels == nil || len(a.byLabels) >= alikeMost {
			a.byLabels = map[uintptr]likeness{}
		}
		if there {
			p.Labels = known.pod.Labels
		}
		a.byLabels[at] = likeness{labels, cluster.Pod{Labels: p.Labels, Shape: p.Shape}}
		return
	}
	p.Labels, p.Shape = known.pod.Labels, known.pod.Shape
}
