package legacy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// environmentName is the ConfigMap that the settings become.
const environmentName = "karpenter-environment"

// variables maps the settings that v1 has to the environment variables of the controller.
func variables() map[string]string {
	return map[string]string{
		"batchMaxDuration":            "BATCH_MAX_DURATION",
		"batchIdleDuration":           "BATCH_IDLE_DURATION",
		"aws.clusterName":             "CLUSTER_NAME",
		"aws.clusterEndpoint":         "CLUSTER_ENDPOINT",
		"aws.clusterCABundle":         "CLUSTER_CA_BUNDLE",
		"aws.isolatedVPC":             "ISOLATED_VPC",
		"aws.vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
		"aws.interruptionQueueName":   "INTERRUPTION_QUEUE",
		"aws.reservedENIs":            "RESERVED_ENIS",
	}
}

// globals reads the settings; they decide what the other objects become.
func (c *converter) globals(d document, old wire.Settings) {
	s := d.subject()
	if c.hasSettings {
		c.fail(s, "metadata.name", "karpenter-global-settings is in the input twice", "remove one of the two")
		return
	}
	c.hasSettings = true
	names := variables()
	for _, key := range slices.Sorted(maps.Keys(old.Data)) {
		value, at := old.Data[key], fmt.Sprintf("data[%s]", key)
		if name, ok := names[key]; ok {
			if value != "" {
				c.environment[name] = value
			}
			continue
		}
		c.dropped(s, at, key, value)
	}
	c.settingsMeta = meta{Name: environmentName, Namespace: old.Metadata.Namespace, Labels: old.Metadata.Labels}
	c.warn(s, "", "v1 reads its settings from environment variables, which are in the ConfigMap "+environmentName, "name that ConfigMap in envFrom of the controller's container, or set the variables there")
}

// dropped handles the settings that v1 does not have.
func (c *converter) dropped(s subject, at, key, value string) {
	switch key {
	case "_example":
	case "aws.defaultInstanceProfile":
		c.profile = value
	case "aws.tags":
		if value == "" {
			return
		}
		if err := json.Unmarshal([]byte(value), &c.globalTags); err != nil {
			c.fail(s, at, "no JSON object of texts", `write one such as {"team":"platform"}`)
		}
	case "featureGates.driftEnabled":
		c.drift, c.driftOff = value == "true", value == "false"
	case "aws.enablePodENI":
		if value != "true" {
			c.lose(s, at, "is dropped, as v1 always knows pod network interfaces", "")
		}
	case "aws.enableENILimitedPodDensity":
		if value == "false" {
			c.lose(s, at, "is dropped, as v1 counts the pods that network interfaces allow", "set maxPods: 110 of the kubelet in each EC2NodeClass, if the CNI needs no addresses of the interfaces")
		}
	case "aws.assumeRoleARN", "aws.assumeRoleDuration":
		if value != "" {
			c.lose(s, at, "is dropped, as v1 assumes no other role", "give the controller's own role the rights that it needs")
		}
	case "aws.nodeNameConvention":
		c.lose(s, at, "is dropped, as the kubelet names nodes", "")
	default:
		known := append(slices.Collect(maps.Keys(variables())), "aws.defaultInstanceProfile", "aws.tags", "featureGates.driftEnabled", "aws.enablePodENI", "aws.enableENILimitedPodDensity", "aws.assumeRoleARN", "aws.assumeRoleDuration", "aws.nodeNameConvention")
		slices.Sort(known)
		for _, k := range known {
			if k == "aws."+key || distance(k, key) <= 2 {
				c.fail(s, at, "no such setting", "write "+k)
				return
			}
		}
		c.fail(s, at, "no such setting", "remove it")
	}
}
