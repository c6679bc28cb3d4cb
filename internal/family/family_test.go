package family

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

// Custom has what its user writes.
func TestUserData_TellsThePodsOfTheInstanceTypeBeforeThoseOfTheClass(t *testing.T) {
	for images, told := range map[string]string{"AL2023": `"maxPods": %d`, "AL2": "--max-pods=%d", "Bottlerocket": "max-pods = %d", "Custom": "hello"} {
		text := func(class, planned int32) string {
			n := node().withText(map[string]string{"Custom": "hello"}[images])
			n.Class.Spec.AMIFamily, n.Class.Spec.Kubelet.MaxPods = images, awsv1.Pods(class)
			if planned > 0 {
				n.Kubelet = &awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(planned)}
			}
			got, err := Of(n.Class).UserData(n)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for _, c := range []struct{ class, planned, want int32 }{{0, 20, 20}, {8, 20, 20}, {8, 0, 8}} {
			if want := strings.Replace(told, "%d", strconv.Itoa(int(c.want)), 1); !strings.Contains(text(c.class, c.planned), want) {
				t.Errorf("%s, class %d, planned %d: no %s in\n%s", images, c.class, c.planned, want, text(c.class, c.planned))
			}
		}
		for _, word := range []string{`"maxPods"`, "--max-pods", "max-pods = "} {
			if got := text(0, 0); strings.Contains(got, word) {
				t.Errorf("%s: nothing is planned otherwise, and the kubelet is told its pods:\n%s", images, got)
			}
		}
	}
}

func TestParameters_AreThePathsOfThePublishers(t *testing.T) {
	const eks = "/aws/service/eks/optimized-ami/"
	for alias, want := range map[string][]string{
		"al2023@latest": {
			eks + "1.36/amazon-linux-2023/x86_64/standard/recommended/image_id: amd64 standard",
			eks + "1.36/amazon-linux-2023/arm64/standard/recommended/image_id: arm64 standard",
			eks + "1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id: amd64 nvidia",
			eks + "1.36/amazon-linux-2023/arm64/nvidia/recommended/image_id: arm64 nvidia",
			eks + "1.36/amazon-linux-2023/x86_64/neuron/recommended/image_id: amd64 neuron",
		},
		"al2@latest": {
			eks + "1.36/amazon-linux-2/recommended/image_id: amd64 standard",
			eks + "1.36/amazon-linux-2-arm64/recommended/image_id: arm64 standard",
			eks + "1.36/amazon-linux-2-gpu/recommended/image_id: amd64 nvidia, amd64 neuron",
		},
		"al2@v20241024": {
			eks + "1.36/amazon-linux-2/amazon-eks-node-1.36-v20241024/image_id: amd64 standard",
			eks + "1.36/amazon-linux-2-arm64/amazon-eks-arm64-node-1.36-v20241024/image_id: arm64 standard",
			eks + "1.36/amazon-linux-2-gpu/amazon-eks-gpu-node-1.36-v20241024/image_id: amd64 nvidia, amd64 neuron",
		},
		"bottlerocket@v1.49.0": {
			"/aws/service/bottlerocket/aws-k8s-1.36/x86_64/1.49.0/image_id: amd64 standard, amd64 neuron",
			"/aws/service/bottlerocket/aws-k8s-1.36/arm64/1.49.0/image_id: arm64 standard",
			"/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/1.49.0/image_id: amd64 nvidia",
			"/aws/service/bottlerocket/aws-k8s-1.36-nvidia/arm64/1.49.0/image_id: arm64 nvidia",
		},
	} {
		a, err := ParseAlias(alias)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range a.Parameters("1.36") {
			var variants []string
			for _, v := range p.Variants {
				variants = append(variants, v.Arch+" "+v.Kind)
			}
			got = append(got, p.Name+": "+strings.Join(variants, ", "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s", alias, strings.Join(got, "\n"))
		}
	}
	a, _ := ParseAlias("al2023@v20260115")
	if got, want := a.Parameters("1.30")[3].Name, eks+"1.30/amazon-linux-2023/arm64/nvidia/amazon-eks-node-al2023-arm64-nvidia-1.30-v20260115/image_id"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParseAlias_ErrorSaysHowAnAliasIsWritten(t *testing.T) {
	for _, good := range []string{"al2023@latest", "al2023@v20260115", "al2@v20241024", "bottlerocket@latest", "bottlerocket@1.20.0", "bottlerocket@v1.20.0-fcf71a47"} {
		if a, err := ParseAlias(good); err != nil || a.String() != good {
			t.Errorf("%s reads as %v, %v", good, a, err)
		}
	}
	for bad, want := range map[string]string{
		"": "no such family: write al2023, bottlerocket or al2", "windows2022@latest": "no such family", "custom@latest": "the family Custom has no alias", "AL2023@latest": "no such family",
		"al2023": "must be al2023@latest or al2023@v<release>", "al2023@": "must be al2023@latest", "al2023@20260115": "must be al2023@latest", "al2023@latest@1": "must be al2023@latest",
		"al2@v1.2": "must be al2@latest or al2@v<release>", "bottlerocket@v1": "must be bottlerocket@latest or bottlerocket@v<release>",
	} {
		if _, err := ParseAlias(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", bad, err, want)
		}
	}
}

func TestOf_TheFieldWinsOverTheAlias(t *testing.T) {
	for _, c := range []struct{ field, alias, want string }{
		{"", "al2023@latest", "AL2023"},
		{"", "bottlerocket@latest", "Bottlerocket"},
		{"", "al2@v20241024", "AL2"},
		{"Custom", "al2023@latest", "Custom"},
		{"Bottlerocket", "", "Bottlerocket"},
		{"Windows2022", "", "AL2023"},
		{"", "", "AL2023"},
	} {
		class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{AMIFamily: c.field, AMISelectorTerms: []awsv1.AMISelectorTerm{{Alias: c.alias}}}}
		if got := Of(class).Name(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestCustom_TextOfTheUserIsUnchanged(t *testing.T) {
	const text = "#cloud-config\r\nruncmd: [join]\n"
	n := Node{Class: &awsv1.EC2NodeClass{}}
	if got, err := (custom{}).UserData(n.withText(text)); err != nil || got != text {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (custom{}).UserData(Node{Class: &awsv1.EC2NodeClass{}}); err != nil || got != "" {
		t.Errorf("without text: %q, %v", got, err)
	}
	if _, err := (custom{}).UserData(n.withText(strings.Repeat("x", MaxUserDataBytes+1))); err == nil || !strings.Contains(err.Error(), "shorten spec.userData") {
		t.Errorf("too long: %v", err)
	}
}

// The plan takes 0 for no number, so the kubelet must have none, too.
func TestUserData_ZeroPodsAreNoNumber(t *testing.T) {
	zero := int32(0)
	for _, f := range families() {
		n := plain()
		without, err := f.UserData(n)
		if err != nil {
			t.Fatal(err)
		}
		n.Class.Spec.Kubelet = &awsv1.KubeletConfiguration{MaxPods: awsv1.Pods(0), PodsPerCore: &zero}
		if got, err := f.UserData(n); err != nil || got != without {
			t.Errorf("%s: %v\n%s", f.Name(), err, got)
		}
	}
}
