package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/claim"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/interruption"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// config has the daemon's settings. Flags win over the environment.
type config struct {
	ClusterName, ClusterEndpoint, Queue, Region string
	FIPS, DualStack                             bool // endpoints of AWS
	Namespace, PodName                          string
	MetricsAddress, HealthAddress, LocalAddress string
	LogLevel                                    hclog.Level
	LogKeys                                     string // one of install.LogKeys
	Policy                                      engine.Policy
	Notice                                      time.Duration    // of an interruption
	Factor                                      float64          // how many times as fast as in AWS time goes
	Spread                                      []cluster.Spread // topology spread constraints of pods that declare none
	Overhead                                    catalog.Overhead // what every instance keeps from pods
	ClusterCA                                   []byte           // PEM in place of what EKS reports; empty for that
	IsolatedVPC                                 bool             // there is no way to the public endpoints of AWS
	Shadow                                      bool             // say what would be done, and do nothing
}

// needsSelectors reports whether Services and ReplicationControllers must be watched.
// Default spread constraints apply to the pods that their selectors match, as those
// of other controllers.
func (c config) needsSelectors() bool { return len(c.Spread) > 0 }

// given has the settings as flags and environment say them. Those that are plain text here are
// checked by take.
type given struct {
	config

	level, address, loopback, metrics, health, preferences, minValues, nodeCost, pause, scheduler, factor, landing string
	fips, dualStack, enis, overhead, authority, isolated                                                           string
}

// bind declares the flags. What a flag does not say, the environment says.
func (g *given) bind(flags *pflag.FlagSet, env func(string) string) {
	c := &g.config
	text := func(to *string, name, variable, otherwise, help string) {
		flags.StringVar(to, name, cmp.Or(env(variable), otherwise), fmt.Sprintf("%s ($%s)", help, variable))
	}
	text(&c.ClusterName, "cluster-name", install.EnvClusterName, "", "name of the EKS cluster")
	text(&c.ClusterEndpoint, "cluster-endpoint", install.EnvClusterEndpoint, "", "https URL at which nodes reach the API server; default: the endpoint that EKS reports")
	text(&c.Queue, "interruption-queue", install.EnvInterruptionQueue, "", "name of the interruption queue; without it the daemon does not learn of interruptions")
	text(&c.Region, "region", install.EnvRegion, "", "AWS region")
	text(&c.Namespace, "namespace", install.EnvSystemNamespace, "", "namespace of the daemon and its Lease")
	text(&c.PodName, "pod-name", install.EnvPodName, "", "name of this replica in the leader election; default: the hostname")
	text(&g.address, "bind-address", install.EnvBindAddress, "", "address to serve metrics and probes on; default: all addresses")
	text(&g.metrics, "metrics-port", install.EnvMetricsPort, strconv.Itoa(install.MetricsPort), "port of /metrics")
	text(&g.health, "health-probe-port", install.EnvHealthProbePort, strconv.Itoa(install.HealthProbePort), "port of /healthz and /readyz")
	text(&g.level, "log-level", install.EnvLogLevel, install.DefaultLogLevel, "trace, debug, info, warn or error")
	text(&g.preferences, "preference-policy", install.EnvPreferencePolicy, install.PreferencesRespect, "Respect: plans consider the preferences of pods; Ignore: they do not")
	text(&g.minValues, "min-values-policy", install.EnvMinValuesPolicy, install.MinValuesStrict, "if a NodePool's minValues cannot be met, Strict: launch nothing; BestEffort: launch what comes closest")
	text(&g.landing, "landing", install.EnvLanding, install.LandingAuto, "how pods come to their places that are evicted to save money. auto: as bind, unless other controllers act on closed nodes or the cluster is large; bind: nodes with room are closed for seconds, and the daemon binds the pods; prefer: the kube-scheduler chooses")
	text(&g.nodeCost, "node-cost", install.EnvNodeCost, install.DefaultNodeCost, "dollars an hour that each node costs beside its instance, volumes and public address, such as licences; 0 for none")
	g.toggle(flags, env, &g.pause, "pause-disruption", install.EnvPauseDisruption, "no node is deleted for a reason that disruption budgets bound: nodes stay that are empty or could be cheaper, that have drifted or expire")
	g.toggle(flags, env, &g.fips, "use-fips-endpoint", install.EnvFIPS, "call the FIPS endpoints of AWS")
	g.toggle(flags, env, &g.dualStack, "use-dualstack-endpoint", install.EnvDualStack, "call the dual-stack endpoints of AWS, which answer by IPv6, too")
	flags.BoolVar(&c.Shadow, "shadow", false, "look at a cluster that another program works for, and say what this one would make of it: nothing is changed but the shadow's own Lease and ConfigMap")
	g.bindMachines(flags, env, text)
	text(&g.scheduler, "scheduler-config", install.EnvSchedulerConfig, "", "JSON or YAML with podTopologySpread.defaultConstraints: the topology spread constraints that the kube-scheduler gives to pods without their own")
	text(&g.factor, "time-factor", install.EnvTimeFactor, "1", "for laboratories only: how many times as fast as on AWS instances start and end, and notices of interruptions run out")
	text(&g.loopback, "loopback-address", install.EnvLoopback, install.Loopback, "for laboratories only: the address that stands for the pod's own, where decisions are served")
}

// bindMachines declares the flags about all instances, and about how the log is written.
func (g *given) bindMachines(flags *pflag.FlagSet, env func(string) string, text func(to *string, name, variable, otherwise, help string)) {
	text(&g.enis, "reserved-enis", install.EnvReservedENIs, "0", "network interfaces of each instance that pods do not use, such as 1 with custom networking of the VPC CNI")
	text(&g.overhead, "vm-memory-overhead-percent", install.EnvMemoryOverhead, install.DefaultMemoryOverhead, "fraction of the memory of an instance that its node does not report, from 0 to below 1")
	text(&g.authority, "cluster-ca-bundle", install.EnvClusterCA, "", "certificates by which nodes know the API server, PEM in base64; default: those that EKS reports")
	g.toggle(flags, env, &g.isolated, "isolated-vpc", install.EnvIsolatedVPC, "there is no way to the public endpoints of AWS: the Price List is not asked, and IAM only for EC2NodeClasses with a role")
	text(&g.LogKeys, "log-keys", install.EnvLogKeys, install.LogKeysKarpenter, "keys of the log. karpenter: level, time, logger, message; hclog: @level, @timestamp, @module, @message")
}

// toggle declares a flag that says true when it is given without a value.
func (*given) toggle(flags *pflag.FlagSet, env func(string) string, to *string, name, variable, help string) {
	*to = cmp.Or(env(variable), strconv.FormatBool(false))
	flags.BoolFunc(name, fmt.Sprintf("%s ($%s)", help, variable), func(value string) error {
		*to = value
		return nil
	})
}

// settings checks what was given. The error names every setting that is missing or wrong, and
// how to correct it.
func (g *given) settings() (config, error) {
	c := g.config
	faults := slices.Concat(c.missing(), c.take(*g), c.takeMachines(*g))
	if c.PodName == "" {
		c.PodName, _ = os.Hostname()
	}
	return c, errors.Join(faults...)
}

// hasten divides by the factor what the daemon expects the cloud to take or to give. What
// depends on pods and their controllers stays as it is.
func (c *config) hasten(text string) error {
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || !(factor >= 1 && factor <= 1000) {
		return fmt.Errorf("setting time-factor is %q: give a number from 1 to 1000; it is for laboratories only", text)
	}
	c.Notice, c.Factor = interruption.Notice, factor
	for _, d := range []*time.Duration{&c.Notice, &c.Policy.LaunchTimeout, &c.Policy.RegistrationTimeout, &c.Policy.BackGrace, &c.Policy.DrainReserve} {
		*d = time.Duration(float64(*d) / factor)
	}
	return nil
}

// missing names the required settings that are not given, or not valid.
func (c *config) missing() []error {
	var faults []error
	for _, need := range []struct{ value, flag, variable string }{
		{c.ClusterName, "cluster-name", install.EnvClusterName},
		{c.Region, "region", install.EnvRegion},
		{c.Namespace, "namespace", install.EnvSystemNamespace},
	} {
		if need.value == "" {
			faults = append(faults, fmt.Errorf("setting %s is missing: give --%s or set $%s", need.flag, need.flag, need.variable))
		}
	}
	if c.ClusterName != "" {
		faults = append(faults, awsspec.CheckClusterName(c.ClusterName))
	}
	return faults
}

// take checks and stores the settings.
func (c *config) take(g given) []error {
	var faults []error
	for _, port := range []struct{ value, flag string }{{g.metrics, "metrics-port"}, {g.health, "health-probe-port"}} {
		if n, err := strconv.Atoi(port.value); err != nil || n < 1 || n > 65535 {
			faults = append(faults, fmt.Errorf("setting %s is %q: give a port from 1 to 65535", port.flag, port.value))
		}
	}
	if c.LogLevel = hclog.LevelFromString(g.level); c.LogLevel == hclog.NoLevel {
		faults = append(faults, fmt.Errorf("setting log-level is %q: give trace, debug, info, warn or error", g.level))
	}
	for _, policy := range []struct {
		value, flag string
		of          []string
	}{
		{g.preferences, "preference-policy", install.PreferencePolicies()},
		{g.minValues, "min-values-policy", install.MinValuesPolicies()},
		{g.landing, "landing", install.Landings()},
		{g.LogKeys, "log-keys", install.LogKeys()},
	} {
		if !slices.Contains(policy.of, policy.value) {
			faults = append(faults, fmt.Errorf("setting %s is %q: give %s", policy.flag, policy.value, strings.Join(policy.of, " or ")))
		}
	}
	c.Policy = engine.DefaultPolicy()
	c.Policy.MostUnlaunched = claim.MostUnlaunched
	c.Policy.IgnorePreferences = g.preferences == install.PreferencesIgnore
	c.Policy.BestEffortMinValues = g.minValues == install.MinValuesBestEffort
	c.Policy.Landing = plan.LandingWay(g.landing)
	var err error
	if c.Policy.NodeCost, err = install.ParseNodeCost(g.nodeCost); err != nil {
		faults = append(faults, fmt.Errorf("setting node-cost: %w", err))
	}
	for _, toggle := range []struct {
		value, flag string
		to          *bool
	}{
		{g.pause, "pause-disruption", &c.Policy.PauseDisruption},
		{g.fips, "use-fips-endpoint", &c.FIPS},
		{g.dualStack, "use-dualstack-endpoint", &c.DualStack},
		{g.isolated, "isolated-vpc", &c.IsolatedVPC},
	} {
		if *toggle.to, err = strconv.ParseBool(toggle.value); err != nil {
			faults = append(faults, fmt.Errorf("setting %s is %q: give true or false", toggle.flag, toggle.value))
		}
	}
	if err = c.hasten(g.factor); err != nil {
		faults = append(faults, err)
	}
	if c.Spread, err = translate.DefaultSpread(g.scheduler); err != nil {
		faults = append(faults, fmt.Errorf("setting scheduler-config: %w", err))
	}
	if local := strconv.Itoa(install.LocalPort); g.address == "" && (g.metrics == local || g.health == local) {
		faults = append(faults, fmt.Errorf("port %s of all addresses is given, and the daemon serves its decisions on that of %s: give another metrics-port or health-probe-port, or a bind-address", local, g.loopback))
	}
	c.LocalAddress = net.JoinHostPort(g.loopback, strconv.Itoa(install.LocalPort))
	c.MetricsAddress, c.HealthAddress = net.JoinHostPort(g.address, g.metrics), net.JoinHostPort(g.address, g.health)
	return faults
}

// takeMachines checks and stores the settings about all instances.
func (c *config) takeMachines(g given) []error {
	var faults []error
	check := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("setting %s: %w", flag, err))
		}
	}
	var err error
	c.Overhead.ReservedENIs, err = install.ParseReservedENIs(g.enis)
	check("reserved-enis", err)
	c.Overhead.MemoryPerMillion, err = install.ParseMemoryOverhead(g.overhead)
	check("vm-memory-overhead-percent", err)
	if g.authority != "" {
		c.ClusterCA, err = install.ParseClusterCA(g.authority)
		check("cluster-ca-bundle", err)
	}
	return faults
}
