package size

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
)

const (
	namespaces = 20
	containers = 3
	variables  = 15 // of each container
	revisions  = 5  // old ReplicaSets of each app, without pods
	noteBytes  = 1000
)

func namespaceOf(app int) string { return fmt.Sprintf("team-%02d", app%namespaces) }
func appName(app int) string     { return fmt.Sprintf("service-%03d", app) }

// workloads writes namespaces, apps with their ReplicaSets, and pods that run.
func (r *run) workloads(ctx context.Context) error {
	err := r.each(ctx, "namespaces", namespaces, func(ctx context.Context, i int) error {
		name := namespaceOf(i)
		labels := map[string]string{"team": name}
		if _, err := r.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("namespace %s create: %w", name, err)
		}
		// A controller makes it elsewhere; pods are refused without.
		_, err := r.core.CoreV1().ServiceAccounts(name).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	sets := make([]types.UID, r.Apps)
	if err := r.each(ctx, "apps", r.Apps, func(ctx context.Context, app int) error { return r.app(ctx, app, &sets[app]) }); err != nil {
		return err
	}
	nodes, err := r.core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: corev1.LabelInstanceTypeStable + "=" + instanceType})
	if err != nil {
		return fmt.Errorf("nodes list: %w", err)
	}
	return r.each(ctx, "apps with their pods", r.Apps, func(ctx context.Context, app int) error { return r.pods(ctx, app, sets[app], nodes.Items) })
}

// app writes a Deployment, its ReplicaSet, and those of earlier revisions.
func (r *run) app(ctx context.Context, app int, uid *types.UID) error {
	replicas := int32(r.Pods / r.Apps)
	if app < r.Pods%r.Apps {
		replicas++
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: appName(app), Labels: labels(app)}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector(app)}, Template: template(app, 0),
	}}
	made, err := r.core.AppsV1().Deployments(namespaceOf(app)).Create(ctx, deployment, metav1.CreateOptions{FieldManager: "helm"})
	if err != nil {
		return fmt.Errorf("deployment %s create: %w", deployment.Name, err)
	}
	for revision := range revisions + 1 {
		set := setOf(app, revision, made.UID, replicas)
		created, err := r.core.AppsV1().ReplicaSets(namespaceOf(app)).Create(ctx, set, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
		if err != nil {
			return fmt.Errorf("replicaset %s create: %w", set.Name, err)
		}
		created.Status = appsv1.ReplicaSetStatus{ObservedGeneration: created.Generation, Replicas: *set.Spec.Replicas, ReadyReplicas: *set.Spec.Replicas, AvailableReplicas: *set.Spec.Replicas}
		if _, err := r.core.AppsV1().ReplicaSets(namespaceOf(app)).UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "kube-controller-manager"}); err != nil {
			return fmt.Errorf("replicaset %s status write: %w", set.Name, err)
		}
		if revision == 0 {
			*uid = created.UID
		}
	}
	return nil
}

// batch is how many pods etcd is given at once: it takes requests of 1.5 MB.
const batch = 50

// pods writes the pods of an app: the first through the API, as its controller
// and its kubelet do, and the others as copies of what the API server made of it.
func (r *run) pods(ctx context.Context, app int, set types.UID, nodes []corev1.Node) error {
	nodeOf := func(i int) string { return nodes[(i/r.Apps+app*7)%len(nodes)].Name }
	first, err := r.pod(ctx, podOf(app, app, set, nodeOf(app)))
	if err != nil {
		return err
	}
	var copies []stored
	for i := app + r.Apps; i < r.Pods; i += r.Apps {
		p := first.DeepCopy()
		p.Name, p.UID, p.ResourceVersion, p.Spec.NodeName = podName(app, i), uuid.NewUUID(), "", nodeOf(i)
		p.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", 2+i>>16, i>>8%256, i%256)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		for c := range p.Status.ContainerStatuses {
			p.Status.ContainerStatuses[c].ContainerID = fmt.Sprintf("containerd://%064x", i*containers+c)
		}
		copies = append(copies, stored{"pods/" + p.Namespace + "/" + p.Name, p})
	}
	for some := range slices.Chunk(copies, batch) {
		if err := r.store(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// pod writes a pod and, as its kubelet does, that it runs.
func (r *run) pod(ctx context.Context, p *corev1.Pod) (*corev1.Pod, error) {
	made, err := r.core.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s create: %w", p.Namespace, p.Name, err)
	}
	made.Status = running(made)
	if made, err = r.core.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{FieldManager: "kubelet"}); err != nil {
		return nil, fmt.Errorf("pod %s/%s status write: %w", p.Namespace, p.Name, err)
	}
	return made, nil
}

func podName(app, i int) string { return fmt.Sprintf("%s-%05x", setName(app, 0), i) }

func hash(app, revision int) string { return fmt.Sprintf("%010x", app*16+revision+1<<36) }

func setName(app, revision int) string { return appName(app) + "-" + hash(app, revision) }

// selector is what an app's controllers select by.
func selector(app int) map[string]string {
	return map[string]string{"app.kubernetes.io/name": appName(app), "app.kubernetes.io/instance": namespaceOf(app)}
}

func labels(app int) map[string]string {
	out := selector(app)
	out["app.kubernetes.io/version"], out["app.kubernetes.io/managed-by"], out["team"] = "1.42.0", "Helm", namespaceOf(app)
	return out
}

func yes() *bool { value := true; return &value }

func setOf(app, revision int, deployment types.UID, replicas int32) *appsv1.ReplicaSet {
	if revision > 0 {
		replicas = 0
	}
	match := selector(app)
	match[appsv1.DefaultDeploymentUniqueLabelKey] = hash(app, revision)
	t := template(app, revision)
	t.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash(app, revision)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: setName(app, revision), Labels: t.Labels, Annotations: map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(revisions + 1 - revision)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: appName(app), UID: deployment, Controller: yes(), BlockOwnerDeletion: yes(),
			}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: match}, Template: t},
	}
}

// podOf is the i-th pod, as its ReplicaSet makes it, on its node.
func podOf(app, i int, set types.UID, node string) *corev1.Pod {
	t := template(app, 0)
	t.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash(app, 0)
	p := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	p.Namespace, p.Name = namespaceOf(app), podName(app, i)
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ReplicaSet", Name: setName(app, 0), UID: set, Controller: yes(), BlockOwnerDeletion: yes(),
	}}
	p.Spec.NodeName = node
	return p
}

// template is what an app's pods are made of. A quarter of the apps spread over
// zones and a tenth keep apart on their nodes.
func template(app, revision int) corev1.PodTemplateSpec {
	grace := int64(30)
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(app), Annotations: map[string]string{
			"prometheus.io/scrape": "true", "checksum/config": fmt.Sprintf("%064x", app*16+revision), "example.com/notes": note(app),
		}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: appName(app) + "-config"}}}},
			},
		},
	}
	for c := range containers {
		t.Spec.Containers = append(t.Spec.Containers, container(app, revision, c))
	}
	same := &metav1.LabelSelector{MatchLabels: selector(app)}
	if app%4 == 0 {
		t.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: same,
		}}
	}
	if app%10 == 0 {
		t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: same},
			}},
		}}
	}
	return t
}

// note fills an annotation as tools do.
func note(app int) string {
	return strings.Repeat(fmt.Sprintf("%s runs for %s; ", appName(app), namespaceOf(app)), noteBytes/32)[:noteBytes-100]
}

func container(app, revision, c int) corev1.Container {
	port := int32(8080 + c)
	out := corev1.Container{
		Name: fmt.Sprintf("c-%d", c), Image: fmt.Sprintf("%s:v1.%d.%d", imageOf(app+c), 42-revision, c),
		Ports: []corev1.ContainerPort{{ContainerPort: port}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("130m"), corev1.ResourceMemory: *resource.NewQuantity(int64(128+app%8*16)<<20, resource.BinarySI)},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
	}
	if c == 0 { // the others are beside it
		out.ReadinessProbe, out.LivenessProbe = probe("/ready", port), probe("/live", port)
		out.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/service", ReadOnly: true}}
	}
	for v := range variables {
		out.Env = append(out.Env, corev1.EnvVar{Name: fmt.Sprintf("SET_%02d", v), Value: fmt.Sprintf("v%d", v)})
	}
	return out
}

func probe(path string, port int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}},
		InitialDelaySeconds: 5, TimeoutSeconds: 2, PeriodSeconds: 10,
	}
}

// running is the status that a kubelet writes once all containers run.
func running(p *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	ip := fmt.Sprintf("10.0.%d.%d", len(p.Name)%256, 1+len(p.Namespace)%250)
	out := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.0.1.2", HostIPs: []corev1.HostIP{{IP: "10.0.1.2"}}, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		StartTime: &now, QOSClass: corev1.PodQOSBurstable,
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		out.Conditions = append(out.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for i, c := range p.Spec.Containers {
		resources := c.Resources
		out.ContainerStatuses = append(out.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, Started: yes(), Image: c.Image, ImageID: fmt.Sprintf("%s@sha256:%064x", c.Image, i),
			ContainerID:        fmt.Sprintf("containerd://%064x", len(p.Name)*8+i),
			State:              corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			AllocatedResources: resources.Requests, Resources: &resources,
		})
	}
	return out
}
