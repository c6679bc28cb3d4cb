package simulate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// karpenters is a cluster that Karpenter runs: three nodes of a pool, with their NodeClaims and its
// hashes, and a class whose status is found.
func karpenters(change func(i int, c *v1.NodeClaim)) *Cluster {
	c := NewCluster()
	pool, class := standInPool(), standInClass("default")
	pool.Name, pool.UID, pool.Spec.Template.Spec.NodeClassRef.Name = "general", "general", "default"
	class.UID, class.Generation = "default", 1
	class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-0a", Zone: "us-east-1a"}, {ID: "subnet-0b", Zone: "us-east-1b"}, {ID: "subnet-0c", Zone: "us-east-1c"}}
	class.Status.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-0a"}}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-0b", Requirements: []awsv1.AMIRequirement{{Key: label.Arch, Operator: "In", Values: []string{"amd64"}}}}}
	for _, x := range awsv1.ReadyConditions() {
		class.Conditions().SetTrue(x, made().Time)
	}
	c.Add(pool)
	c.Add(class)
	var nodes []*corev1.Node
	for i := range 3 {
		n := node(i)
		n.Labels[v1.LabelNodePool], n.Labels[label.CapacityType] = "general", label.OnDemand
		nodes = append(nodes, n)
		c.Add(n)
		claim := c.claimFor(n, "general")
		claim.Name, claim.UID, claim.ResourceVersion = fmt.Sprintf("general-%d", i), types.UID(fmt.Sprintf("claim-%d", i)), "7"
		claim.Status.ImageID = "ami-0b"
		claim.Annotations = map[string]string{
			v1.AnnotationNodePoolHash: "1234567890", v1.AnnotationNodePoolHashVersion: "v3", awsv1.AnnotationNodeClassHash: "9876543210", awsv1.AnnotationNodeClassHashVersion: "v5",
		}
		for key, value := range map[string]string{"karpenter.k8s.aws/instance-category": "m", "karpenter.k8s.aws/instance-generation": "5", awsv1.LabelInstanceCPU: "8", awsv1.LabelInstanceMemory: "32768"} {
			claim.Labels[key] = value
		}
		if change != nil {
			change(i, claim)
		}
		c.Add(claim)
	}
	app{"web", 3500, 8192, []*corev1.Node{nodes[0], nodes[0], nodes[1], nodes[1], nodes[2], nodes[2]}, nil}.add(c)
	return c
}

// removedFor counts the removals for the reason.
func removedFor(f *Forecast, why string) (n int) {
	for _, x := range f.WouldRemove.List {
		if x.Why == why {
			n++
		}
	}
	return n
}

func reasons(d Drift) (out []string) {
	for _, x := range d.Drifted {
		out = append(out, x.NodeClaim+" "+x.Reason)
	}
	return out
}

// The hashes of Karpenter are of another version than the daemon's: they are written anew.
func TestRun_ATakeOverFromKarpenterDriftsNothing(t *testing.T) {
	t.Parallel()
	r := run(t, karpenters(nil), hour())
	if r.Drift.NodeClaims != 3 || len(r.Drift.Drifted) > 0 || removedFor(&r.Forecast, "Drifted") > 0 {
		t.Errorf("%+v, removals %+v", r.Drift, r.WouldRemove)
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "3 NodeClaims with hashes of Karpenter") }) {
		t.Errorf("notes %q", r.Notes)
	}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil || !strings.Contains(b.String(), "HAS DRIFTED\nNone of 3 NodeClaims.") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestRun_NodesThatHaveDriftedAreNamedAndReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(i int, c *v1.NodeClaim)
		want   string
	}{
		"found by Karpenter": {func(_ int, c *v1.NodeClaim) {
			c.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, string(drift.NodePoolDrifted), "", made().Time)
		}, string(drift.NodePoolDrifted)},
		"an older image":  {func(_ int, c *v1.NodeClaim) { c.Status.ImageID = "ami-0a" }, string(drift.AMIDrift)},
		"another hash":    {func(_ int, c *v1.NodeClaim) { c.Annotations[awsv1.AnnotationNodeClassHashVersion] = drift.Version }, string(drift.NodeClassDrift)},
		"another machine": {func(_ int, c *v1.NodeClaim) { c.Labels["karpenter.k8s.aws/instance-generation"] = "4" }, string(drift.RequirementsDrifted)},
	} {
		r := run(t, karpenters(func(i int, claim *v1.NodeClaim) {
			if i == 1 {
				c.change(i, claim)
			}
		}), hour())
		if want := []string{"general-1 " + c.want}; !slices.Equal(reasons(r.Drift), want) || r.Drift.Drifted[0].Message == "" && name != "found by Karpenter" {
			t.Errorf("%s: %+v, want %s", name, r.Drift, want)
		}
		if n := removedFor(&r.Forecast, "Drifted"); n != 1 || r.Then.Pods != 6 || !r.Settled {
			t.Errorf("%s: %d nodes are removed for drift; %+v", name, n, r.WouldRemove)
		}
		var b bytes.Buffer
		if err := r.WriteTable(&b); err != nil || !strings.Contains(b.String(), "1 of 3 NodeClaims: ") || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// What stands in for what the input lacks is not what a node was made from.
func TestRun_WhatStandsInIsNoDrift(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(c *Cluster){
		"no class":      func(c *Cluster) { delete(c.classes, "default") },
		"no status":     func(c *Cluster) { c.classes["default"].Status = awsv1.EC2NodeClassStatus{} },
		"no pool":       func(c *Cluster) { delete(c.pools, "general") },
		"no NodeClaims": func(c *Cluster) { clear(c.claims) },
		"nodes of another pool": func(c *Cluster) {
			clear(c.claims)
			c.pools["general"].Name = "x"
			c.pools = map[string]*v1.NodePool{"x": c.pools["general"]}
		},
	} {
		c := karpenters(func(_ int, claim *v1.NodeClaim) {
			claim.Annotations[awsv1.AnnotationNodeClassHashVersion], claim.Annotations[v1.AnnotationNodePoolHashVersion] = "v5", "v3"
			if name == "no class" {
				claim.Annotations[awsv1.AnnotationNodeClassHashVersion] = drift.Version
			}
		})
		lose(c)
		o := hour()
		o.Nodes = AllNodes
		if r := run(t, c, o); len(r.Drift.Drifted) > 0 || removedFor(&r.Forecast, "Drifted") > 0 {
			t.Errorf("%s: %+v", name, r.Drift)
		}
	}
}

// A node of no NodePool has no NodeClaim that anybody would compare with one.
func TestRun_NodesOfNoNodePoolAreNotCompared(t *testing.T) {
	t.Parallel()
	c := groups()
	pool := standInPool()
	pool.Name, pool.UID = "arm", "arm"
	pool.Spec.Template.Spec.Requirements[0].Values = []string{"arm64"}
	c.Add(pool)
	o := hour()
	o.Nodes = AllNodes
	if r := run(t, c, o); r.Drift.NodeClaims != 0 || removedFor(&r.Forecast, "Drifted") > 0 {
		t.Errorf("%+v", r.Drift)
	}
}

// The daemon has taken the cluster over when the change is made.
func TestRun_WithAnotherTemplateTheNodesDrift(t *testing.T) {
	t.Parallel()
	c, o := karpenters(nil), hour()
	o.For = 4 * time.Hour
	changed := c.pools["general"].DeepCopy()
	changed.Spec.Template.ObjectMeta.Labels = map[string]string{"team": "web"}
	o.With = []metav1.Object{changed}
	r := run(t, c, o)
	if len(r.Drift.Drifted) > 0 || r.With.Drift.NodeClaims != 3 || len(r.With.Drift.Drifted) != 3 || r.With.Drift.Drifted[0].Reason != string(drift.NodePoolDrifted) || removedFor(r.With, "Drifted") != 3 {
		t.Errorf("%+v, with it %+v, removals %+v", r.Drift, r.With.Drift, r.With.WouldRemove)
	}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil || !strings.Contains(b.String(), "WITH THE CHANGES: HAS DRIFTED") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
