package install

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func options() Options {
	return Options{
		Image: ReleaseImage("v0.1.0").String(), RoleARN: "arn:aws:iam::123456789012:role/lab-karpenter",
		ClusterName: "lab", Region: "us-west-2", QueueName: "lab", Labels: map[string]string{"team": "platform"},
	}
}

func objects(t *testing.T, o Options) []*unstructured.Unstructured {
	t.Helper()
	out, err := Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// find reads the object of the kind and name into its type.
func find(t *testing.T, all []*unstructured.Unstructured, kind, name string, into any) {
	t.Helper()
	for _, object := range all {
		if object.GetKind() == kind && object.GetName() == name {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s %s", kind, name)
}

func TestObjects_RenderAsInGoldenFile(t *testing.T) {
	var out bytes.Buffer
	for _, object := range objects(t, options()) {
		if object.GetKind() == "CustomResourceDefinition" {
			continue // package api embeds these, and tests them
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	golden := filepath.Join("testdata", "install.yaml")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("manifests differ from %s; look at the difference after: go test ./internal/install -update", golden)
	}
}

func TestObjects_ComeInApplyOrder(t *testing.T) {
	var kinds []string
	for _, object := range objects(t, options()) {
		kinds = append(kinds, object.GetKind())
	}
	want := "CustomResourceDefinition CustomResourceDefinition CustomResourceDefinition Namespace ServiceAccount ClusterRole " +
		"ClusterRoleBinding Role RoleBinding Role RoleBinding ConfigMap Service PodDisruptionBudget Deployment"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("order\n%s\nwant\n%s", got, want)
	}
}

func TestObjects_LeaveOutNamespacesOfKubernetes(t *testing.T) {
	o := options()
	o.Namespace = "kube-system"
	for _, object := range objects(t, o) {
		if object.GetKind() == "Namespace" {
			t.Errorf("namespace %s would be deleted with the daemon", object.GetName())
		}
	}
}

// The list has all of the daemon's rights in a cluster. A new line needs a reason in rbac.go.
func TestRules_AreWhatTheDaemonDoesAndNothingMore(t *testing.T) {
	want := map[string]string{
		"apps/daemonsets": "list watch", "apps/replicasets": "list watch", "apps/statefulsets": "list watch", "batch/jobs": "list watch",
		"namespaces": "list watch", "limitranges": "list watch", "persistentvolumeclaims": "list watch", "persistentvolumes": "list watch",
		"storage.k8s.io/storageclasses": "list watch", "storage.k8s.io/csinodes": "list watch", "storage.k8s.io/volumeattachments": "list watch",
		"scheduling.k8s.io/priorityclasses": "list watch", "node.k8s.io/runtimeclasses": "list watch", "policy/poddisruptionbudgets": "list watch",
		"pods": "delete get list watch", "pods/status": "patch", "pods/eviction": "create", "pods/binding": "create",
		"nodes":                  "delete get list patch watch",
		"karpenter.sh/nodepools": "list patch watch", "karpenter.sh/nodepools/status": "update", "karpenter.sh/nodepools/finalizers": "update",
		"karpenter.sh/nodeclaims": "create delete get list patch watch", "karpenter.sh/nodeclaims/status": "patch update",
		"karpenter.sh/nodeclaims/finalizers": "update",
		"karpenter.k8s.aws/ec2nodeclasses":   "list patch watch", "karpenter.k8s.aws/ec2nodeclasses/status": "update",
		"karpenter.sh/provisioners": "get list patch watch", "karpenter.sh/provisioners/status": "update",
		"karpenter.k8s.aws/awsnodetemplates": "get list watch", "karpenter.k8s.aws/awsnodetemplates/status": "update",
		"karpenterd-configmaps: configmaps [karpenter-global-settings]": "get",
		"karpenter.sh/nodeoverlays":                                     "list watch", "autoscaling.x-k8s.io/capacitybuffers": "list watch",
		"events": "create patch",
		"karpenterd-leader-election: coordination.k8s.io/leases [karpenter-leader-election]": "get update",
		"karpenterd-leader-election: coordination.k8s.io/leases":                             "create",
		"karpenterd-configmaps: configmaps [karpenterd-catalogue]":                           "get patch",
	}
	got := map[string]string{}
	add := func(role string, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, group := range r.APIGroups {
				for _, name := range r.Resources {
					key := role + strings.TrimPrefix(group+"/"+name, "/")
					if len(r.ResourceNames) > 0 {
						key += " [" + strings.Join(r.ResourceNames, " ") + "]"
					}
					got[key] = strings.Join(slices.Sorted(slices.Values(append(strings.Fields(got[key]), r.Verbs...))), " ")
				}
			}
		}
	}
	all := objects(t, options())
	var cluster rbacv1.ClusterRole
	find(t, all, "ClusterRole", "karpenterd", &cluster)
	add("", cluster.Rules)
	for _, name := range []string{"karpenterd-leader-election", "karpenterd-configmaps"} {
		var role rbacv1.Role
		find(t, all, "Role", name, &role)
		add(name+": ", role.Rules)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if strings.Contains(key+got[key], "*") {
			t.Errorf("%s: %s has a wildcard", key, got[key])
		}
		if got[key] != want[key] {
			t.Errorf("%s: %q, want %q", key, got[key], want[key])
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestBindings_NameTheServiceAccount(t *testing.T) {
	o := options()
	o.Namespace, o.Name, o.ServiceAccount = "nodes", "main", "launcher"
	all := objects(t, o)
	bindings := 0
	for _, object := range all {
		if !strings.HasSuffix(object.GetKind(), "RoleBinding") {
			continue
		}
		bindings++
		var binding rbacv1.ClusterRoleBinding // has the members of a RoleBinding
		find(t, all, object.GetKind(), object.GetName(), &binding)
		if s := binding.Subjects; len(s) != 1 || s[0].Name != "launcher" || s[0].Namespace != "nodes" || s[0].Kind != "ServiceAccount" {
			t.Errorf("%s is for %v", object.GetName(), s)
		}
		role := strings.TrimSuffix(object.GetKind(), "Binding")
		if binding.RoleRef.Kind != role || !slices.ContainsFunc(all, func(u *unstructured.Unstructured) bool {
			return u.GetKind() == role && u.GetName() == binding.RoleRef.Name && u.GetNamespace() == object.GetNamespace()
		}) {
			t.Errorf("%s binds %v, which is not among the objects", object.GetName(), binding.RoleRef)
		}
	}
	if bindings != 3 {
		t.Errorf("%d bindings", bindings)
	}
	var account corev1.ServiceAccount
	find(t, all, "ServiceAccount", "launcher", &account)
	if account.Annotations[RoleARNAnnotation] != o.RoleARN {
		t.Errorf("service account has annotations %v", account.Annotations)
	}
}

// TestServiceAccount_OfPodIdentityHasNoRole leaves the role out, which EKS then gives.
func TestServiceAccount_OfPodIdentityHasNoRole(t *testing.T) {
	o := options()
	o.RoleARN = ""
	var account corev1.ServiceAccount
	find(t, objects(t, o), "ServiceAccount", DefaultServiceAccount, &account)
	if _, has := account.Annotations[RoleARNAnnotation]; has {
		t.Errorf("service account has annotations %v", account.Annotations)
	}
}

func TestDeployment_RunsWithoutPrivilegeOnItsPodsAddress(t *testing.T) {
	var d appsv1.Deployment
	find(t, objects(t, options()), "Deployment", "karpenterd", &d)
	pod, container := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	if *d.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	s := container.SecurityContext
	if !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.RunAsUser == 0 || !*s.ReadOnlyRootFilesystem ||
		*s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" || len(s.Capabilities.Add) > 0 {
		t.Errorf("security contexts %+v, %+v", pod.SecurityContext, s)
	}
	env := map[string]corev1.EnvVar{}
	for _, e := range container.Env {
		env[e.Name] = e
	}
	for name, want := range map[string]string{EnvClusterName: "lab", EnvRegion: "us-west-2", EnvInterruptionQueue: "lab", EnvLogLevel: "info", EnvPreferencePolicy: "Respect", EnvLanding: "auto", EnvMinValuesPolicy: "Strict", EnvNodeCost: "0.005", EnvPauseDisruption: "false", EnvReservedENIs: "0", EnvMemoryOverhead: "0.075", EnvIsolatedVPC: "false", EnvLogKeys: "karpenter", EnvMetricsPort: "8080", EnvHealthProbePort: "8081"} {
		if env[name].Value != want {
			t.Errorf("%s is %q, want %q", name, env[name].Value, want)
		}
	}
	for _, name := range []string{EnvClusterEndpoint, EnvSchedulerConfig, EnvClusterCA, EnvFIPS, EnvDualStack} {
		if _, ok := env[name]; ok {
			t.Errorf("%s is set without a value", name)
		}
	}
	for name, want := range map[string]string{EnvBindAddress: "status.podIP", EnvPodName: "metadata.name", EnvSystemNamespace: "metadata.namespace"} {
		if env[name].ValueFrom == nil || env[name].ValueFrom.FieldRef.FieldPath != want {
			t.Errorf("%s is %+v, want field %s", name, env[name], want)
		}
	}
	if d.Spec.Template.Labels["team"] != "platform" || d.Spec.Selector.MatchLabels["team"] != "" {
		t.Errorf("labels %v, selector %v", d.Spec.Template.Labels, d.Spec.Selector.MatchLabels)
	}
}

func TestDeployment_TakesResourcesAsGiven(t *testing.T) {
	o := options()
	o.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
	var d appsv1.Deployment
	find(t, objects(t, o), "Deployment", "karpenterd", &d)
	r := d.Spec.Template.Spec.Containers[0].Resources
	if r.Requests.Cpu().String() != "2" || len(r.Limits) > 0 {
		t.Errorf("resources %+v", r)
	}
}

// The daemon must know its memory limit, or the kernel kills it. Without a limit the
// field would be the memory of the node.
func TestDeployment_TellsTheDaemonItsMemoryLimit(t *testing.T) {
	limit := func(o Options) *corev1.ResourceFieldSelector {
		var d appsv1.Deployment
		find(t, objects(t, o), "Deployment", "karpenterd", &d)
		container := d.Spec.Template.Spec.Containers[0]
		for _, e := range container.Env {
			if e.Name == EnvMemoryLimit && e.ValueFrom.ResourceFieldRef.ContainerName == container.Name {
				return e.ValueFrom.ResourceFieldRef
			}
		}
		return nil
	}
	if got := limit(options()); got == nil || got.Resource != "limits.memory" || got.Divisor.String() != "1" {
		t.Errorf("%s reads %+v", EnvMemoryLimit, got)
	}
	o := options()
	o.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
	if got := limit(o); got != nil {
		t.Errorf("%s reads %+v, but the container has no limit", EnvMemoryLimit, got)
	}
}

func TestDeployment_TellsTheDaemonItsPolicies(t *testing.T) {
	o := options()
	o.PreferencePolicy, o.MinValuesPolicy, o.NodeCost, o.SchedulerConfig = PreferencesIgnore, MinValuesBestEffort, "0", "podTopologySpread: {}"
	o.PauseDisruption, o.FIPS, o.DualStack = true, true, true
	o.IsolatedVPC, o.ReservedENIs, o.MemoryOverhead, o.ClusterCA, o.LogKeys = true, 1, "0", authority(t), LogKeysHCLog
	var d appsv1.Deployment
	find(t, objects(t, o), "Deployment", "karpenterd", &d)
	for _, want := range []corev1.EnvVar{
		{Name: "PREFERENCE_POLICY", Value: "Ignore"},
		{Name: "MIN_VALUES_POLICY", Value: "BestEffort"},
		{Name: "NODE_COST", Value: "0"},
		{Name: "PAUSE_DISRUPTION", Value: "true"},
		{Name: "AWS_USE_FIPS_ENDPOINT", Value: "true"},
		{Name: "AWS_USE_DUALSTACK_ENDPOINT", Value: "true"},
		{Name: "SCHEDULER_CONFIG", Value: "podTopologySpread: {}"},
		{Name: "ISOLATED_VPC", Value: "true"},
		{Name: "RESERVED_ENIS", Value: "1"},
		{Name: "VM_MEMORY_OVERHEAD_PERCENT", Value: "0"},
		{Name: "CLUSTER_CA_BUNDLE", Value: o.ClusterCA},
		{Name: "LOG_KEYS", Value: "hclog"},
	} {
		if env := d.Spec.Template.Spec.Containers[0].Env; !slices.Contains(env, want) {
			t.Errorf("%v is not in %v", want, env)
		}
	}
}

func TestObjects_BadOptionIsNamedWithItsRemedy(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"namespace":     {func(o *Options) { o.Namespace = "A B" }, `daemon namespace: "A B": a lowercase RFC 1123 label`},
		"no image":      {func(o *Options) { o.Image = "" }, "daemon image: \"\": must be an image reference such as"},
		"replicas":      {func(o *Options) { o.Replicas = -1 }, "daemon replicas: -1: must be 1 or more"},
		"region":        {func(o *Options) { o.Region = "west" }, `daemon region: "west": must be a region such as us-west-2`},
		"no cluster":    {func(o *Options) { o.ClusterName = "" }, `daemon cluster name "": has 0 characters`},
		"role name":     {func(o *Options) { o.RoleARN = "lab-karpenter" }, `daemon role ARN "lab-karpenter": must be arn:`},
		"queue by URL":  {func(o *Options) { o.QueueName = "https://x/y" }, `daemon queue name "https://x/y"`},
		"log level":     {func(o *Options) { o.LogLevel = "loud" }, `daemon log level: "loud": must be one of trace, debug, info, warn, error`},
		"landing":       {func(o *Options) { o.Landing = "Bind" }, `daemon landing: "Bind": must be one of auto, bind, prefer`},
		"preferences":   {func(o *Options) { o.PreferencePolicy = "respect" }, `daemon preference policy: "respect": must be one of Respect, Ignore`},
		"min values":    {func(o *Options) { o.MinValuesPolicy = "Lenient" }, `daemon min-values policy: "Lenient": must be one of Strict, BestEffort`},
		"node cost":     {func(o *Options) { o.NodeCost = "-1" }, `daemon node cost "-1": must be dollars an hour from 0 to 100, such as 0.005`},
		"too dear":      {func(o *Options) { o.NodeCost = "100.01" }, `daemon node cost "100.01": must be dollars an hour from 0 to 100`},
		"endpoint":      {func(o *Options) { o.ClusterEndpoint = "x" }, `daemon cluster endpoint "x": must be an https URL`},
		"interfaces":    {func(o *Options) { o.ReservedENIs = -1 }, `daemon reserved network interfaces -1: must be from 0 to 100`},
		"overhead":      {func(o *Options) { o.MemoryOverhead = "7.5" }, `daemon VM memory overhead "7.5": must be the part of an instance's memory from 0 to below 1 that its node does not report, such as 0.075`},
		"authority":     {func(o *Options) { o.ClusterCA = "x" }, `daemon cluster CA bundle: is not in base64: give certificates in PEM, in base64`},
		"log keys":      {func(o *Options) { o.LogKeys = "zap" }, `daemon log keys: "zap": must be one of karpenter, hclog`},
		"label value":   {func(o *Options) { o.Labels = map[string]string{"a": "b c"} }, `daemon label: a="b c": `},
		"label is ours": {func(o *Options) { o.Labels = map[string]string{"app.kubernetes.io/name": "x"} }, "is set by the product: remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			tc.change(&o)
			_, err := Objects(o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tc.want)
			}
		})
	}
}

func TestCheckKubernetesVersion_RefusesOldOnesAndTellsOfNewOnes(t *testing.T) {
	for _, good := range []string{"1.30", "1.37", "v1.37.3", "1.33+", "v1.31.2-eks-1552ad0"} {
		if err := CheckKubernetesVersion(good); err != nil || NewerKubernetes(good) != "" {
			t.Errorf("%q: %v, %q", good, err, NewerKubernetes(good))
		}
	}
	for _, newer := range []string{"1.38.0", "v1.38.1-eks-1", "1.100"} {
		if err := CheckKubernetesVersion(newer); err != nil || !strings.Contains(NewerKubernetes(newer), strconv.Quote(newer)+" is newer than 1.30 to 1.37") {
			t.Errorf("%q: %v, %q", newer, err, NewerKubernetes(newer))
		}
	}
	for _, bad := range []string{"", "1.29", "2.30", "latest", "1.3", "1.99999999999999999999"} {
		if err := CheckKubernetesVersion(bad); err == nil || !strings.Contains(err.Error(), "must be 1.30 or newer: upgrade the cluster") || NewerKubernetes(bad) != "" {
			t.Errorf("%q: error %v, %q", bad, err, NewerKubernetes(bad))
		}
	}
}

// A release knows of Kubernetes what the libraries know that it is made with, and of no more.
func TestMaxKubernetesMinor_IsThatOfTheLibraries(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"k8s.io/api", "k8s.io/client-go", "k8s.io/component-helpers", "k8s.io/kubelet"} {
		if want := fmt.Sprintf("\t%s v0.%d.", module, MaxKubernetesMinor); !strings.Contains(string(text), want) {
			t.Errorf("%s is of another version than 1.%d, up to which the daemon is made for Kubernetes", module, MaxKubernetesMinor)
		}
	}
}

// The rights mean nothing without the definitions, and a daemon serves definitions that
// somebody else has applied, too: so it always has them.
func TestObjects_LegacyDefinitionsOnlyWhenAskedForRightsAlways(t *testing.T) {
	for _, asked := range []bool{false, true} {
		o := options()
		o.LegacyAPI = asked
		all := objects(t, o)
		for _, name := range []string{"provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws"} {
			there := slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == "CustomResourceDefinition" && o.GetName() == name
			})
			if there != asked {
				t.Errorf("asked %t: %s is there %t", asked, name, there)
			}
		}
		var role rbacv1.ClusterRole
		find(t, all, "ClusterRole", "karpenterd", &role)
		for _, resource := range []string{"provisioners", "provisioners/status", "awsnodetemplates", "awsnodetemplates/status"} {
			if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) }) {
				t.Errorf("asked %t: no rule on %s", asked, resource)
			}
		}
	}
}

func TestRules_WithoutLandingByBindingsThereIsNoRightToThem(t *testing.T) {
	for _, landing := range Landings() {
		o := Options{Landing: landing}
		may := slices.ContainsFunc(o.clusterRules(), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/binding") })
		if may != (landing != LandingPrefer) {
			t.Errorf("%s: the right to create pods/binding is %t", landing, may)
		}
	}
}
