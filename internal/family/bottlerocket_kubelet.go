package family

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

// bottlerocketSetting is a setting below settings.kubernetes.
type bottlerocketSetting struct {
	name string
	// of makes its value of a field of the kubelet; false if the setting cannot have that
	// value. nil: the value is the same.
	of func(value any) (setting any, can bool)
}

// bottlerocketSettings are the fields of the kubelet's configuration that Bottlerocket has
// settings for, beside those with a Go field. Source: Bottlerocket's settings reference,
// "kubernetes".
func bottlerocketSettings() map[string]bottlerocketSetting {
	return map[string]bottlerocketSetting{
		"allowedUnsafeSysctls":            {name: "allowed-unsafe-sysctls"},
		"clusterDomain":                   {name: "cluster-domain"},
		"containerLogMaxFiles":            {name: "container-log-max-files"},
		"containerLogMaxSize":             {name: "container-log-max-size"},
		"containerLogMaxWorkers":          {name: "container-log-max-workers"},
		"containerLogMonitorInterval":     {name: "container-log-monitor-interval"},
		"cpuManagerPolicy":                {name: "cpu-manager-policy"},
		"cpuManagerPolicyOptions":         {"cpu-manager-policy-options", namesOfTrue},
		"cpuManagerReconcilePeriod":       {name: "cpu-manager-reconcile-period"},
		"eventBurst":                      {name: "event-burst"},
		"eventRecordQPS":                  {name: "event-qps"},
		"kubeAPIBurst":                    {name: "kube-api-burst"},
		"kubeAPIQPS":                      {name: "kube-api-qps"},
		"memoryManagerPolicy":             {name: "memory-manager-policy"},
		"podPidsLimit":                    {name: "pod-pids-limit"},
		"registryBurst":                   {name: "registry-burst"},
		"registryPullQPS":                 {name: "registry-qps"},
		"reservedMemory":                  {"memory-manager-reserved-memory", memoryByNode},
		"seccompDefault":                  {name: "seccomp-default"},
		"serverTLSBootstrap":              {name: "server-tls-bootstrap"},
		"shutdownGracePeriod":             {name: "shutdown-grace-period"},
		"shutdownGracePeriodCriticalPods": {name: "shutdown-grace-period-for-critical-pods"},
		"singleProcessOOMKill":            {name: "single-process-oom-kill"},
		"topologyManagerPolicy":           {name: "topology-manager-policy"},
		"topologyManagerPolicyOptions":    {"topology-manager-policy-options", topologyOptions},
		"topologyManagerScope":            {name: "topology-manager-scope"},
		"userNamespaces":                  {"ids-per-pod", idsPerPod},
	}
}

// bottlerocketFurther are the further fields as settings, and the names of those that
// Bottlerocket cannot have.
func bottlerocketFurther(k awsv1.KubeletConfiguration) (settings map[string]any, lacks []string) {
	settings = map[string]any{}
	known := bottlerocketSettings()
	for _, field := range slices.Sorted(maps.Keys(k.Further)) {
		setting, there := known[field]
		value, can := plainOf(k.Further[field]), there
		if can && setting.of != nil {
			value, can = setting.of(value)
		}
		if !can || value == nil {
			lacks = append(lacks, field)
			continue
		}
		settings[setting.name] = value
	}
	return settings, lacks
}

// plainOf reads JSON without types. Whole numbers are integers; nil is what cannot be read.
func plainOf(raw json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return withNumbers(value)
}

func withNumbers(value any) any {
	switch x := value.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n
		}
		n, _ := x.Float64() // JSON has no other numbers
		return n
	case []any:
		for i := range x {
			x[i] = withNumbers(x[i])
		}
	case map[string]any:
		for key := range x {
			x[key] = withNumbers(x[key])
		}
	}
	return value
}

// namesOfTrue are the options that are on. Bottlerocket lists them.
func namesOfTrue(value any) (any, bool) {
	options, is := value.(map[string]any)
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if options[name] != "true" {
			return nil, false
		}
		names = append(names, name)
	}
	return names, is
}

func topologyOptions(value any) (any, bool) {
	options, is := value.(map[string]any)
	out := map[string]any{}
	for name, of := range options {
		text, _ := of.(string)
		var err error
		switch name {
		case "prefer-closest-numa-nodes":
			out[name], err = strconv.ParseBool(text)
		case "max-allowable-numa-nodes":
			out[name], err = strconv.Atoi(text)
		default:
			return nil, false
		}
		if err != nil {
			return nil, false
		}
	}
	return out, is
}

// memoryByNode is what is kept of the memory of each NUMA node.
func memoryByNode(value any) (any, bool) {
	list, is := value.([]any)
	out := map[string]any{}
	for _, element := range list {
		of, _ := element.(map[string]any)
		limits, _ := of["limits"].(map[string]any)
		node := map[string]any{"enabled": true}
		for name, amount := range limits {
			if !slices.Contains([]string{"memory", "hugepages-2Mi", "hugepages-1Gi"}, name) {
				return nil, false
			}
			node[name] = amount
		}
		number, _ := of["numaNode"].(int64) // 0 may be left out
		out[strconv.FormatInt(number, 10)] = node
	}
	return out, is
}

func idsPerPod(value any) (any, bool) {
	of, _ := value.(map[string]any)
	n, is := of["idsPerPod"].(int64)
	return n, is && len(of) == 1
}
