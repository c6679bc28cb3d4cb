package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// What a cluster would know by itself, and files do not say, has a stand-in; each is in the notes
// of the report.

// standInName is that of the pool and the class of a cluster that has none.
const standInName = "simulated"

// standInUID is that of the pool; claimUID and classUID begin those of NodeClaims and classes that are
// made up, and standInImage the ids of images.
const standInUID, claimUID, classUID, standInImage = "simulated-pool", "simulated-claim-", "simulated-class-", "ami-simulated-"

// complete adds what stands in. The facts are of the instance types of nodes.
func (c *Cluster) complete(zones []catalog.Zone, nodes Nodes, facts []catalog.Fact) {
	c.ownSets()
	c.allowance()
	if len(c.launching()) == 0 {
		c.Note("the cluster has no NodePool that launches nodes for pods: %q stands in, which launches amd64 instances on demand of the families c, m and r from the fifth generation on; give another by --with", standInName)
		c.pools[standInName] = standInPool()
	}
	homes := c.homes(nodes, facts)
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		p := c.pools[name]
		withDefaults(p)
		if ref := p.Spec.Template.Spec.NodeClassRef; ref.Group == awsv1.Group && c.classes[ref.Name] == nil {
			if name != standInName {
				c.Note("NodePool %s: its EC2NodeClass %s is not in the input: one with the images of AL2023 stands in", name, ref.Name)
			}
			c.classes[ref.Name] = standInClass(ref.Name)
		}
	}
	var guessed []string
	for _, name := range slices.Sorted(maps.Keys(c.classes)) {
		if class := c.classes[name]; len(class.Status.Subnets) == 0 {
			c.found(class, zones)
			guessed = append(guessed, name)
		}
	}
	if len(guessed) > 0 {
		c.Note("no status of EC2NodeClass %s: it counts as ready, with images for amd64 and arm64 and with subnets in %s", strings.Join(guessed, ", "), strings.Join(names(zones), ", "))
	}
	c.own(nodes, homes)
}

func names(zones []catalog.Zone) []string {
	out := make([]string, len(zones))
	for i, z := range zones {
		out[i] = z.Name
	}
	return out
}

// withDefaults gives the pool what its definition would.
func withDefaults(p *v1.NodePool) {
	d := &p.Spec.Disruption
	if d.ConsolidationPolicy == "" {
		d.ConsolidationPolicy = v1.ConsolidationWhenEmptyOrUnderutilized
	}
	if d.Budgets == nil {
		d.Budgets = []v1.Budget{{Nodes: "10%"}}
	}
}

// standInPool is the pool that guides of Karpenter begin with.
func standInPool() *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: standInName, UID: standInUID}}
	p.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: standInName}
	p.Spec.Template.Spec.Requirements = []v1.Requirement{
		{Key: label.Arch, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
		{Key: label.OS, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}},
		{Key: label.CapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{label.OnDemand}},
		{Key: catalog.LabelCategory, Operator: corev1.NodeSelectorOpIn, Values: []string{"c", "m", "r"}},
		{Key: catalog.LabelGeneration, Operator: corev1.NodeSelectorOpGt, Values: []string{"4"}},
	}
	return p
}

func standInClass(name string) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(classUID + name)}}
	c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	return c
}

// found gives the class the status that the daemon would find in AWS.
func (c *Cluster) found(class *awsv1.EC2NodeClass, zones []catalog.Zone) {
	s := &class.Status
	for i, z := range zones {
		s.Subnets = append(s.Subnets, awsv1.Subnet{ID: fmt.Sprintf("subnet-%d", i), Zone: z.Name, ZoneID: z.ID})
	}
	if len(s.SecurityGroups) == 0 {
		s.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-0"}}
	}
	if len(s.AMIs) == 0 {
		for _, arch := range []string{"amd64", "arm64"} {
			s.AMIs = append(s.AMIs, awsv1.AMI{ID: standInImage + arch, Requirements: []awsv1.AMIRequirement{{Key: label.Arch, Operator: "In", Values: []string{arch}}}})
		}
	}
	s.Conditions = nil
	for _, condition := range append(awsv1.ReadyConditions(), v1.ConditionReady) {
		s.Conditions = append(s.Conditions, v1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: condition, LastTransitionTime: metav1.NewTime(c.newest), ObservedGeneration: class.Generation})
	}
}

// ownSets makes the ReplicaSets of Deployments that have none, as in manifests.
func (c *Cluster) ownSets() {
	made := 0
	for _, key := range slices.Sorted(maps.Keys(c.deployments)) {
		d := c.deployments[key]
		if c.setOf(key) != nil {
			continue
		}
		yes := true
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: d.Namespace, Name: d.Name, UID: types.UID("simulated-set-" + key), CreationTimestamp: d.CreationTimestamp,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: &yes}},
			},
			Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
		}
		c.sets[key] = set
		made++
	}
	if made > 0 {
		c.Note("%s without a ReplicaSet: the pods count as declared", quantity.Count(int64(made), "Deployment"))
	}
}

// withoutStandIns forgets the pool that stood in, with the NodeClaims that were made up for its
// nodes.
func (c *Cluster) withoutStandIns() {
	if c.pools[standInName] == nil || c.pools[standInName].UID != standInUID {
		return
	}
	delete(c.pools, standInName)
	for name, claim := range c.claims {
		if claim.Labels[v1.LabelNodePool] == standInName && madeUp(claim) {
			delete(c.claims, name)
		}
	}
}

// allowance works out what PodDisruptionBudgets of manifests allow: nobody has written a status.
func (c *Cluster) allowance() {
	for _, name := range slices.Sorted(maps.Keys(c.budgets)) {
		b := c.budgets[name]
		if b.Status.ObservedGeneration != 0 || b.Status.ExpectedPods != 0 || b.Status.DisruptionsAllowed != 0 {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // whoever reads it says so
		}
		pods, ready := 0, 0
		for _, p := range c.pods() {
			if p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Labels)) {
				pods++
				if p.Node() != "" {
					ready++
				}
			}
		}
		allowed := 0
		switch {
		case b.Spec.MaxUnavailable != nil:
			if most, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, pods, true); err == nil {
				allowed = most - (pods - ready)
			}
		case b.Spec.MinAvailable != nil:
			if least, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, pods, true); err == nil {
				allowed = ready - least
			}
		}
		b.Status.DisruptionsAllowed = int32(max(0, allowed))
	}
}

// Nodes says which nodes may be replaced.
type Nodes string

// The choices.
const (
	OwnedNodes Nodes = "owned" // those of NodePools
	AllNodes   Nodes = "all"   // those of node groups and of other autoscalers, too
)

// own gives NodeClaims to nodes that have none: to those of NodePools, whose NodeClaims the input
// lacks, and with AllNodes to all that are an EC2 instance, each of the NodePool that homes says.
func (c *Cluster) own(which Nodes, homes map[string]string) {
	given := 0
	kept := map[string]int{}
	for n := range c.unclaimed() {
		pool := n.Labels[v1.LabelNodePool]
		owned := c.pools[pool] != nil
		if !owned && which != AllNodes {
			continue
		}
		if why := staysFor(n); !owned && why != "" {
			kept[why]++
			continue
		}
		if owned {
			given++
		} else {
			pool = homes[n.Name]
		}
		if n.Spec.ProviderID == "" {
			n.Spec.ProviderID = "aws:///" + n.Labels[label.Zone] + "/simulated-" + n.Name
		}
		c.claims["simulated-"+n.Name] = c.claimFor(n, pool)
	}
	if given > 0 {
		c.Note("%s of NodePools without a NodeClaim in the input: each counts as a node that is up", quantity.Count(int64(given), "node"))
	}
	for _, why := range slices.Sorted(maps.Keys(kept)) {
		c.Note("%s: %s; each stays as it is", quantity.Count(int64(kept[why]), "node"), why)
	}
	if len(homes) > 0 {
		c.Note("%s of no NodePool: each counts as if a NodePool had launched it, and may be replaced", quantity.Count(int64(len(homes)), "node"))
	}
}

// staysFor says why no NodePool can replace a node of none; "" if one can.
func staysFor(n *corev1.Node) string {
	_, control := n.Labels["node-role.kubernetes.io/control-plane"]
	id := n.Spec.ProviderID
	switch {
	case control:
		return "of the control plane"
	case n.Labels["eks.amazonaws.com/compute-type"] == "fargate":
		return "of Fargate"
	case n.Labels[label.OS] == "windows":
		return "of Windows, for which there are no prices"
	case id != "" && !strings.HasPrefix(id, "aws:///"):
		return "of another cloud than AWS"
	}
	return ""
}

// capacityType is how the node is paid for, as its labels say.
func capacityType(n *corev1.Node) string {
	for _, key := range []string{label.CapacityType, "eks.amazonaws.com/capacityType", "node.kubernetes.io/lifecycle", "alpha.eksctl.io/lifecycle"} {
		switch strings.ToLower(strings.ReplaceAll(n.Labels[key], "_", "-")) {
		case "spot", "ec2spot":
			return label.Spot
		case "on-demand", "ondemand", "normal", "od":
			return label.OnDemand
		}
	}
	return label.OnDemand
}

// claimFor is the NodeClaim of a node that is up.
func (c *Cluster) claimFor(n *corev1.Node, pool string) *v1.NodeClaim {
	p := c.pools[pool]
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "simulated-" + n.Name, UID: types.UID(claimUID + n.Name), CreationTimestamp: n.CreationTimestamp, Labels: maps.Clone(n.Labels),
	}}
	claim.Labels[v1.LabelNodePool], claim.Labels[label.CapacityType] = pool, capacityType(n)
	claim.Spec.NodeClassRef = p.Spec.Template.Spec.NodeClassRef
	claim.Spec.Requirements = []v1.Requirement{}
	claim.Status.NodeName, claim.Status.ProviderID = n.Name, n.Spec.ProviderID
	claim.Status.Capacity, claim.Status.Allocatable = n.Status.Capacity, n.Status.Allocatable
	for _, condition := range []string{v1.ConditionLaunched, v1.ConditionRegistered, v1.ConditionInitialized, v1.ConditionReady} {
		claim.Status.Conditions = append(claim.Status.Conditions, v1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: condition, LastTransitionTime: n.CreationTimestamp})
	}
	if n.CreationTimestamp.IsZero() {
		claim.CreationTimestamp = metav1.NewTime(c.newest.Add(-time.Hour))
	}
	return claim
}
