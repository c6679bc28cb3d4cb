package install

// Environment variables that the daemon reads. The names are Karpenter's where it has one.
const (
	EnvClusterName       = "CLUSTER_NAME"
	EnvClusterEndpoint   = "CLUSTER_ENDPOINT"   // of the API server as machines reach it; without it EKS is asked
	EnvInterruptionQueue = "INTERRUPTION_QUEUE" // name; without it interruptions are not heard of
	EnvRegion            = "AWS_REGION"
	EnvLogLevel          = "LOG_LEVEL"
	EnvPreferencePolicy  = "PREFERENCE_POLICY" // see PreferencePolicies
	EnvMinValuesPolicy   = "MIN_VALUES_POLICY" // see MinValuesPolicies
	EnvSchedulerConfig   = "SCHEDULER_CONFIG"  // the part of the kube-scheduler's configuration that matters here
	EnvMetricsPort       = "METRICS_PORT"
	EnvHealthProbePort   = "HEALTH_PROBE_PORT"
	EnvSystemNamespace   = "SYSTEM_NAMESPACE" // where the daemon and its Lease are
	// EnvBindAddress is the address that the daemon listens on: its pod's.
	EnvBindAddress = "KARPENTERD_BIND_ADDRESS"
	// EnvMemoryLimit is the limit of the daemon's container in bytes; it is there
	// where the container has one.
	EnvMemoryLimit = "KARPENTERD_MEMORY_LIMIT"
	// EnvPodName tells the replicas apart in the Lease and in logs.
	EnvPodName = "POD_NAME"
)

// Ports, paths and names that the daemon and its manifests share.
const (
	MetricsPort     = 8080
	HealthProbePort = 8081
	HealthPath      = "/healthz"
	ReadyPath       = "/readyz"
	MetricsPath     = "/metrics"
	LeaseName       = "karpenter-leader-election"
	// Command is the daemon's subcommand that the Deployment runs.
	Command = "run"
)
