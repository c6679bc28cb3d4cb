package translate_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// kubeletOf reads settings of a kubelet as an object has them.
func kubeletOf(t *testing.T, text string) *awsv1.KubeletConfiguration {
	t.Helper()
	out := &awsv1.KubeletConfiguration{}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestKubelet_WhatNoKubeletTakesIsRefusedByNameWithARemedy(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:             "",
		`{"maxPods":0}`:  "maxPods: nodes without room for pods are of no use: write a number from 1 on",
		`{"maxPods":-1}`: "maxPods: -1 is no number of pods: write a number",
		`{"maxPods":"min(110, max_pods)","kubeReserved":{"memory":"max_pods * 11","pid":"100"},"systemReserved":{"cpu":"100m"}}`: "",
		`{"maxPods":"cores * 2"}`:                                                  `maxPods: "cores * 2" is no expression for a number: undeclared reference to 'cores'`,
		`{"maxPods":"'110'"}`:                                                      "maxPods: \"'110'\" is no expression for a number: the result is of type string",
		`{"podsPerCore":-1}`:                                                       "podsPerCore: -1 is below 0: ",
		`{"evictionMaxPodGracePeriod":-1}`:                                         "evictionMaxPodGracePeriod: -1 is below 0: ",
		`{"kubeReserved":{"pods":"1"}}`:                                            `kubeReserved: a kubelet keeps no "pods": write cpu, memory, ephemeral-storage or pid`,
		`{"systemReserved":{"cpu":"-1"}}`:                                          `systemReserved: "-1" for cpu is below 0: `,
		`{"kubeReserved":{"memory":"vcpus > 2"}}`:                                  `kubeReserved: "vcpus > 2" for memory is neither a quantity nor an expression for a number: the result is of type bool`,
		`{"evictionHard":{"memory":"5%"}}`:                                         `evictionHard: "memory" is no eviction signal: write memory.available, `,
		`{"evictionHard":{"memory.available":"-1Gi"}}`:                             `evictionHard: the kubelet does not start with "-1Gi" for memory.available: `,
		`{"evictionHard":{"memory.available":"0"}}`:                                `evictionHard: the kubelet does not start with "0" for memory.available: `,
		`{"evictionHard":{"memory.available":"101%"}}`:                             `evictionHard: the kubelet does not start with "101%" for memory.available: `,
		`{"evictionHard":{"memory.available":"5.125%","nodefs.available":"100%"}}`: "",
		`{"evictionSoft":{"memory.available":"5%"}}`:                               "evictionSoft: memory.available has no grace period: add it to evictionSoftGracePeriod",
		`{"evictionSoftGracePeriod":{"memory.available":"1m"}}`:                    "evictionSoftGracePeriod: memory.available has no threshold: add it to evictionSoft",
		`{"evictionSoft":{"memory.available":"1Gi"},"evictionSoftGracePeriod":{"memory.available":"1m30s"}}`:    "",
		`{"evictionSoft":{"memory.available":"1Gi"},"evictionSoftGracePeriod":{"memory.available":"1 minute"}}`: `evictionSoftGracePeriod: the kubelet does not start with "1 minute" for memory.available: `,
		`{"evictionMinimumReclaim":{"memory.available":"0Mi","nodefs.available":"500Mi"}}`:                      "",
		`{"evictionMinimumReclaim":{"disk":"1Gi"}}`:                                                             `evictionMinimumReclaim: "disk" is no eviction signal: `,
		`{"imageGCHighThresholdPercent":101}`:                                                                   "imageGCHighThresholdPercent: 101 is no share of the disk in percent: ",
		`{"imageGCHighThresholdPercent":70,"imageGCLowThresholdPercent":70}`:                                    "imageGCHighThresholdPercent: the kubelet does not start with a high threshold of images that is not above the low one (70 and 70): raise it",
		`{"imageGCHighThresholdPercent":70,"imageGCLowThresholdPercent":60}`:                                    "",
		`{"imageGCHighThresholdPercent":80}`:                                                                    "imageGCHighThresholdPercent: the kubelet does not start with a high threshold of images that is not above the low one (80 and 80): set both",
		`{"imageGCLowThresholdPercent":85}`:                                                                     "imageGCLowThresholdPercent: the kubelet does not start with a high threshold of images that is not above the low one (85 and 85): set both",
		`{"imageMaximumGCAge":"10m","shutdownGracePeriod":"2m","featureGates":{"NodeSwap":true},"memorySwap":{"swapBehavior":"LimitedSwap"},"defaultPodSysctls":{"net.ipv4.ip_forward":"1"}}`: "",
		`{"imageMaximumAge":"10m"}`:                 "imageMaximumAge: the configuration of a kubelet (kubelet.config.k8s.io/v1beta1) has no such field: ",
		`{"memorySwap":{"behavior":"LimitedSwap"}}`: "memorySwap: the configuration of a kubelet (kubelet.config.k8s.io/v1beta1) has no such field: ",
		`{"podPidsLimit":"many"}`:                   "podPidsLimit: the kubelet cannot read it: ",
		`{"imageMaximumGCAge":"ten minutes"}`:       "imageMaximumGCAge: the kubelet cannot read it: ",
		`{"defaultPodSysctls":[1]}`:                 "defaultPodSysctls: the kubelet cannot read it: ",
		`{"registerWithTaints":[]}`:                 "registerWithTaints: the daemon sets it, so that pods come to a node when it is ready: remove the field, and write the taints in the NodePool",
	} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{InstanceProfile: "node", Kubelet: kubeletOf(t, text)}}
		got := translate.RefusedOfClass(class)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(translate.Sentences(got), "spec.kubelet."+want)) {
			t.Errorf("%s: %q, want %q", text, translate.Sentences(got), want)
		}
	}
}

func TestKubelet_AFieldThatTheFamilyCannotCarryOutIsNamedOrRefused(t *testing.T) {
	const text = `{"podPidsLimit":1024,"imageMaximumGCAge":"10m"}`
	for family, want := range map[string]struct{ unsupported, refused string }{
		"AL2023": {}, "Custom": {},
		"Bottlerocket": {unsupported: "spec.kubelet.imageMaximumGCAge: Bottlerocket has no setting for it, and nodes have Bottlerocket's own: remove the field, or use the image family AL2023"},
		"AL2": {refused: "spec.kubelet.imageMaximumGCAge: nodes of AL2 cannot be given it: remove the field, or use the image family AL2023; " +
			"spec.kubelet.podPidsLimit: nodes of AL2 cannot be given it: remove the field, or use the image family AL2023"},
	} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{InstanceProfile: "node", AMIFamily: family, Kubelet: kubeletOf(t, text)}}
		if got := translate.Sentences(translate.UnsupportedOfClass(class)); got != want.unsupported {
			t.Errorf("%s: unsupported %q, want %q", family, got, want.unsupported)
		}
		if got := translate.Sentences(translate.RefusedOfClass(class)); got != want.refused {
			t.Errorf("%s: refused %q, want %q", family, got, want.refused)
		}
	}
}

// sold is two instance types, and a class that is ready for them.
func sold(t *testing.T, family, kubelet string) (*awsv1.EC2NodeClass, []catalog.Fact, catalog.Market) {
	t.Helper()
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	facts := []catalog.Fact{
		{Name: "m5.xlarge", Arch: "amd64", VCPU: 4, MemoryMiB: 16384, ENIs: 4, IPv4PerENI: 15, UsageClasses: []string{label.OnDemand}},
		{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}},
	}
	market := catalog.Market{
		Zones: []catalog.Zone{zone}, Offered: map[string][]int{"m5.large": {0}, "m5.xlarge": {0}},
		OnDemand: map[string]quantity.Money{"m5.large": 1, "m5.xlarge": 2},
	}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: awsv1.EC2NodeClassSpec{AMIFamily: family, Kubelet: kubeletOf(t, kubelet)}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	return class, facts, market
}

// By hand: 2 vCPUs, 8192 MiB, 3 network interfaces of 10 addresses, and twice as many vCPUs
// and memory, 4 interfaces of 15 addresses.
func TestClass_ExpressionsGiveEachInstanceTypeItsOwnNumbers(t *testing.T) {
	class, facts, market := sold(t, "AL2023", `{"maxPods":"(default_enis - 1) * (ips_per_eni - 1) + 2","kubeReserved":{"memory":"max_pods * 11","cpu":"25 * vcpus"},"systemReserved":{"memory":"memory_mib / 100","ephemeral-storage":"max(1, vcpus / 4)","pid":"vcpus * 100"}}`)
	got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead())
	if !got.Ready || len(got.Types) != 2 {
		t.Fatalf("%+v", got)
	}
	const mi = 1 << 20
	for i, want := range []struct {
		name                   string
		pods, milliCPU, memory int64 // kept of CPU and memory, the 100 MiB of evictions without
		kubelet                string
	}{
		{"m5.large", 20, 50, 224 + 96, `{"kubeReserved":{"cpu":"50m","memory":"224Mi"},"maxPods":20,"systemReserved":{"ephemeral-storage":"1Gi","memory":"96Mi","pid":"200"}}`},
		{"m5.xlarge", 44, 100, 496 + 176, `{"kubeReserved":{"cpu":"100m","memory":"496Mi"},"maxPods":44,"systemReserved":{"ephemeral-storage":"1Gi","memory":"176Mi","pid":"400"}}`},
	} {
		x := got.Types[i]
		kept := x.Capacity.Sub(x.Allocatable)
		if x.Name != want.name || x.Capacity.PodSlots != want.pods || kept.MilliCPU != want.milliCPU || kept.MemoryBytes != (want.memory+100)*mi {
			t.Errorf("%s: %d pods, kept %+v, want %+v", x.Name, x.Capacity.PodSlots, kept, want)
		}
		told, err := translate.KubeletOf(class, x)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		raw, _ := json.Marshal(told) //nolint:errchkjson // it was just read
		if err := json.Unmarshal(raw, &plain); err != nil {
			t.Fatal(err)
		}
		if sorted, _ := json.Marshal(plain); string(sorted) != want.kubelet { //nolint:errchkjson // see above
			t.Errorf("%s: the node is told %s, want %s", x.Name, sorted, want.kubelet)
		}
	}
}

func TestClass_AnExpressionBeginsWithThePodsOfTheFamily(t *testing.T) {
	for family, want := range map[string]int64{"AL2023": 10, "Bottlerocket": 29} { // which has no podsPerCore
		class, facts, market := sold(t, family, `{"maxPods":"max_pods","podsPerCore":5}`)
		if got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead()); len(got.Types) != 2 || got.Types[0].Capacity.PodSlots != want {
			t.Errorf("%s: %+v, want %d pods", family, got, want)
		}
	}
}

func TestClass_AnInstanceTypeWithoutRoomForPodsIsNotLaunched(t *testing.T) {
	class, facts, market := sold(t, "AL2023", `{"maxPods":"vcpus - 2","kubeReserved":{"memory":"100 / max_pods"}}`)
	if got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead()); !got.Ready || len(got.Types) != 1 || got.Types[0].Name != "m5.xlarge" || got.Types[0].Capacity.PodSlots != 2 {
		t.Errorf("%+v, want m5.xlarge alone, with 2 pods", got)
	}
}

func TestClass_AnExpressionWithoutAResultKeepsItsClassFromBeingReady(t *testing.T) {
	for text, want := range map[string]string{
		`{"maxPods":"110 / (vcpus - 4) + 100"}`:                  "spec.kubelet.maxPods: the expression has no result for the instance type m5.xlarge: division by zero: correct it",
		`{"maxPods":"vcpus - 3"}`:                                "spec.kubelet.maxPods: the expression has no result for the instance type m5.large: the result -1 is not between 0 and 2147483647: correct it",
		`{"kubeReserved":{"memory":"100 - memory_mib"}}`:         "spec.kubelet.kubeReserved[memory]: the expression has no result for the instance type m5.large: the result -8092 is not between 0 and 2147483647: correct it",
		`{"systemReserved":{"cpu":"10"},"maxPods":"vcpus * 10"}`: "",
		`{"kubeReserved":{"memory":"-50 + max_pods * 11"}}`:      "",
	} {
		class, facts, market := sold(t, "AL2023", text)
		got, err := translate.Class(class, facts, market, nil, catalog.DefaultOverhead()), translate.CheckExpressions(class, facts, market, catalog.DefaultOverhead())
		if (want == "") != got.Ready || !strings.HasPrefix(got.NotReady, want) || (want == "") != (err == nil) {
			t.Errorf("%s: ready %v, %q, %v, want %q", text, got.Ready, got.NotReady, err, want)
		}
	}
}

// Interfaces that pods do not use make fewer of them, for the check as for the plan.
func TestCheckExpressions_CountsThePodsThatThePlanCounts(t *testing.T) {
	class, facts, market := sold(t, "AL2023", `{"kubeReserved":{"memory":"max_pods - 25"}}`)
	overhead := catalog.DefaultOverhead()
	if got, err := translate.Class(class, facts, market, nil, overhead), translate.CheckExpressions(class, facts, market, overhead); err != nil || !got.Ready {
		t.Errorf("with all interfaces: %v, %q", err, got.NotReady)
	}
	overhead.ReservedENIs = 1 // m5.large has 2 interfaces of 10 addresses left, so 20 pods
	got, err := translate.Class(class, facts, market, nil, overhead), translate.CheckExpressions(class, facts, market, overhead)
	if err == nil || got.Ready || got.NotReady != err.Error() || !strings.Contains(err.Error(), "the result -5 ") {
		t.Errorf("with a reserved interface: %v, %q", err, got.NotReady)
	}
}

// The class counts for more than the plan, which has followed it.
func TestKubeletOf_HasThePlannedPodsWhereTheClassHasNone(t *testing.T) {
	for name, c := range map[string]struct {
		class   *awsv1.KubeletConfiguration
		planned int64
		own     string
		want    *intstr.IntOrString
	}{
		"nothing told":                  {nil, 0, "", nil},
		"no settings":                   {nil, 20, "", awsv1.Pods(20)},
		"other settings":                {&awsv1.KubeletConfiguration{ClusterDNS: []string{"10.0.0.10"}}, 20, "", awsv1.Pods(20)},
		"pods of the class":             {&awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(8)}, 20, "", awsv1.Pods(8)},
		"no number of pods":             {&awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(0)}, 20, "", awsv1.Pods(20)},
		"the number of an expression":   {&awsv1.KubeletConfiguration{MaxPods: awsv1.PodExpression("17")}, 0, `{"maxPods":17}`, awsv1.Pods(17)},
		"another setting's expressions": {&awsv1.KubeletConfiguration{}, 20, `{"kubeReserved":{"cpu":"80m"}}`, awsv1.Pods(20)},
		"more than a kubelet counts to": {nil, 1 << 40, "", awsv1.Pods(1<<31 - 1)},
	} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{Kubelet: c.class}}
		before := class.DeepCopy()
		got, err := translate.KubeletOf(class, catalog.InstanceType{MaxPods: c.planned, Kubelet: c.own})
		if err != nil {
			t.Fatal(err)
		}
		var pods *intstr.IntOrString
		if got != nil {
			pods = got.MaxPods
		}
		if !reflect.DeepEqual(pods, c.want) || !reflect.DeepEqual(class, before) {
			t.Errorf("%s: %v, want %v", name, pods, c.want)
		}
	}
}

// A division by zero on a type that the class cannot launch harms nobody.
func TestClass_AnExpressionNeedsNoResultForTypesThatTheClassCannotLaunch(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*awsv1.EC2NodeClass, *catalog.Market)
		ready  bool
	}{
		"sold here": {func(*awsv1.EC2NodeClass, *catalog.Market) {}, false},
		"not sold":  {func(_ *awsv1.EC2NodeClass, m *catalog.Market) { delete(m.Offered, "m5.xlarge") }, true},
		"sold in another zone": {func(_ *awsv1.EC2NodeClass, m *catalog.Market) {
			m.Zones = append(m.Zones, catalog.Zone{Name: "us-west-2b", ID: "usw2-az2"})
			m.Offered["m5.xlarge"] = []int{1}
		}, true},
		"without an image": {func(k *awsv1.EC2NodeClass, _ *catalog.Market) {
			k.Status.AMIs[0].Requirements = []awsv1.AMIRequirement{{Key: label.InstanceType, Operator: "NotIn", Values: []string{"m5.xlarge"}}}
		}, true},
		"before anything is looked for": {func(k *awsv1.EC2NodeClass, _ *catalog.Market) { k.Status.AMIs, k.Status.Subnets = nil, nil }, false},
	} {
		class, facts, market := sold(t, "AL2023", `{"maxPods":"110 / (vcpus - 4) + 100"}`)
		c.change(class, &market)
		err := translate.CheckExpressions(class, facts, market, catalog.DefaultOverhead())
		if (err == nil) != c.ready {
			t.Errorf("%s: %v", name, err)
		}
		if got := translate.Class(class, facts, market, nil, catalog.DefaultOverhead()); c.ready && (!got.Ready || len(got.Types) != 1 || got.Types[0].Name != "m5.large") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
