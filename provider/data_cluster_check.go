package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/daemon"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/fwvalue"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/iamrole"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

const (
	// sameApply is the remedy if what is missing is not there yet.
	sameApply = "If the same configuration creates it, add depends_on with it to the data source: the data source is then read after it."
)

// surroundings are what AWS says of a cluster that works.
type surroundings struct {
	cluster  aws.Cluster
	provider registered
	addons   []string
	groups   []aws.NodeGroup
	subnets  []string // in which nodes may be
	public   []string // of these
}

// lacks adds an error: the cluster, what is missing, and the remedy.
func (d *clusterData) lacks(diags *diag.Diagnostics, m clusterDataModel, summary, what, remedy string) {
	diags.AddError(summary, d.detail(m, what, remedy))
}

func (d *clusterData) warn(diags *diag.Diagnostics, m clusterDataModel, summary, what, remedy string) {
	diags.AddWarning(summary, d.detail(m, what, remedy))
}

func (d *clusterData) detail(m clusterDataModel, what, remedy string) string {
	return fmt.Sprintf("karpenter_cluster %q: %s.\n\n%s", managed.ImportID(m), what, remedy)
}

// check says what the cluster lacks, and what else a user should know before the apply. Where
// the daemon runs already, what is missing is a warning: a refresh, and a destroy, must go on.
func (d *clusterData) check(ctx context.Context, client *aws.Clients, m *clusterDataModel, s surroundings, diags *diag.Diagnostics) {
	in := d.lookInside(ctx, m.Name.ValueString())
	m.KarpenterInstalled = types.BoolNull()
	if in.answers {
		m.KarpenterInstalled = types.BoolValue(len(in.karpenter) > 0)
	}
	missing := d.lacks
	if in.daemon {
		missing = d.warn
	}
	if s.cluster.AuthenticationMode == aws.AuthenticationConfigMap {
		missing(diags, *m, "The cluster has no access entries", failure.ErrNoAccessEntries.Error()+": the nodes could not join",
			"Change the mode to API_AND_CONFIG_MAP or API: aws eks update-cluster-config --name "+s.cluster.Name+" --access-config authenticationMode=API_AND_CONFIG_MAP")
	}
	m.Identity = fwvalue.StringOrNull(s.identity(ctx, in))
	if m.Identity.IsNull() {
		what, remedy := s.noIdentity()
		missing(diags, *m, "The daemon cannot get an IAM role", what, remedy)
	}
	switch has, err := s.room(ctx, client, in); {
	case err != nil:
		d.warn(diags, *m, "Whether there are nodes for the daemon is not known",
			fmt.Sprintf("no managed node group has nodes, and what else may run the daemon could not be asked: %v", err), "The daemon needs nodes that belong to no node pool. Without them it does not start.")
	case !has:
		missing(diags, *m, "There are no nodes for the daemon", s.noRoom(),
			"Give a managed node group nodes (aws eks update-nodegroup-config --cluster-name "+s.cluster.Name+" --nodegroup-name GROUP --scaling-config desiredSize=2), or add one, or a Fargate profile for the namespace of the daemon. "+sameApply)
	}
	d.tell(*m, s, in, diags)
}

// tell warns of what does not keep the daemon from its work.
func (d *clusterData) tell(m clusterDataModel, s surroundings, in inside, diags *diag.Diagnostics) {
	if err := install.CheckKubernetesVersion(s.cluster.Version); err != nil {
		d.warn(diags, m, "The daemon does not support the Kubernetes version", err.Error(), "karpenter_daemon refuses the cluster.")
	}
	if newer := install.NewerKubernetes(s.cluster.Version); newer != "" {
		d.warn(diags, m, daemon.NewerKubernetes, newer, "The guide Versions and upgrades (docs/guides/versions.md) says what that means.")
	}
	if len(s.public) > 0 && len(s.public) == len(s.subnets) {
		d.warn(diags, m, "All subnets for nodes are public", fmt.Sprintf("each of %s has a route to an internet gateway. subnet_ids has them all, so that nodes of node pools are in public subnets", strings.Join(s.public, ", ")),
			"For nodes in private subnets, name other subnets in karpenter_discovery_tags. In a public subnet a node needs a public address, or VPC endpoints, to join the cluster.")
	}
	if len(in.karpenter) > 0 {
		d.warn(diags, m, "Karpenter is installed in the cluster", fmt.Sprintf("the cluster has %s. Karpenter and karpenterd have the same definitions, and both would launch nodes for the same pods", strings.Join(in.karpenter, " and ")),
			"Follow the guide From Karpenter, and back (docs/guides/take_over.md) before the apply: it stops Karpenter, and keeps its nodes, pools and classes.")
	}
}

// identity is how the daemon can get its role; empty: not at all.
func (s surroundings) identity(ctx context.Context, in inside) string {
	switch {
	case s.provider.forPods():
		return iamrole.IdentityIRSA
	case slices.Contains(s.addons, iamrole.PodIdentityAgent), in.hasAgent(ctx):
		return iamrole.IdentityPod
	}
	return ""
}

// noIdentity says why there is no identity, and what to do.
func (s surroundings) noIdentity() (what, remedy string) {
	agent := fmt.Sprintf("install the add-on (aws eks create-addon --cluster-name %s --addon-name %s). ", s.cluster.Name, iamrole.PodIdentityAgent) + sameApply
	lacks := "and the cluster does not have the add-on " + iamrole.PodIdentityAgent
	switch {
	case s.cluster.Issuer == "":
		return "the cluster has no OIDC issuer, " + lacks, "To give it one of them, " + agent
	case s.provider.arn != "":
		return fmt.Sprintf("the IAM OIDC provider %s does not have the audience %s, %s", s.provider.arn, awsspec.IRSAAudience, lacks),
			fmt.Sprintf("Add the audience (aws iam add-client-id-to-open-id-connect-provider --open-id-connect-provider-arn %s --client-id %s), or %s", s.provider.arn, awsspec.IRSAAudience, agent)
	}
	return fmt.Sprintf("IAM has no OIDC provider for the cluster's issuer %s, %s", s.cluster.Issuer, lacks),
		fmt.Sprintf("Register the issuer (aws iam create-open-id-connect-provider --url %s --client-id-list %s), or %s", s.cluster.Issuer, awsspec.IRSAAudience, agent)
}

// room tells whether something can run the daemon's pods that no node pool owns: a managed
// node group, a node that the Kubernetes API knows, a Fargate profile, or an instance. An
// error says that it is not known.
func (s surroundings) room(ctx context.Context, client *aws.Clients, in inside) (bool, error) {
	if slices.ContainsFunc(s.groups, hasNodes) || in.hasOtherNodes(ctx) {
		return true, nil
	}
	profiles, noProfiles := client.FargateProfiles(ctx, s.cluster.Name)
	if len(profiles) > 0 {
		return true, nil
	}
	instances, noInstances := client.Instances(ctx, map[string]string{"kubernetes.io/cluster/" + s.cluster.Name: "*"})
	if slices.ContainsFunc(instances, ofNoPool) {
		return true, nil
	}
	return false, errors.Join(noProfiles, noInstances)
}

// hasNodes tells whether a node group has nodes, or is to have them, that run Linux.
func hasNodes(g aws.NodeGroup) bool {
	return g.Desired > 0 && !g.Windows && g.Status != "DELETING" && g.Status != "CREATE_FAILED"
}

// ofNoPool tells whether the instance runs and was launched for no node pool.
func ofNoPool(i aws.Instance) bool {
	return i.State == "running" && i.Tags[awsspec.TagNodePool] == "" && i.Tags["karpenter.sh/provisioner-name"] == ""
}

// noRoom says what there is instead of nodes.
func (s surroundings) noRoom() string {
	groups := "the cluster has no managed node group"
	if len(s.groups) > 0 {
		var named []string
		for _, g := range s.groups {
			named = append(named, fmt.Sprintf("%s (%s, desired size %d)", g.Name, g.Status, g.Desired))
		}
		groups = "no managed node group has Linux nodes: " + strings.Join(named, ", ")
	}
	return groups + "; there is no Fargate profile, and no running instance of the cluster that belongs to no node pool. The daemon needs room for two pods of 500m CPU and 512Mi memory, and does not run on nodes that it may remove"
}
