package claim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// karpenters is an instance as Karpenter launches it for a NodePool of the cluster, with the
// tags that are changed.
func karpenters(id string, s *server, change map[string]string) aws.Instance {
	tags := awsspec.Owner{Cluster: s.controller.Cluster().Name, NodePool: "pool", NodeClass: "default"}.Tags(nil)
	maps.Copy(tags, change)
	maps.DeleteFunc(tags, func(_, v string) bool { return v == "" })
	return aws.Instance{
		ID: id, Type: "c5.large", Zone: "a", State: "running", CapacityType: label.OnDemand, LaunchTime: s.now.Add(-2 * listingLag), Tags: tags,
	}
}

// unlaunched makes the NodeClaim of a launching one that Karpenter has made.
func unlaunched(t *testing.T, change func(*v1.NodeClaim)) launching {
	t.Helper()
	l := newLaunching(t)
	l.ec2.answer = nil
	c := nodeClaim(label.OnDemand)
	c.Finalizers = []string{v1.FinalizerTermination}
	c.Annotations = map[string]string{v1.AnnotationNodePoolHash: "1234567890", v1.AnnotationNodePoolHashVersion: "v3"}
	l.put(t, c)
	l.Observe(c)
	if change != nil {
		live := c.DeepCopy()
		change(live)
		l.put(t, live)
	}
	return l
}

func (l launching) reconciled(t *testing.T) {
	t.Helper()
	if _, err := l.controller.Reconcile(t.Context(), "pool-x"); err != nil {
		t.Fatal(err)
	}
	if len(l.ec2.requests) > 0 {
		t.Errorf("launched: %+v", l.ec2.requests)
	}
}

func TestTakeOver_ANodeClaimThatKarpenterHasNotLaunchedIsDeletedAndNotLaunched(t *testing.T) {
	l := unlaunched(t, nil)
	l.reconciled(t)
	if !l.wrote("DELETE " + claimsPath + "pool-x") {
		t.Errorf("writes %v", l.writes)
	}
}

func TestTakeOver_AYoungNodeClaimWaitsForWhatKarpenterMayStillRecord(t *testing.T) {
	l := unlaunched(t, nil)
	c, _ := l.NodeClaim("pool-x")
	c.CreationTimestamp = metav1.NewTime(l.now.Add(time.Second - listingLag))
	if again, err := l.controller.Reconcile(t.Context(), "pool-x"); err != nil || again != time.Second || len(l.writes)+len(l.ec2.requests) > 0 {
		t.Errorf("next call in %s, error %v, writes %v", again, err, l.writes)
	}
	l.now = l.now.Add(time.Second)
	if l.reconciled(t); !l.wrote("DELETE " + claimsPath + "pool-x") {
		t.Errorf("writes %v", l.writes)
	}
}

func TestTakeOver_AnotherClustersOrNodeClaimsInstanceIsNotTaken(t *testing.T) {
	for name, tags := range map[string]map[string]string{
		"no name yet":         {},
		"another name":        {awsspec.TagNodeClaim: "pool-y"},
		"another pool":        {awsspec.TagNodeClaim: "pool-x", awsspec.TagNodePool: "other"},
		"another uid":         {awsspec.TagNodeClaim: "pool-x", awsspec.TagNodeClaimUID: "uid-2"},
		"of no cluster":       {awsspec.TagNodeClaim: "pool-x", awsspec.TagClusterName: ""},
		"of no class":         {awsspec.TagNodeClaim: "pool-x", awsspec.TagNodeClass: ""},
		"its name and no tag": {awsspec.TagNodeClaim: "pool-x", awsspec.TagClusterPrefix + facts.Name: ""},
	} {
		l := unlaunched(t, nil)
		l.ec2.instances = []aws.Instance{karpenters("i-1", l.server, tags)}
		l.reconciled(t)
		if !l.wrote("DELETE " + claimsPath + "pool-x") {
			t.Errorf("%s: writes %v", name, l.writes)
		}
	}
}

func TestTakeOver_AnInstanceWithTheNameOfTheNodeClaimIsRecorded(t *testing.T) {
	l := unlaunched(t, nil)
	l.ec2.instances = []aws.Instance{karpenters("i-1", l.server, map[string]string{awsspec.TagNodeClaim: "pool-x"})}
	l.reconciled(t)
	c, _ := l.NodeClaim("pool-x")
	if c.Status.ProviderID != awsspec.ProviderID("a", "i-1") || !c.Conditions().Get(v1.ConditionLaunched).IsTrue() || l.wrote("DELETE "+claimsPath+"pool-x") {
		t.Errorf("status %+v, writes %v", c.Status, l.writes)
	}
}

func TestTakeOver_WhatChangedSinceTheWatchIsKept(t *testing.T) {
	for name, change := range map[string]func(*v1.NodeClaim){
		"recorded by now":      func(c *v1.NodeClaim) { c.Status.ProviderID = "aws:///a/i-1" },
		"another of that name": func(c *v1.NodeClaim) { c.UID = "uid-2" },
		"launched by a daemon": func(c *v1.NodeClaim) { c.Annotations[v1.AnnotationLaunchAttempt] = "1" },
	} {
		l := unlaunched(t, change)
		l.reconciled(t)
		if len(l.writes) > 0 {
			t.Errorf("%s: writes %v", name, l.writes)
		}
		if c, _ := l.NodeClaim("pool-x"); c.UID == "uid-1" && c.Status.ProviderID == "" && c.Annotations[v1.AnnotationLaunchAttempt] == "" {
			t.Errorf("%s: the world does not know it", name)
		}
	}
}

func TestTakeOver_ARecordedInstanceIsNeverLaunchedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		state string
		taken bool
	}{"runs": {"running", true}, "ends": {"shutting-down", false}, "unknown": {"", false}} {
		l := newLaunching(t)
		l.ec2.answer = nil
		c := nodeClaim(label.OnDemand)
		c.Finalizers = []string{v1.FinalizerTermination}
		c.Status.ProviderID = awsspec.ProviderID("a", "i-1")
		l.put(t, c)
		l.Observe(c)
		if tc.state != "" {
			i := karpenters("i-1", l.server, nil)
			i.State = tc.state
			l.ec2.instances = []aws.Instance{i}
		}
		_, err := l.controller.Reconcile(t.Context(), "pool-x")
		if len(l.ec2.requests) > 0 || tc.taken != (err == nil) || !tc.taken && (!errors.Is(err, aws.ErrNotFound) || len(l.writes) > 0) {
			t.Errorf("%s: error %v, launches %v, writes %v", name, err, l.ec2.requests, l.writes)
		}
		if got, _ := l.NodeClaim("pool-x"); got.Conditions().Get(v1.ConditionLaunched).IsTrue() != tc.taken {
			t.Errorf("%s: status %+v", name, got.Status)
		}
	}
}

// swept is a Collector with an EC2 that has the instance i-1, with these tags beside those
// that Karpenter launches with. The NodeClaim c records it.
func swept(t *testing.T, tags map[string]string) (*server, *Collector, *cloud) {
	t.Helper()
	s, collector, _ := collected(t)
	s.controller.Cluster = func() family.Cluster { return facts }
	ec2 := &cloud{instances: []aws.Instance{karpenters("i-1", s, tags)}}
	s.controller.Cloud = ec2
	return s, collector, ec2
}

func sweep(t *testing.T, c *Collector, times int) {
	t.Helper()
	for range times {
		if err := c.Sweep(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSweep_AnInstanceThatKarpenterLaunchedGetsTheTagsOfItsNodeClaim(t *testing.T) {
	for name, tc := range map[string]struct {
		tags map[string]string
		want []string
	}{
		"no tags of a nodeclaim":            {nil, []string{"i-1 c c"}},
		"Karpenter's tag alone":             {map[string]string{awsspec.TagNodeClaim: "c"}, []string{"i-1 c c"}},
		"the uid before a backup came back": {map[string]string{awsspec.TagNodeClaim: "c", awsspec.TagNodeClaimUID: "before"}, []string{"i-1 c c"}},
		"all tags":                          {map[string]string{awsspec.TagNodeClaim: "c", awsspec.TagNodeClaimUID: "c"}, nil},
	} {
		_, collector, ec2 := swept(t, tc.tags)
		sweep(t, collector, 1)
		if !slices.Equal(ec2.owned, tc.want) || len(ec2.ended) > 0 {
			t.Errorf("%s: tagged %v, want %v; ended %v", name, ec2.owned, tc.want, ec2.ended)
		}
	}
}

func TestSweep_TagsThatAreRefusedChangeNothingElse(t *testing.T) {
	s, collector, ec2 := swept(t, nil)
	s.controller.Cloud = refusing{ec2}
	sweep(t, collector, 3)
	if len(ec2.ended) > 0 || len(s.writes) > 0 {
		t.Errorf("ended %v, writes %v", ec2.ended, s.writes)
	}
}

func TestSweep_AnOrphanOfKarpenterIsEndedInTheSecondSweepAfterALiveLook(t *testing.T) {
	karpenter := map[string]string{v1.AnnotationNodePoolHashVersion: "v3"}
	other := func(change func(*v1.NodeClaim)) *v1.NodeClaim {
		c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other", Labels: map[string]string{v1.LabelNodePool: "pool"}, Annotations: karpenter}}
		change(c)
		return c
	}
	for name, tc := range map[string]struct {
		tags  map[string]string
		live  *v1.NodeClaim // that the watch has not brought
		age   time.Duration
		stays bool
	}{
		"nobody's":                       {},
		"nobody's, and once named":       {tags: map[string]string{awsspec.TagNodeClaim: "gone"}},
		"just launched":                  {age: listingLag - time.Second, stays: true},
		"recorded at the API server":     {live: other(func(c *v1.NodeClaim) { c.Status.ProviderID = "aws:///a/i-2" }), stays: true},
		"Karpenter may record it yet":    {live: other(func(*v1.NodeClaim) {}), stays: true},
		"of another pool's nodeclaim":    {live: other(func(c *v1.NodeClaim) { c.Labels = map[string]string{v1.LabelNodePool: "pool-2"} })},
		"of the alpha generation":        {tags: map[string]string{awsspec.TagNodePool: "", awsspec.TagNodeClass: "", "karpenter.sh/provisioner-name": "default"}, stays: true},
		"of a node group":                {tags: map[string]string{awsspec.TagNodePool: "", awsspec.TagNodeClass: "", "eks:nodegroup-name": "workers"}, stays: true},
		"of another cluster":             {tags: map[string]string{awsspec.TagClusterName: "other"}, stays: true},
		"of a pool of EKS Auto Mode":     {tags: map[string]string{awsspec.TagNodeClass: ""}, stays: true},
		"the cluster only discovered it": {tags: map[string]string{awsspec.TagClusterPrefix + facts.Name: "shared"}, stays: true},
	} {
		s, collector, ec2 := swept(t, nil)
		orphan := karpenters("i-2", s, tc.tags)
		if tc.age > 0 {
			orphan.LaunchTime = s.now.Add(-tc.age)
		}
		ec2.instances = append(ec2.instances, orphan)
		if tc.live != nil {
			s.put(t, tc.live)
		}
		sweep(t, collector, 1)
		if len(ec2.ended) > 0 {
			t.Errorf("%s: ended %v in the first sweep", name, ec2.ended)
		}
		sweep(t, collector, 1)
		if want := map[bool][]string{false: {"i-2"}}[tc.stays]; !slices.Equal(ec2.ended, want) {
			t.Errorf("%s: ended %v, want %v", name, ec2.ended, want)
		}
	}
}

func TestSweep_ARecordedInstanceStaysWhateverItsTagsSay(t *testing.T) {
	for name, tags := range map[string]map[string]string{
		"a uid of nobody":     {awsspec.TagNodeClaim: "c", awsspec.TagNodeClaimUID: "before"},
		"a name of nobody":    {awsspec.TagNodeClaim: "gone"},
		"only the pool's tag": {},
	} {
		s, collector, ec2 := swept(t, tags)
		delete(s.claims, "c") // the watch has not brought it: the live look decides
		sweep(t, collector, 3)
		if len(ec2.ended) > 0 {
			t.Errorf("%s: ended %v", name, ec2.ended)
		}
	}
}

// refusing is EC2 that lets nobody tag.
type refusing struct{ *cloud }

func (r refusing) OwnInstance(ctx context.Context, id, nodeClaim, uid string) error {
	_ = r.cloud.OwnInstance(ctx, id, nodeClaim, uid)
	return &aws.UnauthorizedError{Action: "ec2:CreateTags"}
}
