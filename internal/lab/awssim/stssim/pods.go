package stssim

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// PodAudience is the audience of the token with which a pod asks for credentials.
// PodService is the service that a role must trust for it. Source: EKS user guide, "Learn
// how EKS Pod Identity grants pods access to AWS services".
const (
	PodAudience = "pods.eks.amazonaws.com"
	PodService  = "pods.eks.amazonaws.com"
)

// PodToken verifies a pod's token of the issuer and says whose it is: namespace, service
// account and pod. The other members are empty. EKS trusts its clusters' issuers without an
// OIDC provider in IAM.
func (s *Service) PodToken(ctx context.Context, raw, issuer string) (ekssim.PodSession, error) {
	c, _, err := s.verifyClaims(ctx, raw, s.Now(), func(from string) ([]string, error) {
		if from != issuer {
			return nil, wire.Errorf("InvalidIdentityToken", "The token is of the issuer %s, and the cluster's is %s", from, issuer)
		}
		return []string{PodAudience}, nil
	})
	if err != nil {
		return ekssim.PodSession{}, err
	}
	return ekssim.PodSession{Namespace: c.Pod.Namespace, ServiceAccount: c.Pod.ServiceAccount.Name, PodName: c.Pod.Pod.Name, PodUID: c.Pod.Pod.UID}, nil
}

// TrustsPods says whether the role's trust policy allows EKS to assume the role and to tag
// the session.
func (s *Service) TrustsPods(session ekssim.PodSession) bool {
	role, ok := s.IAM.Role(session.RoleARN)
	return ok && trustsPods(role, session)
}

// trustsPods asks for both actions with the tags of the session. Source of the tags: EKS
// user guide, "Grant pods access to AWS resources based on tags".
func trustsPods(role iamsim.Role, session ekssim.PodSession) bool {
	keys := map[string][]string{"aws:securetransport": {"true"}}
	if !session.Untagged {
		for name, value := range map[string]string{
			"eks-cluster-arn": session.ClusterARN, "eks-cluster-name": session.Cluster, "kubernetes-namespace": session.Namespace,
			"kubernetes-service-account": session.ServiceAccount, "kubernetes-pod-name": session.PodName, "kubernetes-pod-uid": session.PodUID,
		} {
			keys["aws:requesttag/"+name] = []string{value}
		}
	}
	actions := []string{"sts:AssumeRole"}
	if !session.Untagged {
		actions = append(actions, "sts:TagSession")
	}
	for _, action := range actions {
		question := policy.Request{Action: action, Resource: role.ARN, Keys: keys, Caller: policy.Caller{Service: PodService}}
		if policy.Evaluate(question, role.Trust) != policy.Allow {
			return false
		}
	}
	return true
}

// ForPod makes the credentials of the session's role. Their lifetime is assumed: as long as
// an instance's, but no longer than the role allows.
func (s *Service) ForPod(session ekssim.PodSession) (iamsim.Credential, error) {
	role, ok := s.IAM.Role(session.RoleARN)
	if !ok {
		return iamsim.Credential{}, fmt.Errorf("%w: role %s does not exist", ErrPodRefused, session.RoleARN)
	}
	if !trustsPods(role, session) {
		return iamsim.Credential{}, fmt.Errorf("%w: role %s does not allow sts:AssumeRole and sts:TagSession to %s for service account %s/%s of %s", ErrPodRefused,
			session.RoleARN, PodService, session.Namespace, session.ServiceAccount, session.ClusterARN)
	}
	name := "eks-" + session.Cluster + "-" + session.ServiceAccount
	// IAM accepts 64 characters.
	return s.IAM.IssueSession(role, name[:min(len(name), 27)]+"-"+uuid.NewString(), min(instanceLifetime, max(role.MaxSession, time.Hour))), nil
}
