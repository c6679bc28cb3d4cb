package provider_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

// TestControllerRole_AnIssuerThatIAMDoesNotKnowIsSaid has a cluster whose issuer nobody has
// registered: STS would refuse the tokens of the daemon.
func TestControllerRole_AnIssuerThatIAMDoesNotKnowIsSaid(t *testing.T) {
	const bare, issuer = "bare", "https://oidc.eks.us-west-2.amazonaws.com/id/BARE"
	cloud := startCloud(t)
	cloud.EKS.CreateCluster(ekssim.Cluster{Name: bare, Version: "1.36", Endpoint: "https://127.0.0.1:1", Issuer: issuer, ServiceCIDR: "172.20.0.0/16", VPCID: cloud.vpc.ID, SubnetIDs: cloud.vpc.SubnetIDs, ClusterSecurityGroupID: cloud.vpc.ClusterSecurityGroupID})
	h := configured(t, cloud.config())
	config := object{"cluster_name": bare, "node_role_arn": testNodeRole}
	says := []string{`"bare,KarpenterControllerRole-bare"`, issuer, "is not registered in IAM", "InvalidIdentityToken", "aws iam create-open-id-connect-provider", `identity = "pod_identity"`, "If the same apply does that"}
	role := h.resource("karpenter_controller_role")
	wantWarning(t, role.apply(config), says...)
	wantWarning(t, role.plan(config).problems, says...)
	wantWarning(t, role.plan(with(config, object{"identity": "pod_identity"})).problems, "The daemon must follow the role")
	wantNoError(t, role.apply(with(config, object{"identity": "pod_identity"})))
	wantWarning(t, role.apply(config), says...) // the plan did not know the issuer

	cloud.IAM.SeedOIDCProvider(issuer, "other")
	wantWarning(t, role.plan(config).problems, "the audience sts.amazonaws.com is not registered", "add-client-id-to-open-id-connect-provider")
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "GetOpenIDConnectProvider", Code: "AccessDenied", Status: 403, Times: 1})
	wantWarning(t, role.plan(config).problems) // who may not ask is told nothing
	cloud.IAM.SeedOIDCProvider(issuer)
	wantWarning(t, role.plan(config).problems)
	wantNoError(t, role.destroy())
}

// TestDaemon_AnIssuerThatIAMDoesNotKnowIsSaid looks at a daemon whose role trusts the issuer.
func TestDaemon_AnIssuerThatIAMDoesNotKnowIsSaid(t *testing.T) {
	f := startForeignRole(t, irsaTrust("karpenter", "karpenter"))
	daemon := f.daemon(t, irsaDaemon())
	f.IAM.SeedOIDCProvider("https://"+testIssuer, "other")
	wantWarning(t, daemon.read(), noCredentials, "the audience "+awsspec.IRSAAudience+" is not registered")
	f.IAM.SeedOIDCProvider("https://" + testIssuer)
	wantWarning(t, daemon.read())
}
