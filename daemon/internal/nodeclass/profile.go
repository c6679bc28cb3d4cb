package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// profileWithin bounds the calls to IAM for one class. AWS shows a new role late, and a
// role that does not exist must not hold up the other classes: the next look continues.
const profileWithin = 5 * time.Second

// rootPath is the path of a profile that was made without one.
const rootPath = "/"

// profileOf is the profile that the class's role is given with. Its Role is empty if
// spec.role has no role's name.
func (f facts) profileOf(class *awsv1.EC2NodeClass) awsspec.NodeProfile {
	p := awsspec.NodeProfile{Region: f.region, Cluster: f.cluster.Name, NodeClass: class.Name, NodeClassUID: string(class.UID)}
	if awsspec.CheckRole(class.Spec.Role) == nil {
		p.Role = awsspec.RoleName(class.Spec.Role)
	}
	return p
}

// profile finds the instance profile of the class's role, and makes it. Of a profile that the
// class names, IAM is asked nothing, which is out of reach for many networks: EC2 says whether
// it can launch with it. Error: aws.ErrNotFound if there is no such role.
func (r *Reconciler) profile(ctx context.Context, class *awsv1.EC2NodeClass) (aws.InstanceProfile, error) {
	want := r.facts().profileOf(class)
	switch {
	case class.Spec.Role == "" && class.Spec.InstanceProfile == "", class.Spec.Role != "" && want.Role == "":
		return aws.InstanceProfile{}, nil
	case class.Spec.Role == "":
		return aws.InstanceProfile{Name: class.Spec.InstanceProfile}, nil
	}
	r.making.RLock()
	defer r.making.RUnlock()
	asked := r.Now()
	if have, known := r.answers.profile(class, asked); known {
		return have, nil
	}
	have, err := r.askProfile(ctx, class, want)
	if err == nil && want.Owns(have.Tags) {
		r.answers.putProfile(class, have, asked)
	}
	return have, err
}

// askProfile is profile where IAM is asked.
func (r *Reconciler) askProfile(ctx context.Context, class *awsv1.EC2NodeClass, want awsspec.NodeProfile) (aws.InstanceProfile, error) {
	ctx, cancel := context.WithTimeout(ctx, profileWithin)
	defer cancel()
	// IAM does not tell names apart by case.
	hasRole := func(p aws.InstanceProfile) bool { return strings.EqualFold(p.Role, want.Role) }
	// The profile that Karpenter made has a random name, and stays in use.
	if used := class.Status.InstanceProfile; used != "" && used != want.Name() {
		switch have, err := r.Cloud.GetInstanceProfile(ctx, used); {
		case err == nil && want.Owns(have.Tags) && hasRole(have):
			return have, nil
		case err != nil && !errors.Is(err, aws.ErrNotFound):
			return have, err
		}
	}
	have, err := r.Cloud.GetInstanceProfile(ctx, want.Name())
	switch {
	case errors.Is(err, aws.ErrNotFound):
		return r.makeProfile(ctx, want, class.Spec.Tags)
	case err != nil, !want.Owns(have.Tags), hasRole(have): // decideRoleProfile says whose it is
		return have, err
	}
	repaired := have
	repaired.Role = want.Role
	if repaired, err = r.Cloud.UpdateInstanceProfile(ctx, have, repaired); err == nil {
		r.Logger.Info("role of instance profile set", "ec2nodeclass", class.Name, "instance_profile", have.Name, "role", want.Role, "was", have.Role)
	}
	return repaired, err
}

// makeProfile makes the profile. Policies that were written for older versions of Karpenter
// may know only profiles at path /, so a refusal is followed by a try there.
func (r *Reconciler) makeProfile(ctx context.Context, p awsspec.NodeProfile, userTags map[string]string) (aws.InstanceProfile, error) {
	want := aws.InstanceProfile{Name: p.Name(), Path: p.Path(), Role: p.Role, Tags: p.Tags(userTags)}
	made, err := r.Cloud.CreateInstanceProfile(ctx, want)
	if made.ID == "" && errors.Is(err, aws.ErrUnauthorized) {
		want.Path = rootPath
		again, refused := r.Cloud.CreateInstanceProfile(ctx, want)
		if again.ID != "" || !errors.Is(refused, aws.ErrUnauthorized) {
			made, err = again, refused
		}
	}
	if made.ID != "" {
		r.Logger.Info("instance profile made", "ec2nodeclass", p.NodeClass, "instance_profile", made.Name, "path", made.Path, "role", made.Role)
	}
	return made, err
}

// deleteProfiles deletes the instance profiles that were made for a class without
// NodeClaims. Where the daemon may not list them, or IAM cannot be reached, those remain
// whose names do not follow from the class; a class without spec.role is released. In an
// isolated network any class is, where IAM cannot be reached.
func (r *Reconciler) deleteProfiles(ctx context.Context, class *awsv1.EC2NodeClass) error {
	if r.Isolated && class.Spec.Role == "" {
		return nil
	}
	err := r.deleteMade(ctx, class)
	if r.Isolated && aws.Unanswered(err) {
		r.Logger.Warn("instance profiles of a deleted nodeclass may remain, because IAM cannot be reached", "ec2nodeclass", class.Name, "error", err)
		return nil
	}
	return err
}

func (r *Reconciler) deleteMade(ctx context.Context, class *awsv1.EC2NodeClass) error {
	p := r.facts().profileOf(class)
	var names []string
	listed, err := r.list(ctx, p.Path())
	switch {
	case errors.Is(err, aws.ErrUnauthorized), aws.Unanswered(err) && class.Spec.Role == "":
		r.warnUnlisted(err)
	case err != nil:
		return err
	}
	for _, profile := range listed {
		names = append(names, profile.Name)
	}
	if class.Spec.Role != "" {
		names = append(names, p.Name(), class.Status.InstanceProfile)
	}
	needed := r.neededProfiles(class)
	for _, name := range names {
		if name == "" || needed[name] {
			continue
		}
		if err := r.deleteProfile(ctx, name, p.Owns); err != nil {
			return err
		}
		needed[name] = true // done: the names may be listed, too
	}
	return nil
}

func (r *Reconciler) list(ctx context.Context, path string) ([]aws.InstanceProfile, error) {
	ctx, cancel := context.WithTimeout(ctx, profileWithin)
	defer cancel()
	return r.Cloud.InstanceProfiles(ctx, path)
}

func (r *Reconciler) warnUnlisted(err error) {
	r.unlisted.Do(func() {
		r.Logger.Warn("instance profiles of earlier roles and of deleted nodeclasses may remain, because they cannot be listed: allow iam:ListInstanceProfiles in the policies of the daemon's role", "error", err)
	})
}

// deleteProfile deletes the profile if its tags say that it may. It is no error if the
// profile does not exist.
func (r *Reconciler) deleteProfile(ctx context.Context, name string, mayGo func(tags map[string]string) bool) error {
	asking, cancel := context.WithTimeout(ctx, profileWithin)
	have, err := r.Cloud.GetInstanceProfile(asking, name)
	cancel()
	switch {
	case errors.Is(err, aws.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !mayGo(have.Tags):
		return nil
	}
	if err := r.Cloud.DeleteInstanceProfile(ctx, name, have.ID); err != nil {
		return err
	}
	r.Logger.Info("instance profile deleted", "ec2nodeclass", have.Tags[awsspec.TagNodeClass], "instance_profile", name, "role", have.Role)
	return nil
}

// neededProfiles has the names of the profiles that any class or NodeClaim names. Those
// that only the deleted class was made or found for do not count.
func (r *Reconciler) neededProfiles(gone *awsv1.EC2NodeClass) map[string]bool {
	needed := map[string]bool{}
	for _, class := range r.Objects.EC2NodeClasses() {
		needed[class.Spec.InstanceProfile] = true
		if gone != nil && class.UID == gone.UID {
			continue
		}
		needed[class.Status.InstanceProfile] = true
		if class.Spec.Role != "" {
			needed[r.facts().profileOf(class).Name()] = true
		}
	}
	for _, claim := range r.Objects.NodeClaims() {
		needed[claim.Annotations[awsv1.AnnotationInstanceProfile]] = true
	}
	return needed
}

// decideRoleProfile is decideProfile for a class with spec.role.
func decideRoleProfile(class *awsv1.EC2NodeClass, found aws.InstanceProfile, err error, f facts) *verdict {
	want := f.profileOf(class)
	switch {
	case want.Role == "":
		return failed(awsv1.ReasonInstanceProfileNotFound, "spec.role: %v", awsspec.CheckRole(class.Spec.Role))
	case err != nil:
		return failed(awsv1.ReasonInstanceProfileNotFound, "spec.role: role %q does not exist in this account: create it, or correct the name", want.Role)
	case !want.Owns(found.Tags):
		return failed(reasonProfileConflict,
			"spec.role: instance profile %q has the name of the profile that the daemon makes of role %q, but not its tags: delete it if nobody needs it, or name a profile in spec.instanceProfile instead of spec.role",
			found.Name, want.Role)
	case found.Path == rootPath:
		return &verdict{status: metav1.ConditionTrue, reason: awsv1.ConditionInstanceProfileReady, message: fmt.Sprintf(
			"instance profile %q is at path /, where profiles of earlier roles of the class are not collected: to have new profiles at %s, allow iam:CreateInstanceProfile and iam:TagInstanceProfile there in the policies of the daemon's role",
			found.Name, want.Path())}
	}
	return nil
}
