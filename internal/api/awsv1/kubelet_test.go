package awsv1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

// Whoever reads an object and writes it must not lose what the daemon has no name for.
func TestKubelet_NothingIsLostBetweenReadingAndWriting(t *testing.T) {
	for _, text := range []string{
		`{"maxPods":110,"clusterDNS":["10.0.0.10"],"cpuCFSQuota":false}`,
		`{"maxPods":"min(110, max_pods)","kubeReserved":{"memory":"max_pods * 11"}}`,
		`{"imageMaximumGCAge":"10m","featureGates":{"NodeSwap":true},"reservedMemory":[{"numaNode":0,"limits":{"memory":"1Gi"}}],"podPidsLimit":9007199254740993,"memoryThrottlingFactor":0.5,"maxPods":5}`,
		`{"aFieldOfTomorrow":{"deep":{"er":[1,"two",false]}}}`,
	} {
		object := map[string]any{}
		if err := utiljson.Unmarshal([]byte(`{"spec":{"kubelet":`+text+`}}`), &object); err != nil {
			t.Fatal(err)
		}
		var class awsv1.EC2NodeClass
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &class); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(class.DeepCopy().Spec.Kubelet)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if utiljson.Unmarshal([]byte(text), &want) != nil || utiljson.Unmarshal(written, &got) != nil || !cmp.Equal(want, got) {
			t.Errorf("(-read +written):\n%s", cmp.Diff(want, got))
		}
		plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&class)
		if err != nil || !cmp.Equal(plain["spec"].(map[string]any)["kubelet"], want) {
			t.Errorf("%v: without types %v, want %v", err, plain["spec"], want)
		}
	}
}

func TestKubelet_ACopySharesNothing(t *testing.T) {
	k := &awsv1.KubeletConfiguration{}
	if err := k.SetFurther("imageMaximumGCAge", "10m"); err != nil {
		t.Fatal(err)
	}
	k.DeepCopy().Further["imageMaximumGCAge"][1] = 'x'
	if string(k.Further["imageMaximumGCAge"]) != `"10m"` {
		t.Errorf("a change of the copy is seen: %s", k.Further)
	}
}
