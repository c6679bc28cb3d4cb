//go:build lab

package judge

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
)

const podTrust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`

const noAssociations = "it has no Pod Identity associations"

// associate makes a role and an association of a service account of that name.
func (w *world) associate(ctx context.Context, name string) (role *string, made *ekstypes.PodIdentityAssociation) {
	role = need(w.createRole(ctx, name, podTrust)).Role.Arn
	out := need(w.eks.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{
		ClusterName: aws.String(cluster), Namespace: aws.String("karpenter"), ServiceAccount: &name, RoleArn: role, Tags: map[string]string{"a": "1"},
	}))
	return role, out.Association
}

func associationContracts() []contract {
	name, namespace := aws.String(cluster), aws.String("karpenter")
	describe := func(ctx context.Context, w *world, id *string) (*eks.DescribePodIdentityAssociationOutput, error) {
		return w.eks.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: name, AssociationId: id})
	}
	return []contract{
		{
			name: "pod identity: made once for a service account, deleted once",
			run: func(ctx context.Context, w *world) facts {
				role, made := w.associate(ctx, "pods-life")
				again := errorOf(w.eks.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{ClusterName: name, Namespace: namespace, ServiceAccount: aws.String("pods-life"), RoleArn: role}))
				read := need(describe(ctx, w, made.AssociationId)).Association
				remove := func() (*eks.DeletePodIdentityAssociationOutput, error) {
					return w.eks.DeletePodIdentityAssociation(ctx, &eks.DeletePodIdentityAssociationInput{ClusterName: name, AssociationId: made.AssociationId})
				}
				removed := need(remove()).Association
				return facts{
					"role": *made.RoleArn == *role, "namespace": *made.Namespace, "account": *made.ServiceAccount, "cluster": *made.ClusterName, "tags": made.Tags, "dated": made.CreatedAt != nil && made.ModifiedAt != nil,
					"id": strings.HasPrefix(*made.AssociationId, "a-"), "arn": *made.AssociationArn == "arn:aws:eks:us-west-2:123456789012:podidentityassociation/lab/"+*made.AssociationId,
					"untagged": *made.DisableSessionTags, "read": *read.AssociationArn == *made.AssociationArn, "again": again, "removed": *removed.AssociationId == *made.AssociationId,
					"gone": errorOf(describe(ctx, w, made.AssociationId)), "gone twice": errorOf(remove()),
				}
			},
			want: facts{
				"role": true, "namespace": "karpenter", "account": "pods-life", "cluster": cluster, "tags": map[string]string{"a": "1"}, "dated": true, "id": true, "arn": true, "untagged": false,
				"read": true, "again": "ResourceInUseException", "removed": true, "gone": "ResourceNotFoundException", "gone twice": "ResourceNotFoundException",
			},
			notOnMoto: noAssociations, onMinistack: true,
		},
		{
			name: "pod identity: found by service account, its role changed",
			run: func(ctx context.Context, w *world) facts {
				_, made := w.associate(ctx, "pods-change")
				w.associate(ctx, "pods-other")
				list := func(account *string) []string {
					out := need(w.eks.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: name, Namespace: namespace, ServiceAccount: account}))
					return sortedBy(out.Associations, func(a ekstypes.PodIdentityAssociationSummary) string { return *a.AssociationId })
				}
				other := need(w.createRole(ctx, "pods-change-to", podTrust)).Role.Arn
				changed := need(w.eks.UpdatePodIdentityAssociation(ctx, &eks.UpdatePodIdentityAssociationInput{ClusterName: name, AssociationId: made.AssociationId, RoleArn: other, DisableSessionTags: aws.Bool(true)})).Association
				return facts{
					"found": slices.Equal(list(aws.String("pods-change")), []string{*made.AssociationId}), "none": len(list(aws.String("pods-none"))), "all": slices.Contains(list(nil), *made.AssociationId),
					"role": *changed.RoleArn == *other, "untagged": *changed.DisableSessionTags,
				}
			},
			want:      facts{"found": true, "none": 0, "all": true, "role": true, "untagged": true},
			notOnMoto: noAssociations, onMinistack: true,
		},
		{
			name: "pod identity: needs its cluster",
			run: func(ctx context.Context, w *world) facts {
				none := aws.String("none")
				role := need(w.createRole(ctx, "pods-none", podTrust)).Role.Arn
				return facts{
					"create": errorOf(w.eks.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{ClusterName: none, Namespace: namespace, ServiceAccount: none, RoleArn: role})),
					"list":   errorOf(w.eks.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: none})),
				}
			},
			want:      facts{"create": "ResourceNotFoundException", "list": "ResourceNotFoundException"},
			notOnMoto: noAssociations, onMinistack: true,
		},
		{
			name: "pod identity: needs a role that exists and trusts EKS",
			run: func(ctx context.Context, w *world) facts {
				create := func(role string) string {
					return errorOf(w.eks.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{ClusterName: name, Namespace: namespace, ServiceAccount: aws.String("pods-role"), RoleArn: &role}))
				}
				return facts{"unknown": create("arn:aws:iam::123456789012:role/pods-unknown"), "of instances": create(*need(w.createRole(ctx, "pods-trust", ec2Trust)).Role.Arn)}
			},
			want:      facts{"unknown": "InvalidParameterException", "of instances": "InvalidParameterException"},
			notOnMoto: noAssociations + "; those of ministack take any role",
		},
	}
}

func linkedRoleContracts() []contract {
	return []contract{
		{
			name: "service-linked role: made once, and deleted by a task",
			run: func(ctx context.Context, w *world) facts {
				in := &iam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spotfleet.amazonaws.com")}
				made := need(w.iam.CreateServiceLinkedRole(ctx, in)).Role
				again := errorOf(w.iam.CreateServiceLinkedRole(ctx, in))
				plain := errorOf(w.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: made.RoleName}))
				task := need(w.iam.DeleteServiceLinkedRole(ctx, &iam.DeleteServiceLinkedRoleInput{RoleName: made.RoleName})).DeletionTaskId
				status := string(need(w.iam.GetServiceLinkedRoleDeletionStatus(ctx, &iam.GetServiceLinkedRoleDeletionStatusInput{DeletionTaskId: task})).Status)
				return facts{
					"name": *made.RoleName, "path": *made.Path, "again": again, "plain": plain, "status": status,
					"gone": errorOf(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: made.RoleName})),
				}
			},
			want: facts{
				"name": "AWSServiceRoleForEC2SpotFleet", "path": "/aws-service-role/spotfleet.amazonaws.com/", "again": "InvalidInput", "plain": "UnmodifiableEntity", "status": "SUCCEEDED", "gone": "NoSuchEntity",
			},
			notOnMoto: "it names the role otherwise, and says EntityAlreadyExists",
		},
		{
			name: "service-linked role: the task of a deletion succeeds",
			run: func(ctx context.Context, w *world) facts {
				made := need(w.iam.CreateServiceLinkedRole(ctx, &iam.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("eks.amazonaws.com")})).Role
				task := need(w.iam.DeleteServiceLinkedRole(ctx, &iam.DeleteServiceLinkedRoleInput{RoleName: made.RoleName})).DeletionTaskId
				return facts{
					"path": *made.Path, "status": string(need(w.iam.GetServiceLinkedRoleDeletionStatus(ctx, &iam.GetServiceLinkedRoleDeletionStatusInput{DeletionTaskId: task})).Status),
					"gone": errorOf(w.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: made.RoleName})),
				}
			},
			want: facts{"path": "/aws-service-role/eks.amazonaws.com/", "status": "SUCCEEDED", "gone": "NoSuchEntity"},
		},
	}
}
