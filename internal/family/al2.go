package family

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// al2 is Amazon Linux 2, whose instances join by the script bootstrap.sh. EKS publishes no
// images of it from Kubernetes 1.33 on.
type al2 struct{}

func (al2) Name() string { return "AL2" }

func (al2) Parameters(kubernetes, release string) (out []Parameter, err error) {
	if err := checkRelease("al2", release, "v20241024"); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		folder, image string
		variants      []Variant
	}{
		{"amazon-linux-2", "amazon-eks-node", []Variant{{"amd64", Standard}}},
		{"amazon-linux-2-arm64", "amazon-eks-arm64-node", []Variant{{"arm64", Standard}}},
		{"amazon-linux-2-gpu", "amazon-eks-gpu-node", []Variant{{"amd64", Nvidia}, {"amd64", Neuron}}},
	} {
		name := parameterOf(x.image, kubernetes, release)
		out = append(out, Parameter{fmt.Sprintf("%s%s/%s/%s/image_id", eksParameters, kubernetes, x.folder, name), x.variants})
	}
	return out, nil
}

// UserData is MIME multipart text: the parts of the user, and then the call of the script.
// Source: bootstrap.sh of amazon-eks-ami.
func (al2) UserData(n Node) (string, error) {
	return inMIME(n, scriptParts, shellType, bootstrap)
}

// bootstrap is the script that calls bootstrap.sh.
func bootstrap(n Node) (string, error) {
	k := n.kubelet()
	server, ip6 := "", false
	if len(k.ClusterDNS) > 0 {
		server = k.ClusterDNS[0]
		ip6 = strings.Contains(server, ":")
	}
	if server == "" || n.ServiceCIDR != "" {
		dns, err := n.dns()
		if err != nil {
			return "", err
		}
		server, ip6 = cmp.Or(server, dns.String()), dns.Is6()
	}
	args := []string{
		"/etc/eks/bootstrap.sh " + quoted(n.Name),
		"--apiserver-endpoint " + quoted(n.Endpoint),
		"--b64-cluster-ca " + quoted(base64.StdEncoding.EncodeToString(n.CertificateAuthority)),
		"--dns-cluster-ip " + quoted(server),
	}
	if ip6 {
		args = append(args, "--ip-family ipv6")
	}
	if k.MaxPods != nil {
		args = append(args, "--use-max-pods false") // the kubelet has its number from a flag
	}
	if n.joinsDisks() {
		args = append(args, "--local-disks raid0")
	}
	args = append(args, "--kubelet-extra-args "+quoted(strings.Join(kubeletFlags(n, k), " ")))
	return "#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n" + strings.Join(args, " \\\n  ") + "\n", nil
}

// kubeletFlags are the settings of the kubelet as flags of its command.
func kubeletFlags(n Node, k awsv1.KubeletConfiguration) (flags []string) {
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, fmt.Sprintf("--%s=%q", name, value))
		}
	}
	number := func(name string, value *int32) {
		if value != nil {
			flags = append(flags, fmt.Sprintf("--%s=%d", name, *value))
		}
	}
	var taints []string
	for _, t := range n.allTaints() {
		taints = append(taints, t.Key+"="+t.Value+":"+t.Effect)
	}
	add("node-labels", pairs(n.ownLabels(), "="))
	add("register-with-taints", strings.Join(taints, ","))
	if k.MaxPods != nil {
		flags = append(flags, "--max-pods="+k.MaxPods.String())
	}
	number("pods-per-core", k.PodsPerCore)
	add("system-reserved", pairs(k.SystemReserved, "="))
	add("kube-reserved", pairs(k.KubeReserved, "="))
	add("eviction-hard", pairs(k.EvictionHard, "<"))
	add("eviction-soft", pairs(k.EvictionSoft, "<"))
	add("eviction-soft-grace-period", pairs(k.EvictionSoftGracePeriod, "="))
	number("eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod)
	number("image-gc-high-threshold", k.ImageGCHighThresholdPercent)
	number("image-gc-low-threshold", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		flags = append(flags, "--cpu-cfs-quota="+strconv.FormatBool(*k.CPUCFSQuota))
	}
	return flags
}

// quoted is the text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func (al2) Volumes() []awsspec.BlockDevice { return al2023{}.Volumes() }

func (al2) PodVolume() string { return al2023{}.PodVolume() }

// Adapt changes nothing: the kubelet keeps what AL2023's keeps.
func (al2) Adapt(*catalog.Settings) {}

// Ignores names further DNS servers: bootstrap.sh takes one. It refuses further fields, for
// which the script has no arguments, as Karpenter does.
func (al2) Ignores(k awsv1.KubeletConfiguration) (out []Ignored) {
	if len(k.ClusterDNS) > 1 {
		out = append(out, Ignored{Field: "clusterDNS", Effect: "AL2 takes one address, the first", Remedy: "remove the others"})
	}
	for _, name := range slices.Sorted(maps.Keys(k.Further)) {
		out = append(out, Ignored{Field: name, Effect: "nodes of AL2 cannot be given it", Remedy: "remove the field, or use the image family AL2023", Refused: true})
	}
	return out
}
