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

// MaxUserDataBytes is EC2's limit before base64 encoding (EC2 user guide, "user data").
const MaxUserDataBytes = 16384

// Taint is a taint of a node; Value may be empty.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// NodeConfig is what an AL2023 instance needs to join the cluster.
type NodeConfig struct {
	ClusterName          string
	APIServerEndpoint    string // https URL
	CertificateAuthority []byte // PEM
	ServiceCIDR          string
	Labels               map[string]string // labels of the domains kubernetes.io and k8s.io are left out
	Taints               []Taint           // UserData adds the product's own
	MaxPods              int32             // 0: the default of the image
	PodsPerCore          int32             // 0: no limit
	Kubelet              map[string]any    // further settings, by their names in the kubelet's configuration
	LocalStorage         string            // strategy for instance store volumes; empty: they are left alone
	UserData             string            // of the user: shell script, NodeConfig or MIME multipart text
}

// UserData returns the user data of an AL2023 instance as MIME multipart text. The parts
// of the user come first and the generated NodeConfig last: nodeadm merges in order, and
// the product's settings must win. The node registers with its labels, and with taints
// that keep pods away until the daemon has registered it. Source: nodeadm,
// "configuration" and "merging".
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
		return "", fmt.Errorf("user data: has %d bytes, and EC2 accepts %d: shorten spec.userData (%d bytes), or let it download the rest",
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

// text is the NodeConfig as JSON. nodeadm reads YAML, and JSON is YAML.
func (c NodeConfig) text() (string, error) {
	kubeletConfig := map[string]any{}
	maps.Copy(kubeletConfig, c.Kubelet)
	kubeletConfig["registerWithTaints"] = c.taints()
	if c.MaxPods > 0 {
		kubeletConfig["maxPods"] = c.MaxPods
	}
	if c.PodsPerCore > 0 {
		kubeletConfig["podsPerCore"] = c.PodsPerCore
	}
	spec := map[string]any{
		"cluster": map[string]any{
			"name":                 c.ClusterName,
			"apiServerEndpoint":    c.APIServerEndpoint,
			"certificateAuthority": c.CertificateAuthority, // JSON has it in base64, as nodeadm expects
			"cidr":                 c.ServiceCIDR,
		},
		"kubelet": map[string]any{
			"config": kubeletConfig,
			"flags":  []string{"--node-labels=" + c.nodeLabels()},
		},
	}
	if c.LocalStorage != "" {
		spec["instance"] = map[string]any{"localStorage": map[string]any{"strategy": c.LocalStorage}}
	}
	out, err := json.MarshalIndent(map[string]any{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("user data encode: %w", err)
	}
	return string(out) + "\n", nil
}

// taints returns the taints of the node and of the product, each key and effect once.
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

// nodeLabels are the sorted labels that the kubelet registers with. It leaves out labels
// of Kubernetes' own domains: the kubelet may not set them (NodeRestriction), or sets
// them without being told. The daemon adds them at registration.
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
