package install

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Defaults of Options.
const (
	DefaultNamespace      = "karpenter"
	DefaultName           = "karpenterd"
	DefaultServiceAccount = "karpenter" // the name in trust policies that were written for Karpenter
	DefaultReplicas       = 2
	DefaultLogLevel       = "info"
	DefaultNodeCost       = "0.005" // dollars an hour
	// DefaultMemoryOverhead is Karpenter's: 7.5 %.
	DefaultMemoryOverhead = "0.075"
)

// Values of PreferencePolicy and MinValuesPolicy. They are Karpenter's.
const (
	PreferencesRespect  = "Respect" // plans consider the preferences of pods
	PreferencesIgnore   = "Ignore"  // plans ignore them
	MinValuesStrict     = "Strict"  // if a pool's minValues cannot be met, nothing is launched
	MinValuesBestEffort = "BestEffort"
)

// Values of Landing: how pods come to their places that are evicted to save money.
const (
	LandingAuto   = string(plan.LandAuto)
	LandingBind   = string(plan.LandBind)
	LandingPrefer = string(plan.LandPrefer)
)

// Landings are the values of Landing, the default first.
func Landings() []string { return []string{LandingAuto, LandingBind, LandingPrefer} }

// Values of Mode.
const (
	ModeActive = "active" // the daemon works for the cluster
	// ModeShadow: another program works for the cluster, and the daemon says what it would make of it.
	// Nothing is installed that could change more than the shadow's own Lease and ConfigMap.
	ModeShadow = "shadow"
)

// Modes are the values of Mode, the default first.
func Modes() []string { return []string{ModeActive, ModeShadow} }

// LogLevels are the values of LogLevel, most verbose first.
func LogLevels() []string { return []string{"trace", "debug", "info", "warn", "error"} }

// Values of LogKeys.
const (
	LogKeysKarpenter = "karpenter" // level, time, logger, message, as Karpenter's log has them
	LogKeysHCLog     = "hclog"     // @level, @timestamp, @module, @message, as Terraform's log has them
)

// LogKeys are the values of the option of this name, the default first.
func LogKeys() []string { return []string{LogKeysKarpenter, LogKeysHCLog} }

// PreferencePolicies are the values of PreferencePolicy, the default first.
func PreferencePolicies() []string { return []string{PreferencesRespect, PreferencesIgnore} }

// MinValuesPolicies are the values of MinValuesPolicy, the default first.
func MinValuesPolicies() []string { return []string{MinValuesStrict, MinValuesBestEffort} }

// mostNodeCost is above what anybody pays for a node beside the machine: a typing
// error must not turn every fleet into one huge node.
const mostNodeCost = 100 * quantity.NanoDollars

// ParseNodeCost reads what each node costs beside its instance, volumes and address, in
// dollars an hour. 0 is no cost.
func ParseNodeCost(text string) (quantity.Money, error) {
	cost, err := quantity.ParseMoney(text)
	if err != nil || cost > mostNodeCost {
		return 0, fmt.Errorf("node cost %q: must be dollars an hour from 0 to %d, such as %s", text, mostNodeCost/quantity.NanoDollars, DefaultNodeCost)
	}
	return cost, nil
}

// CheckNodeCost returns an error if ParseNodeCost cannot read the text.
func CheckNodeCost(text string) error {
	_, err := ParseNodeCost(text)
	return err
}

// CheckRegion returns an error unless the text looks like the name of a region.
func CheckRegion(text string) error {
	if !regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`).MatchString(text) {
		return fmt.Errorf("%q: must be a region such as us-west-2", text)
	}
	return nil
}

// CheckClusterEndpoint returns an error unless the text is a URL at which nodes can reach the
// API server.
func CheckClusterEndpoint(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("cluster endpoint %q: must be an https URL; without it the daemon asks EKS", text)
	}
	return nil
}

// Options say how to deploy the daemon. An empty member gets the default above. Image,
// ClusterName and Region have no default.
type Options struct {
	Namespace, Name, ServiceAccount string
	Image                           string // whole reference, such as that of an Image
	Replicas                        int32
	RoleARN                         string // the service account's IAM role; empty: EKS Pod Identity gives it
	ClusterName                     string
	ClusterEndpoint                 string // https URL; empty: the daemon asks EKS
	Region                          string
	FIPS, DualStack                 bool   // call such endpoints of AWS
	QueueName                       string // empty: no interruption queue
	Mode                            string // see Modes
	LogLevel                        string
	PreferencePolicy                string
	MinValuesPolicy                 string
	Landing                         string
	NodeCost                        string            // dollars an hour; see CheckNodeCost
	PauseDisruption                 bool              // no node is deleted for a reason that budgets bound
	ReservedENIs                    int32             // network interfaces of each instance that pods do not use
	MemoryOverhead                  string            // part of the memory; see ParseMemoryOverhead
	ClusterCA                       string            // see ParseClusterCA; empty: what EKS reports
	IsolatedVPC                     bool              // AWS is not asked for what a network without a way to the internet cannot reach
	LogKeys                         string            // of the daemon's log
	LegacyAPI                       bool              // install the definitions of LegacyCRDs, too; a daemon serves them wherever they are
	SchedulerConfig                 string            // text for translate.DefaultSpread; empty: the defaults of Kubernetes
	Labels                          map[string]string // of every object and pod, except CustomResourceDefinitions
	Annotations                     map[string]string // of the same
	Pods
}

func (o Options) withDefaults() Options {
	set := func(text *string, fallback string) {
		if *text == "" {
			*text = fallback
		}
	}
	set(&o.Mode, ModeActive)
	if o.Mode == ModeShadow {
		set(&o.Namespace, ShadowName)
		set(&o.ServiceAccount, ShadowName)
	}
	set(&o.Namespace, DefaultNamespace)
	set(&o.Name, DefaultName)
	set(&o.ServiceAccount, DefaultServiceAccount)
	set(&o.LogLevel, DefaultLogLevel)
	set(&o.PreferencePolicy, PreferencesRespect)
	set(&o.MinValuesPolicy, MinValuesStrict)
	set(&o.Landing, LandingAuto)
	set(&o.NodeCost, DefaultNodeCost)
	set(&o.MemoryOverhead, DefaultMemoryOverhead)
	set(&o.LogKeys, LogKeysKarpenter)
	if o.Replicas == 0 {
		o.Replicas = DefaultReplicas
	}
	o.Pods = o.Pods.withDefaults()
	return o
}

// OptionError is a wrong option, with its remedy. Option is the option in words, such as "log level".
type OptionError struct {
	Option string
	err    error // begins with the option
}

func (e OptionError) Error() string { return "daemon " + e.err.Error() }

func (e OptionError) Unwrap() error { return e.err }

// WrongOptions are the options that an error of Objects is about; none if it is about none.
func WrongOptions(err error) []OptionError {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return nil
	}
	var out []OptionError
	for _, one := range joined.Unwrap() {
		var wrong OptionError
		if errors.As(one, &wrong) {
			out = append(out, wrong)
		}
	}
	return out
}

// check returns one line for each wrong option, with its remedy. Each line is an OptionError.
func (o Options) check() error {
	var faults []error
	fault := func(option string, format string, args ...any) {
		faults = append(faults, OptionError{option, fmt.Errorf(option+": "+format, args...)})
	}
	named := func(option string, err error) {
		if err != nil {
			faults = append(faults, OptionError{option, err})
		}
	}
	for option, name := range map[string]string{"namespace": o.Namespace, "name": o.Name, "service account": o.ServiceAccount} {
		for _, problem := range validation.IsDNS1123Label(name) {
			fault(option, "%q: %s", name, problem)
		}
	}
	if o.Image == "" || strings.ContainsAny(o.Image, " \t\n") {
		fault("image", "%q: must be an image reference such as %s", o.Image, ReleaseImage("1.0.0"))
	}
	named("service account", o.checkAccount())
	if o.Replicas < 1 {
		fault("replicas", "%d: must be 1 or more", o.Replicas)
	}
	if err := CheckRegion(o.Region); err != nil {
		fault("region", "%w", err)
	}
	if o.ClusterEndpoint != "" {
		named("cluster endpoint", CheckClusterEndpoint(o.ClusterEndpoint))
	}
	for _, choice := range []struct {
		option, value string
		of            []string
	}{
		{"mode", o.Mode, Modes()},
		{"log level", o.LogLevel, LogLevels()},
		{"log keys", o.LogKeys, LogKeys()},
		{"preference policy", o.PreferencePolicy, PreferencePolicies()},
		{"min-values policy", o.MinValuesPolicy, MinValuesPolicies()},
		{"landing", o.Landing, Landings()},
	} {
		if !slices.Contains(choice.of, choice.value) {
			fault(choice.option, "%q: must be one of %s", choice.value, strings.Join(choice.of, ", "))
		}
	}
	named("node cost", CheckNodeCost(o.NodeCost))
	named("reserved network interfaces", CheckReservedENIs(int64(o.ReservedENIs)))
	named("VM memory overhead", CheckMemoryOverhead(o.MemoryOverhead))
	if o.ClusterCA != "" {
		named("cluster CA bundle", CheckClusterCA(o.ClusterCA))
	}
	o.checkKeys(fault)
	o.Pods.check(o.Replicas, fault)
	named("cluster name", awsspec.CheckClusterName(o.ClusterName))
	if o.RoleARN != "" {
		named("role ARN", awsspec.CheckRoleARN(o.RoleARN))
	}
	if o.QueueName != "" {
		named("queue name", awsspec.CheckQueueName(o.QueueName))
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// checkAccount refuses a shadow that would have Karpenter's rights.
func (o Options) checkAccount() error {
	if o.Mode != ModeShadow || o.ServiceAccount != DefaultServiceAccount {
		return nil
	}
	return fmt.Errorf("service account: %q: is that of Karpenter in most clusters, with all its rights: give a shadow one of its own, such as %s", o.ServiceAccount, ShadowName)
}

// checkKeys reports labels and annotations that are wrong, or that the product itself sets.
func (o Options) checkKeys(fault func(option, format string, args ...any)) {
	for option, labels := range map[string]map[string]string{"label": o.Labels, "pod label": o.PodLabels} {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])...)
			for _, problem := range problems {
				fault(option, "%s=%q: %s", key, labels[key], problem)
			}
			if _, own := o.selector()[key]; own {
				fault(option, "%s: is set by the product: remove it", key)
			}
		}
	}
	for option, annotations := range map[string]map[string]string{"annotation": o.Annotations, "pod annotation": o.PodAnnotations} {
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if err := CheckAnnotation(key); err != nil {
				fault(option, "%w", err)
			}
		}
	}
}

// Kubernetes minor versions that the daemon is made for. It works with newer ones, too, with
// what it knows.
const (
	MinKubernetesMinor = 30
	MaxKubernetesMinor = 37 // the newest whose libraries are in use
)

// kubernetesMinor is 36 of 1.36 or v1.36.3-eks-1; 0 if the text is no such version.
func kubernetesMinor(version string) int {
	m := regexp.MustCompile(`^v?1\.([0-9]+)([^0-9].*)?$`).FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	minor, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return minor
}

// CheckKubernetesVersion returns an error if the cluster's version, such as 1.36 or
// v1.36.3-eks-1, is older than what the daemon works with.
func CheckKubernetesVersion(version string) error {
	if kubernetesMinor(version) >= MinKubernetesMinor {
		return nil
	}
	return fmt.Errorf("kubernetes version %q: must be 1.%d or newer: upgrade the cluster, or use a release of the daemon that supports it", version, MinKubernetesMinor)
}

// NewerKubernetes says that a version is newer than those that the daemon is made for; empty if
// it is not. A control plane may be upgraded at any time, and nodes have to come and go then as
// before. So it is told, and holds nothing up.
func NewerKubernetes(version string) string {
	if kubernetesMinor(version) <= MaxKubernetesMinor {
		return ""
	}
	return fmt.Sprintf("kubernetes version %q is newer than 1.%d to 1.%d, which this release is made for: the daemon continues with what it knows; "+
		"upgrade the provider and the daemon once a release names the version", version, MinKubernetesMinor, MaxKubernetesMinor)
}
