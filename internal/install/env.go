package install

import "github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"

// Environment variables that the daemon reads. They have Karpenter's names, if Karpenter has the setting.
const (
	EnvClusterName       = "CLUSTER_NAME"
	EnvClusterEndpoint   = "CLUSTER_ENDPOINT"   // https URL at which nodes reach the API server; without it the daemon asks EKS
	EnvInterruptionQueue = "INTERRUPTION_QUEUE" // name; without it the daemon does not learn of interruptions
	EnvRegion            = "AWS_REGION"
	EnvFIPS              = awsspec.EnvFIPS      // true or false; AWS's SDKs read it, too
	EnvDualStack         = awsspec.EnvDualStack // the same
	EnvLogLevel          = "LOG_LEVEL"
	EnvPreferencePolicy  = "PREFERENCE_POLICY"          // see PreferencePolicies
	EnvMinValuesPolicy   = "MIN_VALUES_POLICY"          // see MinValuesPolicies
	EnvNodeCost          = "NODE_COST"                  // dollars an hour; see ParseNodeCost
	EnvLanding           = "LANDING"                    // see Landings
	EnvSchedulerConfig   = "SCHEDULER_CONFIG"           // podTopologySpread.defaultConstraints of the kube-scheduler's configuration
	EnvPauseDisruption   = "PAUSE_DISRUPTION"           // true or false; see Options
	EnvReservedENIs      = "RESERVED_ENIS"              // network interfaces of each instance that pods do not use
	EnvMemoryOverhead    = "VM_MEMORY_OVERHEAD_PERCENT" // part of the memory; see ParseMemoryOverhead
	EnvClusterCA         = "CLUSTER_CA_BUNDLE"          // certificates that nodes trust; see ParseClusterCA
	EnvIsolatedVPC       = "ISOLATED_VPC"               // true or false; see Options
	EnvLogKeys           = "LOG_KEYS"                   // see LogKeys
	EnvMetricsPort       = "METRICS_PORT"
	EnvHealthProbePort   = "HEALTH_PROBE_PORT"
	EnvSystemNamespace   = "SYSTEM_NAMESPACE" // of the daemon and its Lease
	// EnvBindAddress is the address that the daemon listens on: that of its pod.
	EnvBindAddress = "KARPENTERD_BIND_ADDRESS"
	// EnvMemoryLimit is the memory limit of the daemon's container in bytes. It is set
	// only if the container has a limit.
	EnvMemoryLimit = "KARPENTERD_MEMORY_LIMIT"
	// EnvTimeFactor is for laboratories, which set it beside the manifests: how many times
	// as fast as on AWS instances start and end, and notices of interruptions run out.
	EnvTimeFactor = "KARPENTERD_TIME_FACTOR"
	// EnvLoopback is for laboratories, whose pods have no network of their own: the address
	// that stands for the pod's own.
	EnvLoopback = "KARPENTERD_LOOPBACK"
	// EnvPodName is the name of the replica in the Lease and in logs.
	EnvPodName = "POD_NAME"
)

// Ports, paths and names that the daemon and its manifests share.
const (
	MetricsPort     = 8080
	HealthProbePort = 8081
	// Loopback and LocalPort are where the daemon serves its decisions: on the pod's own
	// address, which port-forward and exec reach, and nobody else.
	Loopback      = "127.0.0.1"
	LocalPort     = 8082
	HealthPath    = "/healthz"
	ReadyPath     = "/readyz"
	MetricsPath   = "/metrics"
	DecisionsPath = "/decisions"
	// CatalogueName is the ConfigMap in which the daemon keeps what AWS has said about
	// instance types and prices.
	CatalogueName = "karpenterd-catalogue"
	LeaseName     = "karpenter-leader-election"
	// ShadowName is the Lease of a shadow, and the ConfigMap in which the shadow keeps its history;
	// also its namespace and its service account by default.
	ShadowName = "karpenterd-shadow"
	// ShadowPath is where a shadow serves what it has seen.
	ShadowPath = "/shadow"
	// Command is the daemon's subcommand that the Deployment runs.
	Command = "run"
	// ShadowArgument makes a shadow of it.
	ShadowArgument = "--shadow"
)
