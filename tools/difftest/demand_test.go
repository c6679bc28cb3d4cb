package difftest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// randomDemand is nodes, and Deployments of which some pods run: each selects
// itself, or one other, as Deployments do.
// Shared lets spreads of several Deployments count each other's pods.
func randomDemand(seed uint64, shared bool) *world {
	w := randomWorld(seed, sizes{nodes: 4})
	d := newDice(seed + 1)
	const deployments = 8
	for i := range deployments {
		template := w.randomDeployment(d, i, one(d, i, i, d.IntN(deployments)), shared)
		for k := range 1 + d.IntN(6) {
			p := template.DeepCopy()
			p.Name = fmt.Sprintf("pod-%d-%d-%d", seed, i, k)
			p.UID = types.UID("uid-" + p.Name)
			if d.in(25) {
				p.Spec.NodeName = one(d, w.nodes...).Name
			} else if i == deployments-1 && len(p.Spec.TopologySpreadConstraints) == 0 {
				w.randomVolume(d, p)
			}
			w.pods = append(w.pods, p)
		}
	}
	return w
}

func app(i int) map[string]string { return map[string]string{"app": fmt.Sprint("app-", i)} }

// randomDeployment makes the pod of the i-th Deployment, which has something to
// say about the other-th.
func (w *world) randomDeployment(d dice, i, other int, shared bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: one(d, "one", "two"), Labels: app(i)}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: randomRequests(d)}}
	p.Spec.Affinity = &corev1.Affinity{}
	if d.in(40) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	if d.in(25) {
		randomNodeAffinity(d, p)
	}
	if d.in(15) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: one(d, int32(80), 8080), Protocol: corev1.ProtocolTCP}}
	}
	self := &metav1.LabelSelector{MatchLabels: app(i)}
	if shared && d.in(40) {
		p.Labels["tier"] = one(d, "front", "back")
		self = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": p.Labels["tier"]}}
	}
	term := []corev1.PodAffinityTerm{{
		TopologyKey: one(d, corev1.LabelTopologyZone, corev1.LabelHostname), LabelSelector: &metav1.LabelSelector{MatchLabels: app(other)},
		NamespaceSelector: &metav1.LabelSelector{},
	}}
	honor := corev1.NodeInclusionPolicyHonor
	switch d.IntN(5) {
	case 0, 1:
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			TopologyKey: term[0].TopologyKey, MaxSkew: int32(1 + d.IntN(2)), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: self, NodeTaintsPolicy: &honor,
		}}
	case 2:
		p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}
	case 3:
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}
	}
	return p
}
