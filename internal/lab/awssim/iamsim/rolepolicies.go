package iamsim

import (
	"context"
	"maps"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const (
	maxInlineSize      = 10240
	maxAttachedPerRole = 10
)

func (s *Service) rolePolicyActions() wire.Handlers {
	return wire.Handlers{
		"PutRolePolicy":            s.putRolePolicy,
		"GetRolePolicy":            s.getRolePolicy,
		"DeleteRolePolicy":         s.deleteRolePolicy,
		"ListRolePolicies":         s.listRolePolicies,
		"AttachRolePolicy":         s.attachRolePolicy,
		"DetachRolePolicy":         s.detachRolePolicy,
		"ListAttachedRolePolicies": s.listAttachedRolePolicies,
	}
}

func (s *Service) putRolePolicy(ctx context.Context, req *wire.Request) (any, error) {
	name, err := entityName(req.Form, "PolicyName", maxName)
	if err != nil {
		return nil, err
	}
	text, err := required(req.Form, "PolicyDocument")
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		doc, err := parsePolicy(text, policy.Identity)
		if err != nil {
			return nil, err
		}
		size := policySize(text)
		for other, p := range r.inline {
			if other != name {
				size += policySize(p.text)
			}
		}
		if size > maxInlineSize {
			return nil, limitExceeded("Maximum policy size of %d bytes exceeded for role %s", maxInlineSize, r.name)
		}
		r.inline[name] = inlinePolicy{text, doc}
		return nil, nil
	})
}

func (s *Service) getRolePolicy(ctx context.Context, req *wire.Request) (any, error) {
	name, err := required(req.Form, "PolicyName")
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		p, ok := r.inline[name]
		if !ok {
			return nil, noSuchEntity("The role policy with name %s cannot be found.", name)
		}
		return struct{ RoleName, PolicyName, PolicyDocument string }{r.name, name, encodeDocument(p.text)}, nil
	})
}

func (s *Service) deleteRolePolicy(ctx context.Context, req *wire.Request) (any, error) {
	name, err := required(req.Form, "PolicyName")
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		if _, ok := r.inline[name]; !ok {
			return nil, noSuchEntity("The role policy with name %s cannot be found.", name)
		}
		delete(r.inline, name)
		return nil, nil
	})
}

func (s *Service) listRolePolicies(ctx context.Context, req *wire.Request) (any, error) {
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		names, next, err := page(req.Form, slices.Sorted(maps.Keys(r.inline)), func(n string) string { return n })
		if err != nil {
			return nil, err
		}
		return struct {
			PolicyNames list[string]
			paging
		}{list[string]{names}, paging{next != "", next}}, nil
	})
}

func (s *Service) attachRolePolicy(ctx context.Context, req *wire.Request) (any, error) {
	arn, err := required(req.Form, "PolicyArn")
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, map[string][]string{"iam:PolicyARN": {arn}}, func(r *role) (any, error) {
		if _, ok := s.policies[arn]; !ok {
			return nil, noSuchEntity("Policy %s does not exist or is not attachable.", arn)
		}
		if slices.Contains(r.attached, arn) {
			return nil, nil
		}
		if len(r.attached) >= maxAttachedPerRole {
			return nil, limitExceeded("Cannot exceed quota for PoliciesPerRole: %d", maxAttachedPerRole)
		}
		r.attached = append(r.attached, arn)
		slices.Sort(r.attached)
		return nil, nil
	})
}

func (s *Service) detachRolePolicy(ctx context.Context, req *wire.Request) (any, error) {
	arn, err := required(req.Form, "PolicyArn")
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, map[string][]string{"iam:PolicyARN": {arn}}, func(r *role) (any, error) {
		at := slices.Index(r.attached, arn)
		if at < 0 {
			return nil, noSuchEntity("Policy %s was not found.", arn)
		}
		r.attached = slices.Delete(r.attached, at, at+1)
		return nil, nil
	})
}

type attachedXML struct {
	PolicyName string
	PolicyArn  string
}

func (s *Service) listAttachedRolePolicies(ctx context.Context, req *wire.Request) (any, error) {
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		arns, next, err := page(req.Form, r.attached, func(a string) string { return a })
		if err != nil {
			return nil, err
		}
		out := struct {
			AttachedPolicies list[attachedXML]
			paging
		}{paging: paging{next != "", next}}
		for _, arn := range arns {
			out.AttachedPolicies.Member = append(out.AttachedPolicies.Member, attachedXML{s.policies[arn].name, arn})
		}
		return out, nil
	})
}

// checkBoundary says whether a policy can be a permissions boundary. Called with the lock held.
func (s *Service) checkBoundary(arn string) error {
	if _, ok := s.policies[arn]; arn != "" && !ok {
		return noSuchEntity("Scope ARN: %s does not exist or is not attachable.", arn)
	}
	return nil
}

func (s *Service) putBoundary(ctx context.Context, req *wire.Request) (any, error) {
	arn, err := required(req.Form, "PermissionsBoundary")
	if err != nil {
		return nil, err
	}
	return s.withRole(ctx, req, map[string][]string{"iam:PermissionsBoundary": {arn}}, func(r *role) (any, error) {
		if err := s.checkBoundary(arn); err != nil {
			return nil, err
		}
		r.boundary = arn
		return nil, nil
	})
}

func (s *Service) deleteBoundary(ctx context.Context, req *wire.Request) (any, error) {
	return s.withRole(ctx, req, nil, func(r *role) (any, error) {
		if r.boundary == "" {
			return nil, noSuchEntity("The role with name %s does not have a permissions boundary.", r.name)
		}
		r.boundary = ""
		return nil, nil
	})
}
