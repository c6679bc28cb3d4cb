package claim

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// scaleIn is a world with NodeClaims in deletion and one that lives, and EC2, which does not
// answer before it is told to.
type scaleIn struct {
	World
	Cloud

	controller *Controller

	mu     sync.Mutex
	claims map[string]*v1.NodeClaim
	asked  chan string   // the uids that EC2 is asked about
	answer chan struct{} // closed: EC2 answers
	lived  chan string   // the NodeClaims that live and are reconciled
}

func (s *scaleIn) NodeClaim(name string) (*v1.NodeClaim, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.claims[name]
	return c, ok
}

// Instance is what the launch of a NodeClaim that records its instance asks for.
func (s *scaleIn) Instance(ctx context.Context, _ string) (aws.Instance, error) {
	<-ctx.Done()
	return aws.Instance{}, ctx.Err()
}

func (s *scaleIn) NodeOf(providerID string) (*corev1.Node, bool) {
	if providerID != awsspec.ProviderID("us-west-2a", "i-lives") {
		return nil, false
	}
	s.lived <- providerID
	return &corev1.Node{}, true
}

func (s *scaleIn) NodesOf(providerID string) []*corev1.Node {
	if n, up := s.NodeOf(providerID); up {
		return []*corev1.Node{n}
	}
	return nil
}

func (s *scaleIn) InstancesOf(ctx context.Context, uid string) ([]aws.Instance, error) {
	s.asked <- uid
	select {
	case <-ctx.Done():
	case <-s.answer:
	}
	return nil, context.Canceled
}

// newScaleIn runs a Controller for so many NodeClaims in deletion until the test ends.
func newScaleIn(t *testing.T, n int) *scaleIn {
	t.Helper()
	s := &scaleIn{claims: map[string]*v1.NodeClaim{}, asked: make(chan string, 2*n), answer: make(chan struct{}), lived: make(chan string, 1)}
	now := metav1.Now()
	made := func(name string) *v1.NodeClaim {
		x := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Finalizers: []string{v1.FinalizerTermination}}}
		x.Status.ProviderID = awsspec.ProviderID("us-west-2a", "i-"+name)
		for _, condition := range []string{v1.ConditionLaunched, v1.ConditionRegistered, v1.ConditionInitialized} {
			x.Conditions().SetTrue(condition, now.Time)
		}
		s.claims[name] = x
		return x
	}
	c := &Controller{World: s, Cloud: s, Logger: hclog.NewNullLogger(), Now: time.Now}
	s.controller = c
	c.Start()
	for i := range n {
		name := fmt.Sprintf("ends-%d", i)
		made(name).DeletionTimestamp = &now
		c.Enqueue(name)
	}
	made("lives")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	c.Enqueue("lives")
	return s
}

// A mass drain takes long, and no launch waits for it.
func TestRun_EndsTakeNoWorkersFromLaunches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScaleIn(t, 1000)
		synctest.Wait()
		select {
		case <-s.lived:
		default:
			t.Error("a NodeClaim that lives waits for those in deletion")
		}
		if n := len(s.asked); n != terminations {
			t.Errorf("EC2 is asked about %d NodeClaims at once, want %d", n, terminations)
		}
	})
}

func TestRun_EveryEndIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScaleIn(t, 1000)
		close(s.answer)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		seen := map[string]bool{}
		for len(s.asked) > 0 {
			seen[<-s.asked] = true
		}
		if len(seen) != 1000 {
			t.Errorf("%d of 1000 were asked about in 5 s", len(seen))
		}
	})
}

// While EC2 throttles launches, they wait for their turn; nodes that have joined must not.
func TestRun_LaunchesThatWaitTakeNoWorkersFromNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScaleIn(t, 0)
		<-s.lived // it is reconciled at once
		for i := range 1000 {
			name := fmt.Sprintf("launch-%d", i)
			x := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Finalizers: []string{v1.FinalizerTermination}}}
			x.Labels = map[string]string{v1.LabelNodePool: fmt.Sprint("pool-", i%50)}
			x.Status.ProviderID = awsspec.ProviderID("us-west-2a", fmt.Sprintf("i-%017x", i))
			s.mu.Lock()
			s.claims[name] = x
			s.mu.Unlock()
			s.controller.Enqueue(name)
		}
		synctest.Wait()
		s.controller.Enqueue("lives")
		synctest.Wait()
		select {
		case <-s.lived:
		default:
			t.Error("a NodeClaim that lives waits for launches")
		}
	})
}
