package machine

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// multi wraps documents as launch templates do.
func multi(documents ...string) string {
	var b strings.Builder
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n")
	for _, d := range documents {
		b.WriteString("--//\r\nContent-Type: application/node.eks.aws\r\n\r\n" + d + "\r\n")
	}
	b.WriteString("--//\r\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\r\n\r\n#!/bin/bash\necho hello\r\n--//--\r\n")
	return b.String()
}

// config is a NodeConfig document with the given lines under spec.
func config(spec ...string) string {
	return "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n" + strings.Join(spec, "\n") + "\n"
}

const goodCluster = `  cluster:
    name: lab
    apiServerEndpoint: https://127.0.0.1:6443
    certificateAuthority: Y2E=
    cidr: 172.20.0.0/16`

func TestReadUserData_MergesNodeConfigsTheLaterWinning(t *testing.T) {
	first := config("  cluster: {name: other}", "  kubelet:", "    config: {maxPods: 5, clusterDNS: [10.0.0.1]}", `    flags: ["--v=2"]`)
	second := config(goodCluster, "  kubelet:", "    config: {maxPods: 29, registerWithTaints: [{key: a, effect: NoSchedule}]}", `    flags: ['--node-labels="x=1,y=2"']`)
	got, err := readUserData([]byte(multi(first, second)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.Cluster.Name != "lab" || string(got.Spec.Cluster.CertificateAuthority) != "ca" {
		t.Errorf("cluster = %+v, want the second document's", got.Spec.Cluster)
	}
	if *got.Spec.Kubelet.Config.MaxPods != 29 || got.Spec.Kubelet.Config.ClusterDNS[0] != "10.0.0.1" {
		t.Errorf("kubelet config = %+v, want maxPods 29 of the second and clusterDNS of the first", got.Spec.Kubelet.Config)
	}
	k, err := kubeletOf(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"x": "1", "y": "2"}, k.labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]taint{{Key: "a", Effect: "NoSchedule"}}, k.config.RegisterWithTaints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}

func TestReadUserData_RefusesWhatNodeadmRefusesAndNamesIt(t *testing.T) {
	cases := map[string]struct{ data, says string }{
		"nothing":           {"", "no application/node.eks.aws part"},
		"only a script":     {"#!/bin/bash\necho", "no application/node.eks.aws part"},
		"no NodeConfig":     {multi(), "no application/node.eks.aws part"},
		"wrong kind":        {multi("apiVersion: v1\nkind: Pod\n"), "want node.eks.aws/v1alpha1 NodeConfig"},
		"no name":           {multi(config("  cluster: {apiServerEndpoint: https://x}")), "spec.cluster.name is missing"},
		"no cidr":           {multi(config("  cluster: {name: a, apiServerEndpoint: https://x, certificateAuthority: Y2E=}")), "spec.cluster.cidr is missing"},
		"misspelt field":    {multi(config(goodCluster, "  kubelet: {config: {maxPod: 3}}")), "maxPod"},
		"authority no text": {multi(config("  cluster: {name: a, certificateAuthority: '%%'}")), "NodeConfig"},
		"not yaml":          {multi("a: [b"), "NodeConfig 1"},
	}
	for name, c := range cases {
		_, err := readUserData([]byte(c.data))
		if !errors.Is(err, ErrUserData) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want ErrUserData saying %q", name, err, c.says)
		}
	}
}

func TestReadUserData_PlainDocumentNeedsNoMIME(t *testing.T) {
	if _, err := readUserData([]byte(config(goodCluster))); err != nil {
		t.Error(err)
	}
}

func TestKubeletOf_FlagsWinOverConfiguration(t *testing.T) {
	one := int64(1)
	c := nodeConfig{}
	c.Spec.Kubelet.Config = kubeletConfig{MaxPods: &one, RegisterWithTaints: []taint{{Key: "old", Effect: "NoSchedule"}}}
	c.Spec.Kubelet.Flags = []string{"--max-pods=7", `--register-with-taints="a=b:NoExecute,c:NoSchedule"`, "--cloud-provider=external"}
	k, err := kubeletOf(c)
	if err != nil {
		t.Fatal(err)
	}
	want := []taint{{Key: "a", Value: "b", Effect: "NoExecute"}, {Key: "c", Effect: "NoSchedule"}}
	if diff := cmp.Diff(want, k.config.RegisterWithTaints); diff != "" || *k.config.MaxPods != 7 {
		t.Errorf("maxPods %d, taints (-want +got):\n%s", *k.config.MaxPods, diff)
	}
	for _, bad := range []string{"--node-labels=a", "--register-with-taints=a", "--max-pods=x", "node-labels=a=b"} {
		c.Spec.Kubelet.Flags = []string{bad}
		if _, err := kubeletOf(c); !errors.Is(err, ErrUserData) {
			t.Errorf("flag %q: error %v, want ErrUserData", bad, err)
		}
	}
}

func TestResources_AllocatableIsCapacityLessReservedAndEviction(t *testing.T) {
	large := Hardware{VCPU: 2, MemoryBytes: 7_900 * mib, ENIs: 3, IPv4PerENI: 10} // m5.large: 29 pods
	ten, four, forty := int64(10), int64(4), int64(40)
	cases := map[string]struct {
		config                kubeletConfig
		cpu, memory, pods, gb int64
	}{
		"defaults":                   {kubeletConfig{}, 1930, 7900 - (11*29 + 255) - 100, 29, 20 - 2 - 1},
		"maxPods keeps share":        {kubeletConfig{MaxPods: &ten}, 1930, 7900 - (11*29 + 255) - 100, 10, 17},
		"podsPerCore counts vCPUs":   {kubeletConfig{MaxPods: &ten, PodsPerCore: &four}, 1930, 7900 - (11*29 + 255) - 100, 8, 17},
		"podsPerCore raises nothing": {kubeletConfig{PodsPerCore: &forty}, 1930, 7900 - (11*29 + 255) - 100, 29, 17},
		"own reservations": {kubeletConfig{
			KubeReserved: map[string]string{"memory": "1Gi"}, SystemReserved: map[string]string{"cpu": "100m"},
			EvictionHard: map[string]string{"memory.available": "10%"},
		}, 1830, 7900 - 1024 - 790, 29, 17},
		"more reserved than there is": {kubeletConfig{KubeReserved: map[string]string{"memory": "64Gi"}}, 1930, 0, 29, 17},
	}
	for name, c := range cases {
		_, got, err := resources(large, 20<<30, c.config, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		have := []int64{got.Cpu().MilliValue(), got.Memory().Value() / mib, got.Pods().Value(), got.StorageEphemeral().Value() >> 30}
		if diff := cmp.Diff([]int64{c.cpu, c.memory, c.pods, c.gb}, have); diff != "" {
			t.Errorf("%s: cpu, memory MiB, pods, disk GiB (-want +got):\n%s", name, diff)
		}
	}
	if _, _, err := resources(large, 20<<30, kubeletConfig{KubeReserved: map[string]string{"cpu": "x"}}, false); !errors.Is(err, ErrUserData) {
		t.Errorf("malformed quantity: %v, want ErrUserData", err)
	}
}

func TestReservedCPU_FollowsTheBands(t *testing.T) {
	for vcpu, want := range map[int64]int64{1: 60, 2: 70, 4: 80, 8: 90, 96: 310} {
		if got := (Hardware{VCPU: vcpu}).reservedCPU(); got != want {
			t.Errorf("%d cores: %dm reserved, want %dm", vcpu, got, want)
		}
	}
}

func TestClusterToken_SignsTheClusterName(t *testing.T) {
	credentials := aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "s", SessionToken: "t"}
	token, err := clusterToken(t.Context(), credentials, "http://127.0.0.1:4566", "us-west-2", "lab", time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "k8s-aws-v1."))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("Action") != "GetCallerIdentity" || q.Get("X-Amz-SignedHeaders") != "host;x-k8s-aws-id" || q.Get("X-Amz-Expires") != "60" || q.Get("X-Amz-Security-Token") != "t" {
		t.Errorf("presigned query %v", q)
	}
}

type noCredentials struct{}

func (noCredentials) Credentials(context.Context, string) (aws.Credentials, error) {
	return aws.Credentials{}, errors.New("the instance has no profile")
}

func TestHost_BootLogSaysOnceWhyAMachineStaysOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHost(Options{
			Metadata: noCredentials{}, BootDelay: 2 * time.Second, Logger: hclog.NewNullLogger(),
			Hardware: func(string) (Hardware, bool) {
				return Hardware{VCPU: 2, MemoryBytes: 8 << 30, ENIs: 3, IPv4PerENI: 10}, true
			},
		})
		defer h.Close()
		h.Start(Instance{ID: "i-1", Type: "m5.large", UserData: []byte(config(goodCluster))})
		h.Start(Instance{ID: "i-2", Type: "m5.large", UserData: []byte("#!/bin/sh")})
		h.SetBootDelay(NeverBoots)
		h.Start(Instance{ID: "i-3", Type: "m5.large"})
		time.Sleep(time.Minute)
		synctest.Wait()
		want := map[string]string{"i-1": "the instance has no profile", "i-2": "no application/node.eks.aws part", "i-3": "never to boot"}
		for _, b := range h.Boots() {
			last := b.Log[len(b.Log)-1].Text
			if b.Joined || !strings.Contains(last, want[b.InstanceID]) || len(b.Log) > 2 {
				t.Errorf("%s: joined %v, log %v; want one line saying %q", b.InstanceID, b.Joined, b.Log, want[b.InstanceID])
			}
		}
	})
}
