package awsspec

import (
	"strings"
	"testing"
)

func TestPartition_FollowsFromRegion(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso",
		"us-isob-east-1": "aws-iso-b", "eu-isoe-west-1": "aws-iso-e", "us-isof-south-1": "aws-iso-f", "eusc-de-east-1": "aws-eusc", "": "aws",
	} {
		if got := Partition(region); got != want {
			t.Errorf("%s is in %s, want %s", region, got, want)
		}
	}
}

func TestChecks_NameTheValueAndTheRemedy(t *testing.T) {
	long := strings.Repeat("n", 200)
	for name, tc := range map[string]struct {
		err  error
		want string // empty: valid
	}{
		"cluster":              {CheckClusterName("my_cluster-1"), ""},
		"cluster with dot":     {CheckClusterName("a.b"), `cluster name "a.b": must consist of letters`},
		"cluster too long":     {CheckClusterName(long), "has 200 characters and must have 1 to 100"},
		"role":                 {CheckRoleName("Node+=,.@-_1"), ""},
		"role by ARN":          {CheckRoleName("arn:aws:iam::1:role/x"), "without path or ARN"},
		"role too long":        {CheckRoleName(strings.Repeat("n", 65)), "must have 1 to 64"},
		"profile":              {CheckInstanceProfileName("lab-node"), ""},
		"profile with slash":   {CheckInstanceProfileName("a/b"), `instance profile name "a/b"`},
		"queue":                {CheckQueueName("lab"), ""},
		"queue by URL":         {CheckQueueName("https://sqs/1/lab"), "no URL or ARN"},
		"FIFO queue":           {CheckQueueName("lab.fifo"), "a standard queue"},
		"role ARN":             {CheckRoleARN("arn:aws-us-gov:iam::123456789012:role/a/b/node"), ""},
		"role ARN of a user":   {CheckRoleARN("arn:aws:iam::123456789012:user/x"), "such as arn:aws:iam::123456789012:role/karpenter"},
		"tag":                  {CheckUserTag("team", ""), ""},
		"tag of AWS":           {CheckUserTag("AWS:x", ""), "belong to AWS"},
		"tag of the daemon":    {CheckUserTag("karpenterd.sh/x", ""), "is set by the daemon: remove the tag"},
		"tag of another owner": {CheckUserTag("kubernetes.io/cluster/b", "owned"), "is set by the daemon"},
		"tag without key":      {CheckUserTag("", "x"), "1 to 128 characters"},
		"tag value too long":   {CheckUserTag("k", strings.Repeat("v", 257)), "has 257 characters, and EC2 accepts 256"},
	} {
		if tc.want == "" {
			if tc.err != nil {
				t.Errorf("%s: %v", name, tc.err)
			}
			continue
		}
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, tc.err, tc.want)
		}
	}
}

func TestQueueName_IsTheClustersWhereItFits(t *testing.T) {
	if got := QueueName("lab"); got != "lab" {
		t.Errorf("queue name %q", got)
	}
	long := QueueName(strings.Repeat("c", 100))
	if err := CheckQueueName(long); err != nil || long == QueueName(strings.Repeat("c", 99)+"d") {
		t.Errorf("queue name %q: %v", long, err)
	}
}

func TestClientToken_IsStableForAnAttemptAndNewForTheNext(t *testing.T) {
	first := ClientToken("uid-1", 1)
	if len(first) != 32 || first != ClientToken("uid-1", 1) || first != strings.ToLower(first) {
		t.Errorf("token %q", first)
	}
	// The format is a contract with instances launched by earlier releases.
	if want := "49a88c843035ee0c"; !strings.HasPrefix(first, want) {
		t.Errorf("token %q does not begin with %s", first, want)
	}
	for _, other := range []string{ClientToken("uid-1", 2), ClientToken("uid-2", 1), ClientToken("uid-", 11)} {
		if other == first {
			t.Errorf("token %q is given twice", first)
		}
	}
}

func TestProviderID_RoundTrips(t *testing.T) {
	id := ProviderID("us-west-2a", "i-0123456789abcdef0")
	zone, instance, err := ParseProviderID(id)
	if err != nil || zone != "us-west-2a" || instance != "i-0123456789abcdef0" || id != "aws:///us-west-2a/i-0123456789abcdef0" {
		t.Errorf("%s reads as %s, %s, %v", id, zone, instance, err)
	}
	for _, bad := range []string{"", "kwok://x", "aws:///us-west-2a/", "aws://us-west-2a/i-1", "aws:///us-west-2a/i-1/x", "aws:////i-1", "aws:///us-west-2a/i-", "aws:///us-west-2a/i-a-b", "aws:///US/i-1", "aws:///us-west-2a/j-1"} {
		if _, _, err := ParseProviderID(bad); err == nil || !strings.Contains(err.Error(), "aws:///<zone>/<instance id>") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func TestTags_OwnersWinOverUsers(t *testing.T) {
	user := map[string]string{"team": "web", TagNodePool: "stolen"}
	owner := Owner{Cluster: "lab", NodePool: "default", NodeClass: "class"}
	tags := owner.InstanceTags(user, "default-x7k2p", "uid-1")
	want := map[string]string{
		"team": "web", "kubernetes.io/cluster/lab": "owned", "eks:eks-cluster-name": "lab", "karpenter.sh/nodepool": "default",
		"karpenter.k8s.aws/ec2nodeclass": "class", "karpenter.sh/nodeclaim": "default-x7k2p", "karpenterd.sh/nodeclaim-uid": "uid-1",
	}
	for key, value := range want {
		if tags[key] != value {
			t.Errorf("tag %s is %q, want %q", key, tags[key], value)
		}
	}
	if len(tags) != len(want) || len(user) != 2 || user[TagNodePool] != "stolen" {
		t.Errorf("tags %v, the user's %v", tags, user)
	}
	if len(owner.Tags(nil)) != 4 {
		t.Errorf("tags without user's: %v", owner.Tags(nil))
	}
}

func TestLaunchTemplate_NameFollowsFromContentAlone(t *testing.T) {
	base := LaunchTemplate{ImageID: "ami-1", InstanceProfile: "p", SecurityGroupIDs: []string{"sg-2", "sg-1"}, Tags: map[string]string{"a": "b", "c": "d"}}
	reordered := base
	reordered.SecurityGroupIDs = []string{"sg-1", "sg-2"}
	reordered.Tags = map[string]string{"c": "d", "a": "b"}
	if base.Name() != reordered.Name() {
		t.Error("order of security groups or tags changes the name")
	}
	if base.SecurityGroupIDs[0] != "sg-2" {
		t.Error("Digest sorts the caller's slice")
	}
	if name := base.Name(); !strings.HasPrefix(name, "karpenter.k8s.aws/") || len(name) != 38 || !strings.HasSuffix(name, base.Digest()[:20]) {
		t.Errorf("name %q", name)
	}
	on := true
	for what, change := range map[string]func(*LaunchTemplate){
		"image":     func(l *LaunchTemplate) { l.ImageID = "ami-2" },
		"user data": func(l *LaunchTemplate) { l.UserData = "x" },
		"spot":      func(l *LaunchTemplate) { l.Spot = true },
		"volume":    func(l *LaunchTemplate) { l.BlockDevices = []BlockDevice{{DeviceName: "/dev/xvda"}} },
		"public IP": func(l *LaunchTemplate) { l.AssociatePublicIP = &on },
		"tag":       func(l *LaunchTemplate) { l.Tags = map[string]string{"a": "x"} },
		"hop limit": func(l *LaunchTemplate) { l.Metadata.HopLimit = 2 },
	} {
		changed := base
		change(&changed)
		if changed.Name() == base.Name() {
			t.Errorf("a change of %s leaves the name", what)
		}
	}
}

// An update of the daemon must not rename templates whose content is the same: the name is a
// hash of the JSON, so a field that is new has `json:",omitempty"`.
func TestLaunchTemplate_KeepsTheNameThatEarlierVersionsGave(t *testing.T) {
	for want, of := range map[string]LaunchTemplate{
		"karpenter.k8s.aws/94b6244edb63d4992948": {},
		"karpenter.k8s.aws/70aa6aa1b89f769e830c": {
			ImageID: "ami-1", InstanceProfile: "p", SecurityGroupIDs: []string{"sg-1"}, UserData: "#!/bin/sh",
			Metadata:     Metadata{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HopLimit: 1},
			BlockDevices: []BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 20, Type: "gp3"}}, Tags: map[string]string{"a": "b"},
		},
	} {
		if got := of.Name(); got != want {
			t.Errorf("the name is %s, want %s, of %+v", got, want, of)
		}
	}
}

func TestRoleOwner_IsReadOfTagsThenOfTheTrustPolicy(t *testing.T) {
	const account = "123456789012"
	pods := PodIdentityTrust(ClusterARN("aws", "eu-west-1", account, "prod"), "karpenter", "karpenter")
	irsa := IRSATrust("oidc.eks.eu-west-1.amazonaws.com/id/X", account, "aws", "karpenter", "karpenter")
	for name, tt := range map[string]struct {
		tags            map[string]string
		trust           string
		cluster, region string
	}{
		"nothing":            {nil, NodeTrust("aws"), "", ""},
		"tags":               {map[string]string{TagClusterName: "a", TagRegion: "us-east-1"}, irsa, "a", "us-east-1"},
		"pod identity":       {nil, pods, "prod", "eu-west-1"},
		"issuer":             {nil, irsa, "", "eu-west-1"},
		"issuer and cluster": {map[string]string{TagClusterName: "a"}, irsa, "a", "eu-west-1"},
		"no policy":          {nil, "", "", ""},
	} {
		if cluster, region := RoleOwner(tt.tags, tt.trust); cluster != tt.cluster || region != tt.region {
			t.Errorf("%s: got %q in %q", name, cluster, region)
		}
	}
	if got := RegionalRoleName(ControllerRoleName(strings.Repeat("x", 80)), "us-west-2"); CheckRoleName(got) != nil || !strings.HasSuffix(got, "-us-west-2") {
		t.Errorf("got %q", got)
	}
}

func TestNamesLaunchTemplate_KnowsOursFromKarpenters(t *testing.T) {
	for name, want := range map[string]bool{
		LaunchTemplate{ImageID: "ami-1"}.Name():  true,
		"karpenter.k8s.aws/12345678901234567890": false, // Karpenter's hash, as a decimal number
		"karpenter.k8s.aws/1234567890abcdef":     false,
		"karpenter.k8s.aws/1234567890abcdefghij": false,
		"1234567890abcdef1234":                   false,
	} {
		if got := NamesLaunchTemplate(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
