package world

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// machines is a world with one ready class, and machines of that class.
type machines struct {
	*World
	t       *testing.T
	class   *awsv1.EC2NodeClass
	now     time.Time
	version int
}

func newMachines(t *testing.T) *machines {
	t.Helper()
	m := &machines{t: t, now: time.Unix(1000, 0)}
	zone := catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}
	fact := func(name string, vcpu int, mib int64) catalog.Fact {
		return catalog.Fact{Name: name, Arch: "amd64", VCPU: vcpu, MemoryMiB: mib, ENIs: 3, IPv4PerENI: 10, UsageClasses: []string{label.OnDemand}}
	}
	market := catalog.Market{Zones: []catalog.Zone{zone}, Offered: map[string][]int{}, OnDemand: map[string]quantity.Money{}}
	facts := []catalog.Fact{fact("c5.large", 2, 4096), fact("m5.large", 2, 8192), fact("m5.xlarge", 4, 16384)}
	for _, f := range facts {
		market.Offered[f.Name], market.OnDemand[f.Name] = []int{0}, 100
	}
	m.World = New(facts, market, func() time.Time { return m.now })
	m.class = &awsv1.EC2NodeClass{ObjectMeta: meta("default", 1)}
	m.class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: zone.Name, ZoneID: zone.ID}}
	m.class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	m.class.Status.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	m.Observe(m.class)
	return m
}

// planned is what plans count on for a node of the type.
func (m *machines) planned(instanceType string) catalog.InstanceType {
	m.t.Helper()
	s, faults := m.Snapshot()
	if len(faults) > 0 {
		m.t.Fatal(faults)
	}
	class, _ := s.Class("default")
	for _, x := range class.Types {
		if x.Name == instanceType {
			return x
		}
	}
	m.t.Fatalf("no type %s in %v", instanceType, class)
	return catalog.InstanceType{}
}

func (m *machines) next(name string) metav1.ObjectMeta {
	m.version++
	return meta(name, 1+m.version)
}

func (m *machines) claim(name, instanceType string) *v1.NodeClaim {
	c := nodeClaim(name, 1)
	c.ObjectMeta = m.next(name)
	c.Labels = map[string]string{label.InstanceType: instanceType}
	c.Annotations = drift.ClassStamp(m.class)
	c.Status.ProviderID, c.Status.ImageID = "aws:///us-west-2a/i-"+name, m.class.Status.AMIs[0].ID
	return c
}

func (m *machines) node(name string, r quantity.Resources) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: m.next(name), Spec: corev1.NodeSpec{ProviderID: "aws:///us-west-2a/i-" + name},
		Status: corev1.NodeStatus{Allocatable: translate.ResourceList(r)},
	}
}

// report lets a machine of the type join that has so much for pods.
func (m *machines) report(name, instanceType string, r quantity.Resources) {
	m.Observe(m.claim(name, instanceType))
	m.Observe(m.node(name, r))
}

// The options are about instances in general; a node of the type knows better where it has less.
func TestWorld_PlansCountOnTheOptionsOverheadAndOnNoMoreThanNodesReport(t *testing.T) {
	m := newMachines(t)
	plain := m.planned("m5.large").Allocatable
	m.KeepFromPods(catalog.Overhead{ReservedENIs: 1})
	m.class = m.class.DeepCopy()
	m.class.ObjectMeta = m.next("default")
	m.Observe(m.class)
	listed := m.planned("m5.large").Allocatable
	if listed.PodSlots != 20 || listed.MemoryBytes <= plain.MemoryBytes {
		t.Fatalf("planned %s, want 20 pods and more memory than of %s", listed, plain)
	}
	m.report("a", "m5.large", plain)
	if got := m.planned("m5.large").Allocatable; got.MemoryBytes != plain.MemoryBytes || got.PodSlots != 20 {
		t.Errorf("planned %s after a report of %s", got, plain)
	}
}

func less(r quantity.Resources, name string, by int64) quantity.Resources {
	return r.With(name, r.Get(name)-by)
}

func TestWorld_PlansNeverCountOnMoreThanANodeOfTheTypeReported(t *testing.T) {
	for _, name := range []string{quantity.CPU, quantity.Memory, quantity.EphemeralStorage, quantity.Pods} {
		for _, nodeFirst := range []bool{false, true} {
			m := newMachines(t)
			listed := m.planned("m5.large")
			small := less(listed.Allocatable, name, 7)
			claim, node := m.claim("a", "m5.large"), m.node("a", small)
			if nodeFirst {
				m.Observe(node)
				m.Observe(claim)
			} else {
				m.Observe(claim)
				m.Observe(node)
			}
			check := func(when string) {
				t.Helper()
				got := m.planned("m5.large")
				if got.Allocatable.Compare(small) != 0 || fmt.Sprint(got.Smaller) != fmt.Sprint([]catalog.Smaller{{Resource: name, Listed: listed.Allocatable.Get(name), Node: "a"}}) {
					t.Errorf("%s, %s: %s planned, want %s (%v)", name, when, got.Allocatable, small, got.Smaller)
				}
			}
			check("while the node is there")
			m.Forget(node)
			m.Forget(claim)
			check("when it is gone")
			m.report("b", "m5.large", listed.Allocatable)
			check("after a larger one")
		}
	}
}

// Huge pages are taken from the memory that pods can use. No type of the catalogue has any.
func TestWorld_HugePagesThatComeLaterTakeMemory(t *testing.T) {
	m := newMachines(t)
	listed := m.planned("m5.large").Allocatable
	m.report("a", "m5.large", listed)
	n := m.node("a", less(listed, quantity.Memory, 1<<30))
	n.Status.Allocatable["hugepages-2Mi"] = resource.MustParse("1Gi")
	m.Observe(n)
	if got := m.planned("m5.large").Allocatable; got.Compare(less(listed, quantity.Memory, 1<<30)) != 0 {
		t.Errorf("planned with %s of %s", got, listed)
	}
	m.Observe(m.node("a", listed)) // the node takes it back
	if got := m.planned("m5.large").Allocatable; got.Compare(listed) != 0 {
		t.Errorf("planned with %s of %s after the node had all of it again", got, listed)
	}
}

func TestWorld_WhatIsLateIsNotSmall(t *testing.T) {
	m := newMachines(t)
	listed := m.planned("m5.large").Allocatable
	m.report("a", "m5.large", quantity.Resources{})
	m.report("b", "m5.large", quantity.Resources{MilliCPU: listed.MilliCPU, MemoryBytes: listed.MemoryBytes, PodSlots: listed.PodSlots})
	if got := m.planned("m5.large"); got.Allocatable.Compare(listed) != 0 || len(got.Smaller) > 0 {
		t.Errorf("planned with %s of %s", got.Allocatable, listed)
	}
}

func TestWorld_MoreThanTheCatalogueSaysIsNotBelieved(t *testing.T) {
	m := newMachines(t)
	listed := m.planned("m5.large").Allocatable
	m.report("a", "m5.large", less(listed, quantity.Memory, -1<<30))
	if got := m.planned("m5.large").Allocatable; got.Compare(listed) != 0 {
		t.Errorf("planned with %s of %s", got, listed)
	}
}

const gpu = "nvidia.com/gpu"

// newMachinesWithGPUs returns machines of types with four GPUs, and what is planned for one.
func newMachinesWithGPUs(t *testing.T) (*machines, catalog.InstanceType) {
	t.Helper()
	m := newMachines(t)
	for i := range m.facts {
		m.facts[i].GPUManufacturer, m.facts[i].GPUName, m.facts[i].GPUCount = "nvidia", "t4", 4
	}
	m.Sell(m.facts, m.market)
	return m, m.planned("m5.large")
}

// What a NodeClaim promises may be less than what the catalogue says, because of earlier nodes.
func TestWorld_PlansCountOnNoMoreDevicesThanTheLastTwoNodesHave(t *testing.T) {
	m, listed := newMachinesWithGPUs(t)
	if listed.Allocatable.Get(gpu) != 4 {
		t.Fatalf("the catalogue says %s", listed.Allocatable)
	}
	for i, want := range []int64{4, 3, 3} {
		name := fmt.Sprint("n", i)
		m.now = m.now.Add(time.Minute)
		c, n := m.claim(name, "m5.large"), m.node(name, listed.Allocatable.With(gpu, 3))
		c.Spec.Resources.Requests = corev1.ResourceList{gpu: resource.MustParse("1")}
		c.Status.Capacity, c.Status.Allocatable = translate.ResourceList(listed.Capacity), translate.ResourceList(m.planned("m5.large").Allocatable)
		n.CreationTimestamp = metav1.NewTime(m.now)
		m.Observe(c)
		m.Observe(n)
		if got := m.planned("m5.large").Allocatable; got.Get(gpu) != want {
			t.Errorf("after %d nodes: %d devices planned, want %d", i+1, got.Get(gpu), want)
		}
	}
}

// Branch interfaces and EFA are reported only where their plugins run. Nodes that were not made
// for them say nothing about them.
func TestWorld_WhatANodeWasNotMadeForIsNotMissing(t *testing.T) {
	m, listed := newMachinesWithGPUs(t)
	for i := range 3 {
		name := fmt.Sprint("n", i)
		m.now = m.now.Add(time.Hour)
		c, n := m.claim(name, "m5.large"), m.node(name, listed.Allocatable.With(gpu, 0))
		c.Status.Capacity, c.Status.Allocatable = translate.ResourceList(listed.Capacity), translate.ResourceList(listed.Allocatable)
		n.CreationTimestamp = metav1.NewTime(m.now.Add(-30 * time.Minute))
		m.Observe(c)
		m.Observe(n)
	}
	if got := m.planned("m5.large"); got.Allocatable.Get(gpu) != 4 || len(got.Smaller) > 0 {
		t.Errorf("planned with %s, smaller %v", got.Allocatable, got.Smaller)
	}
}

// A class that is mended starts anew, and so does another image. Nodes that were made before
// say nothing about those that come.
func TestWorld_AReportCountsForTheSpecAndImageOfTheNodeAlone(t *testing.T) {
	more, data := resource.MustParse("20Gi"), "#!/bin/sh"
	for what, mend := range map[string]func(*awsv1.EC2NodeClass){
		"user data": func(c *awsv1.EC2NodeClass) { c.Spec.UserData = &data },
		"image":     func(c *awsv1.EC2NodeClass) { c.Status.AMIs = []awsv1.AMI{{ID: "ami-2"}} },
		"kubelet": func(c *awsv1.EC2NodeClass) {
			c.Spec.Kubelet = &awsv1.KubeletConfiguration{EvictionSoftGracePeriod: map[string]string{"memory.available": "1m"}}
		},
		"disk": func(c *awsv1.EC2NodeClass) {
			root := "/dev/xvda"
			c.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{DeviceName: &root, EBS: &awsv1.BlockDevice{VolumeSize: more, Encrypted: new(bool)}}}
		},
	} {
		m := newMachines(t)
		listed := m.planned("m5.large").Allocatable
		small := less(listed, quantity.Memory, 5)
		m.report("a", "m5.large", small)
		old := m.class
		m.class = old.DeepCopy()
		m.class.ResourceVersion = "50"
		mend(m.class)
		m.Observe(m.class)
		again := m.node("a", small)
		again.ResourceVersion = "51"
		m.Observe(again)
		if got := m.planned("m5.large").Allocatable; got.Compare(listed) != 0 {
			t.Errorf("another %s: planned with %s of %s", what, got, listed)
		}
		back := old.DeepCopy()
		back.ResourceVersion = "52"
		m.Observe(back)
		if got := m.planned("m5.large").Allocatable; got.Compare(small) != 0 {
			t.Errorf("the former %s: planned with %s, want %s", what, got, small)
		}
	}
}

func TestWorld_AReportOfANodeThatAnotherSpecMadeIsIgnored(t *testing.T) {
	for what, change := range map[string]func(*v1.NodeClaim){
		"hash":    func(c *v1.NodeClaim) { c.Annotations[awsv1.AnnotationNodeClassHash] = "of Karpenter" },
		"version": func(c *v1.NodeClaim) { c.Annotations[awsv1.AnnotationNodeClassHashVersion] = "v4" },
		"image":   func(c *v1.NodeClaim) { c.Status.ImageID = "ami-0" },
		"class":   func(c *v1.NodeClaim) { c.Spec.NodeClassRef.Name = "other" },
		"type":    func(c *v1.NodeClaim) { delete(c.Labels, label.InstanceType) },
	} {
		m := newMachines(t)
		listed := m.planned("m5.large").Allocatable
		c := m.claim("a", "m5.large")
		change(c)
		m.Observe(c)
		m.Observe(m.node("a", less(listed, quantity.Memory, 5)))
		if got := m.planned("m5.large").Allocatable; got.Compare(listed) != 0 {
			t.Errorf("another %s: planned with %s of %s", what, got, listed)
		}
	}
}

func TestSell_KeepsWhatNodesHaveReported(t *testing.T) {
	m := newMachines(t)
	listed := m.planned("m5.large").Allocatable
	small := less(listed, quantity.Memory, 5)
	m.report("a", "m5.large", small)
	m.Sell(m.facts, m.market)
	if got := m.planned("m5.large").Allocatable; got.Compare(small) != 0 {
		t.Errorf("planned with %s, want %s", got, small)
	}
	m.now = m.now.Add(catalog.ReportLife)
	m.Sell(m.facts, m.market)
	if got := m.planned("m5.large").Allocatable; got.Compare(listed) != 0 {
		t.Errorf("planned with %s of %s when the report is too old", got, listed)
	}
}
