package legacy

import "strings"

// Setting is one of Karpenter's controller. The list of them is what a conversion goes by, and
// the table in the guide From Karpenter.
type Setting struct {
	Variable string // of the controller's environment
	Gate     string // of FEATURE_GATES, if it is one
	Global   string // key of karpenter-global-settings; "" if that never had it
	Value    string // path in the values of Karpenter's chart; "" if they do not have it
	Default  string // with which it changes nothing

	// Here says what carries it out: an attribute of karpenter_daemon, or a path in the values of
	// the daemon's chart. "" means that nothing does; then Effect says what happens instead, and
	// Remedy what to do about it.
	Here, Effect, Remedy string
	// Written says that the chart of Karpenter sets the variable whatever users say.
	Written bool
}

// Name is how the guide names the setting.
func (s Setting) Name() string {
	if s.Gate != "" {
		return s.Variable + ": " + s.Gate
	}
	return s.Variable
}

// Switch says whether the setting is on or off, so that its flag needs no value.
func (s Setting) Switch() bool { return s.Gate == "" && (s.Default == "true" || s.Default == "false") }

// Settings lists all settings of Karpenter's controller.
func Settings() []Setting {
	all := append(carriedOut(), launchSettings()...)
	all = append(all, gates()...)
	return append(all, processSettings()...)
}

// carriedOut are the settings that the daemon has, too.
func carriedOut() []Setting {
	return []Setting{
		{Variable: "CLUSTER_NAME", Global: "aws.clusterName", Value: "settings.clusterName", Here: "cluster_name"},
		{Variable: "CLUSTER_ENDPOINT", Global: "aws.clusterEndpoint", Value: "settings.clusterEndpoint", Here: "cluster_endpoint"},
		{Variable: "INTERRUPTION_QUEUE", Global: "aws.interruptionQueueName", Value: "settings.interruptionQueue", Here: "queue_name"},
		{Variable: "AWS_REGION", Here: "region"},
		{Variable: "AWS_USE_FIPS_ENDPOINT", Default: "false", Here: "use_fips_endpoint"},
		{Variable: "AWS_USE_DUALSTACK_ENDPOINT", Default: "false", Here: "use_dualstack_endpoint"},
		{Variable: "PREFERENCE_POLICY", Value: "settings.preferencePolicy", Default: "Respect", Here: "preference_policy"},
		{Variable: "MIN_VALUES_POLICY", Value: "settings.minValuesPolicy", Default: "Strict", Here: "min_values_policy"},
		{Variable: "SCHEDULER_CONFIG", Value: "settings.schedulerConfig", Here: "scheduler_config"},
		{Variable: "RESERVED_ENIS", Global: "aws.reservedENIs", Value: "settings.reservedENIs", Default: "0", Here: "reserved_enis"},
		{Variable: "VM_MEMORY_OVERHEAD_PERCENT", Global: "aws.vmMemoryOverheadPercent", Value: "settings.vmMemoryOverheadPercent", Default: "0.075", Here: "vm_memory_overhead_percent"},
		{Variable: "CLUSTER_CA_BUNDLE", Global: "aws.clusterCABundle", Value: "settings.clusterCABundle", Here: "cluster_ca_bundle"},
		{Variable: "ISOLATED_VPC", Global: "aws.isolatedVPC", Value: "settings.isolatedVPC", Default: "false", Here: "isolated_vpc"},
		{Variable: "LOG_LEVEL", Value: "logLevel", Default: "info", Here: "log_level"},
		{Variable: "METRICS_PORT", Value: "controller.metrics.port", Default: "8080", Here: "controller.metrics.port"},
		{Variable: "HEALTH_PROBE_PORT", Value: "controller.healthProbe.port", Default: "8081", Here: "controller.healthProbe.port"},
		{Variable: "SYSTEM_NAMESPACE", Here: "namespace", Written: true},
	}
}

// launchSettings change which nodes there are, and how they are launched.
func launchSettings() []Setting {
	const ownTime = "the daemon has its own times"
	return []Setting{
		{Variable: "EKS_CONTROL_PLANE", Value: "settings.eksControlPlane", Default: "false", Effect: "the daemon asks EKS about the cluster in any case"},
		{Variable: "ENABLE_ZONAL_SHIFT", Value: "settings.enableZonalShift", Default: "false", Effect: "nodes are launched in zones that traffic is shifted away from", Remedy: "take the zone out of the requirements of NodePools while the shift lasts"},
		{Variable: "DISABLE_DRY_RUN", Value: "settings.disableDryRun", Default: "false", Effect: "a dry run of a launch is made, and the condition LaunchPermitted has its answer", Remedy: ""},
		{Variable: "BATCH_MAX_DURATION", Global: "batchMaxDuration", Value: "settings.batchMaxDuration", Default: "10s", Effect: "the daemon decides by the pods that come how long it waits for more"},
		{Variable: "BATCH_IDLE_DURATION", Global: "batchIdleDuration", Value: "settings.batchIdleDuration", Default: "1s", Effect: "the daemon decides by the pods that come how long it waits for more"},
		{Variable: "IGNORE_DRA_REQUESTS", Value: "settings.ignoreDRARequests", Default: "true", Effect: draEffect, Remedy: draRemedy},
		{Variable: "AMI_REFRESH_INTERVAL", Value: "settings.amiRefreshInterval", Default: "1m", Effect: ownTime},
		{Variable: "SUBNET_REFRESH_INTERVAL", Value: "settings.subnetRefreshInterval", Default: "1m", Effect: ownTime},
		{Variable: "SECURITY_GROUP_REFRESH_INTERVAL", Value: "settings.securityGroupRefreshInterval", Default: "1m", Effect: ownTime},
		{Variable: "LEGACY_NODE_REPAIR", Value: "settings.legacyNodeRepair", Default: "false", Effect: repairEffect, Remedy: repairRemedy},
		{Variable: "ASSUME_ROLE_ARN", Global: "aws.assumeRoleARN", Value: "settings.assumeRoleARN", Effect: "the daemon works with its own role", Remedy: "give the controller's own role the rights that it needs"},
		{Variable: "ASSUME_ROLE_DURATION", Global: "aws.assumeRoleDuration", Value: "settings.assumeRoleDuration", Default: "15m", Effect: "the daemon assumes no role"},
	}
}

// gates are the members of FEATURE_GATES and AWS_FEATURE_GATES.
func gates() []Setting {
	on := func(name, standard string) Setting {
		return Setting{Variable: "FEATURE_GATES", Gate: name, Value: "settings.featureGates." + strings.ToLower(name[:1]) + name[1:], Default: standard, Here: alwaysOn}
	}
	gate := func(name, effect, remedy string) Setting {
		s := on(name, "false")
		s.Here, s.Effect, s.Remedy = "", effect, remedy
		return s
	}
	return []Setting{
		on("ReservedCapacity", "true"),
		on("StaticCapacity", "false"),
		on("Drift", "true"),
		gate("NodeRepair", repairEffect, repairRemedy),
		gate("SpotToSpotConsolidation", "a node on spot capacity is not replaced by a cheaper one on spot capacity", ""),
		gate("NodeOverlay", overlayEffect, overlayRemedy),
		gate("CapacityBuffer", bufferEffect, bufferRemedy),
		gate("TerminateFirstDrift", "a node that has drifted stays until its replacement is there", "leave room for the replacement in limits and capacity reservations"),
		gate("TerminateFirstRepair", repairEffect, repairRemedy),
		gate("PodDeletionCostManagement", "the daemon reads controller.kubernetes.io/pod-deletion-cost of pods, and never writes it", ""),
		{Variable: "AWS_FEATURE_GATES", Gate: "NodeClassCEL", Value: "settings.awsFeatureGates.nodeClassCEL", Default: "false", Here: alwaysOn},
		{Variable: "AWS_FEATURE_GATES", Gate: "DRANVIDIAGPU", Value: "settings.awsFeatureGates.draNVIDIAGPU", Default: "false", Effect: draEffect, Remedy: draRemedy},
		{Variable: "AWS_FEATURE_GATES", Gate: "DRAEFA", Value: "settings.awsFeatureGates.draEFA", Default: "false", Effect: draEffect, Remedy: draRemedy},
		{Variable: "AWS_FEATURE_GATES", Gate: "RebootForRepair", Value: "settings.awsFeatureGates.rebootForRepair", Default: "false", Effect: repairEffect, Remedy: repairRemedy},
	}
}

// alwaysOn is in the place of an attribute for gates that nobody can close.
const alwaysOn = "always on"

// What becomes of what several settings ask for.
const (
	repairEffect = "a node that is not healthy stays until somebody deletes it"
	repairRemedy = "delete its NodeClaim, or use a tool that repairs nodes"
	draEffect    = "nothing is launched for a pod with resourceClaims"
	draRemedy    = "leave such pods to a managed node group"
)

// What becomes of objects that nothing carries out.
const (
	overlayEffect = "prices and capacity of instance types are those of AWS"
	overlayRemedy = "prefer instance types by requirements and weight of NodePools, and write what each node costs as node_cost of karpenter_daemon"
	bufferEffect  = "no room is kept for pods that are to come"
	bufferRemedy  = "run pods of a low priority that take the room and give way"
)

// processSettings are about the controller's process.
func processSettings() []Setting {
	const elects, limits = "replicas elect a leader in any case", "the daemon bounds its requests itself"
	return []Setting{
		{Variable: "LEADER_ELECTION_NAME", Value: "settings.leaderElectionName", Default: "karpenter-leader-election", Effect: "the Lease is karpenter-leader-election"},
		{Variable: "LEADER_ELECTION_NAMESPACE", Effect: "the Lease is in the namespace of the daemon"},
		{Variable: "DISABLE_LEADER_ELECTION", Default: "false", Effect: elects},
		{Variable: "DISABLE_CONTROLLER_WARMUP", Value: "settings.disableControllerWarmup", Default: "true", Effect: "a replica on standby watches the cluster in any case"},
		{Variable: "DISABLE_CLUSTER_STATE_OBSERVABILITY", Value: "settings.disableClusterStateObservability", Default: "false", Effect: "the daemon serves its metrics in any case"},
		{Variable: "KUBE_CLIENT_QPS", Default: "200", Effect: limits},
		{Variable: "KUBE_CLIENT_BURST", Default: "300", Effect: limits},
		{Variable: "ENABLE_PROFILING", Default: "false", Effect: "no profiles are served"},
		{Variable: "LOG_OUTPUT_PATHS", Value: "logOutputPaths", Default: "stdout", Effect: "the log is where containers log"},
		{Variable: "LOG_ERROR_OUTPUT_PATHS", Value: "logErrorOutputPaths", Default: "stderr", Effect: "the log is where containers log"},
		{Variable: "MEMORY_LIMIT", Effect: "the memory limit of the container counts", Written: true},
		{Variable: "CPU_REQUESTS", Effect: "the daemon uses the CPU that it gets", Written: true},
		{Variable: "KARPENTER_SERVICE", Effect: "the daemon has no webhook", Written: true},
		{Variable: "DISABLE_WEBHOOK", Effect: "the daemon has no webhook", Written: true},
		{Variable: "WEBHOOK_PORT", Effect: "the daemon has no webhook", Written: true},
		{Variable: "WEBHOOK_METRICS_PORT", Effect: "the daemon has no webhook", Written: true},
		{Variable: "KUBERNETES_MIN_VERSION", Effect: "the daemon looks at the version of the cluster itself", Written: true},
	}
}

// Uncarried is a kind of objects that Karpenter carries out and the daemon does not.
type Uncarried struct{ Group, Kind, Resource, Effect, Remedy string }

// Text says what the daemon makes of an object of the kind.
func (u Uncarried) Text() string {
	return "the daemon does not carry out objects of the kind " + u.Kind + ": " + u.Effect + "; " + u.Remedy
}

// UncarriedKinds lists them.
func UncarriedKinds() []Uncarried {
	return []Uncarried{
		{"karpenter.sh", "NodeOverlay", "nodeoverlays", overlayEffect, overlayRemedy},
		{"autoscaling.x-k8s.io", "CapacityBuffer", "capacitybuffers", bufferEffect, bufferRemedy},
	}
}
