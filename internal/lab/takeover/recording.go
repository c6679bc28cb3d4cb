package takeover

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed recording.json
var recorded []byte

// Recording is what Karpenter left.
type Recording struct {
	Karpenter       string           `json:"karpenter"` // its version
	Objects         []map[string]any `json:"objects"`   // EC2NodeClasses, NodePools, NodeClaims, Nodes, in this order
	Pods            []Pod            `json:"pods"`
	Profiles        []Profile        `json:"profiles"`
	Instances       []Instance       `json:"instances"`
	LaunchTemplates []LaunchTemplate `json:"launchTemplates"`
}

// Pod is a pod of the default namespace that runs.
type Pod struct {
	Name string `json:"name"`
	Node string `json:"node"`
}

// Profile is an instance profile that Karpenter made.
type Profile struct {
	Name string            `json:"name"`
	Path string            `json:"path"`
	Role string            `json:"role"`
	Tags map[string]string `json:"tags"`
}

// Instance is one that Karpenter launched.
type Instance struct {
	ID             string            `json:"id"`
	Type           string            `json:"type"`
	Zone           string            `json:"zone"`
	Subnet         string            `json:"subnet"`
	SecurityGroups []string          `json:"securityGroups"`
	Image          string            `json:"image"`
	ImageName      string            `json:"imageName"`
	Tags           map[string]string `json:"tags"`
}

// LaunchTemplate is one that Karpenter made.
type LaunchTemplate struct {
	Name string            `json:"name"`
	Tags map[string]string `json:"tags"`
}

// Read reads the recording.
func Read() (Recording, error) {
	var r Recording
	if err := json.Unmarshal(recorded, &r); err != nil {
		return r, fmt.Errorf("recording read: %w", err)
	}
	return r, nil
}
