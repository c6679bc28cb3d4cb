package install

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Defaults of Pods.
const (
	DefaultPriorityClass  = "system-cluster-critical"
	DefaultMaxUnavailable = "1"
	DefaultPullPolicy     = corev1.PullIfNotPresent
)

// ChecksumAnnotation is on the pods. Its value changes with what the pods read only when
// they are made, and so replaces them.
const ChecksumAnnotation = "karpenterd.sh/checksum"

// leastMemory is the least that the daemon starts in. Less is a typing error, such as m for Mi.
const leastMemory = "64Mi"

// Pods says how the daemon's pods are run. An empty member gets its default.
type Pods struct {
	// Resources of the container; nil: DefaultResources.
	Resources *corev1.ResourceRequirements
	// Tolerations; nil: DefaultTolerations. Empty: none.
	Tolerations  []corev1.Toleration
	NodeSelector map[string]string
	// Affinity beside the rule that keeps the daemon off the nodes that it may delete. Its
	// PodAntiAffinity takes the place of the rule that replicas run on different nodes.
	Affinity       *corev1.Affinity
	PriorityClass  *string // nil: DefaultPriorityClass; empty: none
	PullPolicy     corev1.PullPolicy
	PullSecrets    []string          // names of Secrets in the daemon's namespace
	Environment    map[string]string // beside the Settings
	PodLabels      map[string]string // beside those of all objects
	PodAnnotations map[string]string // beside those of all objects
	MetricsPort    int32
	HealthPort     int32
	// MetricsNamespaces are the namespaces whose pods may read the metrics, by a NetworkPolicy;
	// empty: none. nil: pods of all namespaces, without a NetworkPolicy.
	MetricsNamespaces []string
	Budget            Budget
}

// Budget is the daemon's PodDisruptionBudget: whole numbers or percentages, and at most one
// of both.
type Budget struct {
	None           bool   // no PodDisruptionBudget
	MaxUnavailable string // empty, as MinAvailable: DefaultMaxUnavailable
	MinAvailable   string
}

// DefaultResources are requests of 500m CPU and 512Mi memory, and a limit of 1Gi memory.
func DefaultResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
}

// DefaultTolerations let the pods run on nodes for critical add-ons.
func DefaultTolerations() []corev1.Toleration {
	return []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}}
}

// PullPolicies are the values of PullPolicy, the default first.
func PullPolicies() []string {
	return []string{string(DefaultPullPolicy), string(corev1.PullAlways), string(corev1.PullNever)}
}

func (p Pods) withDefaults() Pods {
	if p.Resources == nil {
		resources := DefaultResources()
		p.Resources = &resources
	}
	if p.Tolerations == nil {
		p.Tolerations = DefaultTolerations()
	}
	if p.PriorityClass == nil {
		class := DefaultPriorityClass
		p.PriorityClass = &class
	}
	if p.PullPolicy == "" {
		p.PullPolicy = DefaultPullPolicy
	}
	if p.MetricsPort == 0 {
		p.MetricsPort = MetricsPort
	}
	if p.HealthPort == 0 {
		p.HealthPort = HealthProbePort
	}
	if p.Budget.MaxUnavailable == "" && p.Budget.MinAvailable == "" {
		p.Budget.MaxUnavailable = DefaultMaxUnavailable
	}
	return p
}

// check reports what is wrong. Option names are those of the provider's attributes, in words.
func (p Pods) check(replicas int32, fault func(option, format string, args ...any)) {
	report := func(option string, err error) {
		if err != nil {
			fault(option, "%w", err)
		}
	}
	report("resources", CheckResources(*p.Resources))
	for i, t := range p.Tolerations {
		report(fmt.Sprintf("toleration %d", i), CheckToleration(t))
	}
	report("node selector", CheckNodeSelector(p.NodeSelector))
	if !slices.Contains(PullPolicies(), string(p.PullPolicy)) {
		fault("pull policy", "%q: must be one of %s", p.PullPolicy, strings.Join(PullPolicies(), ", "))
	}
	report("priority class", CheckPriorityClass(*p.PriorityClass))
	for _, name := range p.PullSecrets {
		for _, problem := range validation.IsDNS1123Subdomain(name) {
			fault("pull secret", "%q: %s", name, problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Environment)) {
		report("environment", CheckEnvironment(name))
	}
	if p.MetricsPort == p.HealthPort {
		fault("ports", "metrics and health probes have the same port %d: give each its own", p.MetricsPort)
	}
	for option, port := range map[string]int32{"metrics port": p.MetricsPort, "health probe port": p.HealthPort} {
		if port < 1024 || port > 65535 {
			fault(option, "%d: must be a port from 1024 to 65535: the daemon has no right to lower ones", port)
		}
	}
	for _, name := range p.MetricsNamespaces {
		for _, problem := range validation.IsDNS1123Label(name) {
			fault("metrics namespaces", "%q: %s", name, problem)
		}
	}
	report("disruption budget", p.Budget.Check(replicas))
}

// CheckPriorityClass returns an error unless the text is the name of a priority class, or empty.
func CheckPriorityClass(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); name != "" && len(problems) > 0 {
		return fmt.Errorf("%q: %s", name, strings.TrimSuffix(problems[0], "."))
	}
	return nil
}

// CheckResources returns an error if a container with the resources cannot start or cannot work.
func CheckResources(r corev1.ResourceRequirements) error {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, requested := r.Requests[name]
		limit, limited := r.Limits[name]
		if request.Sign() < 0 || limit.Sign() < 0 {
			return fmt.Errorf("an amount of %s is negative: give 0 or more", name)
		}
		if requested && limited && request.Cmp(limit) > 0 {
			return fmt.Errorf("the request of %s is %s and its limit %s: a request must not be above its limit", name, request.String(), limit.String())
		}
		if limited && limit.Sign() == 0 {
			return fmt.Errorf("the limit of %s is 0: give more, or leave it out", name)
		}
	}
	least := resource.MustParse(leastMemory)
	if limit, limited := r.Limits[corev1.ResourceMemory]; limited && limit.Cmp(least) < 0 {
		return fmt.Errorf("the limit of memory is %s, and the daemon does not start in less than %s: give bytes with a unit such as 512Mi or 1Gi", limit.String(), leastMemory)
	}
	return nil
}

// CheckToleration returns an error if the API server refuses the toleration.
func CheckToleration(t corev1.Toleration) error {
	switch {
	case t.Operator == corev1.TolerationOpExists && t.Value != "":
		return fmt.Errorf("operator Exists has value %q: remove the value, or use operator Equal", t.Value)
	case t.Operator != corev1.TolerationOpExists && t.Key == "":
		return fmt.Errorf("operator %s has no key: give the taint's key, or use operator Exists, which tolerates every taint without one", t.Operator)
	case t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute:
		return fmt.Errorf("only a toleration of effect NoExecute has seconds: set effect to NoExecute, or remove the seconds")
	}
	return nil
}

// CheckNodeSelector returns an error if no node can fit that the daemon may run on.
func CheckNodeSelector(selector map[string]string) error {
	if pool, there := selector[v1.LabelNodePool]; there {
		return fmt.Errorf("%s=%s: the daemon must not run on nodes that it may delete: select a node group by a label of its own, such as eks.amazonaws.com/nodegroup", v1.LabelNodePool, pool)
	}
	return nil
}

// CheckEnvironment returns an error unless the name is free for a variable of the user.
func CheckEnvironment(name string) error {
	if problems := validation.IsEnvVarName(name); len(problems) > 0 {
		return fmt.Errorf("%q: %s", name, problems[0])
	}
	if slices.Contains(Settings(), name) {
		return fmt.Errorf("%s: is a setting of the daemon, which this installation sets: remove it", name)
	}
	return nil
}

// CheckAnnotation returns an error unless the key is free for an annotation of the user.
func CheckAnnotation(key string) error {
	if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
		return fmt.Errorf("%q: %s", key, problems[0])
	}
	switch key {
	case RoleARNAnnotation:
		return fmt.Errorf("%s: names the role of the daemon, which the role's ARN sets: remove it", key)
	case ChecksumAnnotation:
		return fmt.Errorf("%s: is set by the product: remove it", key)
	}
	return nil
}

// Check returns an error if the budget is no budget, or allows no eviction of so many replicas: a
// node with one of them could never be drained.
func (b Budget) Check(replicas int32) error {
	switch {
	case b.None && (b.MaxUnavailable != "" && b.MaxUnavailable != DefaultMaxUnavailable || b.MinAvailable != ""):
		return fmt.Errorf("a budget that is off has numbers: remove them, or turn it on")
	case b.None:
		return nil
	case b.MaxUnavailable != "" && b.MinAvailable != "":
		return fmt.Errorf("both the most that may be unavailable (%s) and the least that must be available (%s) are given: keep one", b.MaxUnavailable, b.MinAvailable)
	}
	value := intstr.Parse(cmp.Or(b.MaxUnavailable+b.MinAvailable, DefaultMaxUnavailable))
	if _, percent := strings.CutSuffix(value.StrVal, "%"); value.Type == intstr.String && !percent {
		return badNumber(value.StrVal)
	}
	// Percentages are rounded up, as the disruption controller does.
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, int(replicas), true)
	if err != nil || n < 0 {
		return badNumber(value.String())
	}
	if b.MinAvailable != "" {
		n = int(replicas) - n
	}
	if n < 1 {
		return fmt.Errorf("%s of %d replicas allows no eviction, so no node with a replica could be drained: allow at least one", value.String(), replicas)
	}
	return nil
}

func badNumber(text string) error {
	return fmt.Errorf("%q: must be a whole number such as 1, or a percentage such as 25%%", text)
}

func (o Options) disruptionBudget() *policyv1.PodDisruptionBudget {
	spec := policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: o.selector()}}
	if b := o.Budget; b.MinAvailable != "" {
		least := intstr.Parse(b.MinAvailable)
		spec.MinAvailable = &least
	} else {
		most := intstr.Parse(b.MaxUnavailable)
		spec.MaxUnavailable = &most
	}
	return &policyv1.PodDisruptionBudget{TypeMeta: kind("policy/v1", "PodDisruptionBudget"), ObjectMeta: o.meta(o.Namespace), Spec: spec}
}

// checksum changes with what pods read only when they are made: the annotations of the
// service account, by which EKS gives them their role. The account itself comes with BoundTo: its UID
// is not known before it exists. What else they are made of is in the
// template itself. The catalogue is not in it: the daemon writes it.
func checksum(account *corev1.ServiceAccount) string {
	text, err := json.Marshal([]any{account.Name, account.Annotations}) // keys in order
	if err != nil {
		return err.Error() // cannot happen: these are strings
	}
	return short(text)
}

func short(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// BoundTo returns the Deployment with another checksum for each service account of the name, by the
// UID of the account: the token of a pod is for the account that was there when the pod was made, and the
// API server accepts no token of a former account.
func BoundTo(deployment *unstructured.Unstructured, account types.UID) (*unstructured.Unstructured, error) {
	field := []string{"spec", "template", "metadata", "annotations", ChecksumAnnotation}
	declared, _, err := unstructured.NestedString(deployment.Object, field...)
	if err != nil {
		return nil, fmt.Errorf("daemon deployment read checksum: %w", err)
	}
	bound := deployment.DeepCopy()
	if err := unstructured.SetNestedField(bound.Object, short([]byte(declared+" "+string(account))), field...); err != nil {
		return nil, fmt.Errorf("daemon deployment write checksum: %w", err)
	}
	return bound, nil
}

// userEnv is the environment that the user adds, sorted by name.
func (p Pods) userEnv() []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(p.Environment)) {
		env = append(env, corev1.EnvVar{Name: name, Value: p.Environment[name]})
	}
	return env
}

func portText(port int32) string { return strconv.Itoa(int(port)) }
