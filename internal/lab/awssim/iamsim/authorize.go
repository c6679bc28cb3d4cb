package iamsim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

var _ wire.Authorizer = (*Service)(nil)

// Authorize answers whether the caller of the request may do an action on
// every one of its resources. The refusal is the error of the service that asks.
func (s *Service) Authorize(_ context.Context, req *wire.Request, access wire.Access) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.authorizeLocked(req, access)
}

func (s *Service) authorizeLocked(req *wire.Request, access wire.Access) error {
	resources := access.Resources
	if len(resources) == 0 {
		resources = []wire.Resource{{ARN: "*"}}
	}
	docs, boundary := s.policiesOf(req.Identity)
	var resourcePolicy *policy.Document
	if access.Policy != "" {
		doc, err := policy.Parse(access.Policy, policy.Resource)
		if err != nil {
			return fmt.Errorf("read resource policy: %w", err)
		}
		resourcePolicy = doc
	}
	keys := s.conditionKeys(req, access.Conditions)
	for _, resource := range resources {
		if resource.ARN == "" {
			resource.ARN = "*"
		}
		question := policy.Request{Action: access.Action, Resource: resource.ARN, Keys: withResourceTags(keys, access.Action, resource.Tags), Caller: Caller(req.Identity)}
		verdict := decide(question, docs, boundary, resourcePolicy)
		if verdict != policy.Allow {
			return refusal(req, access.Action, resource.ARN, verdict == policy.Deny)
		}
	}
	s.allowed[use{req.Identity.Principal, access.Action}] = true
	return nil
}

// use is an action that a principal was allowed.
type use struct{ principal, action string }

// Used are the actions that a principal, by its ARN, was allowed so far, sorted.
func (s *Service) Used(principal string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var actions []string
	for u := range s.allowed {
		if u.principal == principal {
			actions = append(actions, u.action)
		}
	}
	slices.Sort(actions)
	return actions
}

// Decide says what the caller's own policies and boundary say of one action on
// one resource; STS joins it with the trust policy of the role to be assumed.
func (s *Service) Decide(req *wire.Request, action, resource string, conditions map[string][]string) policy.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	docs, boundary := s.policiesOf(req.Identity)
	q := policy.Request{Action: action, Resource: resource, Keys: s.conditionKeys(req, conditions), Caller: Caller(req.Identity)}
	return decide(q, docs, boundary, nil)
}

// decide joins what the caller's policies, its boundary and the resource's own
// policy say: a deny in any wins; inside one account either side may allow;
// the boundary limits what the caller's own policies allow.
func decide(q policy.Request, docs []*policy.Document, boundary, resource *policy.Document) policy.Decision {
	identity := policy.Evaluate(q, docs...)
	byResource := policy.Evaluate(q, resource)
	limit := policy.Allow
	if boundary != nil {
		limit = policy.Evaluate(q, boundary)
	}
	switch {
	case identity == policy.Deny || byResource == policy.Deny || limit == policy.Deny:
		return policy.Deny
	case byResource == policy.Allow, identity == policy.Allow && limit == policy.Allow:
		return policy.Allow
	}
	return policy.None
}

// policiesOf collects the policies of a user or role, and its boundary.
func (s *Service) policiesOf(id wire.Identity) (docs []*policy.Document, boundary *policy.Document) {
	if u := s.userByARN(id.Principal); u != nil {
		for _, arn := range u.attached {
			docs = append(docs, s.policies[arn].document())
		}
		return docs, nil
	}
	r, _ := s.seenRole(id.Principal)
	return r.docs, r.boundary
}

func (s *Service) userByARN(arn string) *user {
	for _, u := range s.users {
		if u.arn == arn {
			return u
		}
	}
	return nil
}

func (s *Service) roleByARN(arn string) *role {
	if r, ok := s.roles[arn[strings.LastIndexByte(arn, '/')+1:]]; ok && r.arn == arn {
		return r
	}
	return nil
}

// Caller is the identity as a Principal element can name it.
func Caller(id wire.Identity) policy.Caller {
	if id.Service != "" {
		return policy.Caller{Service: id.Service}
	}
	return policy.Caller{Account: id.Account, ARNs: []string{id.Principal, id.ARN}}
}

// Organization is the id of the organization that the account is in.
const Organization = "o-1"

// conditionKeys are the global keys of a request and those of the action.
func (s *Service) conditionKeys(req *wire.Request, more map[string][]string) map[string][]string {
	id := req.Identity
	keys := map[string][]string{
		// The laboratory listens on loopback only, where nothing can be overheard.
		"aws:securetransport":       {"true"},
		"aws:requestedregion":       {req.Region},
		"aws:principalisawsservice": {fmt.Sprint(id.Service != "")},
	}
	if id.Service != "" {
		keys["aws:principalservicename"] = []string{id.Service}
	} else {
		keys["aws:principalarn"] = []string{id.Principal}
		keys["aws:principalaccount"] = []string{id.Account}
		keys["aws:principalorgid"] = []string{Organization}
		keys["aws:userid"] = []string{id.UserID}
	}
	if r, ok := s.seenRole(id.Principal); ok {
		keys["aws:principaltype"] = []string{"AssumedRole"}
		for k, v := range r.Tags {
			keys["aws:principaltag/"+strings.ToLower(k)] = []string{v}
		}
	} else if u := s.userByARN(id.Principal); u != nil {
		keys["aws:principaltype"] = []string{"User"}
		keys["aws:username"] = []string{u.name}
	}
	for k, v := range more {
		keys[strings.ToLower(k)] = v
	}
	return keys
}

// withResourceTags adds the tags of one resource under the global key and the
// service's older one (ec2:ResourceTag, iam:ResourceTag).
func withResourceTags(keys map[string][]string, action string, tags map[string]string) map[string][]string {
	if len(tags) == 0 {
		return keys
	}
	out := make(map[string][]string, len(keys)+2*len(tags))
	for k, v := range keys {
		out[k] = v
	}
	service, _, _ := strings.Cut(action, ":")
	for k, v := range tags {
		k = strings.ToLower(k)
		out["aws:resourcetag/"+k] = []string{v}
		out[service+":resourcetag/"+k] = []string{v}
	}
	return out
}

// refusal is the error by which a service says no.
func refusal(req *wire.Request, action, resource string, explicit bool) error {
	why := fmt.Sprintf("because no identity-based policy allows the %s action", action)
	if explicit {
		why = "with an explicit deny in a policy"
	}
	who := req.Identity.ARN
	if req.Identity.Service != "" {
		who = req.Identity.Service
	}
	e := &wire.Error{Status: 403, Message: fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %s %s", who, action, resource, why)}
	switch req.Service {
	case "ec2":
		e.Code, e.Message = "UnauthorizedOperation", "You are not authorized to perform this operation. "+e.Message
	case "iam", "sts", "sqs":
		e.Code = "AccessDenied"
	case "eks":
		e.Code = "AccessDeniedException"
	default:
		e.Code, e.Status = "AccessDeniedException", 400
	}
	return e
}
