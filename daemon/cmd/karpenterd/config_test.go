package main

import (
	"cmp"
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/claim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// certificate is one whose key nobody has.
const certificate = `-----BEGIN CERTIFICATE-----
MIIBcTCCARegAwIBAgIUUn8p6PWdqKTIqXmKFk6+mNXFJfEwCgYIKoZIzj0EAwIw
DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI3MjIyMDQ5WhgPMjEyNjExMDMyMjIwNDla
MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEofKYq+Rm
7olp6J5danjFTRkOqJkx83iG3OCfO8AMSgBwLZ7Zkf+4Gxn+VmR1OAvtWgXJiVSl
2ljB2KMIK8JD06NTMFEwHQYDVR0OBBYEFPCR5sxA3fXH4YwYNa7A9bWJeOD1MB8G
A1UdIwQYMBaAFPCR5sxA3fXH4YwYNa7A9bWJeOD1MA8GA1UdEwEB/wQFMAMBAf8w
CgYIKoZIzj0EAwIDSAAwRQIhAMWyO95jxzM45wxlNX42oipBdfW/onIFfeYnThkZ
e224AiBePD+P39W4eiEI3wFNs47Zy8OAcqnJI0li8jbcNeSRfg==
-----END CERTIFICATE-----
`

// environment is what every installation gives, with the changes; "" unsets.
func environment(changes map[string]string) func(string) string {
	base := map[string]string{"CLUSTER_NAME": "lab", "AWS_REGION": "us-west-2", "SYSTEM_NAMESPACE": "karpenter"}
	return func(name string) string {
		if value, changed := changes[name]; changed {
			return value
		}
		return base[name]
	}
}

// readConfig reads what the command "run" reads.
func readConfig(args []string, env func(string) string) (config, error) {
	var g given
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	g.bind(flags, env)
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	return g.settings()
}

func TestReadConfig_PoliciesAreKarpentersInNameAndDefault(t *testing.T) {
	for name, tt := range map[string]struct {
		env                     map[string]string
		args                    []string
		ignorePreferences, best bool
		pause                   bool
		nodeCost                quantity.Money // 0 is the default
	}{
		"defaults":             {},
		"named as the default": {env: map[string]string{"PREFERENCE_POLICY": "Respect", "MIN_VALUES_POLICY": "Strict"}},
		"environment":          {env: map[string]string{"PREFERENCE_POLICY": "Ignore", "MIN_VALUES_POLICY": "BestEffort"}, ignorePreferences: true, best: true},
		"node cost":            {env: map[string]string{"NODE_COST": "0.25"}, nodeCost: 250_000_000},
		"node cost by flag":    {env: map[string]string{"NODE_COST": "0.25"}, args: []string{"--node-cost=0.5"}, nodeCost: 500_000_000},
		"pause":                {env: map[string]string{"PAUSE_DISRUPTION": "true"}, pause: true},
		"pause by flag":        {args: []string{"--pause-disruption"}, pause: true},
		"no pause by flag":     {env: map[string]string{"PAUSE_DISRUPTION": "true"}, args: []string{"--pause-disruption=false"}},
		"one of them":          {env: map[string]string{"MIN_VALUES_POLICY": "BestEffort"}, best: true},
		"flags":                {args: []string{"--preference-policy=Ignore", "--min-values-policy", "BestEffort"}, ignorePreferences: true, best: true},
		"flags win":            {env: map[string]string{"PREFERENCE_POLICY": "Ignore", "MIN_VALUES_POLICY": "BestEffort"}, args: []string{"--preference-policy=Respect"}, best: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := readConfig(tt.args, environment(tt.env))
			if err != nil {
				t.Fatal(err)
			}
			want := engine.DefaultPolicy()
			want.MostUnlaunched = claim.MostUnlaunched
			want.IgnorePreferences, want.BestEffortMinValues, want.NodeCost = tt.ignorePreferences, tt.best, cmp.Or(tt.nodeCost, want.NodeCost)
			want.PauseDisruption = tt.pause
			if diff := gocmp.Diff(want, c.Policy); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the cloud takes or gives is as much shorter as it is in the laboratory; what
// depends on pods and their controllers is not.
func TestReadConfig_TimeFactorShortensWhatTheCloudTakes(t *testing.T) {
	c, err := readConfig(nil, environment(map[string]string{"KARPENTERD_TIME_FACTOR": "6"}))
	if err != nil {
		t.Fatal(err)
	}
	want := engine.DefaultPolicy()
	want.MostUnlaunched = claim.MostUnlaunched
	want.LaunchTimeout, want.RegistrationTimeout, want.BackGrace, want.DrainReserve = 50*time.Second, 150*time.Second, 20*time.Second, 10*time.Second
	if diff := gocmp.Diff(want, c.Policy); diff != "" {
		t.Error(diff)
	}
	if c.Notice != 20*time.Second {
		t.Errorf("notice of an interruption is %s, want 20s", c.Notice)
	}
	if c, err = readConfig(nil, environment(nil)); err != nil || c.Notice != 2*time.Minute {
		t.Errorf("notice of an interruption is %s, %v; want 2m", c.Notice, err)
	}
	for _, wrong := range []string{"0", "0.5", "-6", "x", "NaN", "1001"} {
		_, err := readConfig(nil, environment(map[string]string{"KARPENTERD_TIME_FACTOR": wrong}))
		if err == nil || !strings.Contains(err.Error(), "setting time-factor is \""+wrong+"\": give a number from 1 to 1000") {
			t.Errorf("factor %q: %v", wrong, err)
		}
	}
}

func TestReadConfig_TakesTheSchedulersDefaultSpread(t *testing.T) {
	const text = `{"podTopologySpread": {"defaultConstraints": [{"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}]}}`
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
		want int
	}{
		"unset":       {},
		"environment": {env: map[string]string{"SCHEDULER_CONFIG": text}, want: 1},
		"flag wins":   {env: map[string]string{"SCHEDULER_CONFIG": text}, args: []string{"--scheduler-config=podTopologySpread: {}"}},
	} {
		c, err := readConfig(tt.args, environment(tt.env))
		if err != nil || len(c.Spread) != tt.want || tt.want > 0 && c.Spread[0].MaxSkew != 2 {
			t.Errorf("%s: spread %+v, error %v", name, c.Spread, err)
		}
	}
}

func TestReadConfig_TakesWhatIsSaidOfAllInstances(t *testing.T) {
	plain, err := readConfig(nil, environment(nil))
	if err != nil || plain.Overhead != catalog.DefaultOverhead() || plain.IsolatedVPC || len(plain.ClusterCA) > 0 {
		t.Errorf("without settings: %+v, %v", plain, err)
	}
	env := map[string]string{"RESERVED_ENIS": "1", "VM_MEMORY_OVERHEAD_PERCENT": "0.03", "ISOLATED_VPC": "true", "CLUSTER_CA_BUNDLE": base64.StdEncoding.EncodeToString([]byte(certificate))}
	got, err := readConfig(nil, environment(env))
	if want := (catalog.Overhead{MemoryPerMillion: 30_000, ReservedENIs: 1}); err != nil || got.Overhead != want || !got.IsolatedVPC || string(got.ClusterCA) != certificate {
		t.Errorf("from the environment: %+v, %v", got, err)
	}
	got, err = readConfig([]string{"--reserved-enis=2", "--vm-memory-overhead-percent=0", "--isolated-vpc=false", "--cluster-ca-bundle="}, environment(env))
	if want := (catalog.Overhead{ReservedENIs: 2}); err != nil || got.Overhead != want || got.IsolatedVPC || len(got.ClusterCA) > 0 {
		t.Errorf("flags count for more: %+v, %v", got, err)
	}
}

func TestNewLogger_HasKarpentersKeysUnlessAskedOtherwise(t *testing.T) {
	for keys, want := range map[string]string{"": `{"level":"INFO","time":"`, "karpenter": `{"level":"INFO","time":"`, "hclog": `{"@level":"info","@message":"start"`} {
		c, err := readConfig(nil, environment(map[string]string{"LOG_KEYS": keys}))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		newLogger(c, &out).Info("start")
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("LOG_KEYS %q: %s", keys, out.String())
		}
	}
}

func TestReadConfig_BadSettingIsNamedWithItsRemedy(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"no cluster":         {env: map[string]string{"CLUSTER_NAME": ""}, want: "setting cluster-name is missing: give --cluster-name or set $CLUSTER_NAME"},
		"cluster":            {env: map[string]string{"CLUSTER_NAME": "a b"}, want: `cluster name "a b"`},
		"port":               {env: map[string]string{"METRICS_PORT": "0"}, want: `setting metrics-port is "0": give a port from 1 to 65535`},
		"level":              {args: []string{"--log-level=loud"}, want: `setting log-level is "loud": give trace, debug, info, warn or error`},
		"FIPS":               {env: map[string]string{"AWS_USE_FIPS_ENDPOINT": "perhaps"}, want: `setting use-fips-endpoint is "perhaps": give true or false`},
		"pause":              {env: map[string]string{"PAUSE_DISRUPTION": "yes please"}, want: `setting pause-disruption is "yes please": give true or false`},
		"preferences":        {env: map[string]string{"PREFERENCE_POLICY": "respect"}, want: `setting preference-policy is "respect": give Respect or Ignore`},
		"minValues":          {args: []string{"--min-values-policy=Lenient"}, want: `setting min-values-policy is "Lenient": give Strict or BestEffort`},
		"node cost":          {env: map[string]string{"NODE_COST": "a lot"}, want: `setting node-cost: node cost "a lot": must be dollars an hour from 0 to 100, such as 0.005`},
		"scheduler":          {env: map[string]string{"SCHEDULER_CONFIG": "[]"}, want: "setting scheduler-config: "},
		"unfinished setting": {args: []string{"--min-values-policy"}, want: "flag needs an argument: --min-values-policy"},
		"interfaces":         {env: map[string]string{"RESERVED_ENIS": "one"}, want: `setting reserved-enis: reserved network interfaces "one": must be a number from 0 to 100`},
		"memory":             {args: []string{"--vm-memory-overhead-percent=7.5"}, want: `setting vm-memory-overhead-percent: VM memory overhead "7.5": must be the part`},
		"authority":          {env: map[string]string{"CLUSTER_CA_BUNDLE": "-----BEGIN CERTIFICATE-----"}, want: "setting cluster-ca-bundle: cluster CA bundle: is PEM that is not in base64: give"},
		"isolated":           {env: map[string]string{"ISOLATED_VPC": "maybe"}, want: `setting isolated-vpc is "maybe": give true or false`},
		"log keys":           {args: []string{"--log-keys=zap"}, want: `setting log-keys is "zap": give karpenter or hclog`},
		"port of decisions":  {env: map[string]string{"METRICS_PORT": "8082"}, want: "port 8082 of all addresses is given"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readConfig(tt.args, environment(tt.env))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tt.want)
			}
		})
	}
}

func TestReadConfig_EndpointsAreThoseOfTheEnvironmentUnlessAFlagSaysOtherwise(t *testing.T) {
	for name, tt := range map[string]struct {
		env        map[string]string
		args       []string
		fips, dual bool
	}{
		"usual":       {},
		"environment": {env: map[string]string{"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"}, fips: true, dual: true},
		"flags":       {args: []string{"--use-fips-endpoint", "--use-dualstack-endpoint"}, fips: true, dual: true},
		"flags win":   {env: map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}, args: []string{"--use-fips-endpoint=false"}},
	} {
		if c, err := readConfig(tt.args, environment(tt.env)); err != nil || c.FIPS != tt.fips || c.DualStack != tt.dual {
			t.Errorf("%s: FIPS %v, dual-stack %v, %v", name, c.FIPS, c.DualStack, err)
		}
	}
}
