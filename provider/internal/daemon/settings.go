package daemon

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// settingAttributes has the attribute of karpenter_daemon for each setting of the daemon, by
// environment variable.
func settingAttributes() map[string]string {
	return map[string]string{
		install.EnvClusterName:       "cluster_name",
		install.EnvClusterEndpoint:   "cluster_endpoint",
		install.EnvInterruptionQueue: "queue_name",
		install.EnvRegion:            "region",
		install.EnvFIPS:              "use_fips_endpoint",
		install.EnvDualStack:         "use_dualstack_endpoint",
		install.EnvLogLevel:          "log_level",
		install.EnvPreferencePolicy:  "preference_policy",
		install.EnvLanding:           "landing",
		install.EnvMinValuesPolicy:   "min_values_policy",
		install.EnvNodeCost:          "node_cost",
		install.EnvSchedulerConfig:   "scheduler_config",
		install.EnvPauseDisruption:   "pause_disruption",
		install.EnvReservedENIs:      "reserved_enis",
		install.EnvMemoryOverhead:    "vm_memory_overhead_percent",
		install.EnvClusterCA:         "cluster_ca_bundle",
		install.EnvIsolatedVPC:       "isolated_vpc",
		install.EnvLogKeys:           "log_keys",
		install.EnvMetricsPort:       "metrics_port",
		install.EnvHealthProbePort:   "health_probe_port",
		install.EnvSystemNamespace:   "namespace",
		install.EnvMemoryLimit:       "resources",
	}
}

// settingsWithout has the settings that have no attribute, and why.
func settingsWithout() map[string]string {
	return map[string]string{
		install.EnvPodName:     "Kubernetes gives each pod its name",
		install.EnvBindAddress: "Kubernetes gives each pod its address",
		install.EnvTimeFactor:  "it is for laboratories, where instances start and end faster than on AWS",
		install.EnvLoopback:    "it is for laboratories, where pods have no network of their own",
	}
}

func modeAttribute() schema.Attribute {
	return choiceAttribute("`active`: the daemon works for the cluster. `shadow`: another program does, such as Karpenter or a cluster-autoscaler, and the daemon says every minute what it would make of the cluster, in `karpenterd report` and in metrics. "+
		"It has no right to change anything but its own Lease and ConfigMap, needs no role (with one it knows AWS's prices), and no custom resource definitions are installed. "+
		"From `shadow` to `active` is an update in place, once the other program has stopped; the history of the shadow goes with it. Back from `active`, run `karpenterd handback` first. "+
		"A shadow has a `service_account` of its own. See [In the shadow of another autoscaler](../guides/shadow.md).", install.ModeActive, install.Modes())
}

func landingAttribute() schema.Attribute {
	return choiceAttribute("How pods come to their places that are evicted to save money. `auto`: as `bind`, unless a descheduler, a cluster-autoscaler or Karpenter runs in the cluster, "+
		"or the cluster has more than 300 nodes. `bind`: the daemon closes nodes with room by a taint for seconds and binds the pods, so the fleet becomes cheaper with fewer moves; "+
		"[what other controllers must exclude](../guides/disruption.md#where-evicted-pods-land). `prefer`: the kube-scheduler chooses, and the daemon has no right to bind pods.",
		install.LandingAuto, install.Landings())
}

func minValuesPolicyAttribute() schema.Attribute {
	return choiceAttribute("What happens if a launch cannot meet the `min_values` of its node pool. `Strict`: nothing is launched from that pool. "+
		"`BestEffort`: the launch with the most different values is made.", install.MinValuesStrict, install.MinValuesPolicies())
}
