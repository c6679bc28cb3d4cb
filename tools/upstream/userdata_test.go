package upstream

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"reflect"
	"strings"
	"testing"

	theirs "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/cel"
	"github.com/aws/karpenter-provider-aws/pkg/operator/options"
	"github.com/aws/karpenter-provider-aws/pkg/providers/amifamily"
	"github.com/aws/karpenter-provider-aws/pkg/providers/launchtemplate"
	nodeadm "github.com/awslabs/amazon-eks-ami/nodeadm/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubelet "k8s.io/kubelet/config/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family/familytest"
)

// instance is one whose user data is compared, in each family of images.
type instance struct {
	name     string
	labels   map[string]string
	taints   []family.Taint
	text     string // of the user
	policy   string // of the instance store
	release  string // of Bottlerocket's alias; latest if empty
	image    string // the name of one that the class selects by its id
	services string // the CIDR
	kubeDNS  string // the address of the Service
	kubelet  *awsv1.KubeletConfiguration
}

func instances() []instance {
	const ipv6, raid0 = "fd30:1c53:5f8a::/108", "RAID0"
	zero := int32(0)
	return []instance{
		{name: "nothing set"},
		{name: kubeletText, kubelet: everySetting()},
		{name: further, kubelet: furtherSettings()},
		{name: zeros, kubelet: &awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(0), PodsPerCore: &zero, EvictionMaxPodGracePeriod: &zero, ImageGCLowThresholdPercent: &zero}},
		{name: "two DNS servers", kubelet: &awsv1.KubeletConfiguration{ClusterDNS: []string{"169.254.20.10", "10.96.0.10"}}},
		{name: "labels", labels: map[string]string{
			"team": "web", "empty": "", "example.com/a": "b", "notk8s.io/a": "b", "karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "spot",
			"karpenter.k8s.aws/ec2nodeclass": "default", "topology.kubernetes.io/zone": "us-west-2a", "kubernetes.io/arch": "arm64", "k8s.io/a": "b", "x.k8s.io/a": "b",
			"node-restriction.kubernetes.io/a": "b", "a.node-restriction.kubernetes.io/a": "b", "node-role.kubernetes.io/a": "", "kubelet.kubernetes.io/a": "b", "eks.amazonaws.com/a": "b",
		}},
		{name: "taints", taints: []family.Taint{
			{Key: "spot", Value: "only", Effect: "NoSchedule"}, {Key: "spot", Value: "only", Effect: "NoExecute"}, {Key: "example.com/a", Effect: "PreferNoSchedule"},
		}},
		{name: "taint of a NodeClaim that is not registered", taints: []family.Taint{{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}}},
		{name: "RAID0", policy: raid0},
		{name: "RAID0, old release", policy: raid0, release: "v1.45.9"},
		{name: "RAID0, new release", policy: raid0, release: "1.46.0"},
		{name: "RAID0, old image", policy: raid0, image: "bottlerocket-aws-k8s-1.31-x86_64-v1.20.0-fcf71a47"},
		{name: "RAID0, new image", policy: raid0, image: "bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a"},
		{name: "RAID0, unknown image", policy: raid0, image: "ours"},
		{name: "IPv6", services: ipv6, kubeDNS: "fd30:1c53:5f8a::a"},
		{name: "IPv6, DNS server of IPv4", services: ipv6, kubeDNS: "fd30:1c53:5f8a::a", kubelet: &awsv1.KubeletConfiguration{ClusterDNS: []string{"169.254.20.10"}}},
		{name: "kube-dns elsewhere", kubeDNS: "10.96.0.99"},
		{name: "shell script", text: "#!/bin/bash\necho hello\n"},
		{name: "carriage returns", text: "#!/bin/bash\r\necho hello\r\n"},
		{name: "shell script of comments", text: "#!/bin/bash\n# later\n"},
		{name: "white space", text: " \n"},
		{name: "NodeConfig", text: "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 3\n"},
		{name: "MIME", text: userMIME},
		{name: "MIME after an empty line", text: "\n" + userMIME},
		{name: "TOML", text: userTOML},
		{name: "TOML, two DNS servers", text: "[settings.kubernetes]\ncluster-dns-ip = [\"10.96.0.98\", \"10.96.0.99\"]\n"},
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
--B
Content-Type: text/x-shellscript
Content-Transfer-Encoding: quoted-printable

#!/bin/sh
x=3Dthird
--B
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
--B--
`

const userTOML = `[settings.kernel.sysctl]
"vm.max_map_count" = "262144"
[settings.host-containers.admin]
enabled = true
[settings.bootstrap-commands.mine]
commands = [["apiclient", "get"]]
essential = false
mode = "once"
[settings.kubernetes]
cluster-name = "other"
cluster-dns-ip = "10.96.0.99"
max-pods = 3
a-setting-of-tomorrow = 1
cluster-domain = "example.com"
allowed-unsafe-sysctls = ["net.core.somaxconn"]
[settings.kubernetes.credential-providers.ecr-credential-provider]
enabled = true
image-patterns = ["*.dkr.ecr.us-west-2.amazonaws.com"]
[settings.kubernetes.eviction-hard]
"memory.available" = "15%"
[settings.kubernetes.node-labels]
mine = "x"
"karpenter.sh/do-not-sync-taints" = "other"
[settings.kubernetes.node-taints]
mine = ["x:NoSchedule"]
[settings.kubernetes.static-pods.a]
enabled = true
manifest = "YQ=="
`

func everySetting() *awsv1.KubeletConfiguration {
	number := func(n int32) *int32 { return &n }
	no := false
	return &awsv1.KubeletConfiguration{
		ClusterDNS: []string{"10.96.0.53"}, MaxPods: awsv1.Pods(110), PodsPerCore: number(8),
		SystemReserved:          map[string]awsv1.ReservedQuantity{"cpu": "100m", "pid": "100"},
		KubeReserved:            map[string]awsv1.ReservedQuantity{"memory": "1Gi", "cpu": "90m", "ephemeral-storage": "1Gi"},
		EvictionHard:            map[string]awsv1.EvictionThreshold{"memory.available": "5%", "nodefs.available": "10%"},
		EvictionSoft:            map[string]awsv1.EvictionThreshold{"memory.available": "500Mi", "nodefs.inodesFree": "7%"},
		EvictionSoftGracePeriod: map[string]string{"memory.available": "1m30s", "nodefs.inodesFree": "90s"}, EvictionMaxPodGracePeriod: number(60),
		ImageGCHighThresholdPercent: number(70), ImageGCLowThresholdPercent: number(60), CPUCFSQuota: &no,
	}
}

// furtherSettings are some that have no name in the API.
func furtherSettings() *awsv1.KubeletConfiguration {
	return &awsv1.KubeletConfiguration{Further: map[string]json.RawMessage{
		"imageMaximumGCAge": json.RawMessage(`"10m"`), "podPidsLimit": json.RawMessage(`1024`), "featureGates": json.RawMessage(`{"NodeSwap":true}`),
		"memorySwap": json.RawMessage(`{"swapBehavior":"LimitedSwap"}`), "allowedUnsafeSysctls": json.RawMessage(`["net.core.somaxconn"]`),
	}}
}

const none, refused = familytest.None, familytest.Refused

const (
	al2, al2023, bottlerocket = "AL2", "AL2023", "Bottlerocket"
	both                      = al2 + " " + al2023
	every                     = both + " " + bottlerocket
)

// explanation is of a difference that stays.
type explanation struct{ Families, Instance, Place, Ours, Theirs, Reason string }

func explanations() []explanation {
	const (
		awaiting = "the daemon takes it off after registration, when it knows which pods the node is for"
		counted  = "the image counts the pods of its instance type, as the plan does, so one launch template serves many types"
		zero     = "0 is no number, in the plan and in the configuration of the kubelet"
		tenth    = "nodeadm gives the kubelet the tenth address of the services, which EKS gives to kube-dns"
		service  = "ours is the tenth address of the services; EKS gives it to kube-dns, and Karpenter asks for the Service"
		duration = "the same time, as the user wrote it"
		blank    = "Karpenter hands on text with nothing in it"
		comments = "Karpenter takes YAML for a NodeConfig, and a script of comments is YAML; nodeadm needs an apiVersion, which tells for sure"
		headers  = "cloud-init reads the headers of a part; Karpenter keeps them for AL2 alone"
		encoded  = "Karpenter loses the header that says how the part is encoded"
		template = "a template may leave an empty line before the text; Karpenter takes the text for MIME and cannot read it"
		settable = "Bottlerocket has the setting; with Karpenter such a class is not ready"
		keeps    = "a setting of the user that neither the class nor the NodeClaim has stays"
	)
	const elsewhere, ipv6, dns4, white, mimeText, tomlText, two = "kube-dns elsewhere", "IPv6", "IPv6, DNS server of IPv4", "white space", "MIME", "TOML", "two DNS servers"
	return []explanation{
		{every, "", "taint karpenterd.sh/awaiting-pods:NoSchedule", "", none, awaiting},

		{al2023, "", "spec.kubelet.config.maxPods", none, "29", counted},
		{bottlerocket, "", "settings.kubernetes.max-pods", none, "29", counted},
		{al2, "", "--max-pods", none, "29", counted},
		{al2, "", "--use-max-pods", none, "false", counted},

		{bottlerocket, further, "settings.kubernetes.pod-pids-limit", "1024", none, settable},
		{bottlerocket, further, "settings.kubernetes.allowed-unsafe-sysctls", `["net.core.somaxconn"]`, none, settable},
		{al2023, zeros, "spec.kubelet.config.maxPods", none, "0", zero},
		{al2023, zeros, "spec.kubelet.config.podsPerCore", none, "0", zero},
		{bottlerocket, zeros, "settings.kubernetes.max-pods", none, "0", zero},
		{al2, zeros, "--max-pods", none, "0", zero},
		{al2, zeros, "--pods-per-core", none, "0", zero},

		{al2023, "", "spec.kubelet.config.clusterDNS", none, `["10.96.0.10"]`, tenth},
		{al2023, ipv6, "spec.kubelet.config.clusterDNS", none, `["fd30:1c53:5f8a::a"]`, tenth},
		{al2023, elsewhere, "spec.kubelet.config.clusterDNS", none, `["10.96.0.99"]`, tenth},
		{bottlerocket, elsewhere, "settings.kubernetes.cluster-dns-ip", "10.96.0.10", "10.96.0.99", service},
		{al2, elsewhere, "--dns-cluster-ip", "10.96.0.10", "10.96.0.99", service},
		{al2, dns4, "--ip-family", "ipv6", none, "the services say of which family the addresses of the node are, and not the DNS server"},
		{bottlerocket, two, "settings.kubernetes.cluster-dns-ip", `["169.254.20.10","10.96.0.10"]`, "169.254.20.10", "Bottlerocket takes a list, and Karpenter the first alone"},

		{bottlerocket, kubeletText, "settings.kubernetes.eviction-soft-grace-period.nodefs.inodesFree", "90s", "1m30s", duration},
		{al2, kubeletText, "--eviction-soft-grace-period.nodefs.inodesFree", "=90s", "=1m30s", duration},

		{both, white, "part 1", none, " \n", blank},
		{al2023, white, "part 1 Content-Type", none, nodeConfigType, blank},
		{al2, white, "part 1 Content-Type", none, shellType, blank},
		{al2023, "shell script of comments", "part 1 Content-Type", shellType, nodeConfigType, comments},
		{al2023, mimeText, "part 1 Content-Disposition", `attachment; filename="50-first.sh"`, none, headers},
		{al2023, mimeText, "part 2 Merge-Type", "list(append)+dict(recurse_array)+str()", none, headers},
		{al2023, mimeText, "part 3", "#!/bin/sh\necho second\n", "IyEvYmluL3NoCmVjaG8gc2Vjb25kCg==", encoded},
		{both, "MIME after an empty line", "form", "MIME", refused, template},

		{bottlerocket, tomlText, "settings.kubernetes.a-setting-of-tomorrow", "1", none, keeps},
		{bottlerocket, tomlText, "settings.kubernetes.cluster-dns-ip", "10.96.0.99", "10.96.0.10", keeps},
		{bottlerocket, tomlText, "settings.kubernetes.max-pods", "3", "29", keeps},
		{bottlerocket, "TOML, " + two, "form", "TOML", refused, "Bottlerocket takes a list, and Karpenter cannot read one"},
	}
}

// Names that both tables have, and the types of parts.
const (
	kubeletText, zeros        = "kubelet", "kubelet of zeros"
	further                   = "further settings of the kubelet"
	shellType, nodeConfigType = `text/x-shellscript; charset="us-ascii"`, "application/node.eks.aws"
)

func TestUserData_JoinsAsUpstreams(t *testing.T) {
	comparison := familytest.NewComparison(explanations())
	for _, name := range family.Names() {
		for _, i := range instances() {
			class := i.class(name)
			comparison.Instance(t, name, i.name, read(t, name, i.ours(class)), read(t, name, i.theirs(t, class)))
		}
	}
	comparison.End(t, 800)
}

// A field that the case leaves out would be compared with nothing.
func TestUserData_CaseOfTheKubeletSetsEveryField(t *testing.T) {
	all, err := theirs.ParseKubeletConfig(converted(t, (&instance{kubelet: everySetting()}).class(al2023)).Spec.Kubelet)
	if err != nil {
		t.Fatal(err)
	}
	for field, value := range reflect.ValueOf(*all).Fields() {
		if value.IsZero() {
			t.Errorf("%s is not set", field.Name)
		}
	}
}

func (i *instance) class(name string) *awsv1.EC2NodeClass {
	class := &awsv1.EC2NodeClass{}
	class.Spec.Kubelet = i.kubelet
	if i.text != "" {
		class.Spec.UserData = &i.text
	}
	if i.policy != "" {
		class.Spec.InstanceStorePolicy = &i.policy
	}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1", Name: i.image}}
	switch {
	case i.image != "" || name == "Custom":
		class.Spec.AMIFamily = name
		class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: "ami-1"}}
	case i.release != "" && name == bottlerocket:
		class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@" + i.release}}
	default:
		class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: strings.ToLower(name) + "@latest"}}
	}
	return class
}

// converted is the class as Karpenter reads it.
func converted(t *testing.T, class *awsv1.EC2NodeClass) *theirs.EC2NodeClass {
	t.Helper()
	raw, err := json.Marshal(class)
	if err != nil {
		t.Fatal(err)
	}
	out := &theirs.EC2NodeClass{}
	if err := yaml.UnmarshalStrict(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// cluster is what both know of it.
func (i *instance) cluster() family.Cluster {
	out := family.Cluster{Name: "lab", Endpoint: "https://example.com:6443", CertificateAuthority: []byte("PEM"), ServiceCIDR: i.services}
	if out.ServiceCIDR == "" {
		out.ServiceCIDR = "10.96.0.0/16"
	}
	return out
}

func (i *instance) ours(class *awsv1.EC2NodeClass) string {
	text, err := family.Of(class).UserData(family.Node{Cluster: i.cluster(), Labels: i.labels, Taints: i.taints, Class: class})
	if err != nil {
		return refused
	}
	return text
}

// theirs is the text that Karpenter's provider puts in its launch template.
func (i *instance) theirs(t *testing.T, class *awsv1.EC2NodeClass) string {
	t.Helper()
	of, cluster := converted(t, class), i.cluster()
	authority := base64.StdEncoding.EncodeToString(cluster.CertificateAuthority)
	dns := i.kubeDNS
	if dns == "" {
		dns = "10.96.0.10"
	}
	claim := &karpv1.NodeClaim{}
	for _, taint := range i.taints {
		claim.Spec.Taints = append(claim.Spec.Taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: corev1.TaintEffect(taint.Effect)})
	}
	types := []*cloudprovider.InstanceType{{Name: "m5.large", Capacity: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("29")}}}
	evaluator, err := cel.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	ctx := options.ToContext(t.Context(), &options.Options{})
	templates, err := amifamily.NewDefaultResolver("us-west-2", nil, evaluator).Resolve(ctx, of, claim, types, karpv1.CapacityTypeOnDemand, "default", &amifamily.Options{
		ClusterName: cluster.Name, ClusterEndpoint: cluster.Endpoint, ClusterCIDR: &cluster.ServiceCIDR, CABundle: &authority, KubeDNSIP: net.ParseIP(dns),
		InstanceStorePolicy: of.Spec.InstanceStorePolicy, AMISelectorTerms: of.Spec.AMISelectorTerms, AMIs: of.Status.AMIs,
		Labels: launchtemplate.InjectDoNotSyncTaintsLabel(of.AMIFamily(), i.labels),
	}, "", 0)
	if err != nil || len(templates) != 1 {
		t.Fatalf("%d launch templates, %v", len(templates), err)
	}
	encoded, err := templates[0].UserData.Script(t.Context())
	if err != nil {
		return refused
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read(t *testing.T, name, text string) familytest.Settings {
	t.Helper()
	switch {
	case text == refused:
		return familytest.Refusal()
	case name == "Custom":
		return familytest.Whole(text)
	case name == bottlerocket:
		return familytest.TOML(t, text)
	}
	out, own := familytest.MIME(t, text)
	if name == al2 {
		out.Script(t, own)
	} else {
		nodeConfig(t, out, own)
	}
	return out
}

// nodeConfig reads with the types of nodeadm and of the kubelet; both must know every field.
func nodeConfig(t *testing.T, s familytest.Settings, text string) {
	t.Helper()
	var config nodeadm.NodeConfig
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		t.Errorf("nodeadm: %v in:\n%s", err, text)
	}
	s.Flags(t, familytest.Words(t, strings.Join(config.Spec.Kubelet.Flags, " ")))
	config.Spec.Kubelet.Flags = nil
	raw, err := json.Marshal(config.Spec.Kubelet.Config)
	if err != nil {
		t.Fatal(err)
	}
	var inner kubelet.KubeletConfiguration
	if err := yaml.UnmarshalStrict(raw, &inner); err != nil {
		t.Errorf("kubelet: %v in:\n%s", err, raw)
	}
	for _, taint := range inner.RegisterWithTaints {
		s.Put(t, "taint "+taint.Key+":"+string(taint.Effect), taint.Value)
	}
	delete(config.Spec.Kubelet.Config, "registerWithTaints")
	raw, err = json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	s.Flatten(t, "", all)
}
