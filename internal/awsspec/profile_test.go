package awsspec

import (
	"maps"
	"strings"
	"testing"
)

func nodeProfile() NodeProfile {
	return NodeProfile{Region: "us-west-2", Cluster: "lab", NodeClass: "default", NodeClassUID: "5cbd3e0b-0a57-4d5f-a1a3-b0a5f6a5a9c1", Role: "node"}
}

func TestNodeProfile_NameFollowsFromWhatItIsMadeFor(t *testing.T) {
	// The names are a contract with profiles that earlier releases have made.
	if got, want := nodeProfile().Name(), "lab_15893557851158229892"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	seen := map[string]bool{nodeProfile().Name(): true}
	for _, change := range []func(*NodeProfile){
		func(p *NodeProfile) { p.Region = "us-west-1" },
		func(p *NodeProfile) { p.Cluster = "other" },
		func(p *NodeProfile) { p.NodeClass = "other" },
		func(p *NodeProfile) { p.NodeClassUID = "other" },
		func(p *NodeProfile) { p.Role = "other" },
	} {
		p := nodeProfile()
		change(&p)
		if seen[p.Name()] {
			t.Errorf("name %q is given twice, for %+v", p.Name(), p)
		}
		seen[p.Name()] = true
	}
	long := nodeProfile()
	long.Cluster = strings.Repeat("c", maxClusterName)
	if err := CheckInstanceProfileName(long.Name()); err != nil {
		t.Error(err)
	}
}

func TestNodeProfile_PathHasRegionClusterAndClass(t *testing.T) {
	p := nodeProfile()
	if got, want := p.Path(), "/karpenter/us-west-2/lab/"+p.NodeClassUID+"/"; got != want || !strings.HasPrefix(got, ProfilePath("us-west-2", "lab")) {
		t.Errorf("path %q, want %q", got, want)
	}
}

func TestNodeProfile_TagsOfTheUserDoNotWin(t *testing.T) {
	user := map[string]string{"team": "web", TagRegion: "mars", TagNodeClass: "other"}
	want := map[string]string{
		"team": "web", "kubernetes.io/cluster/lab": "owned", "eks:eks-cluster-name": "lab",
		"karpenter.k8s.aws/ec2nodeclass": "default", "topology.kubernetes.io/region": "us-west-2",
	}
	if got := nodeProfile().Tags(user); !maps.Equal(got, want) {
		t.Errorf("tags %v, want %v", got, want)
	}
	if user[TagRegion] != "mars" {
		t.Errorf("the user's tags have changed: %v", user)
	}
}

func TestNodeProfile_TagsThatIAMRefusesAreLeftOut(t *testing.T) {
	got := nodeProfile().Tags(map[string]string{"Team": "web", "team": "api", "pipe": "a|b", "a*b": "x", "ok": "grün 1+1=2@x:/._-", "empty": ""})
	for key, want := range map[string]string{"Team": "web", "ok": "grün 1+1=2@x:/._-", "empty": ""} {
		if value, there := got[key]; !there || value != want {
			t.Errorf("%s: %q, want %q", key, value, want)
		}
	}
	if len(got) != 3+4 {
		t.Errorf("tags %v", got)
	}
}

func TestNodeProfile_OwnsWhatWasMadeForItsClassAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		key, value string
		owns, ours bool
	}{
		"its own":                {"team", "web", true, true},
		"of another class":       {TagNodeClass, "other", false, true},
		"of no class":            {TagNodeClass, "", false, false},
		"of another region":      {TagRegion, "us-west-1", false, false},
		"shared with a cluster":  {"kubernetes.io/cluster/lab", "shared", false, false},
		"of a cluster as a text": {"kubernetes.io/cluster/lab", "", false, false},
	} {
		tags := nodeProfile().Tags(nil)
		tags[c.key] = c.value
		if got, ours := nodeProfile().Owns(tags), OwnsProfile("us-west-2", "lab", tags); got != c.owns || ours != c.ours {
			t.Errorf("%s: owned by the class %v, by the cluster %v, want %v and %v", name, got, ours, c.owns, c.ours)
		}
	}
	if nodeProfile().Owns(nil) {
		t.Error("a profile without tags is owned")
	}
}

func TestRoleName_IsWhatFollowsTheLastSlash(t *testing.T) {
	for role, want := range map[string]string{
		"node": "node", "team/node": "node", "/team/node": "node", "arn:aws:iam::123456789012:role/a/b/node": "node", "node/": "", "": "",
	} {
		if got := RoleName(role); got != want {
			t.Errorf("%q has the name %q, want %q", role, got, want)
		}
	}
}
