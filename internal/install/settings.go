package install

// Settings lists the environment variables that the daemon reads, sorted by where they come
// from: first those that say what the daemon does, then those that say where it runs. What the
// Deployment sets, nobody can set a second time.
func Settings() []string {
	return []string{
		EnvClusterName, EnvClusterEndpoint, EnvInterruptionQueue, EnvRegion, EnvFIPS, EnvDualStack, EnvLogLevel, EnvPreferencePolicy, EnvMinValuesPolicy, EnvLanding,
		EnvNodeCost, EnvSchedulerConfig, EnvPauseDisruption, EnvReservedENIs, EnvMemoryOverhead, EnvClusterCA, EnvIsolatedVPC, EnvLogKeys,
		EnvMetricsPort, EnvHealthProbePort,
		EnvSystemNamespace, EnvPodName, EnvBindAddress, EnvMemoryLimit, EnvTimeFactor, EnvLoopback,
	}
}
