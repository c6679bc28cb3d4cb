package provider

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// What is being done, in diagnostics.
const (
	verbCreate = "create"
	verbRead   = "read"
	verbUpdate = "update"
	verbDelete = "delete"
)

// fail adds one error: what was being done to which object, what is wrong, and
// the remedy.
func (b *base) fail(diags *diag.Diagnostics, verb string, m identified, err error) {
	id := importID(m)
	detail := fmt.Sprintf("karpenter_%s %q: %s.", b.kind, id, strings.TrimSuffix(err.Error(), "."))
	remedy := b.remedy(id, err)
	if conflict := errors.Is(err, aws.ErrConflict) || errors.Is(err, kube.ErrExists); conflict && verb == verbUpdate && !errors.Is(err, ErrOtherAccessEntry) {
		remedy = b.otherInPlace(id)
	}
	if remedy != "" {
		detail += "\n\n" + remedy
	}
	diags.AddError(fmt.Sprintf("Cannot %s karpenter_%s", verb, b.kind), detail)
}

// remedy says what to do about each kind of error, most specific first.
func (b *base) remedy(id string, err error) string {
	switch {
	case errors.Is(err, ErrConfigUnknown):
		return "The provider's configuration depends on something that does not exist yet. Apply that first, or let Terraform create both in one apply."
	case errors.Is(err, ErrOtherCluster):
		return "Set shared = true to give every cluster a key of its own, or take the resource out of the configuration."
	case errors.Is(err, ErrUnproven):
		return "Refresh first (terraform apply -refresh-only): that takes over what is there now. If it is not yours, remove the resource from the state instead: terraform state rm."
	case errors.Is(err, ErrWrongCluster):
		return "Nothing was read or changed. Correct eks.cluster_name or kubernetes of the provider. If the cluster was made anew, what was in it went with it: terraform state rm removes it from the state."
	case errors.Is(err, ErrOtherAccessEntry):
		return "EKS binds an access entry to the one role that it was made for: one that was there before, or of another type than EC2_LINUX, does not let these nodes in. If nobody needs it, remove it (aws eks delete-access-entry) and apply again."
	case errors.Is(err, ErrNoAccessEntries):
		return "Change the cluster's authentication mode to API_AND_CONFIG_MAP or API (aws eks update-cluster-config --access-config authenticationMode=API_AND_CONFIG_MAP), then apply again."
	case errors.Is(err, aws.ErrReplaced), errors.Is(err, ErrOtherObject):
		return b.otherInPlace(id)
	case errors.Is(err, aws.ErrConflict), errors.Is(err, kube.ErrExists):
		return "It was left as it is. Remove it, choose another name, or adopt what is there:\n\n" + b.importBlock(id)
	case errors.Is(err, ErrStillNeeded):
		return "Destroy those first, while the daemon runs, so that their nodes are drained and their instances end: destroy what declares them, or kubectl delete them. For karpenter_node_class set daemon = karpenter_daemon.NAME.id, and for karpenter_node_pool node_class = karpenter_node_class.NAME.name; Terraform then keeps to that order."
	case errors.As(err, new(*kube.ConflictError)):
		return "Another tool manages those fields. Have it let go of them, or import the object."
	case errors.Is(err, aws.ErrUnauthorized):
		return "Allow that action to the identity that runs Terraform."
	case errors.Is(err, aws.ErrCredentials):
		return "Check the AWS credentials: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and that they have not expired."
	case errors.Is(err, aws.ErrUnreachable):
		return "Check the provider's region and endpoints, and the network."
	case errors.Is(err, aws.ErrThrottled):
		return "AWS limits how often this account may call. Apply again in a minute."
	case errors.Is(err, aws.ErrInUse):
		return "Remove what still uses it, then destroy again."
	case apierrors.IsUnauthorized(err):
		return "The API server does not know the provider's identity. With eks, give that IAM identity an access entry in the cluster; with kubernetes, check token or client certificate."
	case apierrors.IsForbidden(err):
		return "Allow it to the provider's identity: on EKS with the access policy AmazonEKSClusterAdminPolicy, else with RBAC."
	case errors.As(err, new(*net.OpError)), errors.As(err, new(x509.UnknownAuthorityError)):
		return "Check the address and the certificate authority of the API server in the provider's configuration, and that it can be reached from here."
	case errors.Is(err, kube.ErrKindNotServed):
		return "Install the definitions first: declare a karpenter_daemon, and set daemon = karpenter_daemon.NAME.id in the karpenter_node_class."
	case errors.Is(err, aws.ErrNotFound):
		return "Check the name or id, and the provider's region. If the cluster is gone for good, so is what was in it: remove its resources from the state."
	case errors.Is(err, context.DeadlineExceeded):
		return "Give it longer with the timeouts attribute, if it was on its way."
	}
	return ""
}

// otherInPlace is the remedy where something stands in place of what was made.
func (b *base) otherInPlace(id string) string {
	return "It was left as it is. Remove it and apply again. To adopt what is there instead, take the resource out of the state first (terraform state rm), then import it:\n\n" + b.importBlock(id)
}

// importBlock is the configuration that adopts the object.
func (b *base) importBlock(id string) string {
	return fmt.Sprintf("  import {\n    to = karpenter_%s.NAME\n    id = %q\n  }", b.kind, id)
}

// unread ends a read for which no client could be made. Where the provider's
// configuration is not known yet the prior state stays: a cluster that is about
// to be replaced must not make its contents unreadable.
func (b *base) unread(ctx context.Context, resp *resource.ReadResponse, prior identified, err error) {
	if !errors.Is(err, ErrConfigUnknown) {
		b.fail(&resp.Diagnostics, verbRead, prior, err)
		return
	}
	b.identify(ctx, resp.Identity, &resp.Diagnostics, prior)
	resp.Diagnostics.AddWarning(fmt.Sprintf("karpenter_%s was not refreshed", b.kind),
		fmt.Sprintf("The %v. The last known state is used until it is.", err))
}
