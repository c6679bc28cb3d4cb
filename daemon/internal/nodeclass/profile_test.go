package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws/awstest"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// iamLab is a world whose profiles are in a simulated IAM, where the daemon has its own
// policies. The roles one and two exist, and may be given to instances like the role
// missing, which does not.
type iamLab struct {
	*world
	*Reconciler
	t      *testing.T
	cloud  *awssim.Cloud
	admin  *aws.Clients
	daemon *aws.Clients
}

// newIAMLab changes the documents of the daemon's policies.
func newIAMLab(t *testing.T, change func(document string) string) *iamLab {
	t.Helper()
	l := &iamLab{t: t}
	l.cloud, l.admin = awstest.Start(t, awssim.Options{})
	for _, name := range []string{"one", "two"} {
		l.role(name)
	}
	in := awsspec.ControllerPolicyInput{Partition: "aws", Region: awstest.Region, Account: awstest.Account, Cluster: "lab"}
	for _, name := range []string{"one", "two", "missing"} {
		in.NodeRoleARNs = append(in.NodeRoleARNs, "arn:aws:iam::"+awstest.Account+":role/"+name)
	}
	var arns []string
	for _, p := range awsspec.ControllerPolicies(in) {
		made, err := l.admin.CreatePolicy(t.Context(), aws.Policy{Name: p.Name, Document: change(p.Document)})
		if err != nil {
			t.Fatal(err)
		}
		arns = append(arns, made.ARN)
	}
	l.daemon = awstest.Clients(t, l.cloud, l.cloud.IAM.SeedUser("daemon", arns...))
	l.world, _ = newWorld()
	l.class.Spec.InstanceProfile = ""
	l.restart()
	return l
}

func asTheyAre(document string) string { return document }

// without takes an action from the policies.
func without(action string) func(string) string {
	return func(document string) string { return strings.ReplaceAll(document, `"`+action+`"`, `"iam:GetUser"`) }
}

// handWritten allows profiles at the root path only, by their names.
func handWritten(document string) string {
	return strings.ReplaceAll(document, "instance-profile/karpenter/us-west-2/lab/*", "instance-profile/lab_*")
}

func (l *iamLab) restart() { l.Reconciler = l.reconciler(l.daemon) }

func (l *iamLab) role(name string) {
	l.t.Helper()
	if _, err := l.admin.CreateRole(l.t.Context(), aws.Role{Name: name, TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		l.t.Fatal(err)
	}
}

// give gives the class a role, and looks at it.
func (l *iamLab) give(role string) v1.Condition {
	l.t.Helper()
	l.class = l.class.DeepCopy()
	l.class.Spec.Role = role
	l.class.Generation++
	if _, err := l.Reconcile(l.t.Context(), l.class.Name); err != nil {
		l.t.Fatal(err)
	}
	return l.class.Conditions().Get(awsv1.ConditionInstanceProfileReady)
}

// used is the profile that the class's status names.
func (l *iamLab) used() aws.InstanceProfile {
	l.t.Helper()
	p, err := l.admin.GetInstanceProfile(l.t.Context(), l.class.Status.InstanceProfile)
	if err != nil || !l.class.Conditions().IsReady() {
		l.t.Fatalf("profile %q: %v; conditions %+v", l.class.Status.InstanceProfile, err, l.class.Status.Conditions)
	}
	return p
}

// seed makes a profile as somebody else does.
func (l *iamLab) seed(p aws.InstanceProfile) aws.InstanceProfile {
	l.t.Helper()
	p, err := l.admin.CreateInstanceProfile(l.t.Context(), p)
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

// there are the names of all profiles.
func (l *iamLab) there() []string {
	l.t.Helper()
	all, err := l.admin.InstanceProfiles(l.t.Context(), "/")
	if err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

func (l *iamLab) wantThere(when string, names ...string) {
	l.t.Helper()
	slices.Sort(names)
	if got := l.there(); !slices.Equal(got, names) {
		l.t.Errorf("%s: profiles %q, want %q", when, got, names)
	}
}

// delete deletes the class.
func (l *iamLab) delete() {
	l.t.Helper()
	l.class = l.class.DeepCopy()
	now := metav1.NewTime(at(20))
	l.class.DeletionTimestamp = &now
	if _, err := l.Reconcile(l.t.Context(), l.class.Name); err != nil {
		l.t.Fatal(err)
	}
	if len(l.class.Finalizers) > 0 {
		l.t.Errorf("the class is held by %q", l.class.Finalizers)
	}
}

// collect sweeps once, so long after now.
func (l *iamLab) collect(after time.Duration) {
	l.t.Helper()
	if err := l.Collect(l.t.Context(), time.Now().Add(after)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *iamLab) ours(role string) awsspec.NodeProfile {
	return awsspec.NodeProfile{Region: awstest.Region, Cluster: "lab", NodeClass: l.class.Name, NodeClassUID: string(l.class.UID), Role: role}
}

func claimWith(class, profile string) *v1.NodeClaim {
	c := claimOf(class)
	c.Status.ProviderID = "aws:///us-west-2a/i-1"
	if profile != "" {
		c.Annotations = map[string]string{awsv1.AnnotationInstanceProfile: profile}
	}
	return c
}

func TestRole_MakesOneProfileAlthoughAnswersAreLostAndTheDaemonRestarts(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	l.class.Spec.Tags = map[string]string{"team": "web"}
	l.cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "CreateInstanceProfile", DropResponse: true, Times: 1})
	l.give("arn:aws:iam::" + awstest.Account + ":role/one")
	first := l.used()
	if want := l.ours("one"); first.Role != "one" || first.Path != want.Path() || first.Name != want.Name() || first.Tags["team"] != "web" || !want.Owns(first.Tags) {
		t.Errorf("made %+v", first)
	}
	l.class = l.class.DeepCopy()
	l.class.Status = awsv1.EC2NodeClassStatus{} // as if the daemon had ended before it wrote the status
	l.restart()
	l.give("one")
	if again := l.used(); again.ID != first.ID {
		t.Errorf("after the restart %+v, want %+v", again, first)
	}
	l.wantThere("after the restart", first.Name)
}

func TestRole_ChangeMakesANewProfileAndTheOldStaysForItsNodes(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	l.give("one")
	old := l.used().Name
	l.claims = []*v1.NodeClaim{claimWith("default", old)}
	l.give("two")
	used := l.used()
	if used.Name == old || used.Role != "two" {
		t.Errorf("after the change %+v", used)
	}
	for range 3 {
		l.collect(2 * time.Hour)
	}
	l.wantThere("with a node", old, used.Name)
	l.claims = nil
	l.collect(2 * time.Hour)
	l.wantThere("after the first sweep", old, used.Name)
	l.collect(2 * time.Hour)
	l.wantThere("after the second sweep", used.Name)
}

func TestRole_ThatIsMissingIsNamedAndItsProfileIsUsedLater(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	if c := l.give("missing"); !c.IsFalse() || c.Reason != awsv1.ReasonInstanceProfileNotFound || !strings.Contains(c.Message, `spec.role: role "missing" does not exist in this account: create it`) {
		t.Errorf("condition %+v", c)
	}
	half := l.there()
	if c := l.give("missing"); !c.IsFalse() || len(half) != 1 || l.class.Status.InstanceProfile != "" {
		t.Errorf("at the second look: %+v; profiles %q", c, half)
	}
	l.role("missing")
	l.give("missing")
	if used := l.used(); used.Role != "missing" {
		t.Errorf("when the role is there: %+v", used)
	}
	l.wantThere("when the role is there", half...)
}

func TestRole_HalfMadeProfileGoesWithTheClass(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	l.give("missing")
	l.delete()
	l.wantThere("after the class")
}

func TestRole_ProfileOfSomebodyElseIsNotTouched(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	name := l.ours("one").Name()
	theirs := l.seed(aws.InstanceProfile{Name: name, Role: "two", Path: l.ours("one").Path(), Tags: map[string]string{"owner": "somebody"}})
	if c := l.give("one"); !c.IsFalse() || c.Reason != reasonProfileConflict || !strings.Contains(c.Message, name) {
		t.Errorf("condition %+v", c)
	}
	l.delete()
	l.class = nil
	for range 3 {
		l.collect(2 * time.Hour)
	}
	if have, err := l.admin.GetInstanceProfile(t.Context(), name); err != nil || have.ID != theirs.ID || have.Role != "two" || len(have.Tags) != 1 {
		t.Errorf("their profile is %+v: %v", have, err)
	}
}

// A cluster taken over from Karpenter has a profile with a random name.
func TestRole_ProfileThatKarpenterMadeStaysInUse(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	theirs := l.seed(aws.InstanceProfile{Name: "lab_42", Path: l.ours("").Path(), Role: "one", Tags: l.ours("").Tags(nil)})
	l.class.Status.InstanceProfile = theirs.Name
	l.give("one")
	if used := l.used(); used.ID != theirs.ID {
		t.Errorf("in use %+v, want %+v", used, theirs)
	}
	l.give("two")
	l.wantThere("after a change of the role", theirs.Name, l.ours("two").Name())
}

func TestRole_IsPutRightWithoutAChangeOfTags(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	l.give("one")
	made := l.used()
	meddled := made
	meddled.Role = "two"
	meddled.Tags = map[string]string{"note": "x"}
	if _, err := l.admin.UpdateInstanceProfile(t.Context(), aws.InstanceProfile{}, meddled); err != nil {
		t.Fatal(err)
	}
	l.give("one")
	if got := l.used(); got.ID != made.ID || got.Role != "one" || got.Tags["note"] != "x" || !l.ours("one").Owns(got.Tags) {
		t.Errorf("put right: %+v", got)
	}
}

func TestRole_HandWrittenPolicyGivesAProfileAtTheRootPath(t *testing.T) {
	l := newIAMLab(t, handWritten)
	c := l.give("one")
	if used := l.used(); used.Path != "/" || used.Name != l.ours("one").Name() || !strings.Contains(c.Message, "allow iam:CreateInstanceProfile") {
		t.Errorf("made %+v, condition %+v", used, c)
	}
	l.delete()
	l.wantThere("after the class")
}

func TestRole_RefusalNamesTheFirstTryAndTheRoleThatMayNotBeGiven(t *testing.T) {
	l := newIAMLab(t, without("iam:CreateInstanceProfile"))
	refused := func(role string) string {
		l.class = l.class.DeepCopy()
		l.class.Spec.Role = role
		if _, err := l.Reconcile(t.Context(), l.class.Name); !errors.Is(err, aws.ErrUnauthorized) {
			t.Errorf("error %v", err)
		}
		c := l.class.Conditions().Get(awsv1.ConditionInstanceProfileReady)
		if !c.IsFalse() || c.Reason != awsv1.ReasonUnauthorized {
			t.Errorf("condition %+v", c)
		}
		return c.Message
	}
	if got, want := refused("one"), "iam:CreateInstanceProfile on arn:aws:iam::123456789012:instance-profile"+l.ours("one").Path(); !strings.Contains(got, want) {
		t.Errorf("message %q, want %q", got, want)
	}
	l = newIAMLab(t, asTheyAre)
	l.role("secret")
	if got, want := refused("secret"), "iam:PassRole on arn:aws:iam::123456789012:role/secret"; !strings.Contains(got, want) {
		t.Errorf("message %q, want %q", got, want)
	}
	l.delete()
	l.wantThere("after the class")
}

func TestFinalize_LeavesNoProfileOfTheClassAndTouchesNoOther(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	l.give("one")
	l.give("two")
	path, tags := l.ours("").Path(), l.ours("").Tags(nil)
	other := l.ours("one")
	other.NodeClass, other.NodeClassUID = "other", "v"
	l.seed(aws.InstanceProfile{Name: "lab_42", Path: path, Role: "one", Tags: tags}) // Karpenter's
	l.seed(aws.InstanceProfile{Name: "untagged", Path: path, Role: "one"})
	l.seed(aws.InstanceProfile{Name: "named-by-hand", Path: path, Role: "one", Tags: tags})
	l.seed(aws.InstanceProfile{Name: "of-another-class", Path: other.Path(), Role: "one", Tags: other.Tags(nil)})
	l.seed(aws.InstanceProfile{Name: "on-a-node", Path: path, Role: "one", Tags: tags})
	byHand := class()
	byHand.Name, byHand.UID, byHand.Spec.InstanceProfile = "by-hand", "w", "named-by-hand"
	l.others = []*awsv1.EC2NodeClass{byHand}
	l.claims = []*v1.NodeClaim{claimWith("by-hand", "on-a-node")}
	l.delete()
	l.wantThere("after the class", "untagged", "named-by-hand", "of-another-class", "on-a-node")
}

func TestFinalize_KeepsTheProfileThatTheClassNamesByHand(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	p := l.ours("one")
	l.seed(aws.InstanceProfile{Name: "mine", Path: p.Path(), Role: "one", Tags: p.Tags(nil)})
	l.class.Spec.InstanceProfile = "mine"
	l.give("")
	l.delete()
	l.wantThere("after the class", "mine")
}

func TestFinalize_WhereListsAreRefusedTheNamesThatFollowFromTheClassGo(t *testing.T) {
	l := newIAMLab(t, without("iam:ListInstanceProfiles"))
	l.give("one")
	earlier := l.used().Name
	l.give("two")
	l.collect(2 * time.Hour) // a refused list is no error
	l.delete()
	l.wantThere("after the class", earlier)
}

// listing is an IAM whose lists end with an error.
type listing struct {
	handMade
	err error
}

func (l listing) InstanceProfiles(context.Context, string) ([]aws.InstanceProfile, error) {
	return nil, l.err
}

func TestFinalize_IsHeldByIAMOnlyWhereThereMayBeAProfile(t *testing.T) {
	for _, c := range []struct {
		role string
		err  error
		held bool
	}{
		{"", &aws.UnauthorizedError{}, false},
		{"", aws.ErrUnreachable, false},
		{"", context.DeadlineExceeded, false},
		{"", aws.ErrThrottled, true},
		{"one", &aws.UnauthorizedError{}, false},
		{"one", aws.ErrUnreachable, true},
		{"one", aws.ErrThrottled, true},
	} {
		w, _ := newWorld()
		w.o.profileErr = aws.ErrNotFound
		r := w.reconciler(listing{handMade{world: w}, c.err})
		now := metav1.NewTime(at(0))
		w.class.DeletionTimestamp, w.class.Finalizers = &now, []string{awsv1.FinalizerTermination}
		if c.role != "" {
			w.class.Spec.Role, w.class.Spec.InstanceProfile = c.role, ""
		}
		_, err := r.Reconcile(t.Context(), "default")
		if held := len(w.class.Finalizers) > 0; held != c.held || (err != nil) != c.held {
			t.Errorf("role %q, list %v: held %v, error %v", c.role, c.err, held, err)
		}
	}
}

// The profile of a role that does not exist yet is in no status.
func TestCollect_LeavesAHalfMadeProfileToItsClass(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	l.give("missing")
	half := l.ours("missing").Name()
	for range 3 {
		l.collect(2 * time.Hour)
	}
	l.wantThere("while the class asks for the role", half)
	l.give("one")
	for range 2 {
		l.collect(2 * time.Hour)
	}
	l.wantThere("after a change of the role", l.used().Name)
}

func TestCollect_TakesTwoSweepsAnHourAndNobodyWhoNamesTheProfile(t *testing.T) {
	l := newIAMLab(t, asTheyAre)
	l.give("one")
	used := l.used().Name
	gone := l.ours("one")
	gone.NodeClass, gone.NodeClassUID = "gone", "v"
	l.seed(aws.InstanceProfile{Name: "orphan", Path: gone.Path(), Role: "one", Tags: gone.Tags(nil)})
	l.seed(aws.InstanceProfile{Name: "untagged", Path: gone.Path(), Role: "one"})
	gone.Cluster = "other"
	l.seed(aws.InstanceProfile{Name: "of-another-cluster", Path: gone.Path(), Role: "one", Tags: gone.Tags(nil)})
	always := []string{used, "untagged", "of-another-cluster"}
	for range 3 {
		l.collect(50 * time.Minute)
	}
	l.wantThere("before an hour", append(always, "orphan")...)
	for name, c := range map[string]struct{ use, leave func() }{
		"a claim":            {func() { l.claims = []*v1.NodeClaim{claimWith("x", "orphan")} }, func() { l.claims = nil }},
		"a claim without it": {func() { l.claims = []*v1.NodeClaim{claimWith("gone", "")} }, func() { l.claims = nil }},
		"a class": {func() {
			l.others = []*awsv1.EC2NodeClass{{Spec: awsv1.EC2NodeClassSpec{InstanceProfile: "orphan"}}}
		}, func() { l.others = nil }},
		"a status": {func() {
			l.others = []*awsv1.EC2NodeClass{{Status: awsv1.EC2NodeClassStatus{InstanceProfile: "orphan"}}}
		}, func() { l.others = nil }},
	} {
		c.use()
		for range 3 {
			l.collect(2 * time.Hour)
		}
		l.wantThere("with "+name, append(always, "orphan")...)
		c.leave()
		l.suspects = nil
	}
	l.collect(2 * time.Hour)
	l.cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "ListInstanceProfiles", Code: "ServiceFailure", Status: 400, Times: 1})
	if err := l.Collect(t.Context(), time.Now().Add(2*time.Hour)); err == nil {
		t.Error("a list that failed is no error")
	}
	l.collect(2 * time.Hour)
	l.wantThere("after two sweeps with a failure between", append(always, "orphan")...)
	l.collect(2 * time.Hour)
	l.wantThere("after two sweeps", always...)
}

// A sweep that finds many does not take the rate limit of IAM from all else, and one that may
// not delete gives up.
func TestCollect_DeletesAFewAtATimeAndCountsWhatIsLeft(t *testing.T) {
	const many = collectMost + 7
	w, _ := newWorld()
	iam := &manyProfiles{names: map[string]aws.InstanceProfile{}}
	r := w.reconciler(iam)
	gone := r.facts().profileOf(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "gone", UID: "v"}})
	for i := range many {
		name := fmt.Sprintf("lab_%d", i)
		iam.names[name] = aws.InstanceProfile{Name: name, ID: name, Path: gone.Path(), Tags: gone.Tags(nil)}
	}
	counted := -1
	r.ProfilesCounted = func(n int) { counted = n }
	for _, want := range []int{many, many - collectMost, 0} {
		if err := r.Collect(t.Context(), time.Now()); err != nil || counted != want || len(iam.names) != want {
			t.Errorf("error %v, %d counted, %d there, want %d", err, counted, len(iam.names), want)
		}
	}
	for i := range many {
		name := fmt.Sprintf("lab_%d", i)
		iam.names[name] = aws.InstanceProfile{Name: name, ID: name, Path: gone.Path(), Tags: gone.Tags(nil)}
	}
	iam.err, r.suspects = errors.New("in use"), nil
	_ = r.Collect(t.Context(), time.Now())
	if err := r.Collect(t.Context(), time.Now()); err == nil || iam.tried != collectFaults || counted != many {
		t.Errorf("error %v after %d tries, %d counted", err, iam.tried, counted)
	}
}

// Profiles that cannot be deleted, or that are somebody else's, keep no other from its turn.
func TestCollect_WhatStaysHoldsUpNoOther(t *testing.T) {
	w, _ := newWorld()
	iam := &manyProfiles{names: map[string]aws.InstanceProfile{}, held: map[string]bool{}, err: errors.New("in use")}
	r := w.reconciler(iam)
	gone := r.facts().profileOf(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "gone", UID: "v"}})
	add := func(name string, tags map[string]string) {
		iam.names[name] = aws.InstanceProfile{Name: name, ID: name, Path: gone.Path(), Tags: tags}
	}
	for i := range 2 * collectFaults {
		name := fmt.Sprintf("a%d", i)
		add(name, gone.Tags(nil))
		iam.held[name] = true
	}
	for i := range collectMost {
		add(fmt.Sprintf("b%d", i), nil)
	}
	add("c", gone.Tags(nil))
	for range 5 {
		_ = r.Collect(t.Context(), time.Now())
	}
	if _, there := iam.names["c"]; there || len(iam.names) != 2*collectFaults+collectMost {
		t.Errorf("%d profiles are there, c among them: %v", len(iam.names), there)
	}
}

// manyProfiles is an IAM with these instance profiles.
type manyProfiles struct {
	profiles
	names map[string]aws.InstanceProfile
	err   error           // of deletions
	held  map[string]bool // whose deletions fail; nil: all
	tried int
}

func (m *manyProfiles) InstanceProfiles(context.Context, string) ([]aws.InstanceProfile, error) {
	var out []aws.InstanceProfile
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		out = append(out, m.names[name])
	}
	return out, nil
}

func (m *manyProfiles) GetInstanceProfile(_ context.Context, name string) (aws.InstanceProfile, error) {
	return m.names[name], nil
}

func (m *manyProfiles) DeleteInstanceProfile(_ context.Context, name, _ string) error {
	if m.err != nil && (m.held == nil || m.held[name]) {
		m.tried++
		return m.err
	}
	delete(m.names, name)
	return nil
}
