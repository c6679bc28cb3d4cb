package upstream

import (
	"encoding/json"
	"testing"

	theirs "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/cel"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kubeletcel"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// verdicts are settings of a kubelet, and why the daemon refuses some that Karpenter takes.
func verdicts() map[string]string {
	const (
		noStart = "the kubelet does not start with it"
		noPods  = "nodes without room for pods are of no use"
	)
	return map[string]string{
		`{}`: "", `{"maxPods":110}`: "", `{"maxPods":-1}`: "", `{"maxPods":[1]}`: "", `{"maxPods":0}`: noPods,
		`{"maxPods":"min(110, max_pods)","kubeReserved":{"memory":"max_pods * 11"}}`: "", `{"podsPerCore":-1}`: "", `{"podsPerCore":"x"}`: "", `{"podsPerCore":0}`: "",
		`{"kubeReserved":{"pods":"1"}}`: "", `{"systemReserved":{"pods":"1"}}`: "", `{"kubeReserved":{"cpu":"-1"}}`: "", `{"systemReserved":{"memory":"-1Gi"}}`: "", `{"kubeReserved":{"cpu":1}}`: "",
		`{"evictionHard":{"memory":"5%"}}`: "", `{"evictionHard":{"memory.available":"110%"}}`: "", `{"evictionHard":{"memory.available":"little"}}`: "", `{"evictionHard":{"memory.available":"5.125%"}}`: "",
		`{"evictionHard":{"memory.available":"-1Gi"}}`: "", `{"evictionHard":{"memory.available":"0"}}`: noStart, `{"evictionHard":{"memory.available":"100%","nodefs.available":"0%"}}`: "",
		`{"evictionSoft":{"memory.available":"5%"}}`: "", `{"evictionSoftGracePeriod":{"memory.available":"1m"}}`: "", `{"evictionSoft":{"memory.available":"5%"},"evictionSoftGracePeriod":{"memory.available":"1m"}}`: "",
		`{"evictionSoft":{"memory.available":"5%"},"evictionSoftGracePeriod":{"memory.available":"-1m"}}`: "", `{"evictionSoft":{"memory.available":"5%"},"evictionSoftGracePeriod":{"memory.available":"soon"}}`: "",
		`{"evictionMinimumReclaim":{"disk":"1Gi"}}`: "", `{"evictionMinimumReclaim":{"memory.available":"0Mi","nodefs.available":"5%"}}`: "", `{"evictionMinimumReclaim":{"memory.available":"some"}}`: "", `{"evictionMinimumReclaim":{"memory.available":"-1"}}`: "",
		`{"evictionMaxPodGracePeriod":-1}`: "", `{"evictionMaxPodGracePeriod":60}`: "",
		`{"imageGCHighThresholdPercent":101}`: "", `{"imageGCLowThresholdPercent":-1}`: "", `{"imageGCHighThresholdPercent":70,"imageGCLowThresholdPercent":70}`: "", `{"imageGCHighThresholdPercent":70,"imageGCLowThresholdPercent":60}`: "",
		`{"imageGCHighThresholdPercent":80}`: noStart, `{"imageGCLowThresholdPercent":85}`: noStart,
		`{"imageMaximumGCAge":"10m","featureGates":{"NodeSwap":true},"memorySwap":{"swapBehavior":"LimitedSwap"},"defaultPodSysctls":{"net.ipv4.ip_forward":"1"}}`: "",
		`{"imageMaximumAge":"10m"}`: "", `{"imageMaximumGCAge":"ten"}`: "", `{"memorySwap":{"behavior":"x"}}`: "", `{"podPidsLimit":"many"}`: "", `{"defaultPodSysctls":["x"]}`: "", `{"registerWithTaints":[]}`: "",
		`{"clusterDNS":"10.0.0.10"}`: "", `{"cpuCFSQuota":"no"}`: "", `{"shutdownGracePeriod":"30s","shutdownGracePeriodCriticalPods":"10s","reservedMemory":[{"numaNode":0,"limits":{"memory":"1Gi"}}]}`: "",
	}
}

func TestKubelet_TheSameSettingsAreRefused(t *testing.T) {
	for text, reason := range verdicts() {
		var their theirs.KubeletConfiguration
		if err := json.Unmarshal([]byte(text), &their); err != nil {
			t.Fatal(err)
		}
		there := len(theirs.ValidateKubeletConfig(their)) > 0
		our := &awsv1.KubeletConfiguration{}
		here := json.Unmarshal([]byte(text), our) != nil
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{InstanceProfile: "nodes", Kubelet: our}}
		faults := translate.RefusedOfClass(class)
		here = here || len(faults) > 0
		if here != there && (reason == "" || there) || here == there && reason != "" {
			t.Errorf("%s: refused here %v (%s), by Karpenter %v, reason for a difference %q", text, here, translate.Sentences(faults), there, reason)
		}
	}
}

// Both evaluate with CEL; what the texts can name, and what becomes of a result, is each
// side's own.
func TestKubelet_ExpressionsHaveTheSameResults(t *testing.T) {
	their, err := cel.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	machines := []kubeletcel.Machine{
		{InstanceType: "m5.large", VCPUs: 2, MemoryMiB: 8192, DefaultENIs: 3, IPsOfENI: 10, MaxPods: 29},
		{InstanceType: "t3.nano", VCPUs: 2, MemoryMiB: 512, DefaultENIs: 2, IPsOfENI: 2, MaxPods: 4},
		{InstanceType: "u-24tb1.metal", VCPUs: 448, MemoryMiB: 25165824, DefaultENIs: 15, IPsOfENI: 50, MaxPods: 737},
	}
	results := 0
	for _, text := range []string{
		"110", "1.9", "-1.9", "default_enis * (ips_per_eni - 1) + 2", "max_pods * 11", "memory_mib / 100", "max(60, vcpus * 30)", "min(vcpus, 2.5)", "max(1.5, vcpus)", "max(1, 2.0)", "min(1.0, 2.0)",
		"double(memory_mib) * 0.015", "instance_type.startsWith('m5.') ? 17 : 8", "instance_type == 't3.nano' ? 4 : max_pods", "int(2.9)", "vcpus / (max_pods - 29)", "1.0 / 0.0", "9223372036854775807 + vcpus",
		"vcpus * 1.5", "cores", "vcpus >", "'110'", "vcpus > 2", "max(1)", "max('a', 'b')", "size(instance_type)", "[1, 2, 3].exists(x, x == vcpus) ? 1 : 2", "uint(3)", "",
	} {
		our, compiles := kubeletcel.Compile(text)
		for _, m := range machines {
			there, theirErr := their.EvaluateExpression(text, cel.InstanceTypeVars{
				VCPUs: m.VCPUs, MemoryMiB: m.MemoryMiB, DefaultENIs: m.DefaultENIs, IPsPerENI: m.IPsOfENI, MaxPods: m.MaxPods, InstanceType: m.InstanceType,
			})
			here, ourErr := int64(0), compiles
			if compiles == nil {
				here, ourErr = our.Evaluate(m)
			}
			if (theirErr == nil) != (ourErr == nil) || theirErr == nil && here != there {
				t.Errorf("%q on %s: %d, %v, Karpenter's %d, %v", text, m.InstanceType, here, ourErr, there, theirErr)
			}
			if theirErr == nil {
				results++
			}
		}
	}
	if results < 40 {
		t.Errorf("%d results: the test looks at the wrong place", results)
	}
}
