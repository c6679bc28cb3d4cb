package ec2sim

import (
	"maps"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// access asks for the call's own action on the resources; none means any.
func (c *call) access(resources ...wire.Resource) wire.Access {
	return c.accessTo("ec2:"+c.req.Action, nil, resources...)
}

// accessTo asks for an action with the condition keys that every EC2 call has.
func (c *call) accessTo(action string, conditions map[string][]string, resources ...wire.Resource) wire.Access {
	all := map[string][]string{"ec2:Region": {c.s.cfg.Region}}
	maps.Copy(all, conditions)
	return wire.Access{Action: action, Resources: resources, Conditions: all}
}

// permit asks IAM every question; a dry run ends here, with the answer that
// says so.
func (c *call) permit(dry bool, questions ...wire.Access) error {
	for _, question := range questions {
		if err := c.s.cfg.Auth.Authorize(c.ctx, c.req, question); err != nil {
			return err
		}
	}
	if dry {
		return dryRunOK()
	}
	return nil
}

// existing is a resource as IAM sees it, with its tags.
func (s *Service) existing(r *resource) wire.Resource {
	return wire.Resource{ARN: s.arn(r.kind, r.id), Tags: maps.Clone(r.tags)}
}

// future is a resource that the call would make.
func (s *Service) future(kind string) wire.Resource {
	return wire.Resource{ARN: s.arn(kind, "*")}
}

// instanceKeys are the condition keys of an instance that exists.
func (s *Service) instanceKeys(i *instance) map[string][]string {
	keys := map[string][]string{
		"ec2:AvailabilityZone": {i.Zone}, "ec2:InstanceType": {i.Type}, "ec2:RootDeviceType": {"ebs"},
		"ec2:Tenancy": s.launchKeys(i.plan)[kindInstance]["ec2:Tenancy"],
	}
	if i.ProfileARN != "" {
		keys["ec2:InstanceProfile"] = []string{i.ProfileARN}
	}
	return keys
}

// creation are the questions about making a resource of the kind with tags by
// the action: the action itself on the new resource, and ec2:CreateTags where
// it is born with tags.
func (c *call) creation(action, kind string, tags map[string]string, more map[string][]string) []wire.Access {
	conditions := wire.TagConditions(tags)
	maps.Copy(conditions, more)
	questions := []wire.Access{c.accessTo("ec2:"+action, conditions, c.s.future(kind))}
	if len(tags) > 0 {
		tagging := wire.TagConditions(tags)
		tagging["ec2:CreateAction"] = []string{action}
		questions = append(questions, c.accessTo("ec2:CreateTags", tagging, c.s.future(kind)))
	}
	return questions
}

// servicePrincipal is EC2 as the one that a role is passed to.
func servicePrincipal(region string) string {
	if partition(region) == "aws-cn" {
		return "ec2.amazonaws.com.cn"
	}
	return "ec2.amazonaws.com"
}

// passRole is the question whether the caller may give the role to instances.
func (c *call) passRole(roleARN string) wire.Access {
	return wire.Access{
		Action:     "iam:PassRole",
		Resources:  []wire.Resource{{ARN: roleARN}},
		Conditions: map[string][]string{"iam:PassedToService": {servicePrincipal(c.s.cfg.Region)}},
	}
}
