package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// When the clusters of these tests were made, and when they were looked at.
func made() metav1.Time { return metav1.NewTime(time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)) }
func seen() metav1.Time { return metav1.NewTime(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)) }

// node is one of a node group of m5.2xlarge.
func node(i int) *corev1.Node {
	name, zone := fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", i/250, i%250), []string{"us-east-1a", "us-east-1b", "us-east-1c"}[i%3]
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: made(), Labels: map[string]string{
		label.Arch: "amd64", label.OS: "linux", label.Hostname: name, label.InstanceType: "m5.2xlarge", label.Zone: zone, label.Region: "us-east-1",
		"eks.amazonaws.com/nodegroup": "workers", "eks.amazonaws.com/capacityType": "ON_DEMAND",
	}}}
	n.Spec.ProviderID = fmt.Sprintf("aws:///%s/i-%017x", zone, i)
	n.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("7910m"), "memory": resource.MustParse("31482952Ki"), "pods": resource.MustParse("58"), "ephemeral-storage": resource.MustParse("76224326324"),
	}
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: seen()}}
	return n
}

// app is a Deployment with its ReplicaSet and its pods.
type app struct {
	name       string
	milli, mib int64
	on         []*corev1.Node // of each pod; nil for one that waits
	change     func(*corev1.PodSpec)
}

func (a app) add(c *Cluster) {
	labels := map[string]string{"app": a.name, "pod-template-hash": "6d4cf56db6"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		"cpu": *resource.NewMilliQuantity(a.milli, resource.DecimalSI), "memory": *resource.NewQuantity(a.mib<<20, resource.BinarySI),
	}}}}}
	if a.change != nil {
		a.change(&spec)
	}
	yes, replicas := true, int32(len(a.on))
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: a.name + "-6d4cf56db6", UID: types.UID("set-" + a.name), CreationTimestamp: made(), Labels: labels}}
	set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: a.name, UID: types.UID("deployment-" + a.name), Controller: &yes}}
	set.Spec.Replicas, set.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	c.Add(set)
	for i, n := range a.on {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("%s-%05d", set.Name, i), Labels: labels, CreationTimestamp: made()}, Spec: spec}
		p.UID = types.UID(p.Name)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID, Controller: &yes}}
		p.Status.Phase = corev1.PodPending
		if n != nil {
			p.Spec.NodeName, p.Status.Phase = n.Name, corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		c.Add(p)
	}
}

// groups is a small cluster of a node group, as people have them: half empty, with a database that
// must not be disturbed, a budget that allows nothing, and a pod that fits nowhere.
func groups() *Cluster {
	c := NewCluster()
	var nodes []*corev1.Node
	for i := range 9 {
		nodes = append(nodes, node(i))
		c.Add(nodes[i])
	}
	app{"web", 500, 1024, []*corev1.Node{nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5]}, nil}.add(c)
	app{"api", 1000, 2048, []*corev1.Node{nodes[0], nodes[1], nodes[2], nodes[6]}, nil}.add(c)
	app{"cache", 250, 8192, []*corev1.Node{nodes[3], nodes[7]}, nil}.add(c)
	app{"ledger", 2000, 16384, []*corev1.Node{nodes[8]}, nil}.add(c)
	app{"train", 4000, 8192, []*corev1.Node{nil}, func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"gpu": "yes"} }}.add(c)
	none := intstr.FromInt32(0)
	c.Add(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "ledger", UID: "budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ledger"}}},
	})
	return c
}

// crowd is a large cluster: half of its room is used.
func crowd(nodes, pods int) *Cluster {
	c, d := NewCluster(), rand.New(rand.NewPCG(1, 2))
	all, milli, mib := make([]*corev1.Node, nodes), make([]int64, nodes), make([]int64, nodes)
	for i := range all {
		all[i] = node(i)
		c.Add(all[i])
	}
	const each = 40
	for i := range pods / each {
		a := app{name: fmt.Sprintf("app-%d", i), milli: []int64{50, 100, 100, 250, 500}[d.IntN(5)]}
		a.mib = a.milli * []int64{1, 2, 4, 8}[d.IntN(4)]
		for range each {
			k := d.IntN(nodes)
			for milli[k]+a.milli > 7000 || mib[k]+a.mib > 28_000 {
				k = d.IntN(nodes)
			}
			milli[k], mib[k] = milli[k]+a.milli, mib[k]+a.mib
			a.on = append(a.on, all[k])
		}
		a.add(c)
	}
	return c
}

// deploymentOf is a Deployment as a manifest has it, with the template of the ReplicaSet.
func deploymentOf(set *appsv1.ReplicaSet, name string, replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	labels := map[string]string{"app": name}
	d.Spec.Replicas, d.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template = *set.Spec.Template.DeepCopy()
	d.Spec.Template.Labels = labels
	return d
}
