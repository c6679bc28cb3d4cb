package world

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// inMemoryPool is a NodePool made of a Provisioner; its nodes expire after so many seconds.
func inMemoryPool(version, seconds int) *v1.NodePool {
	p := &v1.NodePool{TypeMeta: metav1.TypeMeta{Kind: legacy.KindProvisioner}, ObjectMeta: meta("p", version)}
	p.Spec.Template.Spec.NodeClassRef = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}
	p.Spec.Template.Spec.ExpireAfter = &v1.NillableDuration{Duration: time.Duration(seconds) * time.Second}
	return p
}

func TestWorld_NodesOfAProvisionerExpireByWhatItSaysNow(t *testing.T) {
	w := newWorld()
	c := nodeClaim("c", 1)
	c.CreationTimestamp = metav1.NewTime(time.Unix(500, 0))
	c.Labels = map[string]string{v1.LabelNodePool: "p"}
	c.Spec.ExpireAfter = &v1.NillableDuration{Duration: time.Hour}
	w.Observe(c)
	expires := func() time.Time {
		t.Helper()
		s, faults := w.Snapshot()
		x, there := s.Claim("c")
		if !there || len(faults) > 0 {
			t.Fatalf("%t, %v", there, faults)
		}
		return x.ExpiresAt
	}
	at := func(seconds int64) time.Time { return time.Unix(500+seconds, 0) }
	if got := expires(); !got.Equal(at(3600)) {
		t.Errorf("without pool: %v", got)
	}
	pool := inMemoryPool(2, 60)
	w.Observe(pool)
	if got := expires(); !got.Equal(at(60)) {
		t.Errorf("with pool: %v", got)
	}
	pool = inMemoryPool(3, 30)
	w.Observe(pool)
	if got := expires(); !got.Equal(at(30)) {
		t.Errorf("lowered: %v", got)
	}
	w.Withdraw(pool)
	if got := expires(); !got.Equal(at(3600)) {
		t.Errorf("withdrawn: %v", got)
	}
	theirs := inMemoryPool(4, 10)
	theirs.Kind = v1.NodePoolKind
	w.Observe(theirs)
	if got := expires(); !got.Equal(at(3600)) {
		t.Errorf("with a NodePool of the cluster, whose NodeClaims have a time of their own: %v", got)
	}
}

func TestWorld_WithdrawnObjectMayComeBack(t *testing.T) {
	w := newWorld()
	p := inMemoryPool(2, 60)
	w.Observe(p)
	w.Withdraw(p)
	if _, there := w.NodePool("p"); there {
		t.Error("it is still there")
	}
	w.Observe(p)
	if _, there := w.NodePool("p"); !there {
		t.Error("it did not come back")
	}
}

// What it is made of may change without its version, such as names that are taken.
func TestWorld_ObjectInMemoryReplacesOneOfItsVersion(t *testing.T) {
	w := newWorld()
	w.Observe(inMemoryPool(2, 60))
	w.Observe(inMemoryPool(2, 30))
	if p, _ := w.NodePool("p"); p.Spec.Template.Spec.ExpireAfter.Duration != 30*time.Second {
		t.Errorf("expires after %v", p.Spec.Template.Spec.ExpireAfter.Duration)
	}
	w.Observe(inMemoryPool(1, 10))
	if p, _ := w.NodePool("p"); p.Spec.Template.Spec.ExpireAfter.Duration != 30*time.Second {
		t.Error("an older version replaced a newer one")
	}
}
