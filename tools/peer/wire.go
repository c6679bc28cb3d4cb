package main

import corev1 "k8s.io/api/core/v1"

// question is pods that wait, DaemonSets, one NodePool and what it can buy. Where it has
// nodes, all pods run on them, and the question is which of the nodes are to go.
type question struct {
	Pods         []*corev1.Pod                    `json:"pods"`
	Daemons      []*corev1.Pod                    `json:"daemons"` // one pod of each DaemonSet
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Types        []instanceType                   `json:"types"`
	Nodes        []standing                       `json:"nodes,omitempty"`
	Budget       string                           `json:"budget,omitempty"` // of nodes that go at once
}

// standing is a node that runs.
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

// answer is what the scheduler made of it the first time.
type answer struct {
	Version   string   `json:"version"`   // of Karpenter
	Cold      float64  `json:"cold"`      // seconds that the first Solve of the process takes
	Warm      float64  `json:"warm"`      // the same for the later ones, the median
	Allocated uint64   `json:"allocated"` // bytes, by the first Solve
	Nodes     []node   `json:"nodes"`
	Unplaced  []string `json:"unplaced"` // namespace/name

	// Of nodes that are to go: Nodes is the fleet at the end, Cold and Warm are of one
	// decision, Total of all.
	Total    float64 `json:"total,omitempty"`
	Commands int     `json:"commands,omitempty"` // that were carried out
	Cut      bool    `json:"cut,omitempty"`      // there was still something to do
}

// node is a NodeClaim at the cheapest offering that it still admits.
type node struct {
	Type  string   `json:"type"`
	Price float64  `json:"price"`
	Zones []string `json:"zones"` // in which it may come up
	Pods  []string `json:"pods"`  // namespace/name
}
