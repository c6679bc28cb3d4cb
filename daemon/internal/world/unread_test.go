package world

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

const wrong = " must be a list, and is a string\n"

func runningClaim(version int, unread v1.Unread) *v1.NodeClaim {
	c := nodeClaim("c", version)
	c.Labels = map[string]string{v1.LabelNodePool: "p"}
	c.Spec.ExpireAfter = &v1.NillableDuration{Duration: time.Second}
	c.Status.ProviderID, c.Status.NodeName = "aws:///a/i-1", "n"
	for _, is := range []string{v1.ConditionLaunched, v1.ConditionRegistered, v1.ConditionInitialized} {
		c.Conditions().SetTrue(is, time.Unix(900, 0))
	}
	if unread != "" {
		c.Unread = unread
		if unread.In("status") {
			c.Status = v1.NodeClaimStatus{}
		}
		c.Spec.NodeClassRef = v1.NodeClassReference{} // it was left out, too
	}
	return c
}

func nodeOfClaim(version int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: meta("n", version), Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1"}}
	n.OwnerReferences = []metav1.OwnerReference{{Kind: v1.NodeClaimKind, Name: "c", UID: "uid-c"}}
	return n
}

func TestWorld_ANodeClaimThatCannotBeReadKeepsItsNodeAndCounts(t *testing.T) {
	for name, observe := range map[string]func(*World, v1.Unread){
		"from the start, before its node": func(w *World, u v1.Unread) { w.Observe(runningClaim(2, u)); w.Observe(nodeOfClaim(1)) },
		"from the start, after its node":  func(w *World, u v1.Unread) { w.Observe(nodeOfClaim(1)); w.Observe(runningClaim(2, u)) },
		"since a change": func(w *World, u v1.Unread) {
			w.Observe(runningClaim(1, ""))
			w.Observe(nodeOfClaim(1))
			_, _ = w.Snapshot()
			w.Observe(runningClaim(2, u))
		},
	} {
		for _, field := range []string{"spec.taints", "status.providerID", "status"} {
			w := newWorld()
			observe(w, v1.Unread(field+wrong))
			s, faults := w.Snapshot()
			c, there := s.Claim("c")
			if !there || len(faults) > 0 || c.Pool != "p" || c.Node != "n" || c.InstanceID != "i-1" || !c.Initialized || !c.ExpiresAt.IsZero() {
				t.Errorf("%s, %s: NodeClaim %+v, faults %v", name, field, c, faults)
			}
			if n, _ := s.Node("n"); n.Claim != "c" || !n.DoNotDisrupt {
				t.Errorf("%s, %s: node %+v", name, field, n)
			}
			if got, owned := w.NodeClaimOf("i-1"); !owned || got.Name != "c" {
				t.Errorf("%s, %s: nothing owns the instance", name, field)
			}
			w.Observe(runningClaim(3, ""))
			s, _ = w.Snapshot()
			c, _ = s.Claim("c")
			if n, _ := s.Node("n"); n.DoNotDisrupt || c.ExpiresAt.IsZero() || c.Class != "default" || c.Node != "n" {
				t.Errorf("%s, %s: once it can be read: %+v, %+v", name, field, c, n)
			}
		}
	}
}

func TestWorld_ANodeClaimThatCannotBeReadAndHasNoNodeIsUpAndHasNoRoom(t *testing.T) {
	w := newWorld()
	c := runningClaim(1, "status"+wrong)
	w.Observe(c)
	s, _ := w.Snapshot()
	got, there := s.Claim("c")
	if !there || !got.Registered || !got.Launched || got.Allocatable.PodSlots != 0 || got.Leaving() {
		t.Errorf("%+v", got)
	}
}

func TestWorld_NothingIsLaunchedFromWhatCannotBeReadUntilItCan(t *testing.T) {
	w := newWorld()
	p := &v1.NodePool{ObjectMeta: meta("p", 1)}
	p.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "k"}
	k := &awsv1.EC2NodeClass{ObjectMeta: meta("k", 1)}
	for _, is := range awsv1.ReadyConditions() {
		k.Conditions().SetTrue(is, time.Unix(900, 0))
	}
	w.Observe(p)
	w.Observe(k)
	ready := func(when string, want bool, why string) {
		t.Helper()
		s, faults := w.Snapshot()
		pool, there := s.Pool("p")
		class, known := s.Class("k")
		if !there || !known || pool.Ready != want || class.Ready != want || pool.NotReady != "" == (why == "") || class.NotReady != "" == (why == "") || len(faults) > 0 {
			t.Errorf("%s: %+v, %+v, faults %v", when, pool, class, faults)
		}
	}
	ready("at first", true, "")
	for version, change := range []func(*v1.NodePool){
		func(p *v1.NodePool) { p.Unread = "spec.weight must be a whole number of 32 bits, and is a string\n" },
		func(p *v1.NodePool) {
			p.Unread, p.Spec = "spec must be an object, and is a string\n", v1.NodePoolSpec{}
		},
	} {
		worse, bad := p.DeepCopy(), k.DeepCopy()
		worse.ResourceVersion, bad.ResourceVersion = meta("", 3*version+2).ResourceVersion, meta("", 3*version+2).ResourceVersion
		change(worse)
		bad.Unread = "spec.kubelet.maxPods must be a whole number of 32 bits, and is a string\n"
		w.Observe(worse)
		w.Observe(bad)
		ready("unreadable", false, "it cannot be read")
		poolOnly := p.DeepCopy()
		poolOnly.ResourceVersion = meta("", 3*version+3).ResourceVersion
		w.Observe(poolOnly)
		ready("the class alone unreadable, so no node of its pool goes", false, "it cannot be read")
		again, good := p.DeepCopy(), k.DeepCopy()
		again.ResourceVersion, good.ResourceVersion = meta("", 3*version+4).ResourceVersion, meta("", 3*version+4).ResourceVersion
		w.Observe(again)
		w.Observe(good)
		ready("corrected", true, "")
	}
}
