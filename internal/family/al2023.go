package family

import (
	"encoding/json"
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// al2023 is Amazon Linux 2023, whose instances join by nodeadm.
type al2023 struct{}

func (al2023) Name() string { return "AL2023" }

func (al2023) Parameters(kubernetes, release string) (out []Parameter, err error) {
	if err := checkRelease("al2023", release, "v20260115"); err != nil {
		return nil, err
	}
	for _, v := range []Variant{{"amd64", Standard}, {"arm64", Standard}, {"amd64", Nvidia}, {"arm64", Nvidia}, {"amd64", Neuron}} {
		arch := machineName(v.Arch)
		name := parameterOf("amazon-eks-node-al2023-"+arch+"-"+v.Kind, kubernetes, release)
		out = append(out, Parameter{
			Name:     fmt.Sprintf("%s%s/amazon-linux-2023/%s/%s/%s/image_id", eksParameters, kubernetes, arch, v.Kind, name),
			Variants: []Variant{v},
		})
	}
	return out, nil
}

// UserData is MIME multipart text. The parts of the user come first and the generated
// NodeConfig last: nodeadm merges in order, and the product's settings must win. The node
// registers with its labels, and with taints that keep pods away until the daemon has
// registered it. Source: nodeadm, "configuration" and "merging".
func (al2023) UserData(n Node) (string, error) {
	return inMIME(n, userParts, nodeConfigType, nodeConfig)
}

// nodeConfig is the NodeConfig as JSON. nodeadm reads YAML, and JSON is YAML.
func nodeConfig(n Node) (string, error) {
	if n.ServiceCIDR == "" { // nodeadm does not go on without
		return "", fmt.Errorf("user data: service CIDR of cluster %q: is empty", n.Name)
	}
	config, err := n.settings()
	if err != nil {
		return "", err
	}
	config["registerWithTaints"] = n.allTaints()
	spec := map[string]any{
		"cluster": map[string]any{
			"name":                 n.Name,
			"apiServerEndpoint":    n.Endpoint,
			"certificateAuthority": n.CertificateAuthority, // JSON has it in base64, as nodeadm expects
			"cidr":                 n.ServiceCIDR,
		},
		"kubelet": map[string]any{
			"config": config,
			"flags":  []string{"--node-labels=" + pairs(n.ownLabels(), "=")},
		},
	}
	if n.joinsDisks() {
		spec["instance"] = map[string]any{"localStorage": map[string]any{"strategy": "RAID0"}}
	}
	out, err := json.MarshalIndent(map[string]any{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("user data encode: %w", err)
	}
	return string(out) + "\n", nil
}

func (al2023) Volumes() []awsspec.BlockDevice {
	return []awsspec.BlockDevice{rootVolume("/dev/xvda", 20)}
}

func (al2023) PodVolume() string { return "/dev/xvda" }

// Adapt leaves out the first Graviton generation: its cores lack instructions that AL2023
// is compiled for.
func (al2023) Adapt(s *catalog.Settings) { s.WithoutGraviton1 = true }

func (al2023) Ignores(awsv1.KubeletConfiguration) []Ignored { return nil }
