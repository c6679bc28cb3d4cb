package claim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// workers is how many NodeClaims with an instance are reconciled at the same time.
	workers = 32
	// launchings and terminations are how many NodeClaims without an instance, and in deletion,
	// are reconciled at the same time, beside the others and beside each other: a mass drain
	// holds up no launch, and launches that wait for their turn at EC2 hold up no node that has
	// joined. EC2 is asked about all that end together, so that more of them make no more calls.
	launchings   = 64
	terminations = 256
)

// World has the newest objects, and stores the answers to writes.
type World interface {
	Observe(object metav1.Object)
	Forget(object metav1.Object)
	NodeClaim(name string) (*v1.NodeClaim, bool)
	NodeClaims() []*v1.NodeClaim
	NodePool(name string) (*v1.NodePool, bool)
	EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool)
	TypesOf(class string) (cluster.Class, bool)
	FreeAddresses(subnet string) (free int64, asked time.Time, known bool)
	NodeOf(providerID string) (*corev1.Node, bool)
	NodesOf(providerID string) []*corev1.Node
	Nodes() []*corev1.Node
	PodsOn(node string) []*corev1.Pod
	Replicas(p *corev1.Pod) (of *metav1.OwnerReference, declared int64, pods []*corev1.Pod)
	BudgetsOf(p *corev1.Pod) []cluster.PodBudget
	AttachedTo(node string, staying []*corev1.Pod) (volumes []string)
}

// Scarcity is told what is known of capacity when that changes.
type Scarcity interface {
	Shortages(s engine.Shortages)
}

// Recorder is told of the events that users should see.
type Recorder interface {
	Launched(c *v1.NodeClaim, instanceType, zone, capacityType, instanceID string)
	LaunchFailed(c *v1.NodeClaim, err error)
	// LaunchesFail is told why launches of the NodeClaim's pool fail, and when the next try
	// comes; key changes when there is news.
	LaunchesFail(c *v1.NodeClaim, key, why string, next time.Time)
	Registered(c *v1.NodeClaim, node string)
	Initialized(c *v1.NodeClaim, node string)
	Draining(c *v1.NodeClaim, node, key, waitingFor string) // key changes when there is news
	Detaching(c *v1.NodeClaim, node, waitingFor string)
	Evicted(p *corev1.Pod, why string)                             // the API server has accepted the eviction
	ForceDeleted(p *corev1.Pod, deadline time.Time, seconds int64) // grace period that is left
	Terminated(c *v1.NodeClaim, instanceID string)
}

// Controller reconciles NodeClaims.
type Controller struct {
	Core     kubernetes.Interface
	Claims   *kube.NodeClaims
	World    World
	Cloud    Cloud
	Cluster  func() family.Cluster // as it is now
	Scarcity Scarcity
	Recorder Recorder
	Logger   hclog.Logger
	Now      func() time.Time
	Queues   workqueue.MetricsProvider // measures the queue; nil: nobody does

	queue     workqueue.TypedRateLimitingInterface[string]
	templates templatesInUse
	blocks    sync.Map  // NodeClaim -> what its drain waits for: map[types.UID]block
	written   sync.Map  // NodeClaim -> the launch request that this process wrote on it last
	missing   sync.Map  // NodeClaim -> since when its node is missing: time.Time
	ended     sync.Map  // NodeClaim -> when EC2 took the termination of its instances: map[string]time.Time
	called    sync.Map  // NodeClaim -> when its last launch call ended: time.Time
	started   time.Time // before it, another process may have made calls
	// unlaunched has the uids of NodeClaims of which EC2 said that nothing was launched.
	unlaunched sync.Map
	pace       pace
	gate       gate
	shortages  shortages
	subnets    subnets
	unnamed    sync.Once // the warning that an instance could not be named
	undeleted  sync.Once // the warning that a Node could not be deleted before its drain
	// launching and terminating have one for each NodeClaim that is reconciled beside the
	// workers; others are those, and all that wait for their turn.
	launching, terminating chan struct{}
	others                 sync.WaitGroup
}

// Hasten makes the pauses after a lack of capacity shorter by the factor, for laboratories whose
// time goes faster. Call it before Start.
func (c *Controller) Hasten(factor float64) {
	c.shortages.known = engine.PacedShortages(int64(factor * 1000))
}

// Start makes the queue; call it before Enqueue and Run.
func (c *Controller) Start() {
	c.launching, c.terminating, c.started = make(chan struct{}, launchings), make(chan struct{}, terminations), c.Now()
	c.queue = workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, time.Minute),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "nodeclaim", MetricsProvider: c.Queues})
}

// Enqueue schedules Reconcile for the NodeClaim. It does not block.
func (c *Controller) Enqueue(name string) { c.queue.Add(name) }

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	done := make(chan struct{}, workers)
	for range workers {
		go func() {
			for c.next(ctx) {
			}
			done <- struct{}{}
		}()
	}
	<-ctx.Done()
	c.queue.ShutDown()
	for range workers {
		<-done
	}
	c.others.Wait()
	return nil
}

func (c *Controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	switch pool, stage := c.stage(name); stage {
	case stageEnd:
		c.beside(ctx, c.terminating, name, func() {})
	case stageLaunch:
		if wait := c.gate.enter(pool, c.Now()); wait > 0 {
			c.queue.AddAfter(name, wait)
			c.queue.Done(name)
			return true
		}
		c.beside(ctx, c.launching, name, func() { c.gate.leave(pool) })
	case stageRun:
		c.handle(ctx, name)
	}
	return true
}

// beside reconciles the NodeClaim beside the workers, when it is its turn, and calls after.
func (c *Controller) beside(ctx context.Context, turns chan struct{}, name string, after func()) {
	c.others.Go(func() {
		defer after()
		select {
		case turns <- struct{}{}:
			c.handle(ctx, name)
			<-turns
		case <-ctx.Done():
			c.queue.Done(name)
		}
	})
}

// handle reconciles the NodeClaim, which the queue has handed out, and gives it back.
func (c *Controller) handle(ctx context.Context, name string) {
	defer c.queue.Done(name)
	again, err := c.Reconcile(ctx, name)
	switch {
	case err != nil && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		c.queue.AddAfter(name, 100*time.Millisecond) // a watch event with the newer version is under way
	case err != nil:
		if ctx.Err() == nil {
			c.Logger.Warn("nodeclaim reconcile failed; retrying", "nodeclaim", name, "error", err)
		}
		c.queue.AddRateLimited(name)
	default:
		c.queue.Forget(name)
		if again > 0 {
			c.queue.AddAfter(name, again)
		}
	}
}

// Reconcile does the next step of the NodeClaim's life. It returns the time to the
// next call; zero is no call before a change.
func (c *Controller) Reconcile(ctx context.Context, name string) (time.Duration, error) {
	claim, ok := c.World.NodeClaim(name)
	if !ok {
		c.blocks.Delete(name)
		c.missing.Delete(name)
		c.written.Delete(name)
		c.ended.Delete(name)
		c.called.Delete(name)
		return 0, nil
	}
	conditions := claim.DeepCopy().Conditions()
	switch {
	case claim.DeletionTimestamp != nil:
		return c.terminate(ctx, claim)
	case claim.Unread != "":
		return 0, c.noteUnread(ctx, claim)
	case conditions.Get(v1.ConditionReady).Reason == v1.ReasonUnreadable:
		return 0, c.noteRead(ctx, claim)
	case !slices.Contains(claim.Finalizers, v1.FinalizerTermination):
		return 0, c.hold(ctx, claim)
	case !conditions.Get(v1.ConditionLaunched).IsTrue():
		return c.launch(ctx, claim)
	}
	node, up := c.World.NodeOf(claim.Status.ProviderID)
	if up {
		c.missing.Delete(name)
	}
	switch {
	case up && node.DeletionTimestamp != nil:
		// Somebody deleted the Node: delete the NodeClaim too.
		return 0, c.deleteClaim(ctx, claim)
	case !up:
		return c.awaitNode(ctx, claim)
	case !conditions.Get(v1.ConditionRegistered).IsTrue(), claim.Status.NodeName != node.Name: // it has joined again under another name
		return 0, c.register(ctx, claim, node)
	case !conditions.Get(v1.ConditionInitialized).IsTrue():
		return 0, c.initialize(ctx, claim, node)
	}
	return 0, nil
}

// hold puts the finalizer on a NodeClaim that somebody else has made, before it gets
// an instance. The answer of the API server schedules the next Reconcile.
func (c *Controller) hold(ctx context.Context, claim *v1.NodeClaim) error {
	got, err := kube.SetFinalizers(ctx, c.Claims, claim, append(slices.Clone(claim.Finalizers), v1.FinalizerTermination), writes())
	if err != nil {
		return fmt.Errorf("nodeclaim %s finalizer add: %w", claim.Name, err)
	}
	c.World.Observe(got)
	return nil
}

// deleteClaim deletes exactly this NodeClaim, and not another one of its name.
func (c *Controller) deleteClaim(ctx context.Context, claim *v1.NodeClaim) error {
	uid := claim.UID
	err := c.Claims.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("nodeclaim %s delete: %w", claim.Name, err)
	}
	return nil
}

// patchMeta merges labels and annotations into the NodeClaim and returns the
// new version.
func (c *Controller) patchMeta(ctx context.Context, claim *v1.NodeClaim, labels, annotations map[string]string) (*v1.NodeClaim, error) {
	return c.patchClaim(ctx, claim, translate.PatchOf(claim, metaOf(labels, annotations)), "patch")
}

// patchClaim patches the NodeClaim, and returns the new version. An error says what was
// to be done.
func (c *Controller) patchClaim(ctx context.Context, claim *v1.NodeClaim, body translate.Patch, what string) (*v1.NodeClaim, error) {
	got, err := c.Claims.Patch(ctx, claim.Name, types.MergePatchType, body.JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return nil, fmt.Errorf("nodeclaim %s %s: %w", claim.Name, what, err)
	}
	c.World.Observe(got)
	return got, nil
}

// writes are the options of every patch.
func writes() metav1.PatchOptions { return metav1.PatchOptions{FieldManager: translate.FieldManager} }

// metaOf is the part of a patch with labels and annotations. An empty map is left out: as
// null it would remove all labels or annotations of the object.
func metaOf(labels, annotations map[string]string) map[string]any {
	meta := map[string]any{}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return meta
}

func (c *Controller) patchNode(ctx context.Context, node *corev1.Node, body translate.Patch) error {
	got, err := c.Core.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, body.JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return fmt.Errorf("node %s patch: %w", node.Name, err)
	}
	c.World.Observe(got)
	return nil
}
