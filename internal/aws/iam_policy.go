package aws

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// Policy is a customer managed IAM policy; Document is its default version.
type Policy struct {
	Name, Path  string    // an empty Path is "/"
	ARN         string    // read only
	ID          string    // like that of a Role
	Created     time.Time // read only
	Description string    // cannot be changed
	Document    string    // JSON
	Tags        map[string]string
}

// CreatePolicy makes the policy. Error: ErrConflict if a policy of that name exists. If
// the policy was made all the same, the error comes with a Policy whose ID is set, and the
// caller must delete that policy.
func (c *Clients) CreatePolicy(ctx context.Context, want Policy) (Policy, error) {
	sent := c.newSendings()
	out, err := c.iam.CreatePolicy(ctx, &iam.CreatePolicyInput{
		PolicyName:     &want.Name,
		Path:           awssdk.String(pathOrRoot(want.Path)),
		PolicyDocument: &want.Document,
		Description:    optional(want.Description),
		Tags:           iamTags(want.Tags),
	}, sent.option)
	if err != nil {
		return c.policyOfFailure(ctx, want, sent, wrap(err, "policy %q create", want.Name))
	}
	want.ARN, want.ID, want.Path = awssdk.ToString(out.Policy.Arn), awssdk.ToString(out.Policy.PolicyId), awssdk.ToString(out.Policy.Path)
	return want, nil
}

// policyOfFailure is roleOfFailure for policies.
func (c *Clients) policyOfFailure(ctx context.Context, want Policy, sent *sendings, failure error) (Policy, error) {
	read := func(ctx context.Context) (Policy, error) { return c.policyNamed(ctx, pathOrRoot(want.Path), want.Name) }
	return afterFailure(ctx, c, sent, failure, read, func(have Policy) bool {
		return sent.mayHaveMade(have.Created) && have.Description == want.Description &&
			SamePolicy(have.Document, want.Document) && maps.Equal(have.Tags, withoutReserved(want.Tags))
	})
}

// policyNamed searches all policies of the account, because the ARN, which has the
// account's number, is not known. Error: ErrNotFound.
func (c *Clients) policyNamed(ctx context.Context, path, name string) (Policy, error) {
	list := iam.NewListPoliciesPaginator(c.iam, &iam.ListPoliciesInput{Scope: iamtypes.PolicyScopeTypeLocal, PathPrefix: &path})
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return Policy{}, wrap(err, "policy %q find", name)
		}
		for _, p := range page.Policies {
			if awssdk.ToString(p.PolicyName) == name && awssdk.ToString(p.Path) == path {
				return c.GetPolicy(ctx, awssdk.ToString(p.Arn))
			}
		}
	}
	return Policy{}, fmt.Errorf("policy %q find: %w", name, ErrNotFound)
}

// GetPolicy reads the policy and its default version. Error: ErrNotFound.
func (c *Clients) GetPolicy(ctx context.Context, arn string) (Policy, error) {
	out, err := c.iam.GetPolicy(ctx, &iam.GetPolicyInput{PolicyArn: &arn})
	if err != nil {
		return Policy{}, wrap(err, "policy %s read", arn)
	}
	version, err := c.iam.GetPolicyVersion(ctx, &iam.GetPolicyVersionInput{PolicyArn: &arn, VersionId: out.Policy.DefaultVersionId})
	if err != nil {
		return Policy{}, wrap(err, "policy %s read default version", arn)
	}
	document, err := url.PathUnescape(awssdk.ToString(version.PolicyVersion.Document))
	if err != nil {
		return Policy{}, fmt.Errorf("policy %s read: decode document: %w", arn, err)
	}
	return Policy{
		Name: awssdk.ToString(out.Policy.PolicyName), Path: awssdk.ToString(out.Policy.Path), ARN: arn, ID: awssdk.ToString(out.Policy.PolicyId), Created: awssdk.ToTime(out.Policy.CreateDate),
		Description: awssdk.ToString(out.Policy.Description), Document: document, Tags: fromIAMTags(out.Policy.Tags),
	}, nil
}

// UpdatePolicy makes want.Document the default version of the policy want.ARN, and
// deletes the versions that are not the default (IAM keeps five at most). Tags as in
// UpdateRole. Errors: ErrNotFound, ErrReplaced.
func (c *Clients) UpdatePolicy(ctx context.Context, prior, want Policy) (Policy, error) {
	have, err := c.GetPolicy(ctx, want.ARN)
	if err != nil {
		return Policy{}, err
	}
	if err := sameIfKnown(want.ID, have.ID); err != nil {
		return Policy{}, fmt.Errorf("policy %s update: %w", want.ARN, err)
	}
	if !SamePolicy(want.Document, have.Document) {
		// First delete old versions: IAM refuses a sixth version.
		if err := c.deleteOldVersions(ctx, want.ARN); err != nil {
			return Policy{}, err
		}
		_, err := c.iam.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: &want.ARN, PolicyDocument: &want.Document, SetAsDefault: true})
		if err != nil {
			return Policy{}, wrap(err, "policy %s update", want.ARN)
		}
	}
	err = c.syncTags(prior.Tags, want.Tags, have.Tags, func(set map[string]string) error {
		_, err := c.iam.TagPolicy(ctx, &iam.TagPolicyInput{PolicyArn: &want.ARN, Tags: iamTags(set)})
		return wrap(err, "policy %s tag", want.ARN)
	}, func(keys []string) error {
		_, err := c.iam.UntagPolicy(ctx, &iam.UntagPolicyInput{PolicyArn: &want.ARN, TagKeys: keys})
		return wrap(err, "policy %s untag", want.ARN)
	})
	if err != nil {
		return Policy{}, err
	}
	return c.GetPolicy(ctx, want.ARN)
}

func (c *Clients) deleteOldVersions(ctx context.Context, arn string) error {
	versions := iam.NewListPolicyVersionsPaginator(c.iam, &iam.ListPolicyVersionsInput{PolicyArn: &arn})
	for versions.HasMorePages() {
		page, err := versions.NextPage(ctx)
		if err != nil {
			return wrap(err, "policy %s list versions", arn)
		}
		for _, v := range page.Versions {
			if v.IsDefaultVersion {
				continue
			}
			_, err := c.iam.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: &arn, VersionId: v.VersionId})
			if err := unlessGone(wrap(err, "policy %s delete version %s", arn, awssdk.ToString(v.VersionId))); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeletePolicy deletes the policy with its versions. It is no error if the policy is
// gone, or if another policy has its name: that policy stays. Error: ErrInUse if the
// policy is attached.
func (c *Clients) DeletePolicy(ctx context.Context, arn, id string) error {
	have, err := beforeDelete(ctx, c, func() (Policy, error) { return c.GetPolicy(ctx, arn) })
	if err != nil {
		return unlessGone(err)
	}
	if !known(id, have.ID) {
		return nil
	}
	if err := c.deleteOldVersions(ctx, arn); err != nil {
		return unlessGone(err)
	}
	_, err = c.iam.DeletePolicy(ctx, &iam.DeletePolicyInput{PolicyArn: &arn})
	return unlessGone(wrap(err, "policy %s delete", arn))
}
