package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	awspolicy "github.com/hashicorp/awspolicyequivalence"
)

// Role is an IAM role with everything attached to it.
type Role struct {
	Name                string
	Path                string    // empty is "/"
	ARN                 string    // read only
	ID                  string    // read only; IAM never gives it to another role. An update compares it if it is set
	Created             time.Time // read only
	Description         string
	TrustPolicy         string // JSON
	PermissionsBoundary string // ARN of a policy; empty: none
	MaxSessionDuration  time.Duration
	Tags                map[string]string
	InlinePolicies      map[string]string // name -> JSON
	ManagedPolicies     []string          // ARNs, sorted when read
}

// CreateRole makes the role and attaches its policies. Error: ErrConflict if a role of
// that name exists. If the role was made all the same, or a later step failed, the error
// comes with a Role whose ID is set, and the caller must delete that role.
func (c *Clients) CreateRole(ctx context.Context, want Role) (Role, error) {
	in := &iam.CreateRoleInput{
		RoleName:                 &want.Name,
		Path:                     awssdk.String(pathOrRoot(want.Path)),
		AssumeRolePolicyDocument: &want.TrustPolicy,
		Tags:                     iamTags(want.Tags),
		Description:              optional(want.Description),
		PermissionsBoundary:      optional(want.PermissionsBoundary),
	}
	if want.MaxSessionDuration != 0 {
		in.MaxSessionDuration = awssdk.Int32(int32(want.MaxSessionDuration / time.Second))
	}
	var out *iam.CreateRoleOutput
	sent := c.newSendings()
	err := c.propagate(ctx, invalidPrincipal, func() (err error) {
		out, err = c.iam.CreateRole(ctx, in, sent.option)
		return err
	})
	made := want
	if err != nil {
		have, err := c.roleOfFailure(ctx, want, sent, wrap(err, "role %q create", want.Name))
		if err != nil {
			return have, err
		}
		made.Path, made.ARN, made.ID = have.Path, have.ARN, have.ID
	} else {
		made.Path, made.ARN, made.ID = awssdk.ToString(out.Role.Path), awssdk.ToString(out.Role.Arn), awssdk.ToString(out.Role.RoleId)
	}
	if err := c.updateRolePolicies(ctx, Role{}, want, Role{}); err != nil {
		return made, err
	}
	return made, nil
}

// roleOfFailure finds the role that the failed create has made all the same; see
// afterFailure. Such a role is new, and equals the request in everything.
func (c *Clients) roleOfFailure(ctx context.Context, want Role, sent *sendings, failure error) (Role, error) {
	read := func(ctx context.Context) (Role, error) { return c.GetRole(ctx, want.Name) }
	return afterFailure(ctx, c, sent, failure, read, func(have Role) bool {
		return sent.mayHaveMade(have.Created) && len(have.ManagedPolicies) == 0 && c.isBegun(have, want)
	})
}

// invalidPrincipal is IAM's answer while it does not know yet a principal or identity
// provider in the trust policy.
func invalidPrincipal(err error) bool {
	return hasCode(err, "MalformedPolicyDocument", "invalid principal")
}

// GetRole reads the role with its policies and tags. Error: ErrNotFound.
func (c *Clients) GetRole(ctx context.Context, name string) (Role, error) {
	role, err := c.GetBareRole(ctx, name)
	if err != nil {
		return Role{}, err
	}
	return c.readRolePolicies(ctx, role)
}

// GetBareRole reads the role without its policies, by one call. Error: ErrNotFound.
func (c *Clients) GetBareRole(ctx context.Context, name string) (Role, error) {
	out, err := c.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		return Role{}, wrap(err, "role %q read", name)
	}
	trust, err := url.PathUnescape(awssdk.ToString(out.Role.AssumeRolePolicyDocument))
	if err != nil {
		return Role{}, fmt.Errorf("role %q read: decode trust policy: %w", name, err)
	}
	role := Role{
		Name: awssdk.ToString(out.Role.RoleName), Path: awssdk.ToString(out.Role.Path),
		ARN: awssdk.ToString(out.Role.Arn), ID: awssdk.ToString(out.Role.RoleId),
		Created: awssdk.ToTime(out.Role.CreateDate), Description: awssdk.ToString(out.Role.Description), TrustPolicy: trust,
		MaxSessionDuration: time.Duration(awssdk.ToInt32(out.Role.MaxSessionDuration)) * time.Second,
		Tags:               fromIAMTags(out.Role.Tags),
		InlinePolicies:     map[string]string{},
	}
	if b := out.Role.PermissionsBoundary; b != nil {
		role.PermissionsBoundary = awssdk.ToString(b.PermissionsBoundaryArn)
	}
	return role, nil
}

func (c *Clients) readRolePolicies(ctx context.Context, role Role) (Role, error) {
	inline := iam.NewListRolePoliciesPaginator(c.iam, &iam.ListRolePoliciesInput{RoleName: &role.Name})
	for inline.HasMorePages() {
		page, err := inline.NextPage(ctx)
		if err != nil {
			return Role{}, wrap(err, "role %q list inline policies", role.Name)
		}
		for _, policy := range page.PolicyNames {
			got, err := c.iam.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &role.Name, PolicyName: &policy})
			if err != nil {
				return Role{}, wrap(err, "role %q read inline policy %q", role.Name, policy)
			}
			document, err := url.PathUnescape(awssdk.ToString(got.PolicyDocument))
			if err != nil {
				return Role{}, fmt.Errorf("role %q read: decode inline policy %q: %w", role.Name, policy, err)
			}
			role.InlinePolicies[policy] = document
		}
	}
	managed := iam.NewListAttachedRolePoliciesPaginator(c.iam, &iam.ListAttachedRolePoliciesInput{RoleName: &role.Name})
	for managed.HasMorePages() {
		page, err := managed.NextPage(ctx)
		if err != nil {
			return Role{}, wrap(err, "role %q list managed policies", role.Name)
		}
		for _, policy := range page.AttachedPolicies {
			role.ManagedPolicies = append(role.ManagedPolicies, awssdk.ToString(policy.PolicyArn))
		}
	}
	slices.Sort(role.ManagedPolicies)
	return role, nil
}

// UpdateRole changes the role to want, whatever its state. It removes the policies and
// tags that prior has and want does not have. It leaves alone those that neither has.
// Name and path cannot change. Errors: ErrNotFound; ErrReplaced if want has an ID and the
// role has another one.
func (c *Clients) UpdateRole(ctx context.Context, prior, want Role) (Role, error) {
	have, err := c.GetRole(ctx, want.Name)
	if err != nil {
		return Role{}, err
	}
	if err := sameIfKnown(want.ID, have.ID); err != nil {
		return Role{}, fmt.Errorf("role %q update: %w", want.Name, err)
	}
	if err := c.updateRoleItself(ctx, want, have); err != nil {
		return Role{}, err
	}
	if err := c.updateRolePolicies(ctx, prior, want, have); err != nil {
		return Role{}, err
	}
	err = c.syncTags(prior.Tags, want.Tags, have.Tags, func(set map[string]string) error {
		_, err := c.iam.TagRole(ctx, &iam.TagRoleInput{RoleName: &want.Name, Tags: iamTags(set)})
		return wrap(err, "role %q tag", want.Name)
	}, func(keys []string) error {
		_, err := c.iam.UntagRole(ctx, &iam.UntagRoleInput{RoleName: &want.Name, TagKeys: keys})
		return wrap(err, "role %q untag", want.Name)
	})
	if err != nil {
		return Role{}, err
	}
	return c.GetRole(ctx, want.Name)
}

func (c *Clients) updateRoleItself(ctx context.Context, want, have Role) error {
	if !SamePolicy(want.TrustPolicy, have.TrustPolicy) {
		err := c.propagate(ctx, invalidPrincipal, func() error {
			_, err := c.iam.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: &want.Name, PolicyDocument: &want.TrustPolicy})
			return err
		})
		if err != nil {
			return wrap(err, "role %q update trust policy", want.Name)
		}
	}
	if want.Description != have.Description || (want.MaxSessionDuration != 0 && want.MaxSessionDuration != have.MaxSessionDuration) {
		in := &iam.UpdateRoleInput{RoleName: &want.Name, Description: &want.Description}
		if want.MaxSessionDuration != 0 {
			in.MaxSessionDuration = awssdk.Int32(int32(want.MaxSessionDuration / time.Second))
		}
		if _, err := c.iam.UpdateRole(ctx, in); err != nil {
			return wrap(err, "role %q update", want.Name)
		}
	}
	var err error
	switch {
	case want.PermissionsBoundary == have.PermissionsBoundary:
	case want.PermissionsBoundary == "":
		_, err = c.iam.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: &want.Name})
	default:
		_, err = c.iam.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: &want.Name, PermissionsBoundary: &want.PermissionsBoundary})
	}
	return wrap(err, "role %q set permissions boundary", want.Name)
}

func (c *Clients) updateRolePolicies(ctx context.Context, prior, want, have Role) error {
	for _, name := range slices.Sorted(maps.Keys(want.InlinePolicies)) {
		document := want.InlinePolicies[name]
		if current, ok := have.InlinePolicies[name]; ok && SamePolicy(current, document) {
			continue
		}
		err := c.propagate(ctx, roleUnknown, func() error {
			_, err := c.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &want.Name, PolicyName: &name, PolicyDocument: &document})
			return err
		})
		if err != nil {
			return wrap(err, "role %q put inline policy %q", want.Name, name)
		}
	}
	for _, arn := range want.ManagedPolicies {
		if slices.Contains(have.ManagedPolicies, arn) {
			continue
		}
		err := c.propagate(ctx, policyOrRoleUnknown(arn), func() error {
			_, err := c.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: &want.Name, PolicyArn: &arn})
			return err
		})
		if err != nil {
			return wrap(err, "role %q attach policy %s", want.Name, arn)
		}
	}
	for name := range have.InlinePolicies {
		if _, was := prior.InlinePolicies[name]; !was {
			continue
		}
		if _, wanted := want.InlinePolicies[name]; wanted {
			continue
		}
		if err := c.deleteInlinePolicy(ctx, want.Name, name); err != nil {
			return err
		}
	}
	for _, arn := range have.ManagedPolicies {
		if !slices.Contains(prior.ManagedPolicies, arn) || slices.Contains(want.ManagedPolicies, arn) {
			continue
		}
		if err := c.detachPolicy(ctx, want.Name, arn); err != nil {
			return err
		}
	}
	return nil
}

// roleUnknown is IAM's answer to a write about a new role, for some seconds after its
// creation.
func roleUnknown(err error) bool { return hasCode(err, "NoSuchEntity", "role with name") }

// policyOrRoleUnknown is IAM's answer about a new role or a new policy. A policy of AWS
// is never new, so a misspelt name of such a policy fails at once.
func policyOrRoleUnknown(arn string) func(error) bool {
	return func(err error) bool {
		return roleUnknown(err) || !strings.Contains(arn, ":iam::aws:policy/") && hasCode(err, "NoSuchEntity", "")
	}
}

func (c *Clients) deleteInlinePolicy(ctx context.Context, role, name string) error {
	_, err := c.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &role, PolicyName: &name})
	return unlessGone(wrap(err, "role %q delete inline policy %q", role, name))
}

func (c *Clients) detachPolicy(ctx context.Context, role, arn string) error {
	_, err := c.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &role, PolicyArn: &arn})
	return unlessGone(wrap(err, "role %q detach policy %s", role, arn))
}

// DeleteRole deletes the role and its inline policies, after it has detached the managed
// policies. It is no error if the role is gone, or if another role has its name: that role
// stays. Error: ErrInUse if an instance profile has the role. Nothing was changed then.
func (c *Clients) DeleteRole(ctx context.Context, name, id string) error {
	role, err := beforeDelete(ctx, c, func() (Role, error) { return c.GetRole(ctx, name) })
	if err != nil {
		return unlessGone(err)
	}
	if !known(id, role.ID) {
		return nil
	}
	if err := c.CheckRoleUnused(ctx, name); err != nil {
		return err
	}
	for policy := range role.InlinePolicies {
		if err := c.deleteInlinePolicy(ctx, name, policy); err != nil {
			return err
		}
	}
	for _, arn := range role.ManagedPolicies {
		if err := c.detachPolicy(ctx, name, arn); err != nil {
			return err
		}
	}
	// For some seconds IAM refuses what a profile used that was deleted a moment ago.
	err = c.propagate(ctx, func(err error) bool { return hasCode(err, "DeleteConflict", "") }, func() error {
		_, err := c.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
		return err
	})
	return unlessGone(wrap(err, "role %q delete", name))
}

// unlessGone turns ErrNotFound into success: the resource is already deleted.
func unlessGone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// SamePolicy reports whether two policies mean the same to AWS: neither the order of keys,
// statements and actions nor a list of one member matters. It compares texts that are no
// policies as strings. For awspolicy all principals that are plain strings are one, and "*"
// is nobody: policies with such a principal must be the same JSON.
func SamePolicy(a, b string) bool {
	same, err := awspolicy.PoliciesAreEquivalent(a, b)
	if err != nil {
		return a == b
	}
	return same && (SameJSON(a, b) || !plainPrincipal.MatchString(a+b))
}

var plainPrincipal = regexp.MustCompile(`"(Not)?Principal"\s*:\s*"`)

// SameJSON reports whether two JSON texts mean the same; the order of keys and white
// space do not matter. It compares texts that are not JSON as strings.
func SameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func pathOrRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}
