package failure

import (
	"errors"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/credentials"
)

// accessRemedy says what to do if AWS or the cluster cannot be reached as configured; "" for
// other errors.
func accessRemedy(err error) string {
	switch {
	case errors.Is(err, ErrOldCluster):
		return "Nothing was changed. Refresh first, so that the resource leaves the state: run terraform plan without -refresh=false."
	case errors.Is(err, ErrConfigUnknown):
		return "The provider's configuration uses a value that is known only after apply. First apply the resource that gives the value, or create both in one apply."
	case errors.Is(err, ErrClusterGone):
		return "Nothing was read or changed. Check eks.cluster_name and the provider's region. If the cluster was deleted, its objects no longer exist: set accept_new_cluster = true in the provider's configuration, and their resources leave the state."
	case errors.Is(err, ErrAccount):
		return "Nothing was read or changed. Use credentials of another account (profile, assume_role, AWS_PROFILE), or correct allowed_account_ids or forbidden_account_ids."
	case errors.Is(err, credentials.ErrRegion):
		return "Set region in the provider's configuration, AWS_REGION in the environment, or region in the profile."
	case errors.Is(err, credentials.ErrProfile):
		return "Correct the name of the profile (aws configure list-profiles shows those that exist), or set shared_config_files and shared_credentials_files."
	case errors.Is(err, credentials.ErrFile):
		return "Correct the path in the provider's configuration."
	case errors.Is(err, credentials.ErrAssumeRole):
		return "Check role_arn and external_id in assume_role or assume_role_with_web_identity, the role's trust policy, and that the credentials before it may call sts:AssumeRole."
	case errors.Is(err, kube.ErrAccess):
		return "Correct kubernetes in the provider's configuration, or KUBE_CONFIG_PATH and KUBE_CTX in the environment. To see which contexts a file has, run kubectl config get-contexts."
	}
	return ""
}
