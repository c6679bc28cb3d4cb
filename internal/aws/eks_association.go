package aws

import (
	"context"
	"crypto/rand"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// PodAssociation gives the pods of a service account an IAM role, by EKS Pod Identity.
type PodAssociation struct {
	Cluster, Namespace, ServiceAccount string
	RoleARN                            string
	ID                                 string // read only; EKS never gives it to another association
	ARN                                string // read only
	Untagged                           bool   // the role's sessions have no tags, which its trust policy may ask for
	TargetRoleARN                      string // a role that the first role assumes for the pods; empty: none
	Tags                               map[string]string
}

// rolePropagates is EKS' answer while it does not know yet a new role, or the newest trust
// policy of a role. Source: issues 34711 and 41483 of Terraform's AWS provider.
func rolePropagates(err error) bool {
	return hasCode(err, "InvalidParameterException", "role provided")
}

// CreatePodAssociation makes the association. It waits while EKS does not know the role, or
// that the role trusts EKS. Errors: ErrConflict if the service account has an association
// already; ErrNotFound if the cluster does not exist.
func (c *Clients) CreatePodAssociation(ctx context.Context, want PodAssociation) (PodAssociation, error) {
	in := &eks.CreatePodIdentityAssociationInput{
		ClusterName: &want.Cluster, Namespace: &want.Namespace, ServiceAccount: &want.ServiceAccount, RoleArn: &want.RoleARN, Tags: want.Tags,
		ClientRequestToken: awssdk.String(rand.Text()), // the same in all tries, also while EKS does not know the role
	}
	var out *eks.CreatePodIdentityAssociationOutput
	sent := c.newSendings()
	err := c.propagate(ctx, rolePropagates, func() (err error) {
		out, err = c.eks.CreatePodIdentityAssociation(ctx, in, sent.ofEKS)
		return err
	})
	if err != nil {
		err = wrap(err, "pod identity association of service account %s/%s in cluster %q create", want.Namespace, want.ServiceAccount, want.Cluster)
		read := func(ctx context.Context) (PodAssociation, error) {
			return c.FindPodAssociation(ctx, want.Cluster, want.Namespace, want.ServiceAccount)
		}
		// The role is the caller's own, so nobody else has made an association with it.
		return afterFailure(ctx, c, sent, err, read, func(have PodAssociation) bool { return have.RoleARN == want.RoleARN })
	}
	return podAssociation(out.Association), nil
}

// GetPodAssociation reads an association by id. Error: ErrNotFound if the association or
// the cluster does not exist.
func (c *Clients) GetPodAssociation(ctx context.Context, cluster, id string) (PodAssociation, error) {
	out, err := c.eks.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: &cluster, AssociationId: &id})
	if err != nil {
		return PodAssociation{}, wrap(err, "pod identity association %q in cluster %q read", id, cluster)
	}
	return podAssociation(out.Association), nil
}

// FindPodAssociation reads the association of a service account. Error: ErrNotFound if there
// is none, or no cluster.
func (c *Clients) FindPodAssociation(ctx context.Context, cluster, namespace, serviceAccount string) (PodAssociation, error) {
	list := eks.NewListPodIdentityAssociationsPaginator(c.eks, &eks.ListPodIdentityAssociationsInput{ClusterName: &cluster, Namespace: &namespace, ServiceAccount: &serviceAccount})
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return PodAssociation{}, wrap(err, "pod identity associations in cluster %q list", cluster)
		}
		for _, a := range page.Associations {
			return c.GetPodAssociation(ctx, cluster, awssdk.ToString(a.AssociationId))
		}
	}
	return PodAssociation{}, fmt.Errorf("pod identity association of service account %s/%s in cluster %q find: %w", namespace, serviceAccount, cluster, ErrNotFound)
}

func podAssociation(a *ekstypes.PodIdentityAssociation) PodAssociation {
	return PodAssociation{
		Cluster: awssdk.ToString(a.ClusterName), Namespace: awssdk.ToString(a.Namespace), ServiceAccount: awssdk.ToString(a.ServiceAccount), RoleARN: awssdk.ToString(a.RoleArn),
		ID: awssdk.ToString(a.AssociationId), ARN: awssdk.ToString(a.AssociationArn),
		Untagged: awssdk.ToBool(a.DisableSessionTags), TargetRoleARN: awssdk.ToString(a.TargetRoleArn), Tags: withoutReserved(a.Tags),
	}
}

// UpdatePodAssociation changes role, session tags, target role and tags of the association
// want.ID to want; tags as in UpdateRole. Error: ErrNotFound.
func (c *Clients) UpdatePodAssociation(ctx context.Context, prior, want PodAssociation) (PodAssociation, error) {
	have, err := c.GetPodAssociation(ctx, want.Cluster, want.ID)
	if err != nil {
		return PodAssociation{}, err
	}
	if have.RoleARN != want.RoleARN || have.Untagged != want.Untagged || have.TargetRoleARN != want.TargetRoleARN {
		in := &eks.UpdatePodIdentityAssociationInput{
			ClusterName: &want.Cluster, AssociationId: &want.ID, RoleArn: &want.RoleARN, DisableSessionTags: &want.Untagged,
		}
		if have.TargetRoleARN != want.TargetRoleARN {
			in.TargetRoleArn = &want.TargetRoleARN
		}
		err := c.propagate(ctx, rolePropagates, func() error {
			_, err := c.eks.UpdatePodIdentityAssociation(ctx, in)
			return err
		})
		if err != nil {
			return PodAssociation{}, wrap(err, "pod identity association %q in cluster %q update", want.ID, want.Cluster)
		}
	}
	err = c.syncTags(prior.Tags, want.Tags, have.Tags, func(set map[string]string) error {
		_, err := c.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: &have.ARN, Tags: set})
		return wrap(err, "pod identity association %q tag", want.ID)
	}, func(keys []string) error {
		_, err := c.eks.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: &have.ARN, TagKeys: keys})
		return wrap(err, "pod identity association %q untag", want.ID)
	})
	if err != nil {
		return PodAssociation{}, err
	}
	return c.GetPodAssociation(ctx, want.Cluster, want.ID)
}

// DeletePodAssociation deletes the association. It is no error if it is gone.
func (c *Clients) DeletePodAssociation(ctx context.Context, cluster, id string) error {
	_, err := beforeDelete(ctx, c, func() (PodAssociation, error) { return c.GetPodAssociation(ctx, cluster, id) })
	if err != nil {
		return unlessGone(err)
	}
	_, err = c.eks.DeletePodIdentityAssociation(ctx, &eks.DeletePodIdentityAssociationInput{ClusterName: &cluster, AssociationId: &id})
	return unlessGone(wrap(err, "pod identity association %q in cluster %q delete", id, cluster))
}
