package iamsim

import (
	"context"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const serviceRolePath = "/aws-service-role/"

// createServiceLinkedRole makes the role by which an AWS service acts in the
// account; of the many, those that an account with EKS nodes needs.
func (s *Service) createServiceLinkedRole(ctx context.Context, req *wire.Request) (any, error) {
	service, err := required(req.Form, "AWSServiceName")
	if err != nil {
		return nil, err
	}
	name, ok := map[string]string{
		"spot.amazonaws.com":          "AWSServiceRoleForEC2Spot",
		"spotfleet.amazonaws.com":     "AWSServiceRoleForEC2SpotFleet",
		"ec2fleet.amazonaws.com":      "AWSServiceRoleForEC2Fleet",
		"eks.amazonaws.com":           "AWSServiceRoleForAmazonEKS",
		"eks-nodegroup.amazonaws.com": "AWSServiceRoleForAmazonEKSNodegroup",
	}[service]
	if !ok {
		return nil, wire.Errorf("InvalidInput", "Service role creation is not supported for %s", service)
	}
	path := serviceRolePath + service + "/"
	arn := s.arn("role", path, name)
	if err := s.allow(ctx, req, arn, nil, map[string][]string{"iam:AWSServiceName": {service}}); err != nil {
		return nil, err
	}
	text := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + service + `"},"Action":"sts:AssumeRole"}]}`
	trust, err := parsePolicy(text, policy.Trust)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.roles[name]; taken {
		return nil, wire.Errorf("InvalidInput", "Service role name %s has been taken in this account, please try a different suffix.", name)
	}
	r := &role{
		name: name, path: path, arn: arn, id: newID("AROA"), description: req.Form.Get("Description"), trustText: text, trust: trust,
		maxSession: defaultMaxSession, created: req.Now.UTC().Truncate(time.Second), tags: map[string]string{}, inline: map[string]inlinePolicy{},
	}
	s.roles[name] = r
	return roleResult{r.xml(true)}, nil
}
