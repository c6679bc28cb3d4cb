package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

const (
	// permissionLasts is how long a permission is not asked for again.
	permissionLasts = 30 * time.Minute
	// permissionWithin bounds the calls to EC2 for one class.
	permissionWithin = 10 * time.Second
)

// permission is what EC2 was asked about.
type permission struct {
	of    string
	at    time.Time // of a permission
	fault error     // what EC2 said of the instance profile last; it counts until EC2 says otherwise
}

// mayLaunch asks EC2 whether it allows a launch from the class, which is ready but for that,
// so that a missing right shows before pods wait. It says whether EC2 was asked: it is not
// asked again about the same launch for half an hour, unless it refuses or does not answer.
func (r *Reconciler) mayLaunch(ctx context.Context, class *awsv1.EC2NodeClass) (asked bool, err error) {
	trial := r.trial(class)
	of := fmt.Sprint(trial.Template.Digest(), slices.Sorted(slices.Values(trial.Subnets)), trial.Tags)
	var last permission
	if p, known := r.permissions.Load(class.UID); known && p.(permission).of == of {
		last = p.(permission)
	}
	if r.Now().Sub(last.at) < permissionLasts {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, permissionWithin)
	defer cancel()
	templates, err := r.templatesOf(ctx, class)
	if err == nil && len(templates) > 0 {
		trial.Existing = templates[0]
	}
	err = r.Cloud.MayLaunch(ctx, trial)
	switch {
	case errors.Is(err, aws.ErrUnauthorized):
		return true, err
	case profileFault(err):
		r.answers.forgetProfile(class.Name)
		r.permissions.Store(class.UID, permission{of: of, fault: err})
		return false, err
	case errors.Is(err, aws.ErrThrottled), errors.Is(err, aws.ErrUnreachable), errors.Is(err, context.DeadlineExceeded):
		return false, last.fault
	case err != nil: // the launches will show what it is
		r.Logger.Debug("EC2 could not be asked whether it allows launches", "ec2nodeclass", class.Name, "error", err)
	}
	r.permissions.Store(class.UID, permission{of: of, at: r.Now()})
	return err == nil, nil
}

// profileFault says whether EC2 would not launch with the instance profile.
func profileFault(err error) bool {
	return errors.Is(err, aws.ErrProfileUnknown) || errors.Is(err, aws.ErrProfileEmpty)
}

// ProfileFailed is told that a launch from the class has failed because of its instance profile:
// what IAM and EC2 said of it before counts no more.
func (r *Reconciler) ProfileFailed(name string) {
	if class, known := r.Objects.EC2NodeClass(name); known {
		r.permissions.Delete(class.UID)
	}
	r.answers.forgetProfile(name)
	r.Enqueue(name)
}

// trial is a launch from the class as far as permissions look at it.
func (r *Reconciler) trial(class *awsv1.EC2NodeClass) aws.Trial {
	owner := awsspec.Owner{Cluster: r.Cluster().Name, NodePool: "any", NodeClass: class.Name}
	image := class.Status.AMIs[0]
	t := aws.Trial{
		Named: class.Spec.InstanceProfile != "", InstanceType: "m5.large", Tags: owner.InstanceTags(class.Spec.Tags, "any", "any"),
		Template: family.LaunchTemplate(class, owner),
	}
	t.Template.ImageID = image.ID
	for _, requirement := range image.Requirements {
		if strings.HasSuffix(requirement.Key, "/arch") && len(requirement.Values) > 0 && requirement.Values[0] == "arm64" {
			t.InstanceType = "m6g.large"
		}
	}
	for _, s := range class.Status.Subnets {
		t.Subnets = append(t.Subnets, s.ID)
	}
	return t
}
