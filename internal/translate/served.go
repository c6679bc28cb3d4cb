package translate

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Serves says whether the daemon serves objects with this reference to a class: it ignores
// NodePools and NodeClaims whose class is of another kind, such as those of EKS Auto Mode.
// An object whose reference cannot be read may be the daemon's own, so it counts as one.
func Serves(ref v1.NodeClassReference, unread v1.Unread) bool {
	return (ref.Group == awsv1.Group || ref.Group == "" && unread != "") && (ref.Kind == awsv1.EC2NodeClassKind || ref.Kind == "" && unread != "")
}

// MayReferTo says whether the NodeClaim refers to the class, or may do so because its
// reference cannot be read.
func MayReferTo(c *v1.NodeClaim, class string) bool {
	return c.Spec.NodeClassRef.Name == class || c.Spec.NodeClassRef.Name == "" && c.Unread != ""
}
