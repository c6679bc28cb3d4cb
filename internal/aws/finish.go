package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A creation that was cut off, such as by the kill of its process, leaves what it has made,
// and nobody knows of it. The functions below find what a creation of want has left, and
// make what is missing of it. What differs from want in anything else is somebody else's:
// they change nothing then, and the error is ErrNotFound.

// errNotLeft says that what is there is not what a creation that was cut off has left.
func errNotLeft(format string, args ...any) error {
	return fmt.Errorf(format+" finish: the existing one differs from what was asked for: %w", append(args, ErrNotFound)...)
}

// sameTags compares tags, but those that are to be left alone.
func (c *Clients) sameTags(have, want map[string]string) bool {
	kept := func(key, _ string) bool { return c.keepTag != nil && c.keepTag(key) }
	have, want = maps.Clone(have), withoutReserved(want)
	maps.DeleteFunc(have, kept)
	maps.DeleteFunc(want, kept)
	return maps.Equal(have, want)
}

// isBegun tells whether have is the role want, or what its creation has made by a certain
// moment: the role comes first, then one policy after the other.
func (c *Clients) isBegun(have, want Role) bool {
	return have.Path == pathOrRoot(want.Path) && have.Description == want.Description && have.PermissionsBoundary == want.PermissionsBoundary &&
		(want.MaxSessionDuration == 0 || have.MaxSessionDuration == want.MaxSessionDuration) && SamePolicy(have.TrustPolicy, want.TrustPolicy) && c.sameTags(have.Tags, want.Tags) &&
		len(have.InlinePolicies) == 0 && !slices.ContainsFunc(have.ManagedPolicies, func(arn string) bool { return !slices.Contains(want.ManagedPolicies, arn) })
}

// FinishRole finishes the creation of the role. Error: ErrNotFound.
func (c *Clients) FinishRole(ctx context.Context, want Role) (Role, error) {
	have, err := c.GetRole(ctx, want.Name)
	if err != nil {
		return Role{}, err
	}
	if !c.isBegun(have, want) {
		return Role{}, errNotLeft("role %q", want.Name)
	}
	want.ID = have.ID
	return c.UpdateRole(ctx, Role{}, want)
}

// FinishPolicy finds the policy that a creation has left. Error: ErrNotFound.
func (c *Clients) FinishPolicy(ctx context.Context, want Policy) (Policy, error) {
	have, err := c.GetPolicy(ctx, want.ARN)
	if err != nil {
		return Policy{}, err
	}
	if have.Description != want.Description || !SamePolicy(have.Document, want.Document) || !c.sameTags(have.Tags, want.Tags) {
		return Policy{}, errNotLeft("policy %q", want.Name)
	}
	return have, nil
}

// FinishInstanceProfile finishes the creation of the profile. Error: ErrNotFound, also if
// the role does not exist.
func (c *Clients) FinishInstanceProfile(ctx context.Context, want InstanceProfile) (InstanceProfile, error) {
	have, err := c.GetInstanceProfile(ctx, want.Name)
	if err != nil {
		return InstanceProfile{}, err
	}
	if have.Path != pathOrRoot(want.Path) || have.Role != "" && have.Role != want.Role || !c.sameTags(have.Tags, want.Tags) {
		return InstanceProfile{}, errNotLeft("instance profile %q", want.Name)
	}
	want.ID = have.ID
	return c.UpdateInstanceProfile(ctx, want, want)
}

// FinishQueue finds the queue that a creation has left. The queue may lack its policy: the
// caller sets the policy then. Error: ErrNotFound.
func (c *Clients) FinishQueue(ctx context.Context, want Queue) (Queue, error) {
	have, err := c.GetQueue(ctx, want.Name)
	if err != nil {
		return Queue{}, err
	}
	if have.Policy != "" && !SamePolicy(have.Policy, want.Policy) || have.MessageRetention != want.MessageRetention || !have.sameKey(want) || !c.sameTags(have.Tags, want.Tags) {
		return Queue{}, errNotLeft("queue %q", want.Name)
	}
	return have, nil
}

// FinishRule finishes the creation of the rule. The tag with the ID of a rule says that
// CreateRule has made the rule. The result has the ID of the rule that is there. Error:
// ErrNotFound.
func (c *Clients) FinishRule(ctx context.Context, want Rule) (Rule, error) {
	have, err := c.GetRule(ctx, want.Name, want.TargetID)
	if err != nil {
		return Rule{}, err
	}
	if have.Unmarked() || !have.Enabled || have.Description != want.Description || !SameJSON(have.Pattern, want.Pattern) ||
		have.TargetARN != "" && have.TargetARN != want.TargetARN || !c.sameTags(have.Tags, want.Tags) {
		return Rule{}, errNotLeft("event rule %q", want.Name)
	}
	want.ID = have.ID
	return c.UpdateRule(ctx, want, want)
}

// FinishAccessEntry finds the entry that a creation has left. EKS binds an entry to the
// unique id of its role: an entry that is older than the role is none. Error: ErrNotFound.
func (c *Clients) FinishAccessEntry(ctx context.Context, want AccessEntry, role Role) (AccessEntry, error) {
	have, err := c.GetAccessEntry(ctx, want.Cluster, want.PrincipalARN)
	if err != nil {
		return AccessEntry{}, err
	}
	if have.Type != want.Type || have.Created.Before(role.Created) || !c.sameTags(have.Tags, want.Tags) {
		return AccessEntry{}, errNotLeft("access entry for %s in cluster %q", want.PrincipalARN, want.Cluster)
	}
	return have, nil
}

// FinishPodAssociation finds the association that a creation has left. Error: ErrNotFound.
func (c *Clients) FinishPodAssociation(ctx context.Context, want PodAssociation) (PodAssociation, error) {
	have, err := c.FindPodAssociation(ctx, want.Cluster, want.Namespace, want.ServiceAccount)
	if err != nil {
		return PodAssociation{}, err
	}
	if have.RoleARN != want.RoleARN || have.Untagged || have.TargetRoleARN != "" || !c.sameTags(have.Tags, want.Tags) {
		return PodAssociation{}, errNotLeft("pod identity association of service account %s/%s in cluster %q", want.Namespace, want.ServiceAccount, want.Cluster)
	}
	return have, nil
}

// Finish gives the result of a creation that met a conflict: what finish makes of what was
// left, and otherwise what the creation gave. left is called with what was left.
func Finish[T any](made T, failure error, finish func() (T, error), left func(T)) (T, error) {
	if !errors.Is(failure, ErrConflict) {
		return made, failure
	}
	found, err := finish()
	switch {
	case errors.Is(err, ErrNotFound):
		return made, failure
	case err != nil:
		return made, err
	}
	left(found)
	return found, nil
}
