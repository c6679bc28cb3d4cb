package legacy

import (
	"encoding/json"
	"slices"
	"strings"
)

// podDefaults are the values of Karpenter's chart that say how its pods run, as the chart has them
// by default, without what is empty there.
func podDefaults() map[string]string {
	return map[string]string{
		"affinity":                  `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"karpenter.sh/nodepool","operator":"DoesNotExist"}]}]}},"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname"}]}}`,
		"dnsPolicy":                 `"ClusterFirst"`,
		"imagePullPolicy":           `"IfNotPresent"`,
		"nodeSelector":              `{"kubernetes.io/os":"linux"}`,
		"podDisruptionBudget":       `{"maxUnavailable":1,"name":"karpenter"}`,
		"podSecurityContext":        `{"fsGroup":65532,"seccompProfile":{"type":"RuntimeDefault"}}`,
		"priorityClassName":         `"system-cluster-critical"`,
		"replicas":                  `2`,
		"revisionHistoryLimit":      `10`,
		"schedulerName":             `"default-scheduler"`,
		"serviceAccount":            `{"create":true}`,
		"strategy":                  `{"rollingUpdate":{"maxUnavailable":1}}`,
		"tolerations":               `[{"key":"CriticalAddonsOnly","operator":"Exists"}]`,
		"topologySpreadConstraints": `[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule"}]`,
	}
}

// pods names the values that say how the pods of the controller run, of which nothing is in the
// output. The image is Karpenter's own.
func (o *origin) pods(base string, root map[string]any) {
	var keys []string
	note := func(key string, value any) {
		text, err := json.Marshal(filled(value))
		if key != "" && err == nil && string(text) != "null" && string(text) != podDefaults()[key] && settingAt(key).Variable == "" {
			keys = append(keys, join(base, key))
		}
	}
	for key, value := range root {
		if !slices.Contains([]string{"settings", "controller", chartName}, key) {
			note(key, value)
		}
	}
	controller, _ := root["controller"].(map[string]any)
	for key, value := range controller {
		if !slices.Contains([]string{"containerName", "env", "envFrom", "healthProbe", "image", "metrics"}, key) {
			note("controller."+key, value)
		}
	}
	if len(keys) == 0 {
		return
	}
	o.read = true
	slices.Sort(keys)
	o.warn(o.subject, "", "how the pods of the controller run is not converted: "+strings.Join(keys, ", "), "write it as attributes of karpenter_daemon, or as values of its chart; the guide From Karpenter, and back names what they do not have")
}

// filled is a value without what is empty or false in it; nil if that is all.
func filled(value any) any {
	switch v := value.(type) {
	case bool:
		if !v {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range v {
			if some := filled(inner); some != nil {
				kept[key] = some
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	}
	return value
}
