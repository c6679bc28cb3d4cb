package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// InstanceProfile is an IAM instance profile with the one role it may hold.
type InstanceProfile struct {
	Name, Path string            // an empty Path is "/"
	ARN        string            // read only
	ID         string            // like that of a Role
	Created    time.Time         // read only
	Role       string            // name; empty when read if the profile has no role
	RoleARN    string            // read only
	Tags       map[string]string // InstanceProfiles does not read them
}

// CreateInstanceProfile makes the profile and adds the role. Errors: ErrConflict if a
// profile of that name exists; ErrNotFound if the role does not exist after the wait. If
// the profile was made all the same, or the role was not added, the error comes with a
// profile whose ID is set, and the caller must delete that profile.
func (c *Clients) CreateInstanceProfile(ctx context.Context, want InstanceProfile) (InstanceProfile, error) {
	sent := c.newSendings()
	out, err := c.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: &want.Name, Path: awssdk.String(pathOrRoot(want.Path)), Tags: iamTags(want.Tags),
	}, sent.option)
	made := want
	made.Role = ""
	if err != nil {
		have, err := c.profileOfFailure(ctx, want, sent, wrap(err, "instance profile %q create", want.Name))
		if err != nil {
			return have, err
		}
		made.Path, made.ARN, made.ID = have.Path, have.ARN, have.ID
	} else {
		made.Path, made.ARN, made.ID = awssdk.ToString(out.InstanceProfile.Path), awssdk.ToString(out.InstanceProfile.Arn), awssdk.ToString(out.InstanceProfile.InstanceProfileId)
	}
	if err := c.addRole(ctx, want.Name, want.Role); err != nil {
		return made, err
	}
	made.Role = want.Role
	return made, nil
}

// profileOfFailure is roleOfFailure for instance profiles.
func (c *Clients) profileOfFailure(ctx context.Context, want InstanceProfile, sent *sendings, failure error) (InstanceProfile, error) {
	read := func(ctx context.Context) (InstanceProfile, error) { return c.GetInstanceProfile(ctx, want.Name) }
	return afterFailure(ctx, c, sent, failure, read, func(have InstanceProfile) bool {
		return sent.mayHaveMade(have.Created) && have.Path == pathOrRoot(want.Path) && have.Role == "" && maps.Equal(have.Tags, withoutReserved(want.Tags))
	})
}

func (c *Clients) addRole(ctx context.Context, profile, role string) error {
	// Both the profile and the role may be new, and not known everywhere yet.
	unknown := func(err error) bool { return hasCode(err, "NoSuchEntity", "") }
	err := c.propagate(ctx, unknown, func() error {
		_, err := c.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile, RoleName: &role})
		// A profile holds one role. If the answer to an earlier try was lost, it is this one.
		if hasCode(err, "LimitExceeded", "") {
			if have, readErr := c.GetInstanceProfile(ctx, profile); readErr == nil && have.Role == role {
				return nil
			}
		}
		return err
	})
	return wrap(err, "instance profile %q add role %q", profile, role)
}

// GetInstanceProfile reads the profile. Error: ErrNotFound.
func (c *Clients) GetInstanceProfile(ctx context.Context, name string) (InstanceProfile, error) {
	out, err := c.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil {
		return InstanceProfile{}, wrap(err, "instance profile %q read", name)
	}
	return fromIAMProfile(*out.InstanceProfile), nil
}

// InstanceProfiles lists the profiles whose path begins with the prefix. IAM lists them
// without their tags.
func (c *Clients) InstanceProfiles(ctx context.Context, pathPrefix string) ([]InstanceProfile, error) {
	var out []InstanceProfile
	list := iam.NewListInstanceProfilesPaginator(c.iam, &iam.ListInstanceProfilesInput{PathPrefix: &pathPrefix})
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return nil, wrap(err, "instance profiles below %s list", pathPrefix)
		}
		for _, p := range page.InstanceProfiles {
			out = append(out, fromIAMProfile(p))
		}
	}
	return out, nil
}

func fromIAMProfile(p iamtypes.InstanceProfile) InstanceProfile {
	profile := InstanceProfile{
		Name: awssdk.ToString(p.InstanceProfileName), Path: awssdk.ToString(p.Path),
		ARN: awssdk.ToString(p.Arn), ID: awssdk.ToString(p.InstanceProfileId), Created: awssdk.ToTime(p.CreateDate), Tags: fromIAMTags(p.Tags),
	}
	if len(p.Roles) > 0 {
		profile.Role, profile.RoleARN = awssdk.ToString(p.Roles[0].RoleName), awssdk.ToString(p.Roles[0].Arn)
	}
	return profile
}

// UpdateInstanceProfile changes the profile's role and tags to want; tags as in
// UpdateRole. If the profile cannot get the role, it gets back that which it had. Errors:
// ErrNotFound, ErrReplaced.
func (c *Clients) UpdateInstanceProfile(ctx context.Context, prior, want InstanceProfile) (InstanceProfile, error) {
	have, err := c.GetInstanceProfile(ctx, want.Name)
	if err != nil {
		return InstanceProfile{}, err
	}
	if err := sameIfKnown(want.ID, have.ID); err != nil {
		return InstanceProfile{}, fmt.Errorf("instance profile %q update: %w", want.Name, err)
	}
	if have.Role != want.Role {
		if err := c.awaitRole(ctx, want.Role); err != nil {
			return InstanceProfile{}, fmt.Errorf("instance profile %q update: %w", want.Name, err)
		}
		if err := c.removeRole(ctx, want.Name, have.Role); err != nil {
			return InstanceProfile{}, err
		}
		if err := c.addRole(ctx, want.Name, want.Role); err != nil {
			return InstanceProfile{}, errors.Join(err, c.giveBack(ctx, have))
		}
	}
	err = c.syncTags(prior.Tags, want.Tags, have.Tags, func(set map[string]string) error {
		_, err := c.iam.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: &want.Name, Tags: iamTags(set)})
		return wrap(err, "instance profile %q tag", want.Name)
	}, func(keys []string) error {
		_, err := c.iam.UntagInstanceProfile(ctx, &iam.UntagInstanceProfileInput{InstanceProfileName: &want.Name, TagKeys: keys})
		return wrap(err, "instance profile %q untag", want.Name)
	})
	if err != nil {
		return InstanceProfile{}, err
	}
	return c.GetInstanceProfile(ctx, want.Name)
}

// awaitRole returns when the role exists, which may be new. A profile has one role, so its
// instances have none while it gets another: that one must be there before. Whoever may not
// look at the role may still use it. Error: ErrNotFound.
func (c *Clients) awaitRole(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	err := c.propagate(ctx, func(err error) bool { return errors.Is(err, ErrNotFound) }, func() error {
		_, err := c.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
		return wrap(err, "role %q read", name)
	})
	if errors.Is(err, ErrUnauthorized) {
		return nil
	}
	return err
}

// giveBack gives the profile the role that it had. Without a role, its instances would be cut
// off. The call's own time may be over.
func (c *Clients) giveBack(ctx context.Context, had InstanceProfile) error {
	if had.Role == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RequestTimeout)
	defer cancel()
	return c.addRole(ctx, had.Name, had.Role)
}

func (c *Clients) removeRole(ctx context.Context, profile, role string) error {
	if role == "" {
		return nil
	}
	_, err := c.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &profile, RoleName: &role})
	return unlessGone(wrap(err, "instance profile %q remove role %q", profile, role))
}

// DeleteInstanceProfile removes the role and deletes the profile. It is no error if the
// profile is gone, or if another profile has its name: that profile stays.
func (c *Clients) DeleteInstanceProfile(ctx context.Context, name, id string) error {
	have, err := beforeDelete(ctx, c, func() (InstanceProfile, error) { return c.GetInstanceProfile(ctx, name) })
	if err != nil {
		return unlessGone(err)
	}
	if !known(id, have.ID) {
		return nil
	}
	if err := c.removeRole(ctx, name, have.Role); err != nil {
		return err
	}
	_, err = c.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
	return unlessGone(wrap(err, "instance profile %q delete", name))
}
