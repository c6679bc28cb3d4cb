package provider_test

import (
	"maps"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

const (
	otherRole     = "another-teams"
	otherRoleARN  = "arn:aws:iam::" + testAccount + ":role/" + otherRole
	noCredentials = "The daemon has no credentials"
)

// foreignRole is a simulated AWS, a cluster and a provider that reaches both. The role of the
// daemon is made by somebody else.
type foreignRole struct {
	*cloud
	objects *fakeObjects
	config  object
}

func startForeignRole(t *testing.T, trust string) *foreignRole {
	t.Helper()
	f := &foreignRole{cloud: startCloud(t), objects: startObjects(t)}
	f.config = with(f.cloud.config(), object{"kubernetes": object{"host": f.objects.URL, "token": "t"}})
	f.make(t, trust)
	return f
}

func (f *foreignRole) make(t *testing.T, trust string) {
	t.Helper()
	_, err := f.clients.CreateRole(t.Context(), aws.Role{Name: otherRole, TrustPolicy: trust})
	must(t, err)
}

func (f *foreignRole) trusts(t *testing.T, trust string) {
	t.Helper()
	must(t, f.meddleWithRole(t.Context(), otherRole, func(r *aws.Role) { r.TrustPolicy = trust }))
}

func (f *foreignRole) associate(t *testing.T) string {
	t.Helper()
	a, err := f.clients.CreatePodAssociation(t.Context(), aws.PodAssociation{Cluster: testCluster, Namespace: "karpenter", ServiceAccount: "karpenter", RoleARN: otherRoleARN})
	must(t, err)
	return a.ID
}

// daemon is one that runs and has its role.
func (f *foreignRole) daemon(t *testing.T, config object) *instance {
	t.Helper()
	daemon := hasty(t, f.config).resource("karpenter_daemon")
	planned := daemon.plan(config)
	wantWarning(t, planned.problems)
	wantNoError(t, daemon.change(planned.value, planned.config, planned.private))
	f.leads(t, daemon)
	return daemon
}

// leads lets the daemon work, so that no other warning is due, and finds none.
func (f *foreignRole) leads(t *testing.T, daemon *instance) {
	t.Helper()
	f.objects.leads("karpenterd-abc", time.Now())
	wantWarning(t, daemon.read())
}

func irsaTrust(namespace, serviceAccount string) string {
	return awsspec.IRSATrust(testIssuer, testAccount, "aws", namespace, serviceAccount)
}

func podTrust(namespace, serviceAccount string) string {
	return awsspec.PodIdentityTrust(testClusterARN, namespace, serviceAccount)
}

func irsaDaemon() object {
	return object{"cluster_name": testCluster, "role_arn": otherRoleARN, "wait": false}
}

func podDaemon() object { return object{"cluster_name": testCluster, "wait": false} }

// TestTrust_ARoleThatNoLongerAdmitsTheDaemonIsAWarning changes a role of another configuration
// in each way, and mends it.
func TestTrust_ARoleThatNoLongerAdmitsTheDaemonIsAWarning(t *testing.T) {
	f := startForeignRole(t, irsaTrust("karpenter", "karpenter"))
	daemon := f.daemon(t, irsaDaemon())
	for _, tt := range []struct {
		name, trust string
		warned      []string // none: no warning
	}{
		{"namespace", irsaTrust("other", "karpenter"), []string{noCredentials, `karpenter_daemon "karpenter"`, otherRoleARN, "system:serviceaccount:other:karpenter", "karpenter_controller_role", `identity = "irsa"`, `namespace = "karpenter"`}},
		{"mended", irsaTrust("karpenter", "karpenter"), nil},
		{"identity", podTrust("karpenter", "karpenter"), []string{noCredentials, "no statement admits sts:AssumeRoleWithWebIdentity by arn:aws:iam::" + testAccount + ":oidc-provider/" + testIssuer}},
		{"a wildcard for StringEquals", irsaTrust("karpenter", "karp*"), []string{noCredentials, "karp*"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.trusts(t, tt.trust)
			f.objects.leads("karpenterd-abc", time.Now())
			wantWarning(t, daemon.read(), tt.warned...)
			wantWarning(t, daemon.plan(irsaDaemon()).problems) // the refresh has said it
		})
	}
	t.Run("gone", func(t *testing.T) {
		must(t, f.clients.DeleteRole(t.Context(), otherRole, aws.AnyID))
		wantWarning(t, daemon.read(), noCredentials, otherRoleARN, "does not exist", "karpenter_controller_role")
		f.make(t, irsaTrust("karpenter", "karpenter"))
		f.leads(t, daemon)
	})
}

// TestTrust_AnAssociationThatNoLongerServesTheDaemonIsAWarning does the same with Pod Identity.
func TestTrust_AnAssociationThatNoLongerServesTheDaemonIsAWarning(t *testing.T) {
	f := startForeignRole(t, podTrust("karpenter", "karpenter"))
	id := f.associate(t)
	daemon := f.daemon(t, podDaemon())
	f.trusts(t, irsaTrust("karpenter", "karpenter"))
	wantWarning(t, daemon.read(), noCredentials, otherRoleARN, "pods.eks.amazonaws.com", `identity = "pod_identity"`)
	f.trusts(t, podTrust("other", "karpenter"))
	wantWarning(t, daemon.read(), noCredentials, "kubernetes-namespace")
	must(t, f.clients.DeleteRole(t.Context(), otherRole, aws.AnyID))
	wantWarning(t, daemon.read(), noCredentials, id, "does not exist")
	must(t, f.clients.DeletePodAssociation(t.Context(), testCluster, id))
	wantWarning(t, daemon.read(), noCredentials, `"karpenter/karpenter" has no EKS Pod Identity association`, testClusterARN, "role_arn")
	f.make(t, podTrust("karpenter", "karpenter"))
	f.associate(t)
	f.leads(t, daemon)
}

// TestTrust_OtherCredentialsNeedNoAssociation has credentials in the environment, and a role
// that somebody else gave to the service account.
func TestTrust_OtherCredentialsNeedNoAssociation(t *testing.T) {
	f := startForeignRole(t, irsaTrust("karpenter", "karpenter"))
	daemon := f.daemon(t, with(podDaemon(), object{"environment": object{"AWS_PROFILE": "daemon"}}))
	wantNoError(t, daemon.apply(podDaemon()))
	wantWarning(t, daemon.read(), noCredentials)
	f.objects.change(accountPath, func(o object) object {
		o = maps.Clone(o)
		o["metadata"] = with(o["metadata"].(object), object{"annotations": object{"eks.amazonaws.com/role-arn": otherRoleARN}})
		return o
	})
	f.leads(t, daemon)
}

// TestTrust_WhatCannotBeKnownIsNoWarning fails each call that looks, and looks where nothing
// can be seen.
func TestTrust_WhatCannotBeKnownIsNoWarning(t *testing.T) {
	f := startForeignRole(t, irsaTrust("other", "karpenter"))
	h := hasty(t, f.config)
	irsa := h.resource("karpenter_daemon")
	wantNoError(t, irsa.apply(irsaDaemon()))
	f.objects.leads("karpenterd-abc", time.Now())
	wantWarning(t, irsa.read(), noCredentials)
	for name, fault := range map[string]awssim.Fault{
		"role denied":       {Service: "iam", Action: "GetRole", Code: "AccessDenied", Status: 403, Times: 1},
		"role throttled":    {Service: "iam", Action: "GetRole", Code: "Throttling", Status: 400, Times: 99},
		"no answer":         {Service: "iam", Action: "GetRole", Blackhole: true},
		"cluster denied":    {Service: "eks", Action: "DescribeCluster", Code: "AccessDeniedException", Status: 403, Times: 1},
		"cluster not found": {Service: "eks", Action: "DescribeCluster", Code: "ResourceNotFoundException", Status: 404, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f.Faults().Inject(fault)
			defer f.Faults().Clear()
			f.leads(t, irsa)
		})
	}
	for name, config := range map[string]object{
		"another region":     with(irsaDaemon(), object{"region": "eu-west-1"}),
		"another account":    with(irsaDaemon(), object{"role_arn": "arn:aws:iam::210987654321:role/" + otherRole}),
		"no role in another": with(irsaDaemon(), object{"role_arn": "arn:aws:iam::210987654321:role/x"}),
	} {
		t.Run(name, func(t *testing.T) {
			wantWarning(t, irsa.plan(config).problems)
			wantNoError(t, irsa.apply(config))
			f.leads(t, irsa)
		})
	}
	t.Run("no credentials", func(t *testing.T) {
		wantNoError(t, irsa.apply(irsaDaemon()))
		withoutAWS(t)
		alone := *irsa
		alone.h = h.again(f.config)
		f.leads(t, &alone)
		wantWarning(t, alone.plan(with(irsaDaemon(), object{"namespace": "third"})).problems)
	})
}

// TestTrust_APlanThatLeavesTheRoleSaysSo plans a daemon whose role is in another configuration.
func TestTrust_APlanThatLeavesTheRoleSaysSo(t *testing.T) {
	f := startForeignRole(t, irsaTrust("karpenter", "karpenter"))
	h := hasty(t, f.config)
	wrong := []string{"The daemon would have no credentials", otherRoleARN, "system:serviceaccount:other:karpenter", `namespace = "other"`}
	fresh, there := h.resource("karpenter_daemon"), f.daemon(t, irsaDaemon())
	for name, tt := range map[string]struct {
		change object
		warned []string
	}{
		"as the role is":         {nil, nil},
		"another namespace":      {object{"namespace": "other"}, wrong},
		"a role not made yet":    {object{"role_arn": unknown{}, "namespace": "other"}, nil},
		"a role not found":       {object{"role_arn": otherRoleARN + "-x"}, nil},
		"an association not yet": {object{"role_arn": nil}, nil},
		"own credentials":        {object{"namespace": "other", "environment": object{"AWS_PROFILE": "x"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, daemon := range []*instance{fresh, there} {
				wantWarning(t, daemon.plan(with(irsaDaemon(), tt.change)).problems, tt.warned...)
			}
		})
	}
}

// TestTrust_OneApplyOfRoleAndDaemonIsQuiet moves both in the order in which Terraform does.
func TestTrust_OneApplyOfRoleAndDaemonIsQuiet(t *testing.T) {
	f := startForeignRole(t, irsaTrust("karpenter", "karpenter"))
	roleConfig := object{"cluster_name": testCluster, "node_role_arn": testNodeRole}
	role := hasty(t, f.config).resource("karpenter_controller_role")
	wantNoError(t, role.apply(roleConfig))
	config := with(irsaDaemon(), object{"role_arn": role.text("arn")})
	daemon := f.daemon(t, config)
	next := daemon.h.again(f.config) // a plan is a process of its own
	role.h, daemon.h = next, next
	moved := object{"namespace": "other"}
	wantNoError(t, role.plan(with(roleConfig, moved)).problems)
	wantWarning(t, daemon.plan(with(config, moved)).problems)
	wantNoError(t, role.apply(with(roleConfig, moved)))
	wantWarning(t, daemon.plan(with(config, moved)).problems)
}
