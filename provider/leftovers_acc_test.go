//go:build lab

package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// TestDestroy_WhatIsLeftInAWSIsAnErrorThatNamesIt destroys a daemon while a launch template
// and an instance profile are left that no object in the cluster tells of.
func TestDestroy_WhatIsLeftInAWSIsAnErrorThatNamesIt(t *testing.T) {
	l := startLab(t)
	s := l.somebody(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(object{"timeouts": object{"delete": "10s"}})))
	template, err := l.aws.EnsureLaunchTemplate(t.Context(), awsspec.LaunchTemplate{
		ImageID: "ami-0123456789abcdef0", InstanceProfile: "any", SecurityGroupIDs: []string{l.VPC.ClusterSecurityGroupID}, UserData: "left",
		Tags: awsspec.Owner{Cluster: l.ClusterName, NodePool: "gone", NodeClass: "gone"}.Tags(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.aws.CreateRole(t.Context(), aws.Role{Name: "left", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	profile, err := l.aws.CreateInstanceProfile(t.Context(), aws.InstanceProfile{Name: "left-profile", Path: awsspec.ProfilePath(l.Region, l.ClusterName), Role: "left"})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, daemon.destroy(), "something is left in AWS", "launch templates "+template, "instance profiles left-profile", "destroying again")
	if s.gone(deployments, "karpenter", "karpenterd") {
		t.Error("the daemon was removed, which could have ended what is left")
	}
	if err := l.aws.DeleteLaunchTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	if err := l.aws.DeleteInstanceProfile(t.Context(), profile.Name, profile.ID); err != nil {
		t.Fatal(err)
	}
	if err := l.aws.DeleteRole(t.Context(), "left", aws.AnyID); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, daemon.apply(idle(nil))) // with time enough for all that a destroy waits for
	wantNoError(t, daemon.destroy())
	if !s.gone(namespaces, "", "karpenter") {
		t.Error("nothing is left in AWS, and the daemon is still there")
	}
}

// TestDestroy_OfAClusterThatIsGoneNamesWhatIsLeft lets go of a daemon whose cluster EKS no
// longer knows, while a launch template of it is left. Until both are sure, the state keeps
// the daemon.
func TestDestroy_OfAClusterThatIsGoneNamesWhatIsLeft(t *testing.T) {
	l := startLab(t)
	const cluster = "short-lived"
	l.CreateCluster(cluster)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(object{"cluster_name": cluster})))
	template, err := l.aws.EnsureLaunchTemplate(t.Context(), awsspec.LaunchTemplate{
		ImageID: "ami-0123456789abcdef0", InstanceProfile: "any", SecurityGroupIDs: []string{l.VPC.ClusterSecurityGroupID}, UserData: "left",
		Tags: awsspec.Owner{Cluster: cluster, NodePool: "gone", NodeClass: "gone"}.Tags(nil),
	})
	must(t, err)
	by := func(region, name string) *instance {
		i := configured(t, object{"region": region, "eks": object{"cluster_name": name}, "accept_new_cluster": true}).resource("karpenter_daemon")
		i.state, i.private, i.identity = daemon.state, daemon.private, daemon.identity
		return i
	}
	wantError(t, by(l.Region, "misspelt").read(), `cluster "short-lived", which exists`, "Correct eks.cluster_name")

	l.Cloud.DeleteCluster(cluster)
	gone := by(l.Region, cluster)
	wantError(t, gone.read(), "no longer exists", "launch templates "+template, "delete-launch-template")
	wantError(t, gone.destroy(), "launch templates "+template)
	must(t, l.aws.DeleteLaunchTemplate(t.Context(), template))
	wantError(t, by("eu-west-1", cluster).read(), "eu-west-1")
	wantNoError(t, gone.read())
	if !gone.state.IsNull() {
		t.Errorf("nothing is left, and the state keeps %s", gone.state)
	}
	wantNoError(t, daemon.destroy())
}

// TestDestroy_WithoutAWSWarnsThatNothingWasSearched destroys a daemon with a provider that
// has no credentials for AWS.
func TestDestroy_WithoutAWSWarnsThatNothingWasSearched(t *testing.T) {
	l := startLab(t)
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	wantNoError(t, daemon.apply(idle(nil)))
	t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
	daemon.h = l.behind(t, nobody)
	diags := daemon.destroy()
	wantNoError(t, diags)
	if len(diags) != 1 || diags[0].Severity != tfprotov6.DiagnosticSeverityWarning || !strings.Contains(diags[0].Detail, "eks:eks-cluster-name = "+l.ClusterName) {
		t.Errorf("the destroy does not say that AWS was not searched: %+v", diags)
	}
}
