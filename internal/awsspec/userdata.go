package awsspec

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// MaxUserDataBytes is EC2's limit before base64 (EC2 user guide, "user data").
const MaxUserDataBytes = 16384

// Taint of a node; Value may be empty.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// NodeConfig is what an AL2023 machine needs to join.
type NodeConfig struct {
	ClusterName          string
	APIServerEndpoint    string // https URL
	CertificateAuthority []byte // PEM
	ServiceCIDR          string
	Labels               map[string]string // those of kubernetes.io and k8s.io domains are left out
	Taints               []Taint           // the product's own are added
	MaxPods              int32             // 0: left to the image
	PodsPerCore          int32             // 0: no limit
	UserData             string            // the user's: shell script, NodeConfig or MIME multipart text
}

// UserData returns the user data of an AL2023 machine as text: MIME multipart,
// the user's parts first and the generated NodeConfig last, because nodeadm
// merges in order and the last word must be the product's. The machine
// registers with its labels and with taints that keep pods away until the
// daemon has adopted the node. Source: nodeadm, "configuration" and "merging".
func UserData(c NodeConfig) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	parts, err := userParts(c.UserData)
	if err != nil {
		return "", err
	}
	generated, err := c.text()
	if err != nil {
		return "", err
	}
	text, err := joinMIME(append(parts, mimePart{contentType: nodeConfigType, body: generated}))
	if err != nil {
		return "", err
	}
	text = strings.ReplaceAll(text, "\r", "")
	if len(text) > MaxUserDataBytes {
		return "", fmt.Errorf("user data: has %d bytes and EC2 takes %d: shorten spec.userData (%d bytes), or have it fetch the rest",
			len(text), MaxUserDataBytes, len(c.UserData))
	}
	return text, nil
}

func (c NodeConfig) check() error {
	if err := CheckClusterName(c.ClusterName); err != nil {
		return fmt.Errorf("user data: %w", err)
	}
	if u, err := url.Parse(c.APIServerEndpoint); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("user data: API server endpoint %q: must be an https URL", c.APIServerEndpoint)
	}
	if len(c.CertificateAuthority) == 0 {
		return fmt.Errorf("user data: certificate authority of cluster %q: is empty", c.ClusterName)
	}
	if c.ServiceCIDR == "" {
		return fmt.Errorf("user data: service CIDR of cluster %q: is empty", c.ClusterName)
	}
	return nil
}

// text is the NodeConfig as JSON, which is YAML too: nodeadm reads either.
func (c NodeConfig) text() (string, error) {
	kubeletConfig := map[string]any{"registerWithTaints": c.taints()}
	if c.MaxPods > 0 {
		kubeletConfig["maxPods"] = c.MaxPods
	}
	if c.PodsPerCore > 0 {
		kubeletConfig["podsPerCore"] = c.PodsPerCore
	}
	out, err := json.MarshalIndent(map[string]any{
		"apiVersion": "node.eks.aws/v1alpha1",
		"kind":       "NodeConfig",
		"spec": map[string]any{
			"cluster": map[string]any{
				"name":                 c.ClusterName,
				"apiServerEndpoint":    c.APIServerEndpoint,
				"certificateAuthority": c.CertificateAuthority, // base64 in JSON, as nodeadm wants it
				"cidr":                 c.ServiceCIDR,
			},
			"kubelet": map[string]any{
				"config": kubeletConfig,
				"flags":  []string{"--node-labels=" + c.nodeLabels()},
			},
		},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("user data encode: %w", err)
	}
	return string(out) + "\n", nil
}

// taints adds the product's own to the machine's; each key and effect once.
func (c NodeConfig) taints() []Taint {
	taints := slices.Clone(c.Taints)
	unregistered, awaiting := v1.UnregisteredTaint(), v1.AwaitingPodsTaint()
	for _, own := range []Taint{
		{Key: unregistered.Key, Effect: string(unregistered.Effect)},
		{Key: awaiting.Key, Effect: string(awaiting.Effect)},
	} {
		if !slices.ContainsFunc(taints, func(t Taint) bool { return t.Key == own.Key && t.Effect == own.Effect }) {
			taints = append(taints, own)
		}
	}
	return taints
}

// nodeLabels are the labels that a kubelet may give itself, sorted. Those of
// Kubernetes' own domains it may not (NodeRestriction) or sets by itself; the
// daemon adds them on registration.
func (c NodeConfig) nodeLabels() string {
	labels := maps.Clone(c.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1.LabelDoNotSyncTaints] = v1.LabelTrue // the kubelet registers all taints itself
	var pairs []string
	for key, value := range labels {
		domain, _, found := strings.Cut(key, "/")
		if found && (inDomain(domain, "kubernetes.io") || inDomain(domain, "k8s.io")) {
			continue
		}
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func inDomain(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}
