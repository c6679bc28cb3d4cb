package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// config is all that the daemon is told. Flags win over the environment.
type config struct {
	ClusterName, ClusterEndpoint, Queue, Region string
	Namespace, PodName                          string
	MetricsAddress, HealthAddress               string
	LogLevel                                    hclog.Level
}

// readConfig reads flags and environment; the error names every setting that is
// missing or wrong, and how to give it.
func readConfig(args []string, env func(string) string) (config, error) {
	var c config
	var level, bind, metrics, health string
	flags := flag.NewFlagSet("karpenterd run", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	text := func(to *string, name, variable, otherwise, help string) {
		flags.StringVar(to, name, cmp.Or(env(variable), otherwise), fmt.Sprintf("%s ($%s)", help, variable))
	}
	text(&c.ClusterName, "cluster-name", install.EnvClusterName, "", "name of the EKS cluster")
	text(&c.ClusterEndpoint, "cluster-endpoint", install.EnvClusterEndpoint, "", "URL at which machines reach the API server; EKS is asked where it is not given")
	text(&c.Queue, "interruption-queue", install.EnvInterruptionQueue, "", "name of the interruption queue; without it interruptions are not heard of")
	text(&c.Region, "region", install.EnvRegion, "", "AWS region")
	text(&c.Namespace, "namespace", install.EnvSystemNamespace, "", "namespace of the daemon and its Lease")
	text(&c.PodName, "pod-name", install.EnvPodName, "", "name that tells the replicas apart")
	text(&bind, "bind-address", install.EnvBindAddress, "", "address to listen on; all where it is not given")
	text(&metrics, "metrics-port", install.EnvMetricsPort, strconv.Itoa(install.MetricsPort), "port of /metrics")
	text(&health, "health-probe-port", install.EnvHealthProbePort, strconv.Itoa(install.HealthProbePort), "port of /healthz and /readyz")
	text(&level, "log-level", install.EnvLogLevel, "info", "trace, debug, info, warn or error")
	if err := flags.Parse(args); err != nil {
		return c, fmt.Errorf("flags: %w", err)
	}
	var faults []error
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
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
	for _, port := range []struct{ value, flag string }{{metrics, "metrics-port"}, {health, "health-probe-port"}} {
		if n, err := strconv.Atoi(port.value); err != nil || n < 1 || n > 65535 {
			faults = append(faults, fmt.Errorf("setting %s is %q: give a port from 1 to 65535", port.flag, port.value))
		}
	}
	if c.LogLevel = hclog.LevelFromString(level); c.LogLevel == hclog.NoLevel {
		faults = append(faults, fmt.Errorf("setting log-level is %q: give trace, debug, info, warn or error", level))
	}
	c.MetricsAddress, c.HealthAddress = net.JoinHostPort(bind, metrics), net.JoinHostPort(bind, health)
	if c.PodName == "" {
		c.PodName, _ = os.Hostname()
	}
	return c, errors.Join(faults...)
}
