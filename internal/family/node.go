package family

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// MaxUserDataBytes is EC2's limit before base64 encoding (EC2 user guide, "user data").
const MaxUserDataBytes = 16384

// Cluster is what an instance must know of the cluster.
type Cluster struct {
	Name                 string
	Endpoint             string // https URL of the API server
	CertificateAuthority []byte // PEM
	ServiceCIDR          string // "" where EKS does not say it
	Kubernetes           string // minor version, such as 1.36: images are made for one
}

// Node is what an instance must know to join the cluster as the node that is planned.
type Node struct {
	Cluster
	Labels map[string]string // labels of the domains kubernetes.io and k8s.io are left out
	Taints []Taint           // the product's own are added
	Class  *awsv1.EC2NodeClass
	// Kubelet has the numbers of the instance type in place of the expressions of the class, and
	// the pods that are planned for where the image would find another number. Without it a
	// maxPods that is an expression is left out.
	Kubelet *awsv1.KubeletConfiguration
}

// Taint is a taint of a node; Value may be empty.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// check says what the cluster lacks.
func (c Cluster) check() error {
	if err := awsspec.CheckClusterName(c.Name); err != nil {
		return fmt.Errorf("user data: %w", err)
	}
	if u, err := url.Parse(c.Endpoint); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("user data: API server endpoint %q: must be an https URL", c.Endpoint)
	}
	if len(c.CertificateAuthority) == 0 {
		return fmt.Errorf("user data: certificate authority of cluster %q: is empty", c.Name)
	}
	return nil
}

// dns is the address that EKS gives to the cluster's DNS: the tenth of the services.
func (c Cluster) dns() (netip.Addr, error) {
	if c.ServiceCIDR == "" {
		return netip.Addr{}, fmt.Errorf("user data: service CIDR of cluster %q: is empty", c.Name)
	}
	prefix, err := netip.ParsePrefix(c.ServiceCIDR)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("user data: service CIDR of cluster %q: %w", c.Name, err)
	}
	addr := prefix.Masked().Addr()
	for range 10 {
		addr = addr.Next()
	}
	return addr, nil
}

// text is the class's own user data.
func (n Node) text() string {
	if n.Class.Spec.UserData == nil {
		return ""
	}
	return *n.Class.Spec.UserData
}

// joinsDisks says whether the instance store volumes become one file system for pods.
func (n Node) joinsDisks() bool { return n.Class.Spec.InstanceStorePolicy != nil } // RAID0 is the only policy

// kubelet returns the settings of the kubelet; it may be empty. It leaves out numbers that
// mean the same as none: the plan does not count them, either.
func (n Node) kubelet() awsv1.KubeletConfiguration {
	var k awsv1.KubeletConfiguration
	if of := cmp.Or(n.Kubelet, n.Class.Spec.Kubelet); of != nil {
		k = *of
	}
	if k.MaxPods != nil && (k.MaxPods.Type != intstr.Int || k.MaxPods.IntVal == 0) {
		k.MaxPods = nil
	}
	if k.PodsPerCore != nil && *k.PodsPerCore == 0 {
		k.PodsPerCore = nil
	}
	return k
}

// settings are those of the kubelet by their names in its configuration, which are those
// of the API.
func (n Node) settings() (map[string]any, error) {
	raw, err := json.Marshal(n.kubelet())
	if err != nil {
		return nil, fmt.Errorf("user data encode: %w", err)
	}
	settings, decoder := map[string]any{}, json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // as they are written
	if err := decoder.Decode(&settings); err != nil {
		return nil, fmt.Errorf("user data encode: %w", err)
	}
	return settings, nil
}

// allTaints returns the taints of the node and of the product, each key and effect once.
func (n Node) allTaints() []Taint {
	taints := slices.Clone(n.Taints)
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

// ownLabels are the labels that the kubelet registers with. It leaves out labels of
// Kubernetes' own domains: the kubelet may not set them (NodeRestriction), or sets them
// without being told. The daemon adds them at registration.
func (n Node) ownLabels() map[string]string {
	labels := maps.Clone(n.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1.LabelDoNotSyncTaints] = v1.LabelTrue // the kubelet registers all taints itself
	maps.DeleteFunc(labels, func(key, _ string) bool {
		domain, _, found := strings.Cut(key, "/")
		return found && (inDomain(domain, "kubernetes.io") || inDomain(domain, "k8s.io"))
	})
	return labels
}

func inDomain(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

// pairs writes key and value of each entry with the text between them, sorted and with
// commas.
func pairs[V ~string](of map[string]V, between string) string {
	out := make([]string, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		out = append(out, key+between+string(of[key]))
	}
	return strings.Join(out, ",")
}

// release is that of the node's image, without a "v"; empty if nothing tells it. Images of
// terms have it in their names.
func (n Node) release() string {
	if alias, is, err := AliasOf(n.Class); is && err == nil {
		return strings.TrimPrefix(alias.Release, "v")
	}
	for _, image := range n.Class.Status.AMIs {
		if m := regexp.MustCompile(`-v([0-9]+\.[0-9]+\.[0-9]+)(-|$)`).FindStringSubmatch(image.Name); m != nil {
			return m[1]
		}
	}
	return ""
}

// bounded returns the text as it is sent to EC2, which takes a limited one.
func (n Node) bounded(text string) (string, error) {
	if len(text) > MaxUserDataBytes {
		return "", fmt.Errorf("user data: has %d bytes, and EC2 accepts %d: shorten spec.userData (%d bytes), or let it download the rest",
			len(text), MaxUserDataBytes, len(n.text()))
	}
	return text, nil
}
