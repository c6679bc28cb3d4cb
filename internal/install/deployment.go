package install

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Names of the container's ports.
const (
	MetricsPortName = "metrics"
	HealthPortName  = "health"
)

const (
	// nonRootUser is the uid of the user "nonroot" of distroless images.
	nonRootUser = 65532
	// gracePeriodSeconds is the time to end calls in flight and to release the Lease.
	gracePeriodSeconds = 30
)

// deployment has the checksum on its pods: another one replaces them.
func (o Options) deployment(checksum string) *appsv1.Deployment {
	// As many nodes as replicas must do for an update: a replica ends before another begins. A
	// further one would wait for a node, and a cluster-autoscaler would launch it one.
	unavailable, surge := intstr.FromInt32(1), intstr.FromInt32(0)
	return &appsv1.Deployment{
		TypeMeta: kind("apps/v1", "Deployment"), ObjectMeta: o.meta(o.Namespace),
		Spec: appsv1.DeploymentSpec{
			Replicas: &o.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: o.selector()},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &unavailable, MaxSurge: &surge},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: o.podMeta(checksum),
				Spec:       o.podSpec(),
			},
		},
	}
}

func (o Options) podMeta(checksum string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Labels: o.labels(), Annotations: map[string]string{ChecksumAnnotation: checksum}}
	maps.Copy(meta.Labels, o.PodLabels)
	maps.Copy(meta.Annotations, o.Annotations)
	maps.Copy(meta.Annotations, o.PodAnnotations)
	return meta
}

func (o Options) podSpec() corev1.PodSpec {
	grace, user := int64(gracePeriodSeconds), int64(nonRootUser)
	return corev1.PodSpec{
		ServiceAccountName:            o.ServiceAccount,
		PriorityClassName:             o.priorityClass(),
		ImagePullSecrets:              o.pullSecrets(),
		NodeSelector:                  o.NodeSelector,
		TerminationGracePeriodSeconds: &grace,
		// The daemon uses the node's DNS resolver: the cluster's DNS may wait for a node that only the daemon can launch.
		DNSPolicy: corev1.DNSDefault,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: yes(), RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Affinity:    o.affinity(),
		Tolerations: o.Tolerations,
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: o.selector()},
		}},
		Containers: []corev1.Container{o.container()},
	}
}

// priorityClass is that of the pods. The cluster does without a shadow: it displaces nobody, unless
// the user has chosen so.
func (o Options) priorityClass() string {
	if o.Mode == ModeShadow && *o.PriorityClass == DefaultPriorityClass {
		return ""
	}
	return *o.PriorityClass
}

func (o Options) pullSecrets() []corev1.LocalObjectReference {
	var out []corev1.LocalObjectReference
	for _, name := range o.PullSecrets {
		out = append(out, corev1.LocalObjectReference{Name: name})
	}
	return out
}

func (o Options) container() corev1.Container {
	escalation := false
	return corev1.Container{
		Name: DefaultName, Image: o.Image, ImagePullPolicy: o.PullPolicy, Args: o.args(),
		Env: o.env(),
		Ports: []corev1.ContainerPort{
			{Name: MetricsPortName, ContainerPort: o.MetricsPort, Protocol: corev1.ProtocolTCP},
			{Name: HealthPortName, ContainerPort: o.HealthPort, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  probe(HealthPath, 5, 10),
		ReadinessProbe: probe(ReadyPath, 3, 5),
		Resources:      *o.Resources,
		// The end of the log is the reason why the daemon ended, where it has written no other.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &escalation, ReadOnlyRootFilesystem: yes(), RunAsNonRoot: yes(),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// args are the daemon's arguments. The mode is one: a daemon that is too old to know it must not
// start as one that works for the cluster.
func (o Options) args() []string {
	if o.Mode == ModeShadow {
		return []string{Command, ShadowArgument}
	}
	return []string{Command}
}

func (o Options) env() []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: EnvClusterName, Value: o.ClusterName},
		{Name: EnvRegion, Value: o.Region},
		{Name: EnvLogLevel, Value: o.LogLevel},
		{Name: EnvPreferencePolicy, Value: o.PreferencePolicy},
		{Name: EnvMinValuesPolicy, Value: o.MinValuesPolicy},
		{Name: EnvLanding, Value: o.Landing},
		{Name: EnvNodeCost, Value: o.NodeCost},
		{Name: EnvPauseDisruption, Value: strconv.FormatBool(o.PauseDisruption)},
		{Name: EnvReservedENIs, Value: strconv.Itoa(int(o.ReservedENIs))},
		{Name: EnvMemoryOverhead, Value: o.MemoryOverhead},
		{Name: EnvIsolatedVPC, Value: strconv.FormatBool(o.IsolatedVPC)},
		{Name: EnvLogKeys, Value: o.LogKeys},
		{Name: EnvMetricsPort, Value: portText(o.MetricsPort)},
		{Name: EnvHealthProbePort, Value: portText(o.HealthPort)},
		fieldEnv(EnvSystemNamespace, "metadata.namespace"),
		fieldEnv(EnvPodName, "metadata.name"),
		fieldEnv(EnvBindAddress, "status.podIP"),
	}
	if _, limited := o.Resources.Limits[corev1.ResourceMemory]; limited {
		// Without a limit, the field would be the memory of the node.
		env = append(env, corev1.EnvVar{Name: EnvMemoryLimit, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
			ContainerName: DefaultName, Resource: "limits.memory", Divisor: resource.MustParse("1"),
		}}})
	}
	if o.ClusterEndpoint != "" {
		env = append(env, corev1.EnvVar{Name: EnvClusterEndpoint, Value: o.ClusterEndpoint})
	}
	if o.ClusterCA != "" {
		env = append(env, corev1.EnvVar{Name: EnvClusterCA, Value: o.ClusterCA})
	}
	if o.QueueName != "" {
		env = append(env, corev1.EnvVar{Name: EnvInterruptionQueue, Value: o.QueueName})
	}
	if o.FIPS {
		env = append(env, corev1.EnvVar{Name: EnvFIPS, Value: strconv.FormatBool(true)})
	}
	if o.DualStack {
		env = append(env, corev1.EnvVar{Name: EnvDualStack, Value: strconv.FormatBool(true)})
	}
	if o.SchedulerConfig != "" {
		env = append(env, corev1.EnvVar{Name: EnvSchedulerConfig, Value: o.SchedulerConfig})
	}
	return append(env, o.userEnv()...)
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
	}}
}

// probe makes a probe of the health port; both times are in seconds.
func probe(path string, timeout, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString(HealthPortName), Scheme: corev1.URISchemeHTTP,
		}},
		TimeoutSeconds: timeout, PeriodSeconds: period, FailureThreshold: 3, SuccessThreshold: 1,
	}
}

func yes() *bool {
	value := true
	return &value
}
