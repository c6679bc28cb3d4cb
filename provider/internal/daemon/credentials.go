package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/session"
)

// The role of a daemon may be in another configuration, and anybody may change its trust. So
// a refresh, and a plan in which the daemon asks for its credentials in another way, look at
// what AWS has now. They only warn, as whoever mends the trust needs the plan, and they say
// nothing unless it is certain: the rights to look are not required.

// audienceAnnotation of a service account is the audience of its tokens for IRSA.
const audienceAnnotation = "eks.amazonaws.com/audience"

// plight says why a daemon gets no credentials. The zero value says that it may get them.
type plight struct {
	what   string
	remedy string
	gone   bool // the role does not exist
}

// warnCredentials warns if the daemon, as it is, gets no credentials.
func (r *daemon) warnCredentials(ctx context.Context, c *Cluster, m daemonModel, diags *diag.Diagnostics) {
	found := r.lookUp(ctx, m, func(ctx context.Context, client *aws.Clients) (plight, error) {
		if m.RoleARN.ValueString() != "" {
			return r.byIRSA(ctx, client, m)
		}
		return r.byPodIdentity(ctx, client, c, m)
	})
	if found.what != "" {
		diags.AddWarning("The daemon has no credentials", fmt.Sprintf(
			"karpenter_daemon %q: %s. Pods that start get no credentials, and pods that run keep theirs until their session ends: then no node is launched, replaced or terminated.\n\n%s", managed.ImportID(m), found.what, found.remedy))
	}
}

// warnPlannedCredentials warns if the role of a planned role_arn does not admit the daemon.
// A role of this configuration is compared as it is planned; see checkTrust. A role that does
// not exist yet may be made by the same apply, and so may an association.
func (r *daemon) warnPlannedCredentials(ctx context.Context, m daemonModel, diags *diag.Diagnostics) {
	someCluster := (r.Session.EKS != nil || r.Session.Kubernetes != nil) && r.Session.UnknownCluster == ""
	if !someCluster || m.RoleARN.IsNull() || !fwvalue.WhollyKnown(ctx, m.RoleARN, m.ClusterName, m.Region, m.Namespace, m.ServiceAccount, m.Annotations, m.Environment) {
		return
	}
	if _, planned := r.Session.Roles.Role(m.RoleARN.ValueString()); planned {
		return
	}
	found := r.lookUp(ctx, m, func(ctx context.Context, client *aws.Clients) (plight, error) { return r.byIRSA(ctx, client, m) })
	if found.what != "" && !found.gone {
		diags.AddWarning("The daemon would have no credentials", fmt.Sprintf(
			"karpenter_daemon %q: as AWS has it now, %s. Unless the same apply mends that, the daemon launches, replaces and terminates no node.\n\n%s", managed.ImportID(m), found.what, found.remedy))
	}
}

// asksOtherwise tells whether the daemon asks for credentials otherwise than before.
func (m daemonModel) asksOtherwise(prior daemonModel) bool {
	return !m.RoleARN.Equal(prior.RoleARN) || !m.ClusterName.Equal(prior.ClusterName) || !m.Namespace.Equal(prior.Namespace) || !m.ServiceAccount.Equal(prior.ServiceAccount)
}

// lookUp asks AWS for a short time. An answer that cannot be had is no plight.
func (r *daemon) lookUp(ctx context.Context, m daemonModel, ask func(context.Context, *aws.Clients) (plight, error)) plight {
	if m.bringsCredentials() {
		return plight{}
	}
	within, cancel := context.WithTimeout(ctx, managed.PlanCheckTimeout)
	defer cancel()
	var found plight
	client, err := r.Session.AWS(within)
	if err == nil && client.Region() == m.Region.ValueString() {
		found, err = ask(within, client)
	}
	if err != nil {
		tflog.Debug(ctx, "whether the daemon gets credentials is not known", map[string]any{"error": err.Error()})
		return plight{}
	}
	return found
}

// bringsCredentials tells whether the environment has credentials, or says where they are.
func (m daemonModel) bringsCredentials() bool {
	for name := range fwvalue.StringMap(m.Environment) {
		for _, prefix := range []string{"AWS_ACCESS_KEY", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS", "AWS_ROLE", "AWS_WEB_IDENTITY", "AWS_CONTAINER"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// byIRSA looks at the role of role_arn.
func (r *daemon) byIRSA(ctx context.Context, client *aws.Clients, m daemonModel) (plight, error) {
	arn := m.RoleARN.ValueString()
	role, err := liveRole(ctx, r.Session, client, arn)
	if err != nil {
		return plight{}, err
	}
	if role.ARN == "" {
		return m.plight(iamrole.IdentityIRSA, fmt.Sprintf("the role %s does not exist", arn), true), nil
	}
	found, err := client.Cluster(ctx, m.ClusterName.ValueString())
	if err == nil && found.Issuer == "" {
		err = fmt.Errorf("eks cluster %q has no OIDC issuer", found.Name)
	}
	if err != nil {
		return plight{}, err
	}
	partition, account := awsspec.PartitionAndAccount(arn)
	audience := cmp.Or(fwvalue.StringMap(m.Annotations)[audienceAnnotation], awsspec.IRSAAudience)
	issuer := strings.TrimPrefix(found.Issuer, "https://")
	if refused := m.refused(role, iamrole.IdentityIRSA, awsspec.IRSASession(issuer, account, partition, m.Namespace.ValueString(), m.ServiceAccount.ValueString(), audience)); refused.what != "" {
		return refused, nil
	}
	what, remedy, err := iamrole.UnregisteredIssuer(ctx, client, awsspec.OIDCProviderARN(issuer, account, partition), m.ClusterName.ValueString(), issuer, audience)
	return plight{what: what, remedy: remedy}, err
}

// byPodIdentity looks at the association of the service account, and at its role. A service
// account to which somebody else has given a role needs no association.
func (r *daemon) byPodIdentity(ctx context.Context, client *aws.Clients, c *Cluster, m daemonModel) (plight, error) {
	cluster, namespace, account := m.ClusterName.ValueString(), m.Namespace.ValueString(), m.ServiceAccount.ValueString()
	live, err := c.Get(ctx, kube.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Namespace: namespace, Name: account})
	if err != nil {
		return plight{}, err
	}
	if arn := live.GetAnnotations()[install.RoleARNAnnotation]; arn != "" {
		m.RoleARN = types.StringValue(arn)
		return r.byIRSA(ctx, client, m)
	}
	association, err := client.FindPodAssociation(ctx, cluster, namespace, account)
	if errors.Is(err, aws.ErrNotFound) {
		found, err := client.Cluster(ctx, cluster) // one that is not found has no associations, either
		return m.plight(iamrole.IdentityPod, fmt.Sprintf("role_arn is not set, and the service account %q has no EKS Pod Identity association in the cluster %s", namespace+"/"+account, found.ARN), false), err
	}
	if err != nil {
		return plight{}, err
	}
	role, err := liveRole(ctx, r.Session, client, association.RoleARN)
	if err != nil {
		return plight{}, err
	}
	if role.ARN == "" {
		return m.plight(iamrole.IdentityPod, fmt.Sprintf("the EKS Pod Identity association %s gives the service account %q the role %s, which does not exist", association.ARN, namespace+"/"+account, association.RoleARN), true), nil
	}
	partition, owner := awsspec.PartitionAndAccount(association.RoleARN)
	return m.refused(role, iamrole.IdentityPod, awsspec.PodIdentitySession(awsspec.ClusterARN(partition, client.Region(), owner, cluster), namespace, account, association.Untagged)), nil
}

// liveRole reads the role; without ARN if the role does not exist. Whether a role of another
// account exists cannot be known.
func liveRole(ctx context.Context, s *session.Session, client *aws.Clients, arn string) (aws.Role, error) {
	role, err := client.GetBareRole(ctx, awsspec.RoleName(arn))
	if err == nil && role.ARN == arn || err != nil && !errors.Is(err, aws.ErrNotFound) {
		return role, err
	}
	caller, err := s.Caller.Get(func() (aws.Identity, error) { return client.Identity(ctx) })
	if _, account := awsspec.PartitionAndAccount(arn); err == nil && account != caller.Account {
		err = fmt.Errorf("the role %s is not in the account %s", arn, caller.Account)
	}
	return aws.Role{}, err
}

// refused is the plight of a daemon whose request the role does not admit.
func (m daemonModel) refused(role aws.Role, identity string, request awsspec.Session) plight {
	why := awsspec.Refusal(role.TrustPolicy, request)
	if why == "" {
		return plight{}
	}
	return m.plight(identity, fmt.Sprintf("the trust policy of the role %s does not admit the service account %q: %s", role.ARN, m.Namespace.ValueString()+"/"+m.ServiceAccount.ValueString(), why), false)
}

func (m daemonModel) plight(identity, what string, gone bool) plight {
	return plight{what: what, gone: gone, remedy: fmt.Sprintf(
		"Apply the configuration that has the role: karpenter_controller_role with cluster_name = %q, identity = %q, namespace = %q and service_account = %q. "+
			"If the role is made in another way, mend it there. If the daemon is to have another role, change role_arn.",
		m.ClusterName.ValueString(), identity, m.Namespace.ValueString(), m.ServiceAccount.ValueString())}
}
