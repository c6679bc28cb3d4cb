package family

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

// allKubelet are settings of every kind.
func allKubelet() *awsv1.KubeletConfiguration {
	number := func(n int32) *int32 { return &n }
	no := false
	return &awsv1.KubeletConfiguration{
		ClusterDNS: []string{"10.96.0.53"}, MaxPods: awsv1.Pods(58), PodsPerCore: number(8),
		SystemReserved: map[string]awsv1.ReservedQuantity{"cpu": "100m"}, KubeReserved: map[string]awsv1.ReservedQuantity{"memory": "1Gi", "cpu": "90m"},
		EvictionHard:            map[string]awsv1.EvictionThreshold{"memory.available": "5%", "nodefs.available": "10%"},
		EvictionSoft:            map[string]awsv1.EvictionThreshold{"memory.available": "500Mi"},
		EvictionSoftGracePeriod: map[string]string{"memory.available": "1m30s"}, EvictionMaxPodGracePeriod: number(60),
		ImageGCHighThresholdPercent: number(70), ImageGCLowThresholdPercent: number(60), CPUCFSQuota: &no,
	}
}

// plain is a node with one label and one taint, and nothing of its class.
func plain() Node {
	n := node()
	n.Labels, n.Class = map[string]string{"karpenter.sh/nodepool": "default"}, &awsv1.EC2NodeClass{}
	return n
}

const joins = `[settings]
[settings.kubernetes]
api-server = 'https://127.0.0.1:6443'
cluster-certificate = 'UEVN'
`

const registers = `
[settings.kubernetes.node-labels]
'karpenter.sh/do-not-sync-taints' = 'true'
'karpenter.sh/nodepool' = 'default'

[settings.kubernetes.node-taints]
'karpenter.sh/unregistered' = [':NoExecute']
'karpenterd.sh/awaiting-pods' = [':NoSchedule']
spot = ['only:NoSchedule']
`

func TestBottlerocket_SettingsMakeTheNodeJoin(t *testing.T) {
	got, err := bottlerocket{}.UserData(plain())
	want := joins + "cluster-dns-ip = '10.96.0.10'\ncluster-name = 'lab'\n" + registers
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

func TestBottlerocket_SettingsOfTheKubeletHaveItsNames(t *testing.T) {
	n := plain()
	n.Class.Spec.Kubelet = allKubelet()
	got, err := bottlerocket{}.UserData(n)
	want := joins + `cluster-dns-ip = '10.96.0.53'
cluster-name = 'lab'
cpu-cfs-quota-enforced = false
eviction-max-pod-grace-period = 60
image-gc-high-threshold-percent = '70'
image-gc-low-threshold-percent = '60'
max-pods = 58

[settings.kubernetes.eviction-hard]
'memory.available' = '5%'
'nodefs.available' = '10%'

[settings.kubernetes.eviction-soft]
'memory.available' = '500Mi'

[settings.kubernetes.eviction-soft-grace-period]
'memory.available' = '1m30s'

[settings.kubernetes.kube-reserved]
cpu = '90m'
memory = '1Gi'
` + registers + `
[settings.kubernetes.system-reserved]
cpu = '100m'
`
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

func TestBottlerocket_SettingsOfTheUserStayButForThoseOfTheNode(t *testing.T) {
	n := plain().withText(`
[settings.kernel.sysctl]
"vm.max_map_count" = "262144"
[settings.kubernetes]
cluster-name = "other"
cluster-dns-ip = "10.96.0.99"
a-setting-of-tomorrow = 1
[settings.kubernetes.node-labels]
team = "web"
"karpenter.sh/nodepool" = "other"
[settings.kubernetes.node-taints]
mine = ["x:NoSchedule"]
`)
	got, err := bottlerocket{}.UserData(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[settings.kernel.sysctl]\n'vm.max_map_count' = '262144'\n", "cluster-name = 'lab'\n", "cluster-dns-ip = '10.96.0.99'\n", "a-setting-of-tomorrow = 1\n",
		"'karpenter.sh/nodepool' = 'default'\nteam = 'web'\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "other") || strings.Contains(got, "mine") {
		t.Errorf("the user's name, label or taint counts:\n%s", got)
	}
}

func TestBottlerocket_FurtherFieldsOfTheKubeletAreSettingsWhereThereAreSome(t *testing.T) {
	n := plain()
	n.Class.Spec.Kubelet = &awsv1.KubeletConfiguration{}
	for name, value := range map[string]any{
		"podPidsLimit": 1024, "clusterDomain": "example.com", "allowedUnsafeSysctls": []any{"net.core.somaxconn"}, "seccompDefault": true,
		"shutdownGracePeriod": "2m", "shutdownGracePeriodCriticalPods": "30s",
		"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": map[string]any{"full-pcpus-only": "true"},
		"topologyManagerPolicyOptions": map[string]any{"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "12"},
		"memoryManagerPolicy":          "Static", "reservedMemory": []any{map[string]any{"numaNode": 1, "limits": map[string]any{"memory": "1Gi"}}},
		"userNamespaces": map[string]any{"idsPerPod": 65536}, "imageMaximumGCAge": "10m",
	} {
		if err := n.Class.Spec.Kubelet.SetFurther(name, value); err != nil {
			t.Fatal(err)
		}
	}
	got, err := bottlerocket{}.UserData(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pod-pids-limit = 1024\n", "cluster-domain = 'example.com'\n", "allowed-unsafe-sysctls = ['net.core.somaxconn']\n", "seccomp-default = true\n",
		"shutdown-grace-period = '2m'\n", "shutdown-grace-period-for-critical-pods = '30s'\n",
		"cpu-manager-policy = 'static'\n", "cpu-manager-policy-options = ['full-pcpus-only']\n",
		"[settings.kubernetes.topology-manager-policy-options]\nmax-allowable-numa-nodes = 12\nprefer-closest-numa-nodes = true\n",
		"memory-manager-policy = 'Static'\n", "[settings.kubernetes.memory-manager-reserved-memory.1]\nenabled = true\nmemory = '1Gi'\n", "ids-per-pod = 65536\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if ignored := (bottlerocket{}).Ignores(*n.Class.Spec.Kubelet); len(ignored) != 1 || ignored[0].Field != "imageMaximumGCAge" || ignored[0].Refused {
		t.Errorf("ignored %+v", ignored)
	}
	for name, value := range map[string]any{
		"cpuManagerPolicyOptions": map[string]any{"full-pcpus-only": "false"}, "topologyManagerPolicyOptions": map[string]any{"other": "true"},
		"reservedMemory": []any{map[string]any{"limits": map[string]any{"cpu": "1"}}}, "userNamespaces": map[string]any{"other": 1},
	} {
		k := awsv1.KubeletConfiguration{}
		if err := k.SetFurther(name, value); err != nil {
			t.Fatal(err)
		}
		if settings, lacks := bottlerocketFurther(k); len(settings) > 0 || len(lacks) != 1 {
			t.Errorf("%s: %v is set for %v", name, settings, value)
		}
	}
}

func TestBottlerocket_InstanceStoreVolumesAreMountedAsTheReleaseKnows(t *testing.T) {
	raid := "RAID0"
	for release, names := range map[string]bool{"latest": false, "v1.46.0": false, "1.50.1": false, "2.0.0": false, "v1.45.9": true, "1.20.0-fcf71a47": true} {
		n := plain()
		n.Class.Spec.InstanceStorePolicy = &raid
		n.Class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@" + release}}
		got, err := bottlerocket{}.UserData(n)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got, "[settings.bootstrap-commands.000-mount-instance-storage]") || !strings.Contains(got, "'init'") ||
			!strings.Contains(got, "essential = true") || !strings.Contains(got, "mode = 'always'") || strings.Contains(got, "'/var/lib/kubelet'") != names {
			t.Errorf("%s:\n%s", release, got)
		}
	}
	n := plain()
	n.Class.Spec.InstanceStorePolicy = &raid
	n.Class.Status.AMIs = []awsv1.AMI{{Name: "bottlerocket-aws-k8s-1.31-x86_64-v1.20.0-fcf71a47"}}
	if got, err := (bottlerocket{}).UserData(n); err != nil || !strings.Contains(got, "'/var/lib/kubelet'") {
		t.Errorf("an old image of a term: %v\n%s", err, got)
	}
}

func TestBottlerocket_BadTextIsAnErrorWithTheRemedy(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/bash\necho hello":                   "spec.userData read TOML",
		"settings = 1":                              "spec.userData: settings is no table: begin a table with [settings]",
		"[settings]\nkubernetes = \"x\"":            "spec.userData: settings.kubernetes is no table",
		"[settings.kubernetes]\nnode-labels = [1]":  "spec.userData: settings.kubernetes.node-labels is no table: begin a table with [settings.kubernetes.node-labels]",
		"x = \"" + strings.Repeat("x", 16384):       "read TOML",
		"x = \"" + strings.Repeat("x", 16384) + `"`: "EC2 accepts 16384: shorten spec.userData",
	} {
		if _, err := (bottlerocket{}).UserData(plain().withText(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
