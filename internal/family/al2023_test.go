package family

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

// node is an AL2023 node with labels, a taint and settings of the kubelet.
func node() Node {
	number := func(n int32) *int32 { return &n }
	return Node{
		Cluster: Cluster{Name: "lab", Endpoint: "https://127.0.0.1:6443", CertificateAuthority: []byte("PEM"), ServiceCIDR: "10.96.0.0/16"},
		Labels: map[string]string{
			"karpenter.sh/nodepool": "default", "team": "web", "karpenter.sh/capacity-type": "spot",
			"topology.kubernetes.io/zone": "us-west-2a", "kubernetes.io/arch": "arm64", "x.k8s.io/a": "b",
			"a.node-restriction.kubernetes.io/x": "y", "notk8s.io/a": "b",
		},
		Taints: []Taint{{Key: "spot", Value: "only", Effect: "NoSchedule"}},
		Class: &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{Kubelet: &awsv1.KubeletConfiguration{
			MaxPods: awsv1.Pods(110), PodsPerCore: number(10), ClusterDNS: []string{"10.0.0.10"}, KubeReserved: map[string]awsv1.ReservedQuantity{"cpu": "100m"},
		}}},
	}
}

// withText gives the class of the node user data of its own.
func (n Node) withText(text string) Node {
	n.Class.Spec.UserData = &text
	return n
}

type part struct{ contentType, body string }

// parts reads user data with a MIME reader that is not the code under test.
func parts(t *testing.T, text string) []part {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var out []part
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, part{p.Header.Get("Content-Type"), string(body)})
	}
}

type decodedConfig struct {
	APIVersion, Kind string
	Spec             struct {
		Cluster struct{ Name, APIServerEndpoint, CertificateAuthority, CIDR string }
		Kubelet struct {
			Config struct {
				MaxPods            int32
				PodsPerCore        int32
				RegisterWithTaints []Taint
				ClusterDNS         []string
				KubeReserved       map[string]string
			}
			Flags []string
		}
	}
}

func decode(t *testing.T, p part) decodedConfig {
	t.Helper()
	var c decodedConfig
	if p.contentType != "application/node.eks.aws" {
		t.Fatalf("content type %q", p.contentType)
	}
	if err := json.Unmarshal([]byte(p.body), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAL2023_CarriesWhatAMachineNeedsToJoin(t *testing.T) {
	text, err := al2023{}.UserData(node())
	if err != nil {
		t.Fatal(err)
	}
	found := parts(t, text)
	if len(found) != 1 {
		t.Fatalf("%d parts, want the generated one", len(found))
	}
	c := decode(t, found[0])
	if c.APIVersion != "node.eks.aws/v1alpha1" || c.Kind != "NodeConfig" {
		t.Errorf("%s %s", c.APIVersion, c.Kind)
	}
	cluster := c.Spec.Cluster
	if cluster.Name != "lab" || cluster.APIServerEndpoint != "https://127.0.0.1:6443" || cluster.CIDR != "10.96.0.0/16" ||
		cluster.CertificateAuthority != base64.StdEncoding.EncodeToString([]byte("PEM")) {
		t.Errorf("cluster %+v", cluster)
	}
	config := c.Spec.Kubelet.Config
	if config.MaxPods != 110 || config.PodsPerCore != 10 || len(config.ClusterDNS) != 1 || config.KubeReserved["cpu"] != "100m" {
		t.Errorf("kubelet %+v", config)
	}
	want := []Taint{{"spot", "only", "NoSchedule"}, {"karpenter.sh/unregistered", "", "NoExecute"}, {"karpenterd.sh/awaiting-pods", "", "NoSchedule"}}
	if len(config.RegisterWithTaints) != 3 || config.RegisterWithTaints[0] != want[0] || config.RegisterWithTaints[1] != want[1] || config.RegisterWithTaints[2] != want[2] {
		t.Errorf("taints %v, want %v", config.RegisterWithTaints, want)
	}
}

func TestAL2023_NodesGetEveryFieldOfTheKubelet(t *testing.T) {
	n := node()
	for name, value := range map[string]any{"imageMaximumGCAge": "10m", "featureGates": map[string]any{"NodeSwap": true}, "registerWithTaints": []any{}} {
		if err := n.Class.Spec.Kubelet.SetFurther(name, value); err != nil {
			t.Fatal(err)
		}
	}
	text, err := al2023{}.UserData(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"imageMaximumGCAge": "10m"`, `"featureGates": {`, `"NodeSwap": true`, `"maxPods": 110`, `"key": "karpenter.sh/unregistered"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	n.Kubelet = n.Class.Spec.Kubelet.DeepCopy()
	n.Kubelet.MaxPods, n.Class.Spec.Kubelet.MaxPods = awsv1.Pods(17), awsv1.PodExpression("vcpus * 8")
	if text, err = (al2023{}).UserData(n); err != nil || !strings.Contains(text, `"maxPods": 17`) {
		t.Errorf("%v: not the number of the instance type:\n%s", err, text)
	}
}

func TestAL2023_InstanceStoreVolumesAreLeftAloneUnlessTheClassSaysOtherwise(t *testing.T) {
	for strategy, want := range map[string]string{"": "", "RAID0": `"localStorage": {
        "strategy": "RAID0"
      }`} {
		c := node()
		if strategy != "" {
			c.Class.Spec.InstanceStorePolicy = &strategy
		}
		text, err := al2023{}.UserData(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := parts(t, text)[0].body; !strings.Contains(got, want) || strings.Contains(got, "localStorage") != (want != "") {
			t.Errorf("with strategy %q: %s", strategy, got)
		}
	}
}

func TestAL2023_LabelsAreSortedWithoutThoseOfKubernetes(t *testing.T) {
	text, err := al2023{}.UserData(node())
	if err != nil {
		t.Fatal(err)
	}
	want := "--node-labels=karpenter.sh/capacity-type=spot,karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default,notk8s.io/a=b,team=web"
	if got := decode(t, parts(t, text)[0]).Spec.Kubelet.Flags; len(got) != 1 || got[0] != want {
		t.Errorf("flags %v, want %s", got, want)
	}
}

func TestAL2023_OwnTaintsAreNotGivenTwice(t *testing.T) {
	c := node()
	c.Taints = []Taint{{"karpenterd.sh/awaiting-pods", "", "NoSchedule"}, {"karpenter.sh/unregistered", "", "NoExecute"}}
	text, err := al2023{}.UserData(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := decode(t, parts(t, text)[0]).Spec.Kubelet.Config.RegisterWithTaints; len(got) != 2 {
		t.Errorf("taints %v", got)
	}
}

func TestAL2023_UsersPartsComeFirstAndGeneratedLast(t *testing.T) {
	const multi = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"B\"\r\n\r\n--B\r\nContent-Type: text/x-shellscript\r\n\r\necho one\r\n--B\r\nContent-Type: application/node.eks.aws\r\n\r\nkind: NodeConfig\r\n--B--\r\n"
	cases := map[string]struct {
		text  string
		types []string
		body  string
	}{
		"shell script":         {"#!/bin/bash\r\necho hello\r\n", []string{shellType}, "#!/bin/bash\necho hello\n"},
		"NodeConfig":           {"---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n", []string{nodeConfigType}, "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"},
		"script of NodeConfig": {"#!/bin/sh\ncat <<E\napiVersion: node.eks.aws/v1alpha1\nE\n", []string{shellType}, "#!/bin/sh\ncat <<E\napiVersion: node.eks.aws/v1alpha1\nE\n"},
		"MIME multipart":       {multi, []string{"text/x-shellscript", nodeConfigType}, "echo one"},
		"after empty lines":    {"\r\n " + multi, []string{"text/x-shellscript", nodeConfigType}, "echo one"},
		"line like a boundary": {"#!/bin/sh\n--//\n--//=\n", []string{shellType}, "#!/bin/sh\n--//\n--//=\n"},
		"hidden boundary":      {"#!/bin/sh\n\r--//\n", []string{shellType}, "#!/bin/sh\n--//\n"},
		"white space":          {" \n", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := node()
			c = c.withText(tc.text)
			text, err := al2023{}.UserData(c)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, "\r") {
				t.Error("user data has carriage returns")
			}
			found := parts(t, text)
			if len(found) != len(tc.types)+1 {
				t.Fatalf("%d parts, want %d and the generated one:\n%s", len(found), len(tc.types), text)
			}
			for i, want := range tc.types {
				if found[i].contentType != want {
					t.Errorf("part %d is %s, want %s", i, found[i].contentType, want)
				}
			}
			if len(tc.types) > 0 && found[0].body != tc.body {
				t.Errorf("first part %q, want %q", found[0].body, tc.body)
			}
			if decode(t, found[len(found)-1]).Spec.Cluster.Name != "lab" {
				t.Error("the last part is not the generated one")
			}
		})
	}
}

func TestAL2023_ErrorNamesFieldAndRemedy(t *testing.T) {
	cases := map[string]struct {
		change func(*Node)
		want   string
	}{
		"too long":       {func(c *Node) { *c = c.withText(strings.Repeat("x", 16000)) }, "EC2 accepts 16384: shorten spec.userData (16000 bytes)"},
		"broken MIME":    {func(c *Node) { *c = c.withText("MIME-Version: 1.0\nContent-Type: text/plain\n\nx") }, `spec.userData: Content-Type "text/plain" is not multipart`},
		"cut MIME":       {func(c *Node) { *c = c.withText("Content-Type: multipart/mixed; boundary=B\n\n--B\n") }, "spec.userData read MIME part 1"},
		"no authority":   {func(c *Node) { c.CertificateAuthority = nil }, `certificate authority of cluster "lab": is empty`},
		"no CIDR":        {func(c *Node) { c.ServiceCIDR = "" }, `service CIDR of cluster "lab": is empty`},
		"plain endpoint": {func(c *Node) { c.Endpoint = "http://x" }, `API server endpoint "http://x": must be an https URL`},
		"no cluster":     {func(c *Node) { c.Name = "" }, "cluster name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := node()
			tc.change(&c)
			if _, err := (al2023{}).UserData(c); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
