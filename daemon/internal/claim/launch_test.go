package claim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

var errLost = errors.New("the answer is lost")

// launches is EC2 that notes every launch and answers all with one error.
type launches struct {
	cloud
	templates int
	requests  []aws.LaunchRequest
	answer    error
	launched  aws.Launched // where the answer is no error
	called    func()       // at every launch; may be nil
}

func (l *launches) EnsureLaunchTemplate(_ context.Context, t awsspec.LaunchTemplate) (string, error) {
	l.templates++
	return t.Name(), nil
}

func (l *launches) Launch(_ context.Context, r aws.LaunchRequest) (aws.Launched, error) {
	l.requests = append(l.requests, r)
	if l.called != nil {
		l.called()
	}
	return l.launched, l.answer
}

// launching is a server with a NodeClaim that has no instance, and its class.
type launching struct {
	*server
	ec2   *launches
	class *awsv1.EC2NodeClass
	// dearer is what the first type costs more than at first.
	dearer *quantity.Money
}

func newLaunching(t *testing.T) launching {
	t.Helper()
	l := launching{server: newServer(t), ec2: &launches{answer: errLost}, class: class(), dearer: new(quantity.Money)}
	l.controller.World, l.controller.Cloud, l.controller.Cluster = l, l.ec2, func() family.Cluster { return facts }
	c := nodeClaim(label.OnDemand)
	c.Finalizers = []string{v1.FinalizerTermination}
	l.put(t, c)
	l.Observe(c)
	return l
}

func (l launching) EC2NodeClass(string) (*awsv1.EC2NodeClass, bool) { return l.class, true }

func (l launching) TypesOf(string) (cluster.Class, bool) {
	types := instanceTypes()
	for i := range types[0].Offerings {
		types[0].Offerings[i].Price += *l.dearer
	}
	return cluster.Class{Ready: true, Types: types}, true
}

// try reconciles the NodeClaim and returns the request that EC2 got, if there was one.
func (l launching) try(t *testing.T) *aws.LaunchRequest {
	t.Helper()
	before := len(l.ec2.requests)
	if _, err := l.controller.Reconcile(t.Context(), "pool-x"); !errors.Is(err, l.ec2.answer) {
		t.Fatalf("error %v, want %v", err, l.ec2.answer)
	}
	if len(l.ec2.requests) == before {
		return nil
	}
	return &l.ec2.requests[before]
}

func TestLaunch_ARetrySendsWhatWasFrozenBeforeTheFirstCall(t *testing.T) {
	l := newLaunching(t)
	first := l.try(t)
	l.class.Status.Subnets = l.class.Status.Subnets[1:] // the first one is not selected any more
	l.controller.templates.made.Clear()                 // as after a restart
	l.now = l.now.Add(listingLag - time.Second)
	if again := l.try(t); !reflect.DeepEqual(first, again) {
		t.Errorf("retried as\n%+v, first\n%+v", again, first)
	}
	l.now = l.now.Add(listingLag - time.Second) // the last call may have been the one that launched
	if again := l.try(t); !reflect.DeepEqual(first, again) {
		t.Errorf("a moment after the last call retried as\n%+v, first\n%+v", again, first)
	}
	l.now = l.now.Add(listingLag)
	if other := l.try(t); other.ClientToken == first.ClientToken || other.Overrides[0].SubnetID != "subnet-small" {
		t.Errorf("when EC2 would list an instance: %+v", other)
	}
}

// Spot prices change every few minutes, and EC2's listings may be behind for longer.
func TestLaunch_APriceThatChangesIsNoReasonForAnotherToken(t *testing.T) {
	l := newLaunching(t)
	first := l.try(t)
	*l.dearer = 1_000_000_000_000
	l.now = l.now.Add(2 * listingLag)
	if again := l.try(t); !reflect.DeepEqual(first, again) {
		t.Errorf("retried as\n%+v, first\n%+v", again, first)
	}
}

// A class that is edited between the request and its instance is drift, even if the
// daemon learns of the instance much later.
func TestLaunch_TheHashOfTheClassIsFrozenWithTheRequest(t *testing.T) {
	l := newLaunching(t)
	frozen := drift.ClassHash(l.class)
	l.try(t)
	l.class.Spec.Tags = map[string]string{"team": "web"}
	l.try(t)
	expect := func(when, want string) {
		t.Helper()
		c, _ := l.NodeClaim("pool-x")
		if got := c.Annotations[awsv1.AnnotationNodeClassHash]; got != want || c.Annotations[awsv1.AnnotationNodeClassHashVersion] != drift.Version {
			t.Errorf("%s: hash %q, want %q; annotations %v", when, got, want, c.Annotations)
		}
	}
	expect("the class is edited after the request", frozen)
	l.now = l.now.Add(listingLag)
	l.try(t)
	expect("another request", drift.ClassHash(l.class))
	l.ec2.answer = nil
	l.ec2.instances = []aws.Instance{{ID: "i-1", Zone: "a", Type: "c5.large", State: "pending", LaunchTime: l.now}}
	asked := drift.ClassHash(l.class)
	l.class.Spec.Tags = nil
	l.try(t)
	expect("the instance of the request is adopted", asked)
}

// The profile of an instance must stay as long as the instance: it is named before the
// call that may launch one.
func TestLaunch_TheInstanceProfileIsOnTheNodeClaimBeforeTheCall(t *testing.T) {
	l := newLaunching(t)
	l.class.Status.InstanceProfile = "nodes"
	named := func() string {
		c, _ := l.NodeClaim("pool-x")
		return c.Annotations[awsv1.AnnotationInstanceProfile]
	}
	l.ec2.called = func() {
		if got := named(); got != "nodes" {
			t.Errorf("at the call the NodeClaim names the instance profile %q", got)
		}
	}
	l.try(t)
	l.class.Status.InstanceProfile = "others"
	l.try(t) // sends the first request again
	l.now = l.now.Add(listingLag)
	l.ec2.called = func() {}
	if l.try(t); named() != "others" {
		t.Errorf("after another request the NodeClaim names %q", named())
	}
}

func TestLaunch_AnInstanceThatIsListedLaterIsAdopted(t *testing.T) {
	l := newLaunching(t)
	l.try(t)
	l.class.Status.Subnets = l.class.Status.Subnets[1:]
	l.ec2.instances = []aws.Instance{{ID: "i-1", Zone: "a", Type: "c5.large", State: "pending", LaunchTime: l.now}}
	l.now = l.now.Add(time.Hour)
	l.ec2.answer = nil
	if more := l.try(t); more != nil {
		t.Errorf("a second instance is asked for: %+v", more)
	}
	if c, _ := l.NodeClaim("pool-x"); c.Status.ProviderID != "aws:///a/i-1" {
		t.Errorf("provider id %q", c.Status.ProviderID)
	}
}

func TestLaunch_AfterAnAnswerThatNothingWasLaunchedTheNextRequestIsNew(t *testing.T) {
	l := newLaunching(t)
	l.ec2.answer = aws.ErrNothingLaunched
	first := l.try(t)
	l.class.Status.Subnets = l.class.Status.Subnets[1:]
	if next := l.try(t); next.ClientToken == first.ClientToken || next.Overrides[0].SubnetID != "subnet-small" {
		t.Errorf("the next request is %+v", next)
	}
}

func TestLaunch_ATokenThatEC2KnowsWithAnotherRequestIsNotGivenUpAtOnce(t *testing.T) {
	l := newLaunching(t)
	l.ec2.answer = aws.ErrIdempotentParameterMismatch
	first := l.try(t)
	if again := l.try(t); again.ClientToken != first.ClientToken {
		t.Error("another token while the instance of the first may not be listed yet")
	}
	l.now = l.now.Add(listingLag)
	l.try(t)
	if next := l.try(t); next.ClientToken == first.ClientToken {
		t.Error("the same token for ever")
	}
}

// Whoever may create NodeClaims must not choose what the class does not allow: image, subnet,
// launch template, tags, type.
func TestLaunch_ARequestThatDoesNotFollowFromTheClassIsNeverSent(t *testing.T) {
	for name, forge := range map[string]func(*frozen){
		"image":           func(f *frozen) { f.Request.Overrides[0].ImageID = "ami-mine" },
		"subnet":          func(f *frozen) { f.Request.Overrides[0].SubnetID = "subnet-public" },
		"zone of another": func(f *frozen) { f.Request.Overrides[0].Zone = "elsewhere" },
		"type":            func(f *frozen) { f.Request.Overrides[0].InstanceType = "p5.48xlarge" },
		"template":        func(f *frozen) { f.Request.LaunchTemplate = "karpenter.k8s.aws/of-another-class" },
		"template of one": func(f *frozen) { f.Request.Overrides[0].LaunchTemplate = "karpenter.k8s.aws/of-another-class" },
		"tags":            func(f *frozen) { f.Request.Tags = map[string]string{awsspec.TagClusterName: "another"} },
		"a further tag":   func(f *frozen) { f.Request.Tags["admin"] = "true" },
		"capacity type":   func(f *frozen) { f.Request.CapacityType = label.Spot },
		"reservation":     func(f *frozen) { f.Request.Reservation = "cr-1" },
		"context":         func(f *frozen) { f.Request.Context = "x" },
		"nothing to ask":  func(f *frozen) { f.Request.Overrides = nil },
	} {
		for when, began := range map[string]time.Duration{"now": 0, "long ago": -time.Hour, "in the future": 100 * 365 * 24 * time.Hour} {
			l := newLaunching(t)
			honest := *l.try(t)
			c, _ := l.NodeClaim("pool-x")
			last, err := lastAttempt(c)
			if err != nil {
				t.Fatal(err)
			}
			forge(last.frozen)
			last.frozen.Began = l.now.Add(began)
			if _, err := last.write(t.Context(), l.controller, c); err != nil {
				t.Fatal(err)
			}
			l.controller.written.Clear() // last.write is the forger's
			l.ec2.requests = nil
			for range 20 {
				_, _ = l.controller.Reconcile(t.Context(), "pool-x")
				l.now = l.now.Add(2 * time.Second)
			}
			if len(l.ec2.requests) == 0 {
				t.Errorf("%s, begun %s: nothing was launched", name, when)
				continue
			}
			if began == 0 && len(l.ec2.requests) > 6 {
				t.Errorf("%s, begun %s: a new attempt began before EC2 lists the instance of the last one", name, when)
			}
			for _, r := range l.ec2.requests {
				want := honest
				want.ClientToken = r.ClientToken
				if r.ClientToken == honest.ClientToken || !reflect.DeepEqual(r, want) {
					t.Errorf("%s, begun %s: EC2 was asked for\n%+v, want\n%+v with another token", name, when, r, honest)
				}
			}
		}
	}
}

// A daemon that stops must not say that launches fail.
func TestLaunch_ACallThatEndsWithTheContextIsNoFailure(t *testing.T) {
	l := newLaunching(t)
	noted := &failures{server: l.server}
	l.controller.Recorder = noted
	ctx, cancel := context.WithCancel(t.Context())
	l.ec2.called, l.ec2.answer = cancel, context.Canceled
	if _, err := l.controller.Reconcile(ctx, "pool-x"); !errors.Is(err, context.Canceled) || len(l.ec2.requests) != 1 {
		t.Fatalf("error %v after %d calls", err, len(l.ec2.requests))
	}
	c, _ := l.NodeClaim("pool-x")
	if wait := l.controller.gate.enter(poolOf(c), l.now); wait > 0 || noted.count > 0 {
		t.Errorf("the pool waits for %s, and %d failures were noted", wait, noted.count)
	}
	l.ec2.called, l.ec2.answer = nil, errLost
	l.try(t)
	if wait := l.controller.gate.enter(poolOf(c), l.now); wait == 0 || noted.count != 2 {
		t.Errorf("after a failure the pool waits for %s, and %d were noted, want 2: of the pool and of the NodeClaim", wait, noted.count)
	}
}

// failures counts the launches that the Recorder is told have failed.
type failures struct {
	*server
	count int
}

func (f *failures) LaunchFailed(*v1.NodeClaim, error)                     { f.count++ }
func (f *failures) LaunchesFail(*v1.NodeClaim, string, string, time.Time) { f.count++ }

// The request of a daemon before this one is honoured as long as it is one of the class.
func TestLaunch_ADaemonThatStartsSendsTheRequestOfTheOneBefore(t *testing.T) {
	l := newLaunching(t)
	first := l.try(t)
	*l.dearer = 1_000_000_000_000
	l.controller.written.Clear()
	if again := l.try(t); !reflect.DeepEqual(first, again) {
		t.Errorf("retried as\n%+v, first\n%+v", again, first)
	}
	l.class.Spec.Tags = map[string]string{"team": "web"}
	l.controller.written.Clear()
	if _, err := l.controller.Reconcile(t.Context(), "pool-x"); err != nil || len(l.ec2.requests) != 2 {
		t.Errorf("the class has changed, and EC2 may not list the instance yet: error %v, %d calls, want 2", err, len(l.ec2.requests))
	}
	l.now = l.now.Add(listingLag)
	if other := l.try(t); other.ClientToken == first.ClientToken || other.Tags["team"] != "web" {
		t.Errorf("when EC2 would list an instance: %+v", other)
	}
}

func TestLaunch_WaitsForALaunchTemplateThatEC2DoesNotKnowYet(t *testing.T) {
	l := newLaunching(t)
	l.ec2.answer = fmt.Errorf("instance launch: %w", aws.ErrLaunchTemplateNotFound)
	again, err := l.controller.Reconcile(t.Context(), "pool-x")
	if err != nil || again != templatePoll {
		t.Errorf("tried again after %s with error %v, want %s and none", again, err, templatePoll)
	}
	if wait := l.controller.gate.enter("pool", l.now); wait != 0 {
		t.Errorf("other launches of the pool wait for %s", wait)
	}
	if l.ec2.templates != 1 {
		t.Errorf("the template was made %d times", l.ec2.templates)
	}
	l.now = l.now.Add(listingLag) // it is known by now: somebody has deleted it
	if _, err := l.controller.Reconcile(t.Context(), "pool-x"); !errors.Is(err, aws.ErrLaunchTemplateNotFound) {
		t.Errorf("error %v", err)
	}
	if _, err := l.controller.Reconcile(t.Context(), "pool-x"); err != nil || l.ec2.templates != 2 {
		t.Errorf("the template was made %d times, want a second time after it was deleted", l.ec2.templates)
	}
}

// The SDK may have sent the request twice: the first answer got lost, and the second came from a
// part of EC2 that does not know the new launch template.
func TestLaunch_KeepsItsTokenWhereAnAnswerMayBeLost(t *testing.T) {
	for once, same := range map[bool]bool{true: false, false: true} {
		l := newLaunching(t)
		l.ec2.answer, l.ec2.launched.SentOnce = fmt.Errorf("instance launch: %w", aws.ErrLaunchTemplateNotFound), once
		for range 2 {
			if _, err := l.controller.Reconcile(t.Context(), "pool-x"); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(l.ec2.requests); n != 2 || (l.ec2.requests[0].ClientToken == l.ec2.requests[1].ClientToken) != same {
			t.Errorf("sent once %v: %d requests, want two with the same token: %v", once, n, same)
		}
	}
}
