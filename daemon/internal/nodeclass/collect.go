package nodeclass

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// CollectEvery is how often to call Collect.
const CollectEvery = 30 * time.Minute

const (
	// collectAge is how old an instance profile is at least that Collect deletes.
	collectAge = time.Hour
	// collectMost is how many instance profiles one Collect tries to delete at most, with two calls
	// each, and collectFaults after how many that it cannot delete it gives up. Those that stayed
	// the most often come last, so that they keep no other from its turn. An account may have
	// 1,000 (IAM user guide, quotas).
	collectMost, collectFaults = 50, 3
)

// Collect deletes the instance profiles that nothing needs any more: those of earlier
// roles, and of classes that somebody removed by force. A profile is deleted if in two
// calls one after the other no class and no NodeClaim names it. What runs on an instance
// loses its rights with the profile, and a NodeClaim exists as long as its instance.
// NodeClaims of earlier versions do not name their profile: as long as a class has any, its
// profiles stay. In an isolated network IAM is asked only where a class has a role, as for
// all else.
func (r *Reconciler) Collect(ctx context.Context, now time.Time) error {
	hasRole := func(c *awsv1.EC2NodeClass) bool { return c.Spec.Role != "" }
	if r.Isolated && !slices.ContainsFunc(r.Objects.EC2NodeClasses(), hasRole) {
		return nil
	}
	before := r.suspects
	r.suspects = map[string]bool{}
	listed, err := r.list(ctx, awsspec.ProfilePath(r.Region, r.Cluster().Name))
	if errors.Is(err, aws.ErrUnauthorized) {
		r.warnUnlisted(err)
		return nil
	}
	if err != nil {
		return err
	}
	tries := r.stayed
	r.stayed = map[string]int{} // only of those that are there
	slices.SortStableFunc(listed, func(a, b aws.InstanceProfile) int { return cmp.Compare(tries[a.ID], tries[b.ID]) })
	var faults []error
	needed, left, tried := r.neededProfiles(nil), len(listed), 0
	for _, p := range listed {
		if now.Sub(p.Created) < collectAge || needed[p.Name] {
			continue
		}
		r.suspects[p.ID] = true
		r.stayed[p.ID] = tries[p.ID]
		if !before[p.ID] || tried >= collectMost || len(faults) >= collectFaults {
			continue
		}
		tried++
		r.stayed[p.ID]++
		switch deleted, err := r.collect(ctx, p.Name); {
		case err != nil:
			faults = append(faults, err)
		case deleted:
			left--
		}
	}
	if r.ProfilesCounted != nil {
		r.ProfilesCounted(left)
	}
	return errors.Join(faults...)
}

// collect deletes the profile, unless a class needs it by now: a role that is given back to
// a class has the profile that it had. It says whether the profile was the daemon's to delete.
func (r *Reconciler) collect(ctx context.Context, name string) (deleted bool, err error) {
	r.making.Lock()
	defer r.making.Unlock()
	ctx, cancel := context.WithTimeout(ctx, profileWithin)
	defer cancel()
	err = r.deleteProfile(ctx, name, func(tags map[string]string) bool {
		deleted = !r.neededProfiles(nil)[name] && awsspec.OwnsProfile(r.Region, r.Cluster().Name, tags) && !r.profileUnknown(tags[awsspec.TagNodeClass])
		return deleted
	})
	return deleted, err
}

// profileUnknown says whether an instance of the class has a NodeClaim that does not name
// the instance profile, or whether the class itself cannot be read.
func (r *Reconciler) profileUnknown(class string) bool {
	if c, known := r.Objects.EC2NodeClass(class); known && c.Unread != "" {
		return true
	}
	return slices.ContainsFunc(r.Objects.NodeClaims(), func(c *v1.NodeClaim) bool {
		return c.Spec.NodeClassRef.Name == class && c.Status.ProviderID != "" && c.Annotations[awsv1.AnnotationInstanceProfile] == ""
	})
}
