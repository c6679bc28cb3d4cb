package translate

import (
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// FromProvisioner says whether the NodePool exists in memory only, made of a Provisioner.
// Its type says so, which no API server gives to a NodePool.
func FromProvisioner(p *v1.NodePool) bool { return p.Kind == legacy.KindProvisioner }

// FromTemplate says whether the EC2NodeClass exists in memory only, made of an
// AWSNodeTemplate or of the inline provider of a Provisioner.
func FromTemplate(c *awsv1.EC2NodeClass) bool { return c.Kind == legacy.KindAWSNodeTemplate }

// restricted says whether a NodeClaim must not require the label: the API server would
// refuse it. A Provisioner may. The labels of the NodeClaim have the value instead.
func restricted(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	core := domain == v1.Group || strings.HasSuffix(domain, "."+v1.Group)
	return core && key != label.CapacityType && key != v1.LabelNodePool
}

// ExpiresWith is when the NodeClaim expires by the expireAfter that its pool has now; zero
// for never. Nodes of a Provisioner follow a change of ttlSecondsUntilExpired, by which its
// users roll them.
func ExpiresWith(p *v1.NodePool, c *v1.NodeClaim) time.Time {
	after := p.Spec.Template.Spec.ExpireAfter
	if after == nil || after.Never {
		return time.Time{}
	}
	return c.CreationTimestamp.Add(after.Duration)
}

// RefusedClass says why nothing is made from an EC2NodeClass that cannot be read, or that
// exists in memory only; "" for any other class.
func RefusedClass(c *awsv1.EC2NodeClass) string {
	if !FromTemplate(c) {
		return c.Unread.Explain(awsv1.EC2NodeClassKind, c.Name)
	}
	return c.Annotations[v1.AnnotationRefused]
}

// refusedPool says the same of a NodePool.
func refusedPool(p *v1.NodePool) string {
	if !FromProvisioner(p) {
		return p.Unread.Explain(v1.NodePoolKind, p.Name)
	}
	return p.Annotations[v1.AnnotationRefused]
}
