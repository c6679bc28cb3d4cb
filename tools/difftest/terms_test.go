package difftest

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

func randomExpression(d dice) corev1.NodeSelectorRequirement {
	switch d.IntN(7) {
	case 0:
		return corev1.NodeSelectorRequirement{Key: one(d, corev1.LabelTopologyZone, legacyZone), Operator: corev1.NodeSelectorOpIn, Values: []string{one(d, "a", "b"), "c"}}
	case 1:
		return corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{one(d, "a", "b", "c")}}
	case 2:
		return corev1.NodeSelectorRequirement{Key: cores, Operator: one(d, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), Values: []string{one(d, "2", "4", "7")}}
	case 3:
		return corev1.NodeSelectorRequirement{Key: cores, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"many", "4"}}
	case 4:
		return corev1.NodeSelectorRequirement{Key: rack, Operator: one(d, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)}
	case 5:
		return corev1.NodeSelectorRequirement{Key: rack, Operator: corev1.NodeSelectorOpIn, Values: []string{one(d, "r1", "")}}
	}
	return corev1.NodeSelectorRequirement{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{one(d, "amd64", "arm64")}}
}

func randomNodeTerm(d dice) corev1.NodeSelectorTerm {
	var t corev1.NodeSelectorTerm
	for range d.IntN(3) {
		t.MatchExpressions = append(t.MatchExpressions, randomExpression(d))
	}
	if d.in(15) {
		t.MatchFields = []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: one(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{one(d, "node-0", "node-1")},
		}}
	}
	return t
}

func randomNodeAffinity(d dice, p *corev1.Pod) {
	if d.in(25) {
		p.Spec.NodeSelector = map[string]string{one(d, corev1.LabelTopologyZone, legacyZone): one(d, "a", "b", "c")}
	}
	if d.in(60) {
		var s corev1.NodeSelector
		for range 1 + d.IntN(3) {
			s.NodeSelectorTerms = append(s.NodeSelectorTerms, randomNodeTerm(d))
		}
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &s}
	}
}

func randomKey(d dice) string {
	return one(d, corev1.LabelTopologyZone, corev1.LabelHostname, rack, corev1.LabelTopologyZone, corev1.LabelHostname)
}

func randomSelector(d dice) *metav1.LabelSelector {
	app := one(d, "a", "b", "c")
	switch d.IntN(10) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{app}}}}
	case 3:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "hash", Operator: one(d, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)},
			{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{app, "b"}},
		}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func randomSpread(d dice, p *corev1.Pod) {
	for range 1 + d.IntN(2) {
		c := corev1.TopologySpreadConstraint{
			TopologyKey: randomKey(d), MaxSkew: one(d, int32(1), 1, 1, 2), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: randomSelector(d),
		}
		if d.in(15) {
			c.WhenUnsatisfiable = corev1.ScheduleAnyway
		} else if d.in(30) {
			n := int32(1 + d.IntN(4))
			c.MinDomains = &n
		}
		policies := []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}
		if d.in(40) {
			c.NodeAffinityPolicy = &policies[d.IntN(2)]
		}
		if d.in(40) {
			c.NodeTaintsPolicy = &policies[d.IntN(2)]
		}
		if d.in(25) && c.LabelSelector != nil {
			c.MatchLabelKeys = []string{"hash"}
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

func randomPodTerm(d dice) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: randomKey(d), LabelSelector: randomSelector(d)}
	switch d.IntN(8) {
	case 0:
		t.Namespaces = []string{"one", "two"}
	case 1:
		t.NamespaceSelector = &metav1.LabelSelector{}
	case 2:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": one(d, "red", "blue")}}
	case 3:
		t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"red"}},
		}}
	case 4:
		t.Namespaces, t.NamespaceSelector = []string{"three"}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
	}
	return t
}

func randomPodAffinity(d dice, p *corev1.Pod) {
	if d.in(35) {
		a := &corev1.PodAffinity{}
		for range 1 + d.IntN(2) {
			a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, randomPodTerm(d))
		}
		p.Spec.Affinity.PodAffinity = a
	}
	if d.in(35) {
		a := &corev1.PodAntiAffinity{}
		for range 1 + d.IntN(2) {
			a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, randomPodTerm(d))
		}
		if d.in(30) {
			a.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: 5, PodAffinityTerm: randomPodTerm(d)}}
		}
		p.Spec.Affinity.PodAntiAffinity = a
	}
}

// randomVolume gives the pod a claim that is bound, waits for its first
// consumer, or is missing.
func (w *world) randomVolume(d dice, p *corev1.Pod) {
	name := "data-" + p.Name
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.Namespace, UID: "uid-" + p.UID}}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "csi.example.com", VolumeBindingMode: &wait}
	c.Spec.StorageClassName = &class.Name
	switch {
	case d.in(60): // bound
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name}
		v.Spec.ClaimRef = &corev1.ObjectReference{Name: name, Namespace: p.Namespace, UID: c.UID}
		if d.in(90) {
			s := &corev1.NodeSelector{}
			for range 1 + d.IntN(2) {
				s.NodeSelectorTerms = append(s.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{randomExpression(d)}})
			}
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: s}
		}
		w.volumes[name] = v
		c.Spec.VolumeName, c.Status.Phase = name, corev1.ClaimBound
		c.Annotations = map[string]string{volume.AnnBindCompleted: "yes"}
	case d.in(20): // missing, or not made yet though it binds immediately
		if d.in(50) {
			return
		}
		now := storagev1.VolumeBindingImmediate
		class.VolumeBindingMode = &now
	default:
		for range d.IntN(3) {
			class.AllowedTopologies = append(class.AllowedTopologies, corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: corev1.LabelTopologyZone, Values: []string{one(d, "a", "b"), one(d, "b", "c")}},
			}})
		}
		if d.in(20) {
			c.Annotations = map[string]string{volume.AnnSelectedNode: one(d, "node-0", "node-1")}
		}
	}
	w.classes[name] = class
	w.claims[p.Namespace+"/"+name] = c
}
