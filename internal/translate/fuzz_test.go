package translate_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// An interruption that ParseInterruption accepts is the same after it is written
// and read again.
func FuzzParseInterruption(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	f.Add(translate.FormatInterruption(cluster.Interruption{Reason: "spot_interrupted", Noticed: now, Deadline: now.Add(time.Minute)}))
	f.Add("0000-01-01T00:00:00+23:59 x 9999-12-31T23:59:59.999999999-23:59")
	f.Add("2026-01-02T03:04:05Z  \n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := translate.ParseInterruption(text)
		if err != nil {
			if i != nil {
				t.Fatalf("%q: %+v and %v", text, i, err)
			}
			return
		}
		if y := i.Deadline.UTC().Year(); y < 0 || y > 9999 {
			return // RFC 3339 cannot write what a zone's offset has moved out of its years
		}
		if y := i.Noticed.UTC().Year(); y < 0 || y > 9999 {
			return
		}
		again, err := translate.ParseInterruption(translate.FormatInterruption(*i))
		if err != nil || again.Reason != i.Reason || !again.Deadline.Equal(i.Deadline) || !again.Noticed.Equal(i.Noticed) {
			t.Fatalf("%q is %+v, written and read %+v, %v", text, i, again, err)
		}
	})
}

// DefaultSpread never panics. A pod with constraints that DefaultSpread accepts
// is one that the core accepts.
func FuzzDefaultSpread(f *testing.F) {
	f.Add("")
	f.Add("podTopologySpread:\n  defaultConstraints:\n  - maxSkew: 1\n    topologyKey: zone\n    whenUnsatisfiable: ScheduleAnyway\n")
	f.Add(`{"podTopologySpread":{"defaultingType":"List","defaultConstraints":[{"maxSkew":2147483647,"minDomains":1,"topologyKey":"a/b","whenUnsatisfiable":"DoNotSchedule","nodeTaintsPolicy":"Honor"}]}}`)
	f.Add(`{"podTopologySpread":{"defaultConstraints":[{"maxSkew":-1,"minDomains":-1}]}}`)
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := translate.DefaultSpread(text)
		if err != nil {
			if list != nil {
				t.Fatalf("%q: %+v and %v", text, list, err)
			}
			return
		}
		p := cluster.Pod{Namespace: "n", Name: "p", Shape: cluster.Shape{Spread: list}}
		if _, err := cluster.New(cluster.Objects{Pods: []cluster.Pod{p}}); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// Any JSON that decodes to a pod can be translated, and gives the same result
// twice. A cluster may refuse the result, but takes no harm.
func FuzzPod(f *testing.F) {
	for _, s := range []string{
		`{}`,
		`{"metadata":{"name":"a","namespace":"b","labels":{"app":"x"}},"spec":{"containers":[{"resources":{"requests":{"cpu":"1e30","memory":"-1","x":"1n","":"1"}},"ports":[{"hostPort":80},{"hostPort":-1,"protocol":"SCTP","hostIP":"::"}]}],"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"9223372036854775807"}}}],"overhead":{"cpu":"9E"}}}`,
		`{"metadata":{"name":"a","namespace":"b"},"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{},{"matchExpressions":[{"key":"a","operator":"Gt"}],"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]},"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":200}]},"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{},{"labelSelector":{"matchExpressions":[{"operator":"?"}]},"namespaceSelector":{},"matchLabelKeys":["app"],"mismatchLabelKeys":["app"]}]},"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{}]}}}}`,
		`{"metadata":{"name":"a","namespace":"b"},"spec":{"topologySpreadConstraints":[{},{"maxSkew":-5,"minDomains":-1,"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b"}},"matchLabelKeys":["a",""],"nodeAffinityPolicy":"?"}],"tolerations":[{},{"key":"a","operator":"Lt","value":"x"}],"nodeSelector":{"":""},"priority":-2147483648}}`,
		`{"metadata":{"name":"a","namespace":"b","annotations":{"karpenter.sh/do-not-disrupt":"x"}},"spec":{"volumes":[{},{"name":"v","persistentVolumeClaim":{"claimName":"gone"}},{"ephemeral":{}},{"csi":{}}],"resources":{"requests":{"cpu":"1"}}},"status":{"containerStatuses":[{}],"initContainerStatuses":[{"resources":{}}],"resize":"Infeasible","conditions":[{}]}}`,
	} {
		f.Add([]byte(s))
	}
	lookups := []translate.Lookups{{}, {
		Spread: []cluster.Spread{{Key: "zone", MaxSkew: 1}},
		Services: func(string) []*corev1.Service {
			return []*corev1.Service{{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "x"}}}}
		},
		LimitRanges: func(string) []*corev1.LimitRange { return []*corev1.LimitRange{{}} },
		Selector: func(string, metav1.OwnerReference) (*metav1.LabelSelector, bool) {
			return &metav1.LabelSelector{}, true
		},
		VolumeClaim: func(string, string) (*corev1.PersistentVolumeClaim, bool) {
			return &corev1.PersistentVolumeClaim{}, true
		},
	}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p corev1.Pod
		if json.Unmarshal(data, &p) != nil {
			return
		}
		for _, l := range lookups {
			word, ours := translate.Pod(&p, l)
			again, _ := translate.Pod(p.DeepCopy(), l)
			if !reflect.DeepEqual(word, again) {
				t.Fatalf("%s is %+v, and then %+v", data, word, again)
			}
			if ours != translate.Ours(&p) || !ours && word.Name != "" {
				t.Fatalf("%s: ours %v, %+v", data, ours, word)
			}
			if r := word.Shape.Requests; ours && (r.MilliCPU < 0 || r.MemoryBytes < 0 || r.EphemeralBytes < 0 || r.PodSlots != 1) {
				t.Fatalf("%s asks for %+v", data, r)
			}
			if s, err := cluster.New(cluster.Objects{Pods: []cluster.Pod{word}}); ours && err == nil && len(s.Pods()) != 1 {
				t.Fatalf("%s: %d pods in the cluster", data, len(s.Pods()))
			}
		}
	})
}

// Any JSON that decodes to a NodePool or NodeClaim can be translated. A pool
// that is not ready says why.
func FuzzPool(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"metadata":{"name":"p"},"spec":{"weight":100,"limits":{"cpu":"-1","nodes":"1e30"},"template":{"metadata":{"labels":{"":"~"}},"spec":{"nodeClassRef":{"name":"c"},"requirements":[{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"],"minValues":2},{"key":"x","operator":"Gt","values":["y"]}],"taints":[{"key":"a","effect":"NoSchedule"}]}}}}`))
	f.Add([]byte(`{"metadata":{"name":"c","annotations":{"karpenterd.sh/interruption":"x"}},"spec":{"requirements":[{"key":"a","operator":"In","values":["b"]}],"resources":{"requests":{"cpu":"1"}}},"status":{"providerID":"/","conditions":[{"type":"Launched","status":"True"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var pool v1.NodePool
		if json.Unmarshal(data, &pool) == nil {
			word := translate.Pool(&pool)
			if !reflect.DeepEqual(word, translate.Pool(pool.DeepCopy())) || word.Ready != (word.NotReady == "") {
				t.Fatalf("%s is %+v", data, word)
			}
		}
		var claim v1.NodeClaim
		if json.Unmarshal(data, &claim) == nil {
			word, err := translate.Claim(&claim)
			if again, _ := translate.Claim(claim.DeepCopy()); err == nil && !reflect.DeepEqual(word, again) {
				t.Fatalf("%s is %+v, and then %+v", data, word, again)
			}
		}
	})
}
