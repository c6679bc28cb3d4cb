package failure

import (
	"errors"
	"strings"
)

// neededRemedy says what to do where something is still needed, or in the way of the daemon;
// "" for any other error.
func neededRemedy(err error) string {
	switch {
	case errors.Is(err, ErrOtherController):
		return "Two controllers would launch nodes for the same pods. Nothing was installed. Scale the other one to 0 (kubectl scale deployment karpenter --replicas 0 in its namespace), then apply again. The guide From Karpenter, and back, has all steps."
	case errors.Is(err, ErrAnotherName):
		return "Nothing was changed. Correct eks.cluster_name in the provider's configuration."
	case errors.Is(err, ErrOutlived):
		return "No daemon is left to terminate these. Delete what is named (aws ec2 terminate-instances, delete-network-interface and delete-launch-template, aws iam delete-instance-profile), then run Terraform again, which drops the daemon from the state. " +
			"To drop the daemon from the state now, whatever is left: terraform state rm."
	case errors.Is(err, ErrUnfit):
		return "The definition was not changed. Set adopt_definitions = true: the provider then replaces the content of the definition and keeps every object, and a destroy leaves the definition in place. Or upgrade the definitions to those of Karpenter 1.15 (the chart karpenter-crd). " +
			"Do not delete the definition: the API server would delete every object of its kind."
	case errors.Is(err, ErrShrinks):
		return "Nothing was changed. Leave adopt_definitions out: a definition that is newer than the provider is used as it is. Or upgrade the provider to a version whose definitions have these fields and values."
	case errors.Is(err, ErrLeftovers):
		return "Nothing of the daemon was removed: while it runs, it terminates instances without a NodeClaim after some minutes, so destroying again may be enough. " +
			"Otherwise delete by hand what is named: aws ec2 terminate-instances, delete-network-interface and delete-launch-template, aws iam delete-instance-profile."
	case errors.Is(err, ErrNotHandedBack):
		return "Nothing was changed: a shadow has no right to take the finalizer off, so a deleted NodePool would never disappear. First give the cluster back to the program that is to work for it: " +
			"kubectl scale deployment karpenterd --replicas=0, then karpenterd handback, then start that program. See the guide From Karpenter, and back."
	case errors.Is(err, ErrReferenced):
		return "A node class that is being deleted is not ready, so these node pools could launch nothing, and a deletion cannot be taken back. First give the node pools another node class, or delete them. " +
			"To rename a node class, give it lifecycle { create_before_destroy = true }: the new one is created, the node pools get it, their nodes are replaced, and the old one is deleted."
	case errors.Is(err, ErrRoleInUse):
		return ReplaceRole
	case errors.Is(err, ErrProfileInUse):
		return ReplaceProfile
	case errors.Is(err, ErrDaemonRoleInUse):
		return ReplaceDaemonRole
	case errors.Is(err, ErrQueueInUse):
		return KeepQueue
	case errors.Is(err, ErrStillNeeded):
		return "Delete these objects first, while the daemon runs: it drains their nodes and terminates their instances. Destroy the resources that declare the objects, or use kubectl delete. " +
			"Terraform destroys in the right order if karpenter_node_class has daemon = karpenter_daemon.NAME.id and karpenter_node_pool has node_class = karpenter_node_class.NAME.name. " +
			"To give the cluster back to Karpenter, scale the Deployment to 0 and run karpenterd handback: then only definitions of this configuration are needed by objects."
	case strings.Contains(err.Error(), "failed to create typed patch object"): // the API server says so, without a reason of its own
		return "The definition of this kind in the cluster has no such field, or another type for it, as those of older versions of Karpenter have. Set adopt_definitions = true in karpenter_daemon, so that the daemon's definitions take its place, or remove the attribute that the error names."
	}
	return ""
}

// How to replace or destroy what instances need. Plans and deletions say the same.
const (
	ReplaceRole = "Nodes whose instances lose the role, or whose role loses its access entry, are cut off from AWS and from the cluster, and IAM deletes no role that an instance profile has. " +
		"To replace the role, give karpenter_node_role and karpenter_instance_profile other names, and both lifecycle { create_before_destroy = true }: the new ones are created, " +
		"the node classes get the new instance profile, their nodes are replaced, and then the old ones are deleted. If the replacement of the nodes takes longer, apply again. " +
		"The daemon deletes an instance profile that it has made for role of a node class within two hours after its last node: then apply again. " +
		"To destroy the role, first destroy the node pools and the instance profile. An instance whose instance profile no longer exists has to be terminated."
	ReplaceProfile = "Without the instance profile the instances lose their role: their nodes are cut off from AWS and from the cluster. " +
		"To replace the instance profile, give it another name and lifecycle { create_before_destroy = true }: the new one is created, the node classes get it, their nodes are replaced, and then the old one is deleted. " +
		"If the replacement of the nodes takes longer, apply again. To destroy the instance profile, first destroy the node pools, and terminate instances that belong to no node pool."
	ReplaceDaemonRole = "Without its role the daemon ends no instance: they would run, and cost, for ever. " +
		"To replace the role, give it another name and lifecycle { create_before_destroy = true }: the new role is created, the daemon gets it, and then the old role is deleted. " +
		"To destroy the role, first destroy the node pools, while the daemon runs. " +
		"If another controller such as Karpenter runs the nodes, with a role of its own, remove the resource from the state (terraform state rm), and delete the role by hand."
	KeepQueue = "Without the queue the daemon does not hear that EC2 takes a spot instance, and does not replace its node before. To destroy the queue, first destroy the node pools. A new name may be applied while nodes run. " +
		"If another controller such as Karpenter runs the nodes, with a queue of its own, remove the resource from the state (terraform state rm), and delete the queue and its rules by hand."
)
