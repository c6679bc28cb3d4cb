package main

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/bench"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// errUntold is a setting with more to it than the question has words for.
var errUntold = errors.New("the setting has limits, nodes, more pools or a policy that the peer is not told about")

// question and answer are what tools/peer reads and writes.
type question struct {
	Pods         []*corev1.Pod                    `json:"pods"`
	Daemons      []*corev1.Pod                    `json:"daemons"`
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Types        []instanceType                   `json:"types"`
	Nodes        []standing                       `json:"nodes,omitempty"`
	Budget       string                           `json:"budget,omitempty"`
}

type standing struct {
	Name         string `json:"name"`
	Type         string `json:"type"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
}

type instanceType struct {
	Name     string              `json:"name"`
	Labels   map[string]string   `json:"labels"`
	Capacity corev1.ResourceList `json:"capacity"`
	Reserved corev1.ResourceList `json:"reserved"`
	Offers   []offer             `json:"offers"`
}

type offer struct {
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	Price        float64 `json:"price"` // dollars an hour
}

type answer struct {
	Version   string   `json:"version"`
	Cold      float64  `json:"cold"`      // seconds
	Warm      float64  `json:"warm"`      // seconds
	Allocated uint64   `json:"allocated"` // bytes
	Nodes     []node   `json:"nodes"`
	Unplaced  []string `json:"unplaced"`
	Total     float64  `json:"total"` // seconds
	Commands  int      `json:"commands"`
	Cut       bool     `json:"cut"`
}

type node struct {
	Type  string   `json:"type"`
	Price float64  `json:"price"` // dollars an hour
	Zones []string `json:"zones"`
	Pods  []string `json:"pods"`
}

func ask(s bench.Setting, pods []cluster.Pod) (question, error) {
	var q question
	if s.Beside != nil || s.Shipped {
		return q, errUntold
	}
	for _, t := range s.Terms {
		q.Requirements = append(q.Requirements, corev1.NodeSelectorRequirement{
			Key: t.Key, Operator: corev1.NodeSelectorOperator(t.Operator), Values: t.Values,
		})
	}
	for _, d := range s.DaemonSets {
		p, err := podOf(cluster.Pod{UID: d.UID, Namespace: d.Namespace, Name: d.Name, Shape: d.Shape})
		if err != nil {
			return question{}, err
		}
		q.Daemons = append(q.Daemons, p)
	}
	for _, p := range pods {
		pod, err := podOf(p)
		if err != nil {
			return question{}, err
		}
		q.Pods = append(q.Pods, pod)
	}
	for _, t := range s.Types {
		q.Types = append(q.Types, typeOf(t))
	}
	return q, nil
}

// askFleet writes the question which of the nodes are to go.
func askFleet(s bench.Standing) (question, error) {
	q, err := ask(s.Setting, s.Objects.Pods)
	if err != nil {
		return q, err
	}
	q.Budget = s.Budget()
	for i, p := range s.Objects.Pods {
		q.Pods[i].Spec.NodeName = p.Node
	}
	for _, c := range s.Objects.Claims {
		q.Nodes = append(q.Nodes, standing{c.Node, c.InstanceType, c.Zone, c.CapacityType})
	}
	return q, nil
}

func typeOf(t catalog.InstanceType) instanceType {
	out := instanceType{
		Name: t.Name, Labels: t.Labels.Map(), Capacity: resources(t.Capacity), Reserved: resources(t.Capacity.Sub(t.Allocatable)),
	}
	for _, o := range t.Offerings {
		if o.Available {
			out.Offers = append(out.Offers, offer{o.Zone, o.CapacityType, float64(o.Price) / quantity.NanoDollars})
		}
	}
	return out
}

// resources has no extended ones: no demand here asks for any.
func resources(r quantity.Resources) corev1.ResourceList {
	list := corev1.ResourceList{}
	put := func(name corev1.ResourceName, q *resource.Quantity) {
		if !q.IsZero() {
			list[name] = *q
		}
	}
	put(corev1.ResourceCPU, resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI))
	put(corev1.ResourceMemory, resource.NewQuantity(r.MemoryBytes, resource.BinarySI))
	put(corev1.ResourceEphemeralStorage, resource.NewQuantity(r.EphemeralBytes, resource.BinarySI))
	put(corev1.ResourcePods, resource.NewQuantity(r.PodSlots, resource.DecimalSI))
	return list
}

// podOf writes the pod as the API server would have it. It knows the constraints
// that the cases have.
func podOf(p cluster.Pod) (*corev1.Pod, error) {
	requests := p.Shape.Requests
	requests.PodSlots = 0 // implied by being a pod
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), Labels: p.Labels.Map(), CreationTimestamp: metav1.NewTime(p.Created),
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: resources(requests)}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	s := p.Shape
	if len(s.Selector)+len(s.NodeAffinity)+len(s.Ports)+len(s.Volumes)+len(s.Unsupported) > 0 || s.Gang != (cluster.Gang{}) || s.Priority != 0 {
		return nil, fmt.Errorf("pod %s write: it has constraints that the peer is not told about", p.ID())
	}
	for _, t := range s.Tolerations {
		toleration := corev1.Toleration{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect), Operator: corev1.TolerationOpEqual}
		if t.Exists {
			toleration.Operator = corev1.TolerationOpExists
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
	}
	for _, c := range s.Spread {
		if c.Soft || c.IgnoreAffinity || c.HonorTaints || c.MinDomains > 1 {
			return nil, fmt.Errorf("pod %s write: it has a spread constraint that the peer is not told about", p.ID())
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: int32(c.MaxSkew), TopologyKey: c.Key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector(c.Selector),
		})
	}
	pod.Spec.Affinity = affinity(s)
	return pod, nil
}

func affinity(s cluster.Shape) *corev1.Affinity {
	if len(s.Preferred)+len(s.PodAffinity)+len(s.PodAntiAffinity) == 0 {
		return nil
	}
	a := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}, PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}
	for _, p := range s.Preferred {
		var term corev1.NodeSelectorTerm
		for _, r := range p.Node {
			values, _ := r.Values()
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: r.Key(), Operator: corev1.NodeSelectorOpIn, Values: values})
		}
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: p.Weight, Preference: term})
	}
	a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = terms(s.PodAffinity)
	a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = terms(s.PodAntiAffinity)
	return a
}

func terms(of []cluster.PodTerm) (required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for _, t := range of {
		term := corev1.PodAffinityTerm{TopologyKey: t.Key, LabelSelector: selector(t.Selector), Namespaces: t.Namespaces}
		if t.Weight == 0 {
			required = append(required, term)
			continue
		}
		preferred = append(preferred, corev1.WeightedPodAffinityTerm{Weight: t.Weight, PodAffinityTerm: term})
	}
	return required, preferred
}

func selector(s cluster.PodSelector) *metav1.LabelSelector {
	match := map[string]string{}
	for _, r := range s.Match {
		if values, listed := r.Values(); listed && len(values) == 1 {
			match[r.Key()] = values[0]
		}
	}
	return &metav1.LabelSelector{MatchLabels: match}
}
