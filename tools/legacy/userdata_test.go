package legacy

import (
	"encoding/base64"
	"maps"
	"testing"

	coreold "github.com/aws/karpenter-core/pkg/apis/v1alpha5"
	corev1beta1 "github.com/aws/karpenter-core/pkg/apis/v1beta1"
	awsold "github.com/aws/karpenter/pkg/apis/v1alpha1"
	"github.com/aws/karpenter/pkg/providers/amifamily/bootstrap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family/familytest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// Families of v1alpha1 whose user data is compared. EKS has images of AL2 up to Kubernetes
// 1.32, so the objects are served as there.
const (
	al2, ubuntu, bottlerocket, custom = "AL2", "Ubuntu", "Bottlerocket", "Custom"

	lastWithAL2 = 32
)

// instance is one that a Provisioner launches with an AWSNodeTemplate.
type instance struct {
	name          string
	kubelet       *coreold.KubeletConfiguration
	labels        map[string]string
	taints, start []corev1.Taint
	text          string // userData of the template
	kubeDNS       string // the address of the Service; the tenth of the services if empty
	services      string // the CIDR
}

func instances() []instance {
	taint := func(key, value string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: effect}
	}
	const ipv6 = "fd30:1c53:5f8a::/108"
	return []instance{
		{name: "nothing set"},
		{name: kubeletText, kubelet: everySetting()},
		{name: zeros, kubelet: &coreold.KubeletConfiguration{MaxPods: ptr(int32(0)), PodsPerCore: ptr(int32(0)), EvictionMaxPodGracePeriod: ptr(int32(0)), ImageGCLowThresholdPercent: ptr(int32(0))}},
		{name: twoServers, kubelet: &coreold.KubeletConfiguration{ClusterDNS: []string{"169.254.20.10", "10.96.0.10"}}},
		{name: otherRuntime, kubelet: &coreold.KubeletConfiguration{ContainerRuntime: ptr("dockerd")}},
		{name: "labels", labels: map[string]string{"team": "web", "empty": "", "example.com/a": "b", "notk8s.io/a": "b"}},
		{name: domains, labels: map[string]string{"node-restriction.kubernetes.io/a": "b", "node.kubernetes.io/a": "b", "kops.k8s.io/a": "b", "karpenter.k8s.aws/instance-family": "m5"}},
		{
			name:   "taints",
			taints: []corev1.Taint{taint("spot", "only", corev1.TaintEffectNoSchedule), taint("spot", "only", corev1.TaintEffectNoExecute), taint("example.com/a", "", corev1.TaintEffectPreferNoSchedule)},
			start:  []corev1.Taint{taint("node.cilium.io/agent-not-ready", "true", corev1.TaintEffectNoExecute)},
		},
		{name: "IPv6", services: ipv6, kubeDNS: "fd30:1c53:5f8a::a"},
		{name: dns4, services: ipv6, kubeDNS: "fd30:1c53:5f8a::a", kubelet: &coreold.KubeletConfiguration{ClusterDNS: []string{"169.254.20.10"}}},
		{name: elsewhere, kubeDNS: "10.96.0.99"},
		{name: "shell script", text: "#!/bin/bash\necho hello\n"},
		{name: "carriage returns", text: "#!/bin/bash\r\necho hello\r\n"},
		{name: white, text: " \n"},
		{name: mimeText, text: userMIME},
		{name: emptyLine, text: "\n" + userMIME},
		{name: tomlText, text: userTOML},
		{name: twoText, text: "[settings.kubernetes]\ncluster-dns-ip = [\"10.96.0.98\", \"10.96.0.99\"]\n"},
	}
}

// Names that instances and the table have.
const (
	kubeletText, zeros, otherRuntime, domains, dns4 = "kubelet", "kubelet of zeros", "container runtime", "labels of special domains", "IPv6, DNS server of IPv4"
	twoServers                                      = "two DNS servers"
	elsewhere, white, mimeText, emptyLine           = "kube-dns elsewhere", "white space", "MIME", "MIME after an empty line"
	tomlText, twoText                               = "TOML", "TOML, two DNS servers"
)

// everySetting has all fields of the kubelet.
func everySetting() *coreold.KubeletConfiguration {
	return &coreold.KubeletConfiguration{
		ClusterDNS: []string{"10.96.0.53"}, ContainerRuntime: ptr("containerd"), MaxPods: ptr(int32(110)), PodsPerCore: ptr(int32(8)),
		SystemReserved: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), "pid": resource.MustParse("100")},
		KubeReserved:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourceCPU: resource.MustParse("90m"), corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")},
		EvictionHard:   map[string]string{"memory.available": "5%", "nodefs.available": "10%"},
		EvictionSoft:   map[string]string{"memory.available": "500Mi", "nodefs.inodesFree": "7%"},
		EvictionSoftGracePeriod: map[string]metav1.Duration{
			"memory.available": {Duration: 90e9}, "nodefs.inodesFree": {Duration: 60e9},
		}, EvictionMaxPodGracePeriod: ptr(int32(60)),
		ImageGCHighThresholdPercent: ptr(int32(70)), ImageGCLowThresholdPercent: ptr(int32(60)), CPUCFSQuota: ptr(false),
	}
}

const userMIME = `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="B"

--B
Content-Type: text/x-shellscript; charset="us-ascii"
Content-Disposition: attachment; filename="50-first.sh"

#!/bin/sh
echo first
--B
Content-Type: text/cloud-config
Merge-Type: list(append)+dict(recurse_array)+str()

packages: [jq]
--B
Content-Type: text/x-shellscript
Content-Transfer-Encoding: base64

IyEvYmluL3NoCmVjaG8gc2Vjb25kCg==
--B--
`

const userTOML = `[settings.kernel.sysctl]
"vm.max_map_count" = "262144"
[settings.host-containers.admin]
enabled = true
[settings.kubernetes]
cluster-name = "other"
cluster-dns-ip = "10.96.0.99"
max-pods = 3
a-setting-of-tomorrow = 1
cluster-domain = "example.com"
allowed-unsafe-sysctls = ["net.core.somaxconn"]
[settings.kubernetes.eviction-hard]
"memory.available" = "15%"
[settings.kubernetes.node-labels]
mine = "x"
[settings.kubernetes.node-taints]
mine = ["x:NoSchedule"]
[settings.kubernetes.static-pods.a]
enabled = true
manifest = "YQ=="
`

// explanation is of a difference that stays.
type explanation struct{ Families, Instance, Place, Ours, Theirs, Reason string }

func explanations() []explanation {
	const (
		none, refused = familytest.None, familytest.Refused
		scripts       = al2 + " " + ubuntu
		every         = scripts + " " + bottlerocket

		same       = "nodes have the labels of v1 and of v1alpha5"
		taints     = "the daemon registers nodes as Karpenter does since 1.0: they take no pods until then"
		containerd = "Kubernetes runs no other runtime since 1.24, and bootstrap.sh asks for none"
		zero       = "0 is no number, in the plan and in the configuration of the kubelet"
		registers  = "the daemon sets labels of Kubernetes' domains when the node registers; a kubelet may not set most of them, and does not start with some"
		service    = "EKS gives the tenth address of the services to kube-dns, and Karpenter asks for the Service"
		blank      = "Karpenter hands on text with nothing in it"
		template   = "a template may leave an empty line before the text; Karpenter takes the text for no MIME, and cannot read it"
		younger    = "Bottlerocket takes the setting, and Karpenter did not know that yet"
		keeps      = "a setting of the user that neither the class nor the NodeClaim has stays"
		list       = "Bottlerocket takes a list, and Karpenter the first alone"

		kubernetes = "settings.kubernetes."
		shell      = `text/x-shellscript; charset="us-ascii"`
	)
	return []explanation{
		{every, "", "label karpenter.sh/nodepool", "web", none, same},
		{every, "", "label karpenter.sh/do-not-sync-taints", "true", none, taints},
		{every, "", "taint karpenter.sh/unregistered:NoExecute", "", none, taints},
		{every, "", "taint karpenterd.sh/awaiting-pods:NoSchedule", "", none, "the daemon takes it off after registration, when it knows which pods the node is for"},
		{al2, "", "--container-runtime", none, "containerd", containerd},
		{al2, otherRuntime, "--container-runtime", none, "dockerd", containerd + "; the condition Adapted says so"},

		{scripts, zeros, "--max-pods", none, "0", zero},
		{scripts, zeros, "--use-max-pods", none, "false", zero},
		{scripts, zeros, "--pods-per-core", none, "0", zero},
		{bottlerocket, zeros, kubernetes + "max-pods", none, "0", zero},
		{every, domains, "label kops.k8s.io/a", none, "b", registers},
		{every, domains, "label node.kubernetes.io/a", none, "b", registers},

		{scripts, dns4, "--ip-family", "ipv6", none, "the services say of which family the addresses of the node are, and not the DNS server"},
		{scripts, elsewhere, "--dns-cluster-ip", "10.96.0.10", "10.96.0.99", service},
		{bottlerocket, elsewhere, kubernetes + "cluster-dns-ip", "10.96.0.10", "10.96.0.99", service},
		{bottlerocket, twoServers, kubernetes + "cluster-dns-ip", `["169.254.20.10","10.96.0.10"]`, "169.254.20.10", list},

		{bottlerocket, kubeletText, kubernetes + "eviction-max-pod-grace-period", "60", none, younger},
		{bottlerocket, zeros, kubernetes + "eviction-max-pod-grace-period", "0", none, younger},
		{bottlerocket, kubeletText, kubernetes + "eviction-soft.memory.available", "500Mi", none, younger},
		{bottlerocket, kubeletText, kubernetes + "eviction-soft.nodefs.inodesFree", "7%", none, younger},
		{bottlerocket, kubeletText, kubernetes + "eviction-soft-grace-period.memory.available", "1m30s", none, younger},
		{bottlerocket, kubeletText, kubernetes + "eviction-soft-grace-period.nodefs.inodesFree", "1m0s", none, younger},

		{scripts, white, "part 1", none, " \n", blank},
		{scripts, white, "part 1 Content-Type", none, shell, blank},
		{scripts, emptyLine, "form", "MIME", refused, template},

		{bottlerocket, tomlText, kubernetes + "a-setting-of-tomorrow", "1", none, keeps},
		{bottlerocket, tomlText, kubernetes + "cluster-domain", "example.com", none, keeps},
		{bottlerocket, tomlText, kubernetes + "cluster-dns-ip", "10.96.0.99", "10.96.0.10", keeps},
		{bottlerocket, twoText, "form", "TOML", refused, "Bottlerocket takes a list, and Karpenter cannot read one"},
	}
}

func TestUserData_OfServedObjectsJoinsAsThatOfV1alpha5(t *testing.T) {
	comparison := familytest.NewComparison(explanations())
	for _, name := range []string{al2, ubuntu, bottlerocket, custom} {
		for _, i := range instances() {
			comparison.Instance(t, name, i.name, read(t, name, i.ours(t, name)), read(t, name, i.theirs(t, name)))
		}
	}
	comparison.End(t, 700)
}

func (i *instance) provisioner() *coreold.Provisioner {
	p := &coreold.Provisioner{TypeMeta: metav1.TypeMeta{APIVersion: wire.VersionProvisioner, Kind: wire.KindProvisioner}, ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	p.Spec = coreold.ProvisionerSpec{
		KubeletConfiguration: i.kubelet, Labels: i.labels, Taints: i.taints, StartupTaints: i.start, ProviderRef: &coreold.MachineTemplateRef{Name: "shared"},
	}
	return p
}

// template selects an image, without which the families Ubuntu and Custom are not served.
func (i *instance) template(name string) *awsold.AWSNodeTemplate {
	out := &awsold.AWSNodeTemplate{TypeMeta: metav1.TypeMeta{APIVersion: wire.VersionAWSNodeTemplate, Kind: wire.KindAWSNodeTemplate}, ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	out.Spec.AWS = awsold.AWS{
		AMIFamily: &name, InstanceProfile: ptr("node"), SubnetSelector: map[string]string{"karpenter.sh/discovery": "lab"}, SecurityGroupSelector: map[string]string{"karpenter.sh/discovery": "lab"},
	}
	out.Spec.AMISelector = map[string]string{"aws-ids": "ami-1"}
	if i.text != "" {
		out.Spec.UserData = &i.text
	}
	return out
}

func (i *instance) cluster() family.Cluster {
	out := family.Cluster{Name: "lab", Endpoint: "https://example.com:6443", CertificateAuthority: []byte("PEM"), ServiceCIDR: i.services}
	if out.ServiceCIDR == "" {
		out.ServiceCIDR = "10.96.0.0/16"
	}
	return out
}

// ours is the text that the daemon launches with what it serves.
func (i *instance) ours(t *testing.T, name string) string {
	t.Helper()
	served := legacy.Serve(legacy.Live{Provisioner: serialised(t, i.provisioner()), Template: serialised(t, i.template(name))}, lastWithAL2)
	if len(served.Errors) > 0 {
		t.Fatalf("%s, %s: %v", name, i.name, served.Errors)
	}
	template := served.Pool.Spec.Template
	node := family.Node{Cluster: i.cluster(), Labels: maps.Clone(template.ObjectMeta.Labels), Class: served.Class}
	node.Labels["karpenter.sh/capacity-type"], node.Labels["karpenter.sh/nodepool"] = "spot", served.Pool.Name
	for _, taint := range append(template.Spec.Taints, template.Spec.StartupTaints...) {
		node.Taints = append(node.Taints, family.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
	}
	text, err := family.Of(served.Class).UserData(node)
	if err != nil {
		return familytest.Refused
	}
	return text
}

// theirs is the text that the package of Karpenter's provider writes. It is given what the
// provider gave it in 0.31, whose own packages do not build beside libraries of today: labels
// and taints of the Provisioner, the name of the Provisioner and the capacity type as labels,
// and the address of kube-dns where the user has named no DNS server. Since 0.32, the number of
// pods of the instance type came to it.
func (i *instance) theirs(t *testing.T, name string) string {
	t.Helper()
	cluster, template := i.cluster(), i.template(name)
	authority := base64.StdEncoding.EncodeToString(cluster.CertificateAuthority)
	labels := map[string]string{"karpenter.sh/provisioner-name": "web", "karpenter.sh/capacity-type": "spot"}
	maps.Copy(labels, i.labels)
	delete(labels, "node-restriction.kubernetes.io/a") // the provider leaves these out
	options := bootstrap.Options{
		ClusterName: cluster.Name, ClusterEndpoint: cluster.Endpoint, CABundle: &authority, KubeletConfig: i.kubeletOfTheirs(),
		Taints: append(append([]corev1.Taint{}, i.taints...), i.start...), Labels: labels, AWSENILimitedPodDensity: true, CustomUserData: template.Spec.UserData,
	}
	var of bootstrap.Bootstrapper
	switch name {
	case al2:
		of = bootstrap.EKS{Options: options, ContainerRuntime: "containerd"}
		if k := i.kubelet; k != nil && k.ContainerRuntime != nil {
			of = bootstrap.EKS{Options: options, ContainerRuntime: *k.ContainerRuntime}
		}
	case ubuntu:
		of = bootstrap.EKS{Options: options}
	case bottlerocket:
		of = bootstrap.Bottlerocket{Options: options}
	default:
		of = bootstrap.Custom{Options: bootstrap.Options{CustomUserData: template.Spec.UserData}}
	}
	encoded, err := of.Script()
	if err != nil {
		return familytest.Refused
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kubeletOfTheirs has the same fields, and the address of kube-dns as the provider's default.
func (i *instance) kubeletOfTheirs() *corev1beta1.KubeletConfiguration {
	out := &corev1beta1.KubeletConfiguration{}
	if k := i.kubelet; k != nil {
		out = &corev1beta1.KubeletConfiguration{
			ClusterDNS: k.ClusterDNS, ContainerRuntime: k.ContainerRuntime, MaxPods: k.MaxPods, PodsPerCore: k.PodsPerCore, SystemReserved: k.SystemReserved,
			KubeReserved: k.KubeReserved, EvictionHard: k.EvictionHard, EvictionSoft: k.EvictionSoft, EvictionSoftGracePeriod: k.EvictionSoftGracePeriod,
			EvictionMaxPodGracePeriod: k.EvictionMaxPodGracePeriod, ImageGCHighThresholdPercent: k.ImageGCHighThresholdPercent,
			ImageGCLowThresholdPercent: k.ImageGCLowThresholdPercent, CPUCFSQuota: k.CPUCFSQuota,
		}
	}
	if len(out.ClusterDNS) == 0 {
		out.ClusterDNS = []string{"10.96.0.10"}
		if i.kubeDNS != "" {
			out.ClusterDNS = []string{i.kubeDNS}
		}
	}
	return out
}

func read(t *testing.T, name, text string) familytest.Settings {
	t.Helper()
	switch {
	case text == familytest.Refused:
		return familytest.Refusal()
	case name == custom:
		return familytest.Whole(text)
	case name == bottlerocket:
		return familytest.TOML(t, text)
	}
	out, own := familytest.MIME(t, text)
	out.Script(t, own)
	return out
}
