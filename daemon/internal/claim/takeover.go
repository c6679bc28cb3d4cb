package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
)

// tagsInASweep is how many instances get the daemon's tags in one sweep. EC2 refills the
// rate limit of CreateTags with some ten calls a second, and launches need it, too.
const tagsInASweep = 100

// madeByKarpenter says whether Karpenter made the NodeClaim, and neither recorded a launch
// nor left one to the daemon. Karpenter writes nothing before it calls EC2, so that nobody
// can tell whether it has.
func madeByKarpenter(claim *v1.NodeClaim) bool {
	return claim.Status.ProviderID == "" && claim.Annotations[v1.AnnotationLaunchAttempt] == "" && drift.MadeByAnother(claim)
}

// takeOver records the instance of a NodeClaim that is not Launched and has one. Otherwise
// it deletes the NodeClaim, and a new plan follows for its pods: an instance that Karpenter
// launched and did not record has no tag with the NodeClaim's name, so a launch could be
// the second for the NodeClaim. Such an instance is an orphan, which the Collector finds.
// A young NodeClaim waits: a Karpenter that was just stopped may still record a launch. The
// result is the time to the next call.
func (c *Controller) takeOver(ctx context.Context, claim *v1.NodeClaim) (time.Duration, error) {
	i, found, err := c.launchedBefore(ctx, claim)
	if err != nil {
		return 0, err
	}
	if found {
		order, err := c.order(claim)
		if err != nil {
			return c.launchFailed(ctx, claim, err)
		}
		return 0, c.launched(ctx, claim, order, aws.Launched{
			InstanceID: i.ID, InstanceType: i.Type, Zone: i.Zone, SubnetID: i.SubnetID, ImageID: i.ImageID,
			CapacityType: i.CapacityType, Reservation: i.Reservation,
		})
	}
	if left := listingLag - c.Now().Sub(claim.CreationTimestamp.Time); left > 0 {
		return left, nil
	}
	return 0, c.planAnew(ctx, claim)
}

// planAnew deletes a NodeClaim that Karpenter has made, if it has recorded nothing by now.
func (c *Controller) planAnew(ctx context.Context, claim *v1.NodeClaim) error {
	live, err := c.Claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // the watch is behind
	}
	if err != nil {
		return fmt.Errorf("nodeclaim %s get: %w", claim.Name, err)
	}
	if live.UID != claim.UID || live.DeletionTimestamp != nil || !madeByKarpenter(live) {
		c.World.Observe(live) // and that is looked at next
		return nil
	}
	c.Logger.Info("delete nodeclaim that Karpenter has made and not launched; its pods are planned anew", "nodeclaim", claim.Name)
	// Of exactly this version: if Karpenter records a launch now, the deletion is a conflict.
	err = c.Claims.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("nodeclaim %s delete: %w", claim.Name, err)
	}
	return nil
}

// launchedBefore finds the instance that the NodeClaim records, or that Karpenter has
// tagged with its name.
func (c *Controller) launchedBefore(ctx context.Context, claim *v1.NodeClaim) (aws.Instance, bool, error) {
	if claim.Status.ProviderID != "" {
		_, id, err := awsspec.ParseProviderID(claim.Status.ProviderID)
		if err != nil {
			return aws.Instance{}, false, fmt.Errorf("nodeclaim %s: %w", claim.Name, err)
		}
		i, err := c.Cloud.Instance(ctx, id)
		if err != nil || i.Gone() {
			return i, false, fmt.Errorf("nodeclaim %s records instance %s, which does not run, and is not Launched: delete the NodeClaim: %w",
				claim.Name, id, errors.Join(aws.ErrNotFound, err))
		}
		return i, true, nil
	}
	tags := map[string]string{awsspec.TagClusterName: c.Cluster().Name, awsspec.TagNodeClaim: claim.Name}
	instances, err := c.Cloud.Instances(ctx, tags)
	if err != nil {
		return aws.Instance{}, false, fmt.Errorf("nodeclaim %s instance look-up: %w", claim.Name, err)
	}
	for _, i := range instances {
		if !i.Gone() && awsspec.LaunchedFor(c.Cluster().Name, i.Tags) && named(claim, i) {
			return i, true, nil
		}
	}
	return aws.Instance{}, false, nil
}

// named says whether the instance has the NodeClaim's name in a tag, and the uid of no other.
func named(claim *v1.NodeClaim, i aws.Instance) bool {
	uid := i.Tags[awsspec.TagNodeClaimUID]
	return i.Tags[awsspec.TagNodeClaim] == claim.Name && i.Tags[awsspec.TagNodePool] == claim.Labels[v1.LabelNodePool] &&
		(uid == "" || uid == string(claim.UID))
}

// owners finds NodeClaims by what they say of their instances.
type owners struct {
	byUID    map[string]*v1.NodeClaim
	byID     map[string]*v1.NodeClaim // by the instance that they record
	nameless map[string]*v1.NodeClaim // those that record none, by their own name
}

func ownersOf(claims []*v1.NodeClaim) owners {
	o := owners{map[string]*v1.NodeClaim{}, map[string]*v1.NodeClaim{}, map[string]*v1.NodeClaim{}}
	for _, c := range claims {
		o.byUID[string(c.UID)] = c
		if _, id, err := awsspec.ParseProviderID(c.Status.ProviderID); err == nil {
			o.byID[id] = c
		} else {
			o.nameless[c.Name] = c
		}
	}
	return o
}

// of returns the NodeClaim that the instance may belong to; nil if there is none. What a
// NodeClaim records counts more than a tag: a NodeClaim that was restored from a backup
// has another uid than the tag.
func (o owners) of(i aws.Instance) *v1.NodeClaim {
	if c := o.byID[i.ID]; c != nil {
		return c
	}
	if uid := i.Tags[awsspec.TagNodeClaimUID]; uid != "" {
		return o.byUID[uid]
	}
	if c := o.nameless[i.Tags[awsspec.TagNodeClaim]]; c != nil && named(c, i) {
		return c
	}
	return nil
}

// expected says whether Karpenter may be about to record the instance: it has made a
// NodeClaim of the same NodePool that records none. The daemon deletes such NodeClaims.
func expected(claims []*v1.NodeClaim, i aws.Instance) bool {
	return i.Tags[awsspec.TagNodeClaimUID] == "" && slices.ContainsFunc(claims, func(c *v1.NodeClaim) bool {
		return madeByKarpenter(c) && c.Labels[v1.LabelNodePool] == i.Tags[awsspec.TagNodePool]
	})
}

// tagless says whether the instance lacks the tags of the NodeClaim that records it.
func tagless(claim *v1.NodeClaim, i aws.Instance) bool {
	return claim.DeletionTimestamp == nil && claim.Status.ProviderID != "" &&
		(i.Tags[awsspec.TagNodeClaimUID] != string(claim.UID) || i.Tags[awsspec.TagNodeClaim] != claim.Name)
}

// tag gives instances that Karpenter launched the tags of their NodeClaims. Nothing
// depends on it, as NodeClaims record their instances: a failure ends the tagging of this
// sweep, and is logged once.
func (c *Collector) tag(ctx context.Context, untagged map[*v1.NodeClaim]aws.Instance) {
	done := 0
	claims := slices.SortedFunc(maps.Keys(untagged), func(a, b *v1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	for _, claim := range claims[:min(len(claims), tagsInASweep)] {
		i := untagged[claim]
		if err := c.Cloud.OwnInstance(ctx, i.ID, claim.Name, string(claim.UID)); err != nil {
			c.untagged.Do(func() {
				c.Logger.Warn("an instance that Karpenter launched could not be tagged; it is tried again, and further failures are not logged: "+
					"the daemon's role needs ec2:CreateTags as in the policies of karpenter_controller_role", "nodeclaim", claim.Name, "instance", i.ID, "error", err)
			})
			break
		}
		done++
	}
	if done > 0 {
		c.Logger.Info("instances that Karpenter launched got the tags of their nodeclaims", "instances", done, "left", len(claims)-done)
	}
}
