package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"reflect"
	"strings"

	kubeletapi "k8s.io/kubelet/config/v1beta1"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// The document kind that nodeadm reads.
const (
	nodeConfigType = "application/node.eks.aws"
	nodeConfigAPI  = "node.eks.aws/v1alpha1"
)

// nodeConfig is nodeadm's NodeConfig, as far as it decides what joins.
// Unknown fields are an error: the laboratory is where a misspelt one shows.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Spec       nodeSpec       `json:"spec"`
}

type nodeSpec struct {
	Cluster      clusterDetails  `json:"cluster"`
	Kubelet      kubeletOptions  `json:"kubelet"`
	Containerd   map[string]any  `json:"containerd,omitempty"`
	Instance     map[string]any  `json:"instance,omitempty"`
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

type clusterDetails struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority []byte `json:"certificateAuthority"` // PEM; base64 in the document
	CIDR                 string `json:"cidr"`                 // of services
	EnableOutpost        bool   `json:"enableOutpost,omitempty"`
	ID                   string `json:"id,omitempty"`
}

type kubeletOptions struct {
	Config kubeletConfig `json:"config"`
	Flags  []string      `json:"flags,omitempty"`
}

// kubeletConfig is the part of kubelet.config.k8s.io/v1beta1 that a NodeClass
// can set. The kubelet refuses to start on a field that it does not know.
type kubeletConfig struct {
	ClusterDNS                  []string          `json:"clusterDNS,omitempty"`
	MaxPods                     *int64            `json:"maxPods,omitempty"`
	PodsPerCore                 *int64            `json:"podsPerCore,omitempty"`
	SystemReserved              map[string]string `json:"systemReserved,omitempty"`
	KubeReserved                map[string]string `json:"kubeReserved,omitempty"`
	EvictionHard                map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft                map[string]string `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod     map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	EvictionMaxPodGracePeriod   *int64            `json:"evictionMaxPodGracePeriod,omitempty"`
	ImageGCHighThresholdPercent *int64            `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  *int64            `json:"imageGCLowThresholdPercent,omitempty"`
	CPUCFSQuota                 *bool             `json:"cpuCFSQuota,omitempty"`
	RegisterWithTaints          []taint           `json:"registerWithTaints,omitempty"`
}

type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// obeyed leaves out of the kubelet's configuration what the machine does not obey. As a
// kubelet does, it refuses what the kubelet's own types do not have.
func obeyed(merged map[string]any) error {
	spec, _ := merged["spec"].(map[string]any)
	of, _ := spec["kubelet"].(map[string]any)
	config, _ := of["config"].(map[string]any)
	raw, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUserData, err)
	}
	unknown, err := sigsjson.UnmarshalStrict(raw, &kubeletapi.KubeletConfiguration{})
	if err = errors.Join(append(unknown, err)...); err != nil {
		return fmt.Errorf("%w: configuration of the kubelet: %w", ErrUserData, err)
	}
	known := map[string]bool{}
	for f := range reflect.TypeFor[kubeletConfig]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	maps.DeleteFunc(config, func(name string, _ any) bool { return !known[name] })
	return nil
}

// readUserData finds the NodeConfig documents of the user data and merges them
// in their order, the later one winning, as nodeadm does.
func readUserData(data []byte) (nodeConfig, error) {
	documents, err := nodeConfigs(data)
	if err != nil {
		return nodeConfig{}, err
	}
	if len(documents) == 0 {
		return nodeConfig{}, fmt.Errorf("%w: no %s part", ErrUserData, nodeConfigType)
	}
	merged := map[string]any{}
	for i, document := range documents {
		var one map[string]any
		if err := yaml.Unmarshal(document, &one); err != nil {
			return nodeConfig{}, fmt.Errorf("%w: NodeConfig %d: %w", ErrUserData, i+1, err)
		}
		if one["apiVersion"] != nodeConfigAPI || one["kind"] != "NodeConfig" {
			return nodeConfig{}, fmt.Errorf("%w: document %d is %v %v, want %s NodeConfig", ErrUserData, i+1, one["apiVersion"], one["kind"], nodeConfigAPI)
		}
		merge(merged, one)
	}
	if err := obeyed(merged); err != nil {
		return nodeConfig{}, err
	}
	raw, err := json.Marshal(merged)
	if err != nil {
		return nodeConfig{}, fmt.Errorf("%w: %w", ErrUserData, err)
	}
	var c nodeConfig
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return nodeConfig{}, fmt.Errorf("%w: NodeConfig: %w", ErrUserData, err)
	}
	return c, c.validate()
}

// validate asks for what nodeadm asks for.
func (c nodeConfig) validate() error {
	cluster := c.Spec.Cluster
	for _, field := range []struct {
		name  string
		unset bool
	}{
		{"name", cluster.Name == ""},
		{"apiServerEndpoint", cluster.APIServerEndpoint == ""},
		{"certificateAuthority", len(cluster.CertificateAuthority) == 0},
		{"cidr", cluster.CIDR == ""},
	} {
		if field.unset {
			return fmt.Errorf("%w: spec.cluster.%s is missing", ErrUserData, field.name)
		}
	}
	return nil
}

// merge lays b over a: objects field by field, flags one after the other,
// everything else replaced.
func merge(a, b map[string]any) {
	for key, value := range b {
		switch value := value.(type) {
		case map[string]any:
			if have, ok := a[key].(map[string]any); ok {
				merge(have, value)
				continue
			}
		case []any:
			if have, ok := a[key].([]any); ok && key == "flags" {
				a[key] = append(have, value...)
				continue
			}
		}
		a[key] = value
	}
}

// nodeConfigs takes the NodeConfig documents out of the user data: the parts
// of that type of a MIME multipart, or the whole where it is not MIME.
func nodeConfigs(data []byte) ([][]byte, error) {
	text := strings.TrimLeft(string(data), "\r\n\t ")
	if !strings.HasPrefix(text, "MIME-Version:") && !strings.HasPrefix(text, "Content-Type:") {
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#!") {
			return nil, nil
		}
		return [][]byte{[]byte(text)}, nil
	}
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: MIME header: %w", ErrUserData, err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return nil, fmt.Errorf("%w: content type %q is not a multipart", ErrUserData, message.Header.Get("Content-Type"))
	}
	var documents [][]byte
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: MIME part: %w", ErrUserData, err)
		}
		kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil || kind != nodeConfigType {
			continue // scripts are cloud-init's
		}
		document, err := io.ReadAll(part)
		if err != nil {
			return nil, fmt.Errorf("%w: MIME part: %w", ErrUserData, err)
		}
		documents = append(documents, document)
	}
}
