package aws

import (
	"context"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// CreateServiceLinkedRole makes the role by which a service, such as spot.amazonaws.com,
// acts in the account. name is the name that the service gives its role. Error: ErrConflict
// if the role exists. If the role was made all the same, the error comes with a Role whose
// ID is set, and the caller must delete that role.
func (c *Clients) CreateServiceLinkedRole(ctx context.Context, service, name string) (Role, error) {
	sent := c.newSendings()
	out, err := c.iam.CreateServiceLinkedRole(ctx, &iam.CreateServiceLinkedRoleInput{AWSServiceName: &service}, sent.option)
	if err == nil {
		return linkedRole(out.Role), nil
	}
	// IAM has no code of its own for it.
	if taken := hasCode(err, "InvalidInput", "has been taken"); taken {
		err = &classified{kind: ErrConflict, err: err}
	}
	err = wrap(err, "service-linked role of %s create", service)
	read := func(ctx context.Context) (Role, error) { return c.GetServiceLinkedRole(ctx, service, name) }
	return afterFailure(ctx, c, sent, err, read, func(have Role) bool { return sent.mayHaveMade(have.Created) })
}

// GetServiceLinkedRole reads the role without its policies, which only AWS changes. Error:
// ErrNotFound if there is no role of that name, or if the role is not the service's.
func (c *Clients) GetServiceLinkedRole(ctx context.Context, service, name string) (Role, error) {
	out, err := c.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		return Role{}, wrap(err, "service-linked role %q read", name)
	}
	if path := awssdk.ToString(out.Role.Path); path != "/aws-service-role/"+service+"/" {
		return Role{}, fmt.Errorf("service-linked role %q read: the role of that name has the path %s: %w", name, path, ErrNotFound)
	}
	return linkedRole(out.Role), nil
}

func linkedRole(r *iamtypes.Role) Role {
	return Role{Name: awssdk.ToString(r.RoleName), Path: awssdk.ToString(r.Path), ARN: awssdk.ToString(r.Arn), ID: awssdk.ToString(r.RoleId), Created: awssdk.ToTime(r.CreateDate)}
}

// deletionPause is between two looks at the deletion of a service-linked role.
const deletionPause = 2 * time.Second

// DeleteServiceLinkedRole deletes the role and waits until the service has agreed. It is no
// error if the role is gone, or if it has another id: then it stays. Error: ErrInUse if the
// service still needs the role.
func (c *Clients) DeleteServiceLinkedRole(ctx context.Context, service, name, id string) error {
	have, err := beforeDelete(ctx, c, func() (Role, error) { return c.GetServiceLinkedRole(ctx, service, name) })
	if err != nil {
		return unlessGone(err)
	}
	if !known(id, have.ID) {
		return nil
	}
	task, err := c.iam.DeleteServiceLinkedRole(ctx, &iam.DeleteServiceLinkedRoleInput{RoleName: &name})
	if err != nil {
		return unlessGone(wrap(err, "service-linked role %q delete", name))
	}
	for {
		out, err := c.iam.GetServiceLinkedRoleDeletionStatus(ctx, &iam.GetServiceLinkedRoleDeletionStatusInput{DeletionTaskId: task.DeletionTaskId})
		if err != nil {
			return wrap(err, "service-linked role %q read deletion", name)
		}
		switch out.Status {
		case iamtypes.DeletionTaskStatusTypeSucceeded:
			return nil
		case iamtypes.DeletionTaskStatusTypeFailed:
			reason := "IAM gives no reason"
			if out.Reason != nil {
				reason = awssdk.ToString(out.Reason.Reason)
			}
			return fmt.Errorf("service-linked role %q delete: %w: %s", name, ErrInUse, reason)
		case iamtypes.DeletionTaskStatusTypeNotStarted, iamtypes.DeletionTaskStatusTypeInProgress:
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("service-linked role %q wait for deletion: %w", name, ctx.Err())
		case <-time.After(deletionPause):
		}
	}
}
