package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const gib = 1 << 30

func ids(app string, from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("default/%s-%02d", app, i))
	}
	return out
}

// byName takes the pod's name up to the dash for its Deployment.
func byName(pod string) string {
	name, _, _ := strings.Cut(pod, "-")
	return "Deployment " + name
}

func spot(name string, why plan.LaunchReason, pods ...string) plan.Launch {
	return plan.Launch{
		Name: name, Pool: "spot", CapacityType: label.Spot, Zones: []string{"us-west-2b"}, Pods: pods, Price: 410_000_000, Why: why,
		Types: []plan.Choice{{Type: "m7a.4xlarge", Price: 410_000_000}, {Type: "r7a.4xlarge", Price: 470_000_000}},
	}
}

func memoryBound() plan.LaunchReason {
	return plan.LaunchReason{
		Passed: plan.Choice{Type: "c7a.8xlarge", Price: 380_000_000}, Lacks: &quantity.Shortage{Resource: quantity.Memory, Need: 61 * gib, Free: 58 * gib},
		RunnerUp: plan.Choice{Type: "r7a.4xlarge", Price: 470_000_000},
	}
}

func TestTell_MakesOneParagraphForEachWorkload(t *testing.T) {
	inflate, web := ids("inflate", 0, 42), ids("web", 0, 3)
	p := plan.Plan{
		Actions: []plan.Action{
			spot("spot-a", memoryBound(), inflate[0:14]...), spot("spot-b", memoryBound(), inflate[14:28]...),
			spot("spot-c", memoryBound(), append(slices.Clone(inflate[28:40]), web[2])...),
			plan.Wait{},
		},
		Outcomes: []plan.Outcome{
			{Pods: web[2:], Verdict: plan.OnLaunch, On: "spot-c", Dropped: []string{"node affinity for us-west-2a"}},
			{Pods: inflate[0:14], Verdict: plan.OnLaunch, On: "spot-a"},
			{Pods: inflate[14:28], Verdict: plan.OnLaunch, On: "spot-b"},
			{Pods: inflate[28:40], Verdict: plan.OnLaunch, On: "spot-c"},
			{Pods: inflate[40:], Verdict: plan.Unplaceable, Reasons: []plan.Refusal{
				{Pool: "gpu", Cause: plan.LimitReached, Limit: &plan.Limit{Name: "nodes", Max: 4, Used: 4}},
				{Pool: "spot", Cause: plan.LimitReached, Limit: &plan.Limit{Name: quantity.CPU, Max: 100_000, Used: 96_000, Adds: 16_000}},
			}},
			{Pods: web[:1], Verdict: plan.OnNode, On: "ip-10-0-0-1"},
			{Pods: web[1:2], Verdict: plan.OnClaim, On: "spot-x"},
		},
	}
	const bought = `m7a.4xlarge (or 1 other type) spot in us-west-2b from NodePool "spot" at $0.4100 an hour, because c7a.8xlarge at $0.3800 lacks memory (61Gi needed, 58Gi left after DaemonSets) ` +
		`and the best alternative of another family, r7a.4xlarge, costs $0.4700`
	want := []string{
		`Deployment default/inflate, 42 pods: 40 get 3 new nodes for $1.2300 an hour in all, shared with other workloads: 3 x ` + bought + `. ` +
			`2 cannot be placed: NodePool "gpu": the limit is 4 nodes, and the pool has 4 with the launches of this plan; ` +
			`NodePool "spot": the limit is 100 cpu, the pool has 96 with the launches of this plan, and the smallest node that holds the pod adds 16.`,
		`Deployment default/web, 3 pods: 1 fits on node ip-10-0-0-1. 1 fits on NodeClaim spot-x, which is on its way. ` +
			`1 gets a new node, shared with other workloads: ` + bought + `; preferences given up: node affinity for us-west-2a.`,
	}
	stories := plan.Tell(p, byName)
	if len(stories) != len(want) {
		t.Fatalf("%d stories, want %d", len(stories), len(want))
	}
	for i, s := range stories {
		if got := s.Explain(); got != want[i] {
			t.Errorf("story:\n%s\nwant:\n%s", got, want[i])
		}
	}
}

func TestTell_NamesTheFirstOfManyPlacesAndKinds(t *testing.T) {
	var p plan.Plan
	all := ids("job", 0, 20)
	for i, pod := range all[:10] {
		p.Outcomes = append(p.Outcomes, plan.Outcome{Pods: []string{pod}, Verdict: plan.OnNode, On: fmt.Sprint("n", i)})
	}
	for i, pod := range all[10:13] {
		l := plan.Launch{Name: fmt.Sprint("l", i), Pool: "general", Pods: []string{pod}, CapacityType: label.OnDemand, Zones: []string{"a", "b"}, Price: 100_000_000, Types: []plan.Choice{{Type: "c5.large"}}}
		if i == 2 {
			l.Types[0].Type, l.Price = "c5.xlarge", 200_000_000
		}
		p.Actions = append(p.Actions, l)
		p.Outcomes = append(p.Outcomes, plan.Outcome{Pods: []string{pod}, Verdict: plan.OnLaunch, On: l.Name})
	}
	p.Outcomes = append(p.Outcomes, plan.Outcome{Pods: all[13:], Verdict: plan.Waiting})
	want := `Deployment default/job, 20 pods: 10 fit on 10 nodes (n0, n1, n2, n3, n4, n5, n6, n7 and 2 more). ` +
		`3 get 3 new nodes for $0.4000 an hour in all: 2 x c5.large on-demand in a or b from NodePool "general" at $0.1000 an hour; 1 x c5.xlarge on-demand in a or b from NodePool "general" at $0.2000 an hour. ` +
		`7 wait a moment for more pods that are still arriving.`
	stories := plan.Tell(p, byName)
	if len(stories) != 1 || stories[0].Explain() != want {
		t.Errorf("stories:\n%v\nwant:\n%s", stories[0].Explain(), want)
	}
	// The order of the outcomes does not matter.
	slices.Reverse(p.Outcomes)
	if got := plan.Tell(p, byName)[0].Explain(); got != want {
		t.Errorf("reversed:\n%s\nwant:\n%s", got, want)
	}
}

func TestTell_GivesOneReasonForLaunchesOfOneKind(t *testing.T) {
	var p plan.Plan
	for i, pod := range ids("job", 0, 2) {
		why := memoryBound()
		why.Lacks.Need += int64(i) * gib
		p.Actions = append(p.Actions, spot(fmt.Sprint("spot-", i), why, pod))
		p.Outcomes = append(p.Outcomes, plan.Outcome{Pods: []string{pod}, Verdict: plan.OnLaunch, On: fmt.Sprint("spot-", i)})
	}
	want := `Deployment default/job, 2 pods: 2 get 2 new nodes for $0.8200 an hour in all: 2 x m7a.4xlarge (or 1 other type) spot in us-west-2b from NodePool "spot" at $0.4100 an hour, ` +
		`the first one because c7a.8xlarge at $0.3800 lacks memory (61Gi needed, 58Gi left after DaemonSets) and the best alternative of another family, r7a.4xlarge, costs $0.4700.`
	if got := plan.Tell(p, byName)[0].Explain(); got != want {
		t.Errorf("story:\n%s\nwant:\n%s", got, want)
	}
}

func TestWorkloadOf_NamesWhatPeopleKnow(t *testing.T) {
	pod := cluster.Pod{Namespace: "default", Name: "web-6b9f-x2x4z", Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-6b9f"}}
	hashed := pod
	hashed.Labels = label.FromMap(map[string]string{"pod-template-hash": "6b9f"})
	alone := pod
	alone.Owner = cluster.Owner{}
	for want, p := range map[string]cluster.Pod{"Deployment default/web": hashed, "ReplicaSet default/web-6b9f": pod, "Pod default/web-6b9f-x2x4z": alone} {
		if got := plan.WorkloadOf(p); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRefusal_SaysWhatIsShortInNumbers(t *testing.T) {
	zones := []string{"us-west-2a", "us-west-2b", "us-west-2c"}
	large := func(resource string, need, free int64) plan.Refusal {
		return plan.Refusal{Pool: "p", Cause: plan.TooLarge, Types: 3, Largest: "m5", Shortage: &quantity.Shortage{Resource: resource, Need: need, Free: free}}
	}
	reported := large(quantity.EphemeralStorage, 17*gib, 17*gib-78<<20)
	reported.Reported = &plan.Reported{Node: "ip-10-0-0-1", Amount: 17*gib - 70<<20, Listed: 17*gib + 8<<20}
	for want, r := range map[string]plan.Refusal{
		`NodePool "p": no instance type is large enough: m5 comes closest of 3 and lacks ephemeral-storage (17Gi needed, 16.9Gi left after DaemonSets): ` +
			`node ip-10-0-0-1 reported 16.9Gi of ephemeral-storage for pods, where the catalogue says 17Gi; request less, let the NodePool have larger instance types, ` +
			`or change in the EC2NodeClass what takes it from pods`: reported,
		`no NodePool exists`: {Cause: plan.NoPool},
		`NodePool "p": the pod does not tolerate a taint (a=b:NoSchedule)`:                                                                               {Pool: "p", Cause: plan.UntoleratedTaint, Detail: "a=b:NoSchedule"},
		`NodePool "p": no instance type is large enough: m5 comes closest of 3 and lacks cpu (64 needed, 3.9 left after DaemonSets)`:                     large(quantity.CPU, 64_000, 3900),
		`NodePool "p": no instance type is large enough: m5 comes closest of 3 and lacks nvidia.com/gpu (9 needed, 8 left after DaemonSets)`:             large("nvidia.com/gpu", 9, 8),
		`NodePool "p": no instance type is large enough: m5 comes closest of 3 and lacks memory (16Gi needed, 15.6Gi left after DaemonSets)`:             large(quantity.Memory, 16*gib, 15*gib+gib*2/3),
		`NodePool "p": no instance type is large enough: m5 comes closest of 3 and lacks memory (16385Mi needed, 16384Mi left after DaemonSets)`:         large(quantity.Memory, 16*gib+1<<20, 16*gib),
		`NodePool "p": no instance type is large enough: m5 comes closest of 3 and lacks memory (17179869185 needed, 17179869184 left after DaemonSets)`: large(quantity.Memory, 16*gib+1, 16*gib),
		`NodePool "p": no instance type is large enough: m5 comes closest of 3 and lacks memory (512Mi needed, -512Mi left after DaemonSets)`:            large(quantity.Memory, gib/2, -gib/2),
		`NodePool "p": the limit is 1 node, and the pool has 1 with the launches of this plan`:                                                           {Pool: "p", Cause: plan.LimitReached, Limit: &plan.Limit{Name: "nodes", Max: 1, Used: 1}},
		`NodePool "p": the limit is 1.5Gi memory, and the pool has 1Gi with the launches of this plan`:                                                   {Pool: "p", Cause: plan.LimitReached, Limit: &plan.Limit{Name: quantity.Memory, Max: gib * 3 / 2, Used: gib}},
		`NodePool "p": no instance type meets the requirements (kubernetes.io/arch In [arm64]), 3 instance types`:                                        {Pool: "p", Cause: plan.NoType, Detail: "kubernetes.io/arch In [arm64]", Types: 3},
		`none of 3 instance types meets zone In [us-west-9a]; known values: us-west-2a, us-west-2b, us-west-2c; did you mean "us-west-2a"?`: {
			Cause: plan.NoType, Types: 3, Detail: "zone In [us-west-9a]", Ask: &plan.Ask{Key: "zone", Values: []string{"us-west-9a"}, Known: zones},
		},
		// No known value is close to the value that the pod asks for.
		`none of 1 instance type meets arch In [arm64]; known values: amd64`: {
			Cause: plan.NoType, Types: 1, Detail: "arch In [arm64]", Ask: &plan.Ask{Key: "arch", Values: []string{"arm64"}, Known: []string{"amd64"}},
		},
		// Three known values are equally close, so that none is suggested.
		`none of 3 instance types meets zone In [us-west-2z]; known values: us-west-2a, us-west-2b, us-west-2c`: {
			Cause: plan.NoType, Types: 3, Detail: "zone In [us-west-2z]", Ask: &plan.Ask{Key: "zone", Values: []string{"us-west-2z"}, Known: zones},
		},
		`no node of the pool has the label "kubernets.io/arch"; did you mean "kubernetes.io/arch"?`: {
			Cause: plan.NoType, Ask: &plan.Ask{Key: "kubernets.io/arch", Keys: []string{label.Arch, label.OS, label.Zone}},
		},
		`no node of the pool has the label "team"`: {Cause: plan.NoType, Ask: &plan.Ask{Key: "team", Keys: []string{label.Arch}}},
		`the pod asks for a node by name (ip-10-0-0-1), and no new node has that name`: {
			Cause: plan.NoType, Ask: &plan.Ask{Key: label.NodeName, Values: []string{"ip-10-0-0-1"}},
		},
		`topology spread or pod affinity rules leave the pod no domain (x); relax a rule or add domains`: {Cause: plan.Topology, Detail: "x"},
		`the instance types that hold the pod do not meet the pool's minValues (x); ` +
			`lower minValues, let the NodePool have other instance types, or set the daemon's min-values policy to BestEffort`: {Cause: plan.MinValuesUnmet, Detail: "x"},
		`no new node meets the node affinity of the pod's volumes (x); ` +
			`let the NodePool launch where the volumes are, or make volumes with the binding mode WaitForFirstConsumer`: {Cause: plan.Volumes, Detail: "x"},
		`the capacity ran out a moment ago, 2 instance types; tried again at 1970-01-01T00:01:00Z`: {Cause: plan.NoCapacity, Types: 2, Until: time.Unix(60, 0)},
		`its host ports are taken (80/TCP)`: {Cause: plan.HostPorts, Detail: "80/TCP"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestLaunchReason_NamesWhatIsCheaperAndTooSmall(t *testing.T) {
	r := memoryBound()
	r.Pods, r.Considered, r.Best, r.Unavailable = 14, 605, plan.Choice{Type: "m7a.4xlarge", Price: 410_000_000}, 2
	want := "room for 14 pods was missing; m7a.4xlarge at $0.4100 is the cheapest of 605 offers that holds them; the best alternative of another family is r7a.4xlarge at $0.4700; " +
		"c7a.8xlarge at $0.3800 lacks memory (61Gi needed, 58Gi left after DaemonSets); 2 offerings had no capacity a moment ago"
	if got := r.Explain(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestOutcome_PoolsWithTheSameReasonAreNamedTogether(t *testing.T) {
	o := plan.Outcome{Pods: ids("web", 0, 2), Verdict: plan.Unplaceable, Reasons: []plan.Refusal{
		{Pool: "a", Cause: plan.PoolNotReady}, {Pool: "b", Cause: plan.NoCapacity, Types: 4}, {Pool: "c", Cause: plan.PoolNotReady},
	}}
	want := `pod default/web-00 and 1 more of its kind cannot be placed: NodePools "a", "c": the pool is not ready; NodePool "b": the capacity ran out a moment ago, 4 instance types`
	if got := o.Explain(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestVocabulary_KnowsWhatThePoolsNodesHave(t *testing.T) {
	v := plan.NewVocabulary(slices.Values([]label.Labels{
		label.FromMap(map[string]string{"team": "a", label.Zone: "z"}),
		label.FromMap(map[string]string{label.Arch: "arm64"}),
		label.FromMap(map[string]string{label.Arch: "amd64"}),
	}))
	a := v.Ask(label.Is(label.Arch, "amd65"))
	if !slices.Equal(a.Known, []string{"amd64", "arm64"}) || !slices.Equal(a.Values, []string{"amd65"}) || a.Keys != nil {
		t.Errorf("a label that they have: %+v", a)
	}
	a = v.Ask(label.Is("tema", "a"))
	if len(a.Known) != 0 || !slices.Equal(a.Keys, []string{label.Arch, "team", label.Zone}) {
		t.Errorf("a label that they lack: %+v", a)
	}
}

func TestCertificate_SaysHowFarACostIsFromTheBound(t *testing.T) {
	for _, tc := range []struct {
		bound, cost quantity.Money
		scratch     bool
		want        string
		extra       plan.Extra
	}{
		{44_200_000_000, 44_600_000_000, false, "new nodes for these pods cannot cost less than $44.2000 an hour; the cost is $44.6000, 0.9 % above that", plan.Extra{}},
		{44_200_000_000, 89_000_000_000, true, "a fleet for all pods, from scratch, cannot cost less than $44.2000 an hour; the cost is $89.0000, 101.3 % above that", plan.Extra{}},
		{44_200_000_000, 44_200_000_001, false, "new nodes for these pods cannot cost less than $44.2000 an hour; the cost is $44.2000, less than 0.1 % above that", plan.Extra{}},
		{1_000_000_000, 1_000_000_000, false, "new nodes for these pods cannot cost less than $1.0000 an hour, and that is the cost", plan.Extra{}},
		{4_000_000_000, 1_000_000_000, true, "a fleet for all pods, from scratch, costs $4.0000 an hour or more; the cost is $1.0000, which is less, because running pods and nodes need not follow every rule for new ones", plan.Extra{}},
		{0, 1_000_000_000, false, "new nodes for these pods cost $1.0000 an hour; no lower bound is proven", plan.Extra{}},
		{
			1_000_000_000, 1_000_000_000, false,
			"new nodes for these pods cannot cost less than $1.0000 an hour; the cost is $1.0350 (instances $1.0000, volumes $0.0200, public addresses $0.0100, node cost $0.0050), 3.5 % above that",
			plan.Extra{Volumes: 20_000_000, Addresses: 10_000_000, Nodes: 5_000_000},
		},
		{1_005_000_000, 1_000_000_000, false, "new nodes for these pods cannot cost less than $1.0050 an hour, and that is the cost (instances $1.0000, node cost $0.0050)", plan.Extra{Nodes: 5_000_000}},
	} {
		c := plan.Certificate{Bound: tc.bound, Scratch: tc.scratch}
		if got := c.Explain(tc.cost, tc.extra); got != tc.want {
			t.Errorf("%s\nwant %s", got, tc.want)
		}
	}
}

func TestExplain_OneOfAKindIsSingular(t *testing.T) {
	why := plan.LaunchReason{Pods: 1, Considered: 1, Best: plan.Choice{Type: "c5.large", Price: 85_000_000}, Unavailable: 1}
	want := "room for 1 pod was missing; c5.large at $0.0850 is the cheapest of 1 offer that holds it; 1 offering had no capacity a moment ago"
	if got := why.Explain(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A refusal and a launch name their NodePool: a cluster has several.
func TestTell_NamesTheNodePools(t *testing.T) {
	all := ids("job", 0, 3)
	p := plan.Plan{
		Actions: []plan.Action{spot("spot-a", plan.LaunchReason{}, all[0])},
		Outcomes: []plan.Outcome{
			{Pods: all[:1], Verdict: plan.OnLaunch, On: "spot-a"},
			{Pods: all[1:2], Verdict: plan.Waiting, Reasons: []plan.Refusal{{Pool: "gpu", Cause: plan.NoCapacity}}},
			{Pods: all[2:], Verdict: plan.Unplaceable, Reasons: []plan.Refusal{{Pool: "gpu", Cause: plan.PoolNotReady}}},
		},
	}
	want := `Deployment default/job, 3 pods: 1 gets a new node: m7a.4xlarge (or 1 other type) spot in us-west-2b from NodePool "spot" at $0.4100 an hour. ` +
		`1 waits a moment: NodePool "gpu": the capacity ran out a moment ago. ` +
		`1 cannot be placed: NodePool "gpu": the pool is not ready.`
	if got := plan.Tell(p, byName)[0].Explain(); got != want {
		t.Errorf("story:\n%s\nwant:\n%s", got, want)
	}
	if got := p.Outcomes[1].Explain(); !strings.Contains(got, `NodePool "gpu"`) {
		t.Errorf("the outcome omits the NodePool: %s", got)
	}
}

// RunnerUp is one of the launch's own types. The next best offer of all may be of
// the same family, or one that the launch cannot become.
func TestLaunchReason_SaysThatTheRunnerUpIsOfAnotherFamily(t *testing.T) {
	why := plan.LaunchReason{Pods: 1, Considered: 3, Best: plan.Choice{Type: "c5.large", Price: 85_000_000}, RunnerUp: plan.Choice{Type: "m5.large", Price: 96_000_000}}
	want := "room for 1 pod was missing; c5.large at $0.0850 is the cheapest of 3 offers that holds it; the best alternative of another family is m5.large at $0.0960"
	if got := why.Explain(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The room of a type is what its DaemonSets leave, so that it is less than people
// read in the type's specification.
func TestLacks_SaysThatDaemonSetsCount(t *testing.T) {
	lacks := &quantity.Shortage{Resource: quantity.Memory, Need: 61 * gib, Free: 58 * gib}
	const want = "lacks memory (61Gi needed, 58Gi left after DaemonSets)"
	for _, got := range []string{
		plan.LaunchReason{Passed: plan.Choice{Type: "c7a.8xlarge"}, Lacks: lacks}.Explain(),
		plan.Refusal{Cause: plan.TooLarge, Largest: "c7a.8xlarge", Types: 3, Shortage: lacks}.String(),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant in it: %s", got, want)
		}
	}
}

// The scheduler makes room for a pod by preemption: it does not fit yet.
func TestTell_SaysThatTheSchedulerPreempts(t *testing.T) {
	p := plan.Plan{Outcomes: []plan.Outcome{{Pods: ids("job", 0, 2), Verdict: plan.Preempting, On: "n"}}}
	want := "Deployment default/job, 2 pods: 2 are to run on node n, where the kube-scheduler preempts other pods for them."
	if got := plan.Tell(p, byName)[0].Explain(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
