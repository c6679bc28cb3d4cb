package provider_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
)

const clusterKind = "karpenter_cluster"

// readData reads a data source as Terraform does.
func (h *harness) readData(kind string, config object) (object, []*tfprotov6.Diagnostic) {
	h.t.Helper()
	typ := h.schema.DataSourceSchemas[kind].ValueType()
	resp, err := h.server.ReadDataSource(h.t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: kind, Config: h.encode(typ, config)})
	if err != nil {
		h.t.Fatal(err)
	}
	if resp.State == nil {
		return nil, resp.Diagnostics
	}
	state, err := resp.State.Unmarshal(typ)
	if err != nil {
		h.t.Fatal(err)
	}
	if !state.IsFullyKnown() {
		h.t.Errorf("%s: unknown values are left: %s", kind, state)
	}
	out, _ := goValue(h.t, state).(object)
	return out, resp.Diagnostics
}

// goValue is a value in the form in which tests write it.
func goValue(t *testing.T, v tftypes.Value) any {
	t.Helper()
	if v.IsNull() {
		return nil
	}
	switch typ := v.Type(); {
	case typ.Is(tftypes.String):
		var s string
		must(t, v.As(&s))
		return s
	case typ.Is(tftypes.Bool):
		var b bool
		must(t, v.As(&b))
		return b
	case typ.Is(tftypes.Number):
		n := new(big.Float)
		must(t, v.As(n))
		whole, _ := n.Int64()
		return int(whole)
	case typ.Is(tftypes.Object{}), typ.Is(tftypes.Map{}):
		var members map[string]tftypes.Value
		must(t, v.As(&members))
		out := object{}
		for name, member := range members {
			out[name] = goValue(t, member)
		}
		return out
	}
	var elements []tftypes.Value
	must(t, v.As(&elements))
	out := list{}
	for _, e := range elements {
		out = append(out, goValue(t, e))
	}
	return out
}

// furnished is a cloud whose cluster has what the daemon needs.
func furnished(t *testing.T) *cloud {
	t.Helper()
	c := startCloud(t)
	c.EKS.Change(testCluster, func(k *ekssim.Cluster) {
		k.CA = []byte("PEM")
		k.NodeGroups = []ekssim.NodeGroup{{
			Name: "system", InstanceTypes: []string{"m6i.large", "m5.large"}, Min: 1, Max: 3, Desired: 2, Labels: map[string]string{"tier": "system"},
			Taints: []ekssim.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: "NO_SCHEDULE"}, {Key: "bare", Effect: "PREFER_NO_SCHEDULE"}},
		}, {Name: "batch", Status: "DEGRADED", CapacityType: "SPOT", Max: 9}}
		k.Addons = []string{"vpc-cni", "coredns"}
	})
	return c
}

// look reads the data source of the cluster.
func (c *cloud) look(t *testing.T) (object, []*tfprotov6.Diagnostic) {
	t.Helper()
	return hasty(t, c.config()).readData(clusterKind, object{"name": testCluster})
}

// onlyWarning fails unless there is no error and exactly one warning, which has the parts;
// without parts, there must be none.
func onlyWarning(t *testing.T, diags []*tfprotov6.Diagnostic, parts ...string) {
	t.Helper()
	wantNoError(t, diags)
	if want := min(len(parts), 1); len(diags) != want {
		t.Fatalf("%d warnings, want %d with %q: %v", len(diags), want, parts, texts(diags))
	}
	for _, part := range parts {
		if text := texts(diags)[0]; !strings.Contains(text, part) {
			t.Errorf("the warning lacks %q: %s", part, text)
		}
	}
}

func texts(diags []*tfprotov6.Diagnostic) []string {
	var out []string
	for _, d := range diags {
		out = append(out, d.Severity.String()+" "+d.Summary+": "+d.Detail)
	}
	return out
}

func TestClusterData_HasWhatAWSSays(t *testing.T) {
	c := furnished(t)
	got, diags := c.look(t)
	onlyWarning(t, diags)
	want := object{
		"name": testCluster, "arn": "arn:aws:eks:us-west-2:123456789012:cluster/lab", "endpoint": "https://127.0.0.1:1", "certificate_authority_data": "UEVN", "version": "1.36",
		"vpc_id": c.vpc.ID, "subnet_ids": sortedList(c.vpc.SubnetIDs...), "security_group_ids": list{c.vpc.ClusterSecurityGroupID},
		"oidc_issuer": "https://" + testIssuer, "oidc_provider_arn": "arn:aws:iam::123456789012:oidc-provider/" + testIssuer,
		"authentication_mode": "API", "identity": "irsa", "addons": list{"coredns", "vpc-cni"}, "karpenter_installed": nil,
		"node_groups": list{
			object{
				"name": "batch", "arn": "arn:aws:eks:us-west-2:123456789012:nodegroup/lab/batch/00000000-0000-0000-0000-000000000000", "status": "DEGRADED", "capacity_type": "SPOT",
				"instance_types": list{}, "desired_size": 0, "min_size": 0, "max_size": 9, "labels": object{}, "taints": list{},
			},
			object{
				"name": "system", "arn": "arn:aws:eks:us-west-2:123456789012:nodegroup/lab/system/00000000-0000-0000-0000-000000000000", "status": "ACTIVE", "capacity_type": "ON_DEMAND",
				"instance_types": list{"m6i.large", "m5.large"}, "desired_size": 2, "min_size": 1, "max_size": 3, "labels": object{"tier": "system"},
				"taints": list{object{"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}, object{"key": "bare", "value": nil, "effect": "PreferNoSchedule"}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// sortedList is a set as it is read back.
func sortedList(values ...string) list {
	var out list
	for _, v := range slices.Sorted(slices.Values(values)) {
		out = append(out, v)
	}
	return out
}

func TestClusterData_EachMissingThingIsOneErrorWithTheRemedy(t *testing.T) {
	none := func(k *ekssim.Cluster) { k.NodeGroups = nil }
	for name, test := range map[string]struct {
		change func(*ekssim.Cluster)
		parts  []string
	}{
		"not active":           {func(k *ekssim.Cluster) { k.Status = "CREATING" }, []string{"not active", "CREATING", "aws eks wait cluster-active --name lab"}},
		"being deleted":        {func(k *ekssim.Cluster) { k.Status = "DELETING" }, []string{"not active", "DELETING"}},
		"no access entries":    {func(k *ekssim.Cluster) { k.AuthenticationMode = "CONFIG_MAP" }, []string{"access entries", "CONFIG_MAP", "aws eks update-cluster-config --name lab"}},
		"no provider":          {func(k *ekssim.Cluster) { k.Issuer += "-2" }, []string{"cannot get an IAM role", "https://" + testIssuer + "-2", "eks-pod-identity-agent", "create-open-id-connect-provider", "create-addon --cluster-name lab", "depends_on"}},
		"no issuer":            {func(k *ekssim.Cluster) { k.Issuer = "" }, []string{"cannot get an IAM role", "no OIDC issuer", "create-addon"}},
		"another audience":     {func(k *ekssim.Cluster) { k.Issuer = "https://other.example/id" }, []string{"cannot get an IAM role", "audience sts.amazonaws.com", "add-client-id-to-open-id-connect-provider"}},
		"no node group":        {none, []string{"no nodes for the daemon", "no managed node group", "no Fargate profile", "depends_on"}},
		"no desired size":      {func(k *ekssim.Cluster) { k.NodeGroups = k.NodeGroups[1:] }, []string{"no nodes for the daemon", "batch (DEGRADED, desired size 0)"}},
		"a group that goes":    {func(k *ekssim.Cluster) { k.NodeGroups[0].Status = "DELETING" }, []string{"no nodes for the daemon", "system (DELETING"}},
		"a group that failed":  {func(k *ekssim.Cluster) { k.NodeGroups[0].Status = "CREATE_FAILED" }, []string{"no nodes for the daemon"}},
		"a group with Windows": {func(k *ekssim.Cluster) { k.NodeGroups[0].AMIType = "WINDOWS_CORE_2022_x86_64" }, []string{"no nodes for the daemon", "Linux"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := furnished(t)
			c.IAM.SeedOIDCProvider("https://other.example/id", "elsewhere")
			c.EKS.Change(testCluster, test.change)
			_, diags := c.look(t)
			wantError(t, diags, append(test.parts, `karpenter_cluster "lab"`)...)
		})
	}
	t.Run("no cluster", func(t *testing.T) {
		_, diags := hasty(t, furnished(t).config()).readData(clusterKind, object{"name": "none"})
		wantError(t, diags, "does not exist", `karpenter_cluster "none"`, "region and account", "let name refer")
	})
	t.Run("all of it", func(t *testing.T) {
		c := furnished(t)
		c.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.Issuer, k.NodeGroups, k.AuthenticationMode = "", nil, "CONFIG_MAP" })
		if _, diags := c.look(t); len(diags) != 3 {
			t.Errorf("want an error for each of three: %v", texts(diags))
		}
	})
}

// A cluster goes on while its version changes.
func TestClusterData_AClusterThatIsUpdatedIsActive(t *testing.T) {
	c := furnished(t)
	c.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.Status = "UPDATING" })
	_, diags := c.look(t)
	onlyWarning(t, diags)
}

func TestClusterData_WhatMayRunTheDaemonIsAccepted(t *testing.T) {
	const owned = "kubernetes.io/cluster/" + testCluster
	for name, test := range map[string]struct {
		change func(*ekssim.Cluster)
		tags   map[string]string // of an instance; nil: there is none
		ended  bool
		ok     bool
	}{
		"a Fargate profile": {change: func(k *ekssim.Cluster) { k.FargateProfiles = []string{"karpenter"} }, ok: true},
		"a node group that is being made": {
			change: func(k *ekssim.Cluster) {
				k.NodeGroups = []ekssim.NodeGroup{{Name: "a", Status: "CREATING", Desired: 1}}
			}, ok: true,
		},
		"a node of its own":          {tags: map[string]string{owned: "owned"}, ok: true},
		"an instance elsewhere":      {tags: map[string]string{"kubernetes.io/cluster/other": "owned"}},
		"a node of a node pool":      {tags: map[string]string{owned: "owned", "karpenter.sh/nodepool": "default"}},
		"a node of a Provisioner":    {tags: map[string]string{owned: "owned", "karpenter.sh/provisioner-name": "default"}},
		"an instance that has ended": {tags: map[string]string{owned: "owned"}, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := furnished(t)
			c.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.NodeGroups = nil })
			if test.change != nil {
				c.EKS.Change(testCluster, test.change)
			}
			if test.tags != nil {
				must(t, nodesRole(t.Context(), c))
				must(t, theirProfile(t.Context(), c))
				if id := c.launchTagged(t, test.tags); test.ended {
					must(t, c.EC2.Terminate(id))
				}
			}
			_, diags := c.look(t)
			if test.ok {
				onlyWarning(t, diags)
			} else {
				wantError(t, diags, "no nodes for the daemon")
			}
		})
	}
}

func TestClusterData_IdentityIsIRSAWhereTheClusterHasBoth(t *testing.T) {
	c := furnished(t)
	agent := func(k *ekssim.Cluster) { k.Addons = append(k.Addons, "eks-pod-identity-agent") }
	for _, step := range []struct {
		change func(*ekssim.Cluster)
		want   string
	}{{agent, "irsa"}, {func(k *ekssim.Cluster) { k.Issuer = "" }, "pod_identity"}} {
		c.EKS.Change(testCluster, step.change)
		got, diags := c.look(t)
		onlyWarning(t, diags)
		if got["identity"] != step.want {
			t.Errorf("identity is %v, want %s", got["identity"], step.want)
		}
	}
	if got, _ := c.look(t); got["oidc_issuer"] != nil || got["oidc_provider_arn"] != nil {
		t.Errorf("a cluster without an issuer has %v and %v", got["oidc_issuer"], got["oidc_provider_arn"])
	}
}

// A subnet has the table that names it, or else the main one.
func TestClusterData_SubnetsAreThoseWithoutARouteToAnInternetGateway(t *testing.T) {
	c := furnished(t)
	outside := c.EC2.SeedSubnet(ec2sim.SubnetSpec{VPCID: c.vpc.ID, Zone: "us-west-2a", CIDR: "10.1.0.0/24"})
	c.EC2.SeedPublicRouteTable(c.vpc.ID, c.vpc.SubnetIDs[0], outside)
	got, diags := c.look(t)
	onlyWarning(t, diags)
	if diff := cmp.Diff(list{c.vpc.SubnetIDs[1]}, got["subnet_ids"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	c.EC2.SeedPublicRouteTable(c.vpc.ID, c.vpc.SubnetIDs[1])
	got, diags = c.look(t)
	onlyWarning(t, diags, "All subnets for nodes are public", c.vpc.SubnetIDs[0], c.vpc.SubnetIDs[1])
	if diff := cmp.Diff(sortedList(c.vpc.SubnetIDs...), got["subnet_ids"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The cluster's own subnets may be the control plane's alone, without a way to the registry or to EKS.
func TestClusterData_SubnetsAreThoseOfTheNodeGroups(t *testing.T) {
	c := furnished(t)
	other := c.EC2.SeedSubnet(ec2sim.SubnetSpec{VPCID: c.vpc.ID, Zone: "us-west-2a", CIDR: "10.1.0.0/24"})
	c.EKS.Change(testCluster, func(k *ekssim.Cluster) {
		for i := range k.NodeGroups {
			k.NodeGroups[i].SubnetIDs = []string{other}
		}
	})
	got, diags := c.look(t)
	onlyWarning(t, diags)
	if diff := cmp.Diff(list{other}, got["subnet_ids"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestClusterData_AVersionThatTheDaemonIsNotMadeForIsAWarning(t *testing.T) {
	for version, want := range map[string]string{"1.20": "does not support the Kubernetes version", "1.38": "The Kubernetes version is newer"} {
		c := furnished(t)
		c.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.Version = version })
		_, diags := c.look(t)
		onlyWarning(t, diags, want, version)
	}
}

// deny refuses an action with the sentence that AWS has for it.
func (c *cloud) deny(service, action string) {
	code := "AccessDeniedException"
	if service == "iam" {
		code = "AccessDenied"
	}
	if service == "ec2" {
		code = "UnauthorizedOperation"
	}
	c.Faults().Inject(awssim.Fault{Service: service, Action: action, Code: code, Status: 403, Message: "User: arn:aws:iam::123456789012:user/x is not authorized to perform: " + service + ":" + action + " on resource: *"})
}

func TestClusterData_ADeniedCallOfAnAttributeIsAnErrorWithThePermission(t *testing.T) {
	for action, service := range map[string]string{
		"DescribeCluster": "eks", "ListNodegroups": "eks", "DescribeNodegroup": "eks", "ListAddons": "eks", "GetOpenIDConnectProvider": "iam", "DescribeRouteTables": "ec2",
	} {
		t.Run(action, func(t *testing.T) {
			c := furnished(t)
			c.deny(service, action)
			_, diags := c.look(t)
			wantError(t, diags, service+":"+action, "Allow that action")
		})
	}
}

func TestClusterData_ADeniedCallOfACheckIsAWarningWithThePermission(t *testing.T) {
	for action, service := range map[string]string{"ListFargateProfiles": "eks", "DescribeInstances": "ec2"} {
		t.Run(action, func(t *testing.T) {
			c := furnished(t)
			c.deny(service, action)
			_, diags := c.look(t)
			onlyWarning(t, diags) // a node group has nodes: nothing else is asked
			c.EKS.Change(testCluster, func(k *ekssim.Cluster) { k.NodeGroups = nil })
			_, diags = c.look(t)
			onlyWarning(t, diags, "not known", service+":"+action)
		})
	}
}
