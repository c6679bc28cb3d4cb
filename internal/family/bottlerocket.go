package family

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

// bottlerocket is Bottlerocket, whose instances read settings in TOML.
type bottlerocket struct{}

func (bottlerocket) Name() string { return "Bottlerocket" }

// Parameters are those of the Bottlerocket documentation, "Finding an AMI".
func (bottlerocket) Parameters(kubernetes, release string) (out []Parameter, err error) {
	if !regexp.MustCompile(`^(latest|v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-f]+)?)$`).MatchString(release) {
		return nil, errors.New("must be bottlerocket@latest or bottlerocket@v<release>, such as bottlerocket@v1.49.0")
	}
	for _, x := range []struct {
		flavor, arch string
		kinds        []string
	}{
		{"", "amd64", []string{Standard, Neuron}},
		{"", "arm64", []string{Standard}},
		{"-nvidia", "amd64", []string{Nvidia}},
		{"-nvidia", "arm64", []string{Nvidia}},
	} {
		p := Parameter{Name: fmt.Sprintf("%sbottlerocket/aws-k8s-%s%s/%s/%s/image_id",
			awsspec.PublicParameters, kubernetes, x.flavor, machineName(x.arch), strings.TrimPrefix(release, "v"))}
		for _, kind := range x.kinds {
			p.Variants = append(p.Variants, Variant{x.arch, kind})
		}
		out = append(out, p)
	}
	return out, nil
}

// UserData is the user's TOML with the settings of the node in place of the user's. All
// else of the user stays. Sources: Bottlerocket's settings reference, "kubernetes" and
// "bootstrap-commands".
func (bottlerocket) UserData(n Node) (string, error) {
	if err := n.check(); err != nil {
		return "", err
	}
	all := map[string]any{}
	if err := toml.Unmarshal([]byte(n.text()), &all); err != nil {
		return "", fmt.Errorf("spec.userData read TOML: %w: write settings of Bottlerocket, such as [settings.kernel]", err)
	}
	settings, err := table(all, "", "settings")
	if err != nil {
		return "", err
	}
	kubernetes, err := table(settings, "settings.", "kubernetes")
	if err != nil {
		return "", err
	}
	labels, err := table(kubernetes, "settings.kubernetes.", "node-labels")
	if err != nil {
		return "", err
	}
	for key, value := range n.ownLabels() {
		labels[key] = value
	}
	if _, there := kubernetes["cluster-dns-ip"]; !there && (n.ServiceCIDR != "" || len(n.kubelet().ClusterDNS) == 0) {
		dns, err := n.dns()
		if err != nil {
			return "", err
		}
		kubernetes["cluster-dns-ip"] = dns.String()
	}
	maps.Copy(kubernetes, kubernetesSettings(n))
	if n.joinsDisks() {
		commands, err := table(settings, "settings.", "bootstrap-commands")
		if err != nil {
			return "", err
		}
		commands["000-mount-instance-storage"] = mountInstanceStorage(n.release())
	}
	text, err := toml.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("user data encode: %w", err)
	}
	return n.bounded(string(text))
}

// table returns the table of the name below the path, and makes it where it is missing.
func table(in map[string]any, path, name string) (map[string]any, error) {
	if _, there := in[name]; !there {
		in[name] = map[string]any{}
	}
	out, is := in[name].(map[string]any)
	if !is {
		return nil, fmt.Errorf("spec.userData: %s is no table: begin a table with [%[1]s]", path+name)
	}
	return out, nil
}

// kubernetesSettings are the settings of the node below settings.kubernetes, without its
// labels.
func kubernetesSettings(n Node) map[string]any {
	taints := map[string][]string{}
	for _, t := range n.allTaints() {
		taints[t.Key] = append(taints[t.Key], t.Value+":"+t.Effect)
	}
	out := map[string]any{
		"cluster-name":        n.Name,
		"api-server":          n.Endpoint,
		"cluster-certificate": base64.StdEncoding.EncodeToString(n.CertificateAuthority),
		"node-taints":         taints,
	}
	k := n.kubelet()
	number := func(name string, value *int32) {
		if value != nil {
			out[name] = *value
		}
	}
	percent := func(name string, value *int32) {
		if value != nil {
			out[name] = strconv.Itoa(int(*value))
		}
	}
	switch len(k.ClusterDNS) {
	case 0:
	case 1:
		out["cluster-dns-ip"] = k.ClusterDNS[0]
	default:
		out["cluster-dns-ip"] = k.ClusterDNS
	}
	if k.MaxPods != nil && k.MaxPods.Type == intstr.Int {
		out["max-pods"] = k.MaxPods.IntVal
	}
	setTable(out, "system-reserved", k.SystemReserved)
	setTable(out, "kube-reserved", k.KubeReserved)
	setTable(out, "eviction-hard", k.EvictionHard)
	setTable(out, "eviction-soft", k.EvictionSoft)
	setTable(out, "eviction-soft-grace-period", k.EvictionSoftGracePeriod)
	number("eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod)
	percent("image-gc-high-threshold-percent", k.ImageGCHighThresholdPercent)
	percent("image-gc-low-threshold-percent", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		out["cpu-cfs-quota-enforced"] = *k.CPUCFSQuota
	}
	further, _ := bottlerocketFurther(k)
	maps.Copy(out, further)
	return out
}

// setTable sets what is not empty.
func setTable[V ~string](in map[string]any, name string, value map[string]V) {
	if len(value) > 0 {
		in[name] = value
	}
}

// mountInstanceStorage are the commands that put the files of pods on the instance store
// volumes. From 1.46.0 on, Bottlerocket knows by itself which folders these are.
func mountInstanceStorage(release string) map[string]any {
	bind := []string{"apiclient", "ephemeral-storage", "bind"}
	if !knowsFolders(release) {
		bind = append(bind, "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
	}
	return map[string]any{
		"commands":  [][]string{{"apiclient", "ephemeral-storage", "init"}, bind},
		"essential": true,
		"mode":      "always",
	}
}

func knowsFolders(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d.", &major, &minor); err != nil {
		return release == Latest
	}
	return major > 1 || major == 1 && minor >= 46
}

// Volumes are one for the system and one for pods.
func (bottlerocket) Volumes() []awsspec.BlockDevice {
	return []awsspec.BlockDevice{rootVolume("/dev/xvda", 4), rootVolume("/dev/xvdb", 20)}
}

func (bottlerocket) PodVolume() string { return "/dev/xvdb" }

// Adapt counts the memory that the kubelet keeps by the pods that the node may have, and
// no pods for each vCPU: Bottlerocket has no such setting.
func (bottlerocket) Adapt(s *catalog.Settings) { s.KeepsByPods, s.PodsPerCore = true, 0 }

// Ignores names podsPerCore (see Adapt), and further fields that Bottlerocket has no setting
// for.
func (bottlerocket) Ignores(k awsv1.KubeletConfiguration) (out []Ignored) {
	if k.PodsPerCore != nil && *k.PodsPerCore != 0 {
		out = append(out, Ignored{Field: "podsPerCore", Effect: "Bottlerocket has no such setting", Remedy: "set maxPods"})
	}
	_, lacks := bottlerocketFurther(k)
	for _, name := range lacks {
		out = append(out, Ignored{Field: name, Effect: "Bottlerocket has no setting for it, and nodes have Bottlerocket's own", Remedy: "remove the field, or use the image family AL2023"})
	}
	return out
}
