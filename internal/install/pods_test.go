package install

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// deploymentOf is the Deployment of an installation.
func deploymentOf(t *testing.T, o Options) appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	find(t, objects(t, o), "Deployment", "karpenterd", &d)
	return d
}

// Pods read the annotations of their service account when they are made, and never again.
func TestDeployment_ChangesWithWhatPodsReadOnlyWhenTheyAreMade(t *testing.T) {
	sum := func(change func(*Options)) string {
		o := options()
		change(&o)
		return deploymentOf(t, o).Spec.Template.Annotations[ChecksumAnnotation]
	}
	before := sum(func(*Options) {})
	if again := sum(func(*Options) {}); before == "" || again != before {
		t.Errorf("checksums %q and %q of one installation", before, again)
	}
	for name, change := range map[string]func(*Options){
		"role":            func(o *Options) { o.RoleARN = "arn:aws:iam::123456789012:role/other" },
		"service account": func(o *Options) { o.ServiceAccount = "launcher" },
		"its annotations": func(o *Options) {
			o.Annotations = map[string]string{"eks.amazonaws.com/sts-regional-endpoints": "true"}
		},
	} {
		if sum(change) == before {
			t.Errorf("%s: the checksum stays", name)
		}
	}
	// A label of all objects, or more replicas, replace no pod for the service account's sake.
	if after := sum(func(o *Options) { o.Labels, o.Replicas = nil, 3 }); after != before {
		t.Errorf("the checksum is %q without labels, and was %q", after, before)
	}
}

// The token of a pod is for the service account that was there when the pod was made.
func TestBoundTo_ChangesThePodsWithTheirServiceAccount(t *testing.T) {
	all := objects(t, options())
	deployment := all[len(all)-1]
	sum := func(uid types.UID) string {
		bound, err := BoundTo(deployment, uid)
		if err != nil {
			t.Fatal(err)
		}
		var d appsv1.Deployment
		find(t, []*unstructured.Unstructured{bound}, "Deployment", "karpenterd", &d)
		return d.Spec.Template.Annotations[ChecksumAnnotation]
	}
	declared := deploymentOf(t, options()).Spec.Template.Annotations[ChecksumAnnotation]
	if one := sum("a"); one == "" || one != sum("a") || one == sum("b") || one == declared {
		t.Errorf("checksums %q and %q of one account, %q of another, %q of none", one, sum("a"), sum("b"), declared)
	}
	if after := deploymentOf(t, options()).Spec.Template.Annotations[ChecksumAnnotation]; after != declared {
		t.Error("the declared Deployment was changed")
	}
	if policy := deploymentOf(t, options()).Spec.Template.Spec.Containers[0].TerminationMessagePolicy; policy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("the termination message policy is %q: nobody sees why a daemon ends", policy)
	}
}

func TestDeployment_TakesEverySettingOfItsPods(t *testing.T) {
	none, seconds := "", int64(30)
	o := options()
	o.ClusterEndpoint = "https://10.0.0.1"
	o.Annotations = map[string]string{"owner": "a", "both": "all"}
	o.Pods = Pods{
		Tolerations:  []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}},
		NodeSelector: map[string]string{"pool": "system"}, PriorityClass: &none, PullPolicy: corev1.PullAlways, PullSecrets: []string{"mirror"},
		Environment: map[string]string{"HTTPS_PROXY": "http://p", "GOMEMLIMIT": "1GiB"},
		PodLabels:   map[string]string{"mesh": "off"}, PodAnnotations: map[string]string{"both": "pods"}, MetricsPort: 9090, HealthPort: 9091,
	}
	d := deploymentOf(t, o)
	template := d.Spec.Template
	pod, container := template.Spec, template.Spec.Containers[0]
	if !equality.Semantic.DeepEqual(pod.Tolerations, o.Tolerations) || pod.NodeSelector["pool"] != "system" || pod.PriorityClassName != "" ||
		container.ImagePullPolicy != corev1.PullAlways || len(pod.ImagePullSecrets) != 1 || pod.ImagePullSecrets[0].Name != "mirror" {
		t.Errorf("pod %+v", pod)
	}
	if template.Labels["mesh"] != "off" || template.Labels["team"] != "platform" || d.Labels["mesh"] != "" || d.Spec.Selector.MatchLabels["mesh"] != "" {
		t.Errorf("labels %v of pods, %v of the Deployment", template.Labels, d.Labels)
	}
	if template.Annotations["both"] != "pods" || d.Annotations["both"] != "all" || template.Annotations["owner"] != "a" {
		t.Errorf("annotations %v of pods, %v of the Deployment", template.Annotations, d.Annotations)
	}
	var names []string
	for _, e := range container.Env {
		names = append(names, e.Name+"="+e.Value)
	}
	for _, want := range []string{"CLUSTER_ENDPOINT=https://10.0.0.1", "METRICS_PORT=9090", "HEALTH_PROBE_PORT=9091", "GOMEMLIMIT=1GiB", "HTTPS_PROXY=http://p"} {
		if !slices.Contains(names, want) {
			t.Errorf("the environment %q lacks %s", names, want)
		}
	}
	if container.Ports[0].ContainerPort != 9090 || container.Ports[1].ContainerPort != 9091 {
		t.Errorf("ports %+v", container.Ports)
	}
	var service corev1.Service
	find(t, objects(t, o), "Service", "karpenterd", &service)
	if service.Spec.Ports[0].Port != 9090 || service.Annotations["owner"] != "a" {
		t.Errorf("service %+v", service)
	}
}

// Terms of required node affinity are alternatives: one without the rule would let the
// daemon onto a node that it may delete.
func TestDeployment_KeepsOffItsOwnNodesWhateverTheAffinity(t *testing.T) {
	zone := func(name string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}
	}
	two := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{zone("a"), zone("b")}}
	together := &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelTopologyZone}}}
	for name, given := range map[string]*corev1.Affinity{
		"none": nil, "empty": {}, "no terms": {NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}},
		"two terms":   {NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: two}},
		"preferences": {NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: zone("a")}}}},
		"pods":        {PodAffinity: together, PodAntiAffinity: &corev1.PodAntiAffinity{}},
	} {
		o := options()
		o.Affinity = given
		d := deploymentOf(t, o)
		is := d.Spec.Template.Spec.Affinity
		terms := is.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if len(terms) == 0 {
			t.Errorf("%s: no term", name)
		}
		for _, term := range terms {
			if !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
				return r.Key == v1.LabelNodePool && r.Operator == corev1.NodeSelectorOpDoesNotExist
			}) {
				t.Errorf("%s: a term lets the daemon onto nodes of node pools: %v", name, term)
			}
		}
		if asked := given != nil && given.PodAntiAffinity != nil; asked == (len(is.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0) {
			t.Errorf("%s: anti-affinity %+v", name, is.PodAntiAffinity)
		}
		back := UserAffinity(is, d.Spec.Selector)
		if name == "empty" || name == "no terms" {
			given = nil // ask for nothing
		}
		if !equality.Semantic.DeepEqual(back, given) {
			t.Errorf("%s: read back as %+v, want %+v", name, back, given)
		}
	}
	if len(two.NodeSelectorTerms[0].MatchExpressions) != 1 {
		t.Error("the user's affinity was changed")
	}
}

func TestDeployment_ReplicasNeverShareANode(t *testing.T) {
	o := options()
	d := deploymentOf(t, o)
	apart := d.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(apart) != 1 || apart[0].TopologyKey != corev1.LabelHostname || !maps.Equal(apart[0].LabelSelector.MatchLabels, d.Spec.Selector.MatchLabels) {
		t.Errorf("anti-affinity %+v, want that of the Deployment's pods on a node", apart)
	}
	o.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
	if again := deploymentOf(t, o).Spec.Template.Spec.Affinity.PodAntiAffinity; again == nil || len(again.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		t.Errorf("anti-affinity %+v where the user wants none", again)
	}
	o.Affinity, o.Replicas = nil, 1
	if one := deploymentOf(t, o).Spec.Template.Spec.Affinity.PodAntiAffinity; one != nil {
		t.Errorf("anti-affinity %+v of a single replica", one)
	}
	earlier := &corev1.Affinity{PodAntiAffinity: formerlyDifferentNodes(d.Spec.Selector.MatchLabels)}
	if back := UserAffinity(earlier, d.Spec.Selector); back != nil {
		t.Errorf("what earlier versions installed is read back as the user's: %+v", back)
	}
}

// Two nodes with a replica each have no room for a third one.
func TestDeployment_AnUpdateNeedsNoMoreNodesThanReplicas(t *testing.T) {
	rolling := deploymentOf(t, options()).Spec.Strategy.RollingUpdate
	if rolling.MaxSurge.IntValue() != 0 || rolling.MaxUnavailable.IntValue() != 1 {
		t.Errorf("at most %s more and %s fewer replicas than wanted, want 0 and 1", rolling.MaxSurge, rolling.MaxUnavailable)
	}
}

func TestBudget_IsAsGivenOrAbsent(t *testing.T) {
	budget := func(b Budget) *policyv1.PodDisruptionBudget {
		o := options()
		o.Replicas, o.Budget = 4, b
		for _, object := range objects(t, o) {
			if object.GetKind() == "PodDisruptionBudget" {
				var out policyv1.PodDisruptionBudget
				find(t, objects(t, o), "PodDisruptionBudget", "karpenterd", &out)
				return &out
			}
		}
		return nil
	}
	if b := budget(Budget{}); b.Spec.MaxUnavailable.String() != "1" || b.Spec.MinAvailable != nil {
		t.Errorf("by default %+v", b.Spec)
	}
	if b := budget(Budget{MaxUnavailable: "50%"}); b.Spec.MaxUnavailable.String() != "50%" {
		t.Errorf("50%%: %+v", b.Spec)
	}
	if b := budget(Budget{MinAvailable: "3"}); b.Spec.MinAvailable.String() != "3" || b.Spec.MaxUnavailable != nil {
		t.Errorf("at least 3: %+v", b.Spec)
	}
	if b := budget(Budget{None: true}); b != nil {
		t.Errorf("none: %+v", b.Spec)
	}
}

func TestObjects_BadOptionOfThePodsIsNamedWithItsRemedy(t *testing.T) {
	limit := func(name corev1.ResourceName, amount string) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Limits: corev1.ResourceList{name: resource.MustParse(amount)}}
	}
	for want, change := range map[string]func(*Options){
		"daemon resources: the limit of memory is 512m, and the daemon does not start in less than 64Mi":     func(o *Options) { o.Resources = limit(corev1.ResourceMemory, "512m") },
		"daemon resources: an amount of cpu is negative: give 0 or more":                                     func(o *Options) { o.Resources = limit(corev1.ResourceCPU, "-1") },
		"daemon toleration 0: operator Exists has value \"b\": remove the value":                             func(o *Options) { o.Tolerations = []corev1.Toleration{{Operator: "Exists", Value: "b"}} },
		"daemon node selector: karpenter.sh/nodepool=x: the daemon must not run on nodes that it may delete": func(o *Options) { o.NodeSelector = map[string]string{v1.LabelNodePool: "x"} },
		"daemon pull policy: \"Sometimes\": must be one of IfNotPresent, Always, Never":                      func(o *Options) { o.PullPolicy = "Sometimes" },
		"daemon pull secret: \"\": a lowercase RFC 1123 subdomain":                                           func(o *Options) { o.PullSecrets = []string{""} },
		"daemon priority class: \"A B\": a lowercase RFC 1123 subdomain":                                     func(o *Options) { name := "A B"; o.PriorityClass = &name },
		"daemon environment: LOG_LEVEL: is a setting of the daemon, which this installation sets: remove it": func(o *Options) { o.Environment = map[string]string{"LOG_LEVEL": "x"} },
		"daemon pod label: app.kubernetes.io/name: is set by the product: remove it":                         func(o *Options) { o.PodLabels = map[string]string{"app.kubernetes.io/name": "x"} },
		"daemon pod annotation: karpenterd.sh/checksum: is set by the product: remove it":                    func(o *Options) { o.PodAnnotations = map[string]string{ChecksumAnnotation: "x"} },
		"daemon annotation: eks.amazonaws.com/role-arn: names the role of the daemon":                        func(o *Options) { o.Annotations = map[string]string{RoleARNAnnotation: "x"} },
		"daemon ports: metrics and health probes have the same port 8081: give each its own":                 func(o *Options) { o.MetricsPort = 8081 },
		"daemon metrics port: 80: must be a port from 1024 to 65535":                                         func(o *Options) { o.MetricsPort = 80 },
		"daemon disruption budget: 2 of 2 replicas allows no eviction, so no node with a replica could be":   func(o *Options) { o.Budget.MinAvailable = "2" },
		"daemon disruption budget: \"-1\": must be a whole number such as 1, or a percentage such as 25%":    func(o *Options) { o.Budget.MaxUnavailable = "-1" },
		"daemon disruption budget: both the most that may be unavailable (1) and the least that must be":     func(o *Options) { o.Budget = Budget{MaxUnavailable: "1", MinAvailable: "1"} },
	} {
		o := options()
		change(&o)
		if _, err := Objects(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// What runs is decided by the digest, and a mirror has the same one.
func TestImage_ReadsBackWhatItWrites(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for reference, want := range map[string]Image{
		"ghcr.io/a/b:1.0.0":                  {"ghcr.io", "a/b", "1.0.0", ""},
		"localhost:5000/b@" + digest:         {"localhost:5000", "b", "", digest},
		"mirror.example.com/a/b:1@" + digest: {"mirror.example.com", "a/b", "1", digest},
		"localhost/b":                        {"localhost", "b", "", ""},
	} {
		if got := ParseImage(reference); got != want || got.String() != reference {
			t.Errorf("%s is read as %+v, and written as %s", reference, got, got)
		}
	}
	for reference, want := range map[string]string{"busybox": "docker.io/busybox", "a/b:1": "docker.io/a/b:1"} {
		if got := ParseImage(reference).String(); got != want {
			t.Errorf("%s is read as %s, want %s", reference, got, want)
		}
	}
}

func TestSettings_AreThoseThatTheDeploymentSets(t *testing.T) {
	o := options()
	o.ClusterEndpoint, o.SchedulerConfig, o.FIPS, o.DualStack, o.ClusterCA = "https://10.0.0.1", "podTopologySpread: {}", true, true, authority(t)
	settings := map[string]bool{EnvTimeFactor: true, EnvLoopback: true} // of laboratories
	for _, e := range deploymentOf(t, o).Spec.Template.Spec.Containers[0].Env {
		settings[e.Name] = true
	}
	got, want := slices.Sorted(maps.Keys(settings)), slices.Sorted(slices.Values(Settings()))
	if !slices.Equal(got, want) {
		t.Errorf("the Deployment sets %v, and the settings are %v", got, want)
	}
}

// policyOf is the NetworkPolicy of an installation; nil if it has none.
func policyOf(t *testing.T, o Options) *networkingv1.NetworkPolicy {
	t.Helper()
	all := objects(t, o)
	for i, object := range all {
		if object.GetKind() == "NetworkPolicy" {
			if all[len(all)-1].GetKind() != "Deployment" || i >= len(all)-1 {
				t.Error("the pods come before the policy, and are open meanwhile")
			}
			var out networkingv1.NetworkPolicy
			find(t, all, "NetworkPolicy", object.GetName(), &out)
			return &out
		}
	}
	return nil
}

func TestNetworkPolicy_OpensMetricsToTheNamespacesAndProbesToAll(t *testing.T) {
	o := options()
	if p := policyOf(t, o); p != nil {
		t.Errorf("nobody asked for %+v", p)
	}
	o.MetricsPort, o.HealthPort = 9090, 9091
	for _, names := range [][]string{{}, {"monitoring"}, {"kube-system", "monitoring"}} {
		o.MetricsNamespaces = names
		p := policyOf(t, o)
		if p == nil || !maps.Equal(p.Spec.PodSelector.MatchLabels, deploymentOf(t, o).Spec.Selector.MatchLabels) || !slices.Equal(p.Spec.PolicyTypes, []networkingv1.PolicyType{"Ingress"}) {
			t.Fatalf("%v: %+v", names, p)
		}
		for _, rule := range p.Spec.Ingress {
			switch port := rule.Ports[0].Port.IntValue(); {
			case len(rule.Ports) != 1, port != 9090 && port != 9091:
				t.Errorf("%v: ports %v are open", names, rule.Ports)
			case port == 9090 && len(rule.From) == 0: // to all, as the API has it
				t.Errorf("%v: pods of all namespaces read the metrics", names)
			case port == 9091 && len(rule.From) > 0:
				t.Errorf("%v: probes come from %v only, and a kubelet has any address", names, rule.From)
			}
		}
		if got := UserMetricsNamespaces(p); got == nil || !slices.Equal(got, names) {
			t.Errorf("%v is read back as %v", names, got)
		}
	}
	if UserMetricsNamespaces(nil) != nil {
		t.Error("without a policy there are namespaces")
	}
	o.MetricsNamespaces = []string{"My_Namespace"}
	if _, err := Objects(o); err == nil || !strings.Contains(err.Error(), `metrics namespaces: "My_Namespace"`) {
		t.Errorf("error %v", err)
	}
}
