package claim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// marksInASweep is how many NodeClaims one sweep marks: nothing depends on the marks.
const marksInASweep = 100

// marks are the annotations by which Karpenter notes on a NodeClaim that its instance has the
// tags with the names of node, NodeClaim and cluster.
func marks() map[string]string {
	return map[string]string{awsv1.AnnotationTagged: v1.LabelTrue, awsv1.AnnotationClusterNameTagged: v1.LabelTrue}
}

// unmarked says whether the NodeClaim lacks marks that it may get: its node has joined, whose
// name the instance has to have.
func unmarked(claim *v1.NodeClaim) bool {
	for key, value := range marks() {
		if claim.Annotations[key] != value {
			return claim.DeletionTimestamp == nil && claim.Unread == "" && claim.Status.NodeName != ""
		}
	}
	return false
}

// mark marks the NodeClaims whose instance has its name by EC2's listing. It names an instance
// that had no name for some time, as its first naming may have failed; the next sweep sees
// the name. The instances have all other tags.
func (c *Collector) mark(ctx context.Context, tagged map[*v1.NodeClaim]aws.Instance) error {
	var faults []error
	names, marked := 0, 0
	claims := slices.SortedFunc(maps.Keys(tagged), func(a, b *v1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	for _, claim := range claims {
		i := tagged[claim]
		_, named := i.Tags[awsspec.TagName]
		up := claim.DeepCopy().Conditions().Get(v1.ConditionInitialized)
		switch {
		case named && marked < marksInASweep:
			marked++
			if _, err := c.patchMeta(ctx, claim, nil, marks()); !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				faults = append(faults, err)
			}
		case !named && names < tagsInASweep && up.IsTrue() && c.Now().Sub(up.LastTransitionTime.Time) >= listingLag:
			names++
			if c.setName(ctx, claim, i.ID, claim.Status.NodeName) != nil {
				names = tagsInASweep // the others are refused, too
			}
		}
	}
	return errors.Join(faults...)
}
