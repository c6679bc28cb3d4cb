package legacyapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// Specs with every field of the kind.
const (
	wholeProvisioner = `{
		"annotations": {"example.com/a": "1"}, "labels": {"team": "web"}, "weight": 10, "ttlSecondsAfterEmpty": 30, "ttlSecondsUntilExpired": 2592000,
		"consolidation": {"enabled": false}, "limits": {"resources": {"cpu": "100", "memory": "100Gi"}}, "providerRef": {"name": "bad"},
		"requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
		"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}], "startupTaints": [{"key": "c", "effect": "NoExecute"}],
		"kubeletConfiguration": {"maxPods": 20, "podsPerCore": 2, "clusterDNS": ["10.0.0.10"], "systemReserved": {"cpu": "100m"}, "kubeReserved": {"memory": "1Gi"},
			"evictionHard": {"memory.available": "5%"}, "evictionSoft": {"memory.available": "10%"}, "evictionSoftGracePeriod": {"memory.available": "1m"},
			"evictionMaxPodGracePeriod": 60, "imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 70, "cpuCFSQuota": true, "containerRuntime": "containerd"}
	}`
	wholeTemplate = `{
		"amiFamily": "Bottlerocket", "amiSelector": {"aws::name": "a"}, "subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}, "instanceProfile": "node",
		"userData": "a = 1", "tags": {"a": "b"}, "context": "c", "detailedMonitoring": true, "launchTemplate": "lt", "associatePublicIPAddress": false,
		"metadataOptions": {"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": 2, "httpTokens": "required"},
		"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi", "volumeType": "gp3", "iops": 3000, "throughput": 125, "encrypted": true, "deleteOnTermination": true, "kmsKeyID": "k", "snapshotID": "snap-1"}}]
	}`
)

// The definitions of the older API were looser, and an API server keeps what it has. One field
// after the other has a value of another type, an absurd one, or none.
func TestServer_OneBadObjectHoldsUpNoOther(t *testing.T) {
	values := []any{nil, "?!", strings.Repeat("x", 3000), int64(-1), 1.5, int64(1) << 62, true, []any{}, []any{"?!"}, map[string]any{}, map[string]any{"?!": map[string]any{}}}
	cases := 0
	for kind, text := range map[string]string{"Provisioner": wholeProvisioner, "AWSNodeTemplate": wholeTemplate} {
		var whole map[string]any
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatal(err)
		}
		for _, path := range append(paths(whole, nil), nil) {
			specs := []any{changed(runtime.DeepCopyJSONValue(whole), path, nil, true)}
			for _, with := range values {
				specs = append(specs, changed(runtime.DeepCopyJSONValue(whole), path, with, false))
			}
			cases += len(specs)
			serveBesides(t, kind, fmt.Sprintf("%s with other values at %v", kind, path), specs)
		}
	}
	if cases < 800 {
		t.Errorf("only %d broken objects", cases)
	}
}

// serveBesides checks that a Provisioner is served beside broken objects.
func serveBesides(t *testing.T, kind, what string, specs []any) {
	t.Helper()
	defer func() {
		if fault := recover(); fault != nil {
			t.Errorf("%s: %v", what, fault)
		}
	}()
	b := newBench(t)
	b.template(nil)
	b.put(b.templates, "AWSNodeTemplate", "bad", b.templates.all["shared"].Object["spec"])
	for i, spec := range specs {
		name := fmt.Sprint("bad-", i)
		if kind == "AWSNodeTemplate" {
			b.put(b.templates, kind, name, spec)
			spec = map[string]any{"providerRef": map[string]any{"name": name}}
		}
		b.put(b.provisioners, "Provisioner", name, spec)
	}
	b.provisioner("good", nil)
	for range 2 {
		_ = b.Sync(t.Context(), b.now)
	}
	if p, c := b.pool("good"), b.class("good"); p == nil || c == nil || b.condition("good", "ValidationSucceeded").Status == "False" {
		t.Errorf("%s: the good Provisioner is not served: %v, %v", what, p, c)
	}
	for e, n := range b.told {
		if n > 1 {
			t.Errorf("%s: told %d times: %s", what, n, e)
		}
	}
}

// put brings an object, whatever its spec is.
func (b *bench) put(s *store, kind, name string, spec any) {
	o := b.apply(s, kind, name, nil).DeepCopy()
	o.Object["spec"] = spec
	s.put(o)
	b.Observe(o)
}

func paths(value any, path []any) (out [][]any) {
	switch x := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			out = append(out, append(slices.Clone(path), key))
			out = append(out, paths(x[key], append(slices.Clone(path), key))...)
		}
	case []any:
		for i := range x {
			out = append(out, append(slices.Clone(path), i))
			out = append(out, paths(x[i], append(slices.Clone(path), i))...)
		}
	}
	return out
}

// changed is the value with another one at the path, or without it.
func changed(value any, path []any, with any, remove bool) any {
	if len(path) == 0 {
		return with
	}
	switch x := value.(type) {
	case map[string]any:
		key, _ := path[0].(string)
		if remove && len(path) == 1 {
			delete(x, key)
		} else {
			x[key] = changed(x[key], path[1:], with, remove)
		}
	case []any:
		i, _ := path[0].(int)
		x[i] = changed(x[i], path[1:], with, remove)
	}
	return value
}
