package ekssim

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const policyPrefix = "arn:aws:eks::aws:cluster-access-policy/"

// ClusterAdminPolicy is the ARN of the access policy of administrators.
const ClusterAdminPolicy = policyPrefix + "AmazonEKSClusterAdminPolicy"

// AccessPolicy is one associated access policy.
type AccessPolicy struct {
	ARN        string
	Namespaces []string // empty: the whole cluster
}

// Name is the last part of the ARN.
func (p AccessPolicy) Name() string { return strings.TrimPrefix(p.ARN, policyPrefix) }

type association struct {
	AccessPolicy
	associated, modified time.Time
}

// policyNames are the access policies that can be associated, sorted.
func policyNames() []string {
	return []string{"AmazonEKSAdminPolicy", "AmazonEKSAdminViewPolicy", "AmazonEKSClusterAdminPolicy", "AmazonEKSEditPolicy", "AmazonEKSViewPolicy"}
}

type scope struct {
	Type       string   `json:"type"`
	Namespaces []string `json:"namespaces"`
}

type associationOut struct {
	PolicyArn    string     `json:"policyArn"`
	AccessScope  scope      `json:"accessScope"`
	AssociatedAt wire.Epoch `json:"associatedAt"`
	ModifiedAt   wire.Epoch `json:"modifiedAt"`
}

func (a *association) out() associationOut {
	where := scope{"cluster", []string{}}
	if len(a.Namespaces) > 0 {
		where = scope{"namespace", a.Namespaces}
	}
	return associationOut{a.ARN, where, wire.Epoch(a.associated), wire.Epoch(a.modified)}
}

func (s *Service) associatePolicy(ctx context.Context, req *wire.Request, in *struct {
	PolicyArn   string `json:"policyArn"`
	AccessScope scope  `json:"accessScope"`
},
) (any, error) {
	conditions := map[string][]string{"eks:policyArn": {in.PolicyArn}, "eks:accessScope": {in.AccessScope.Type}, "eks:namespaces": in.AccessScope.Namespaces}
	return s.withEntry(ctx, req, conditions, func(c *cluster, e *entry) (any, error) {
		if e.kind != "STANDARD" {
			return nil, wire.Errorf("InvalidRequestException", "Access policies cannot be associated with an access entry of type %s.", e.kind)
		}
		if !slices.Contains(policyNames(), strings.TrimPrefix(in.PolicyArn, policyPrefix)) {
			return nil, wire.Errorf("InvalidParameterException", "The policyArn parameter format is not valid")
		}
		switch {
		case in.AccessScope.Type == "cluster" && len(in.AccessScope.Namespaces) == 0:
		case in.AccessScope.Type == "namespace" && len(in.AccessScope.Namespaces) > 0:
		default:
			return nil, wire.Errorf("InvalidParameterException", "The access scope has type cluster and no namespaces, or type namespace and some.")
		}
		a, ok := e.policies[in.PolicyArn]
		if !ok {
			a = &association{associated: req.Now.UTC()}
			e.policies[in.PolicyArn] = a
		}
		a.AccessPolicy, a.modified = AccessPolicy{in.PolicyArn, in.AccessScope.Namespaces}, req.Now.UTC()
		return struct {
			ClusterName            string         `json:"clusterName"`
			PrincipalArn           string         `json:"principalArn"`
			AssociatedAccessPolicy associationOut `json:"associatedAccessPolicy"`
		}{c.Name, e.principal, a.out()}, nil
	})
}

func (s *Service) disassociatePolicy(ctx context.Context, req *wire.Request) (any, error) {
	arn := pathPart(req, 5)
	return s.withEntry(ctx, req, map[string][]string{"eks:policyArn": {arn}}, func(_ *cluster, e *entry) (any, error) {
		if _, ok := e.policies[arn]; !ok {
			return nil, &wire.Error{Code: "ResourceNotFoundException", Status: 404, Message: "The specified policyArn is not associated with the access entry."}
		}
		delete(e.policies, arn)
		return nil, nil
	})
}

func (s *Service) listAssociated(ctx context.Context, req *wire.Request) (any, error) {
	return s.withEntry(ctx, req, nil, func(c *cluster, e *entry) (any, error) {
		arns, next, err := page(req, slices.Sorted(maps.Keys(e.policies)), func(a string) string { return a })
		if err != nil {
			return nil, err
		}
		out := struct {
			ClusterName              string           `json:"clusterName"`
			PrincipalArn             string           `json:"principalArn"`
			NextToken                string           `json:"nextToken,omitempty"`
			AssociatedAccessPolicies []associationOut `json:"associatedAccessPolicies"`
		}{c.Name, e.principal, next, []associationOut{}}
		for _, arn := range arns {
			out.AssociatedAccessPolicies = append(out.AssociatedAccessPolicies, e.policies[arn].out())
		}
		return out, nil
	})
}

func (s *Service) listPolicies(ctx context.Context, req *wire.Request) (any, error) {
	if err := s.allow(ctx, req, "*", nil, nil); err != nil {
		return nil, err
	}
	names, next, err := page(req, policyNames(), func(n string) string { return n })
	if err != nil {
		return nil, err
	}
	type named struct {
		Name string `json:"name"`
		Arn  string `json:"arn"`
	}
	out := struct {
		AccessPolicies []named `json:"accessPolicies"`
		NextToken      string  `json:"nextToken,omitempty"`
	}{[]named{}, next}
	for _, n := range names {
		out.AccessPolicies = append(out.AccessPolicies, named{n, policyPrefix + n})
	}
	return out, nil
}
