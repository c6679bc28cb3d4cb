package iamsim

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const serviceRolePath = "/aws-service-role/"

// serviceRoles are the names of service-linked roles: of the many, those that an account with
// EKS nodes needs.
func serviceRoles() map[string]string {
	return map[string]string{
		"spot.amazonaws.com":          "AWSServiceRoleForEC2Spot",
		"spotfleet.amazonaws.com":     "AWSServiceRoleForEC2SpotFleet",
		"ec2fleet.amazonaws.com":      "AWSServiceRoleForEC2Fleet",
		"eks.amazonaws.com":           "AWSServiceRoleForAmazonEKS",
		"eks-nodegroup.amazonaws.com": "AWSServiceRoleForAmazonEKSNodegroup",
	}
}

// createServiceLinkedRole makes the role by which an AWS service acts in the account.
func (s *Service) createServiceLinkedRole(ctx context.Context, req *wire.Request) (any, error) {
	service, err := required(req.Form, "AWSServiceName")
	if err != nil {
		return nil, err
	}
	r, err := s.makeServiceRole(ctx, req, service, req.Form.Get("Description"))
	if err != nil {
		return nil, err
	}
	return roleResult{r.xml(true)}, nil
}

// EnsureServiceRole is what a service does that needs its role for a call: it creates the role
// where it is missing and the caller may.
func (s *Service) EnsureServiceRole(ctx context.Context, req *wire.Request, service string) error {
	s.mu.Lock()
	_, there := s.roles[serviceRoles()[service]]
	s.mu.Unlock()
	if there {
		return nil
	}
	_, err := s.makeServiceRole(ctx, req, service, "")
	return err
}

func (s *Service) makeServiceRole(ctx context.Context, req *wire.Request, service, description string) (*role, error) {
	name, ok := serviceRoles()[service]
	if !ok {
		return nil, wire.Errorf("InvalidInput", "Service role creation is not supported for %s", service)
	}
	path := serviceRolePath + service + "/"
	arn := s.arn("role", path, name)
	question := wire.Access{Action: "iam:CreateServiceLinkedRole", Resources: []wire.Resource{{ARN: arn}}, Conditions: map[string][]string{"iam:AWSServiceName": {service}}}
	if err := s.Authorize(ctx, req, question); err != nil {
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
		name: name, path: path, arn: arn, id: newID("AROA"), description: description, trustText: text, trust: trust,
		maxSession: defaultMaxSession, created: req.Now.UTC().Truncate(time.Second), tags: map[string]string{}, inline: map[string]inlinePolicy{},
	}
	s.roles[name] = r
	return r, nil
}

// deletion is the deletion of a service-linked role, which IAM does after it has answered.
// Here it is done, or refused by the service, at once.
type deletion struct{ refusal string }

// deleteServiceLinkedRole deletes the role, if its service has nothing that needs the role.
func (s *Service) deleteServiceLinkedRole(ctx context.Context, req *wire.Request) (any, error) {
	name, err := s.needRole(ctx, req, nil)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	r, ok := s.roles[name]
	s.mu.Unlock()
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", name)
	}
	service, linked := strings.CutPrefix(strings.TrimSuffix(r.path, "/"), serviceRolePath)
	if !linked {
		return nil, noSuchEntity("The role with name %s is not a service-linked role.", name)
	}
	done := deletion{}
	if s.needed != nil {
		done.refusal = s.needed(service) // without the lock: the service asks IAM
	}
	id := "task" + r.path + name + "/" + uuid.NewString()
	s.mu.Lock()
	defer s.mu.Unlock()
	if done.refusal == "" {
		delete(s.roles, name)
	}
	s.deletions[id] = done
	return struct {
		DeletionTaskID string `xml:"DeletionTaskId"`
	}{id}, nil
}

type deletionXML struct {
	Status string
	Reason *deletionReasonXML `xml:",omitempty"`
}

type deletionReasonXML struct{ Reason string }

func (s *Service) serviceLinkedRoleDeletion(ctx context.Context, req *wire.Request) (any, error) {
	id, err := required(req.Form, "DeletionTaskId")
	if err != nil {
		return nil, err
	}
	if err := s.allow(ctx, req, s.arn("role", "/", "*"), nil, nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done, ok := s.deletions[id]
	switch {
	case !ok:
		return nil, noSuchEntity("The deletion task %s cannot be found.", id)
	case done.refusal != "":
		return deletionXML{"FAILED", &deletionReasonXML{done.refusal}}, nil
	}
	return deletionXML{Status: "SUCCEEDED"}, nil
}
