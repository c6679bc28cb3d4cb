package machine

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// isBottlerocket says whether the machine runs Bottlerocket: its images are named so.
func (i Instance) isBottlerocket() bool { return strings.HasPrefix(i.Image, "bottlerocket-") }

func (i Instance) readUserData() (nodeConfig, error) {
	if i.isBottlerocket() {
		return readSettings(i.UserData)
	}
	return readUserData(i.UserData)
}

// bottlerocketSettings are Bottlerocket's settings, as far as a NodeClass decides them. The
// real one refuses a setting of kubernetes that it does not know, and so does this.
type bottlerocketSettings struct {
	APIServer                 string              `toml:"api-server"`
	ClusterCertificate        string              `toml:"cluster-certificate"`
	ClusterName               string              `toml:"cluster-name"`
	ClusterDNSIP              any                 `toml:"cluster-dns-ip"` // a text or a list
	NodeLabels                map[string]string   `toml:"node-labels"`
	NodeTaints                map[string][]string `toml:"node-taints"`
	MaxPods                   *int64              `toml:"max-pods"`
	SystemReserved            map[string]string   `toml:"system-reserved"`
	KubeReserved              map[string]string   `toml:"kube-reserved"`
	EvictionHard              map[string]string   `toml:"eviction-hard"`
	EvictionSoft              map[string]string   `toml:"eviction-soft"`
	EvictionSoftGracePeriod   map[string]string   `toml:"eviction-soft-grace-period"`
	EvictionMaxPodGracePeriod *int64              `toml:"eviction-max-pod-grace-period"`
	ImageGCHigh               string              `toml:"image-gc-high-threshold-percent"` // a number as a text
	ImageGCLow                string              `toml:"image-gc-low-threshold-percent"`
	CPUCFSQuotaEnforced       *bool               `toml:"cpu-cfs-quota-enforced"`
}

// readSettings reads TOML as Bottlerocket does, and returns what nodeadm would be told.
func readSettings(data []byte) (c nodeConfig, err error) {
	var all struct {
		Settings struct {
			Kubernetes bottlerocketSettings `toml:"kubernetes"`
			Commands   map[string]any       `toml:"bootstrap-commands"`
			Kernel     map[string]any       `toml:"kernel"`
		} `toml:"settings"`
	}
	decoder := toml.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return c, fmt.Errorf("%w: settings: %w", ErrUserData, err)
	}
	s := all.Settings.Kubernetes
	authority, err := base64.StdEncoding.DecodeString(s.ClusterCertificate)
	if err != nil {
		return c, fmt.Errorf("%w: settings.kubernetes.cluster-certificate: %w", ErrUserData, err)
	}
	// Bottlerocket is not told the range of services.
	c.Spec.Cluster = clusterDetails{Name: s.ClusterName, APIServerEndpoint: s.APIServer, CertificateAuthority: authority, CIDR: "unknown"}
	k := &c.Spec.Kubelet.Config
	*k = kubeletConfig{
		MaxPods: s.MaxPods, SystemReserved: s.SystemReserved, KubeReserved: s.KubeReserved, EvictionHard: s.EvictionHard, EvictionSoft: s.EvictionSoft,
		EvictionSoftGracePeriod: s.EvictionSoftGracePeriod, EvictionMaxPodGracePeriod: s.EvictionMaxPodGracePeriod, CPUCFSQuota: s.CPUCFSQuotaEnforced,
	}
	for _, percent := range []string{s.ImageGCHigh, s.ImageGCLow} {
		if _, err := strconv.ParseInt(percent, 10, 64); percent != "" && err != nil {
			return c, fmt.Errorf("%w: settings.kubernetes: image-gc threshold: %w", ErrUserData, err)
		}
	}
	for key, values := range s.NodeTaints {
		for _, text := range values {
			value, effect, found := strings.Cut(text, ":")
			if !found {
				return c, fmt.Errorf("%w: settings.kubernetes.node-taints: %q is not value:effect", ErrUserData, text)
			}
			k.RegisterWithTaints = append(k.RegisterWithTaints, taint{Key: key, Value: value, Effect: effect})
		}
	}
	var labels []string
	for key, value := range s.NodeLabels {
		labels = append(labels, key+"="+value)
	}
	c.Spec.Kubelet.Flags = []string{"--node-labels=" + strings.Join(labels, ",")}
	return c, c.validate()
}
