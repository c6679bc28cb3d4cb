package drift

import (
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// PoolStamp is the annotations that say which template a NodeClaim is made from, and
// which one the NodePool has.
func PoolStamp(p *v1.NodePool) map[string]string { return poolStamp(PoolHash(p)) }

// Stamp is PoolStamp of the NodePool that was read. It hashes nothing.
func (p *Pool) Stamp() map[string]string { return poolStamp(p.hash) }

func poolStamp(hash string) map[string]string {
	return map[string]string{v1.AnnotationNodePoolHash: hash, v1.AnnotationNodePoolHashVersion: Version}
}

// ClassStamp is the annotations that say which spec an instance is launched with, and
// which one the EC2NodeClass has.
func ClassStamp(c *awsv1.EC2NodeClass) map[string]string { return classStamp(ClassHash(c)) }

// Stamp is ClassStamp of the EC2NodeClass that was read. It hashes nothing.
func (c *Class) Stamp() map[string]string { return classStamp(c.hash) }

func classStamp(hash string) map[string]string {
	return map[string]string{awsv1.AnnotationNodeClassHash: hash, awsv1.AnnotationNodeClassHashVersion: Version}
}

// Restamp returns the annotations that a NodeClaim lacks whose hashes are of another
// version, such as Karpenter's: the NodeClaim is taken to be what its pool and class ask
// for now. If Karpenter found static drift before, its hash stays, so that the drift
// does. pool and class may be nil.
func Restamp(c *v1.NodeClaim, pool *Pool, class *Class) map[string]string {
	out := map[string]string{}
	found := Reason("")
	if x := c.Conditions().Get(v1.ConditionDrifted); x.IsTrue() {
		found = Reason(x.Reason)
	}
	if pool != nil && c.Annotations[v1.AnnotationNodePoolHashVersion] != Version {
		out[v1.AnnotationNodePoolHashVersion] = Version
		if found != NodePoolDrifted {
			out[v1.AnnotationNodePoolHash] = pool.hash
		}
	}
	if class != nil && c.Annotations[awsv1.AnnotationNodeClassHashVersion] != Version {
		out[awsv1.AnnotationNodeClassHashVersion] = Version
		if found != NodeClassDrift {
			out[awsv1.AnnotationNodeClassHash] = class.hash
		}
	}
	return out
}

// MadeByAnother says whether Karpenter made the NodeClaim for a NodePool, by the version of
// the hash that it wrote. NodeClaims that users make have no hash.
func MadeByAnother(c *v1.NodeClaim) bool {
	return ByAnother(c.Annotations[v1.AnnotationNodePoolHashVersion])
}

// ByAnother says whether Karpenter wrote a hash of this version.
func ByAnother(version string) bool { return version != "" && !strings.HasPrefix(version, ours) }

// MadeByDaemon says whether the daemon made the NodeClaim for a NodePool, or has taken it
// over.
func MadeByDaemon(c *v1.NodeClaim) bool {
	return strings.HasPrefix(c.Annotations[v1.AnnotationNodePoolHashVersion], ours)
}
