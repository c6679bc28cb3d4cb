package failure

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// RemedyFor says what to do about each kind of error, most specific first; "" for an error that
// says it itself. importBlock is the configuration that adopts the object.
func RemedyFor(err error, importBlock string) string {
	if text := cmp.Or(accessRemedy(err), neededRemedy(err), waitRemedy(err)); text != "" {
		return text
	}
	switch {
	case errors.Is(err, ErrOtherCluster):
		return "Set shared = true, so that each cluster has its own tag key, or remove the subnet or security group from karpenter_discovery_tags."
	case errors.Is(err, ErrUnproven):
		return "If the existing object belongs to this configuration, run terraform apply -refresh-only, which records it in the state. Otherwise remove the resource from the state with terraform state rm."
	case errors.Is(err, ErrWrongCluster):
		return "Nothing was read or changed. Correct eks.cluster_name or kubernetes in the provider's configuration. If the cluster was deleted and created again, its objects no longer exist: set accept_new_cluster = true in the provider's configuration, and the resources of the old cluster leave the state."
	case errors.Is(err, ErrOtherAccessEntry):
		return "An access entry that is older than the role, or whose type is STANDARD, does not let the nodes join the cluster: EKS binds an access entry to the unique id of its role. If nobody needs this access entry, delete it (aws eks delete-access-entry), then apply again. " +
			"If another configuration or a managed node group needs it, set access_entry = { create = false }, or, for an existing_role_arn, leave this resource out: the nodes can join already."
	case errors.Is(err, ErrOtherAssociation):
		return "A service account has one association only. If nobody needs the existing one, delete it (aws eks list-pod-identity-associations, aws eks delete-pod-identity-association), then apply again. " +
			"To replace a role that has the association, do without lifecycle { create_before_destroy = true }: the old role's association is deleted first. Otherwise give the daemon another service_account."
	case errors.Is(err, ErrNoAccessEntries):
		return "Change the cluster's authentication mode to API_AND_CONFIG_MAP or API (aws eks update-cluster-config --name CLUSTER --access-config authenticationMode=API_AND_CONFIG_MAP), then apply again."
	case errors.Is(err, ErrTwice):
		return "The object stays as it is. Remove one of the two resources from the configuration, or give it another name."
	case errors.Is(err, aws.ErrReplaced), errors.Is(err, ErrOtherObject):
		return OtherInPlace(importBlock)
	case errors.Is(err, aws.ErrConflict), errors.Is(err, kube.ErrExists):
		return "The existing object was not changed. Delete it, choose another name, or import it:\n\n" + importBlock
	case errors.As(err, new(*kube.ConflictError)):
		return "Another tool manages these fields. Remove them from that tool's configuration, or import the object."
	case errors.Is(err, aws.ErrUnauthorized):
		return "Allow that action for the AWS identity that runs Terraform."
	case errors.Is(err, aws.ErrCredentials):
		return "Check the AWS credentials: profile or AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Check also that they have not expired."
	case errors.Is(err, aws.ErrUnreachable):
		return "Check the provider's region and endpoints, and the network."
	case errors.Is(err, aws.ErrThrottled):
		return "AWS limits the rate of this account's requests. Apply again in a minute."
	case errors.Is(err, aws.ErrConcurrent), apierrors.IsConflict(err):
		return "Apply again."
	case errors.Is(err, context.Canceled):
		return "The operation was interrupted. Apply again: the apply continues from what there is now."
	case errors.Is(err, aws.ErrInUse):
		return "Remove the object that still uses it, then apply or destroy again."
	case apierrors.IsUnauthorized(err):
		return "The API server does not accept the provider's identity. If the provider has eks, check that the cluster has an access entry for the provider's IAM identity (aws eks list-access-entries). If the provider has kubernetes, check its token or client certificate."
	case apierrors.IsForbidden(err):
		return "Allow the request for the provider's identity: on EKS check that its access entry has the access policy AmazonEKSClusterAdminPolicy (aws eks list-associated-access-policies), on other clusters with RBAC."
	case errors.As(err, new(*net.OpError)), errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)):
		return "Check the address and the certificate authority of the API server in the provider's configuration. Check also that the API server can be reached from this machine."
	case apierrors.IsTooManyRequests(err):
		return "The API server limits the rate of requests. Apply again in a minute."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "The API server closed the connection before its answer. Apply again: the apply continues from what there is now."
	case errors.Is(err, kube.ErrKindNotServed):
		return "Install the custom resource definitions first: declare a karpenter_daemon, and set daemon = karpenter_daemon.NAME.id in the karpenter_node_class."
	case errors.Is(err, aws.ErrNotFound):
		return "Check the name, id or ARN that the error says was not found, and the provider's region and account."
	case errors.Is(err, kube.ErrNotFound):
		return "The object was deleted in between. Apply again: the next plan creates it anew."
	case errors.Is(err, context.DeadlineExceeded):
		return "If the operation only needs more time, raise its limit in the timeouts attribute."
	}
	return ""
}

// OtherInPlace is the remedy where another object stands in place of the one that
// was made. importBlock is the configuration that adopts the object.
func OtherInPlace(importBlock string) string {
	return "The existing object was not changed. Delete it, then apply again. To keep it instead, remove the resource from the state (terraform state rm), then import the existing object:\n\n" + importBlock
}
