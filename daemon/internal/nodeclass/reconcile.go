package nodeclass

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	// refreshReady is how often AWS is asked about a class that is ready, and
	// refreshNotReady how often about one that is not.
	refreshReady    = time.Minute
	refreshNotReady = 10 * time.Second
	// retryFirst and retryMost bound the pauses after errors.
	retryFirst = time.Second
	retryMost  = 30 * time.Second
	// workers is how many classes are looked at at the same time.
	workers = 4
)

// Cloud is the part of package aws that a Reconciler uses.
type Cloud interface {
	Subnets(ctx context.Context, selectors []aws.Selector) ([]aws.Subnet, error)
	SecurityGroups(ctx context.Context, selectors []aws.Selector) ([]aws.SecurityGroup, error)
	CapacityReservations(ctx context.Context, selectors []aws.ReservationSelector) ([]aws.CapacityReservation, error)
	Parameter(ctx context.Context, name string) (string, error)
	Images(ctx context.Context, selectors []aws.ImageSelector) ([]aws.Image, error)
	GetInstanceProfile(ctx context.Context, name string) (aws.InstanceProfile, error)
	CreateInstanceProfile(ctx context.Context, want aws.InstanceProfile) (aws.InstanceProfile, error)
	UpdateInstanceProfile(ctx context.Context, prior, want aws.InstanceProfile) (aws.InstanceProfile, error)
	InstanceProfiles(ctx context.Context, pathPrefix string) ([]aws.InstanceProfile, error)
	DeleteInstanceProfile(ctx context.Context, name, id string) error
	LaunchTemplates(ctx context.Context, tags map[string]string) ([]string, error)
	DeleteLaunchTemplate(ctx context.Context, name string) error
	MayLaunch(ctx context.Context, t aws.Trial) error
}

// Objects has the newest known version of each object. They must not be changed.
type Objects interface {
	EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool)
	EC2NodeClasses() []*awsv1.EC2NodeClass
	NodeClaims() []*v1.NodeClaim
}

// Writer writes EC2NodeClasses.
type Writer interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*awsv1.EC2NodeClass, error)
	UpdateStatus(ctx context.Context, class *awsv1.EC2NodeClass, o metav1.UpdateOptions) (*awsv1.EC2NodeClass, error)
}

// Config is what a Reconciler works with.
type Config struct {
	// Cluster returns the cluster as it is now: a class's user data is checked with it, and
	// each image is for one minor version of Kubernetes.
	Cluster func() family.Cluster
	Region  string
	Cloud   Cloud
	Objects Objects
	Writer  Writer
	Logger  hclog.Logger
	Now     func() time.Time
	// Counted is called with the places left in capacity reservations and the time at
	// which EC2 was asked, before the status names the reservations.
	Counted func(asked time.Time, left map[string]int64)
	// Addresses is called with the free addresses of subnets and the time at which EC2 was asked,
	// before the status names the subnets; may be nil.
	Addresses func(asked time.Time, free map[string]int64)
	// Catalogue says whether the daemon knows what AWS sells.
	Catalogue func() market.State
	// Isolated says that IAM cannot be reached: it is asked for classes with a role only, which
	// need it.
	Isolated bool
	// Expressions says which expression of the class has no result for an instance type.
	Expressions func(*awsv1.EC2NodeClass) error
	// ProfilesCounted is told how many instance profiles there are at the cluster's path; may be nil.
	ProfilesCounted func(int)
	// Queues measures the queue; nil: nobody does.
	Queues workqueue.MetricsProvider
}

// Reconciler keeps the status of all EC2NodeClasses.
type Reconciler struct {
	Config
	queue       workqueue.TypedRateLimitingInterface[string]
	making      sync.RWMutex    // read: a profile is found or made; write: Collect deletes one
	unlisted    sync.Once       // the warning that instance profiles cannot be listed
	permissions sync.Map        // the launch that EC2 has allowed, by the uid of the class
	answers     answers         // of SSM and IAM
	suspects    map[string]bool // ids of the instance profiles that nothing needed at the last Collect
	stayed      map[string]int  // how often Collect has tried to delete a profile that is there still, by id
}

// New makes a Reconciler; Run starts it.
func New(c Config) *Reconciler {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)
	return &Reconciler{Config: c, queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "nodeclass", MetricsProvider: c.Queues})}
}

// Enqueue schedules Reconcile for a class. Call it when the class changed, or when a
// NodeClaim that refers to it is deleted.
func (r *Reconciler) Enqueue(name string) { r.queue.Add(name) }

// Run reconciles what is enqueued, some classes at a time, until ctx ends: one for which AWS
// does not answer must not hold up the others.
func (r *Reconciler) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { r.work(ctx) })
	}
	working.Wait()
}

func (r *Reconciler) work(ctx context.Context) {
	for {
		name, over := r.queue.Get()
		if over {
			return
		}
		again, err := r.Reconcile(ctx, name)
		switch {
		case err != nil && ctx.Err() == nil:
			r.Logger.Warn("nodeclass reconcile failed; retrying", "ec2nodeclass", name, "error", err)
			r.queue.AddRateLimited(name)
		default:
			r.queue.Forget(name)
			if again > 0 {
				r.queue.AddAfter(name, again)
			}
		}
		r.queue.Done(name)
	}
}

// Reconcile brings the status of a class up to date. If the class is deleted and no
// NodeClaim refers to it, Reconcile deletes what was made for it in AWS and releases it.
// The result is the time to the next call; 0 is no call before a change. After an error
// the caller tries again; what AWS did answer is in the status nevertheless.
func (r *Reconciler) Reconcile(ctx context.Context, name string) (again time.Duration, err error) {
	known, there := r.Objects.EC2NodeClass(name)
	if !there {
		r.answers.forget(name)
		return 0, nil
	}
	class := known
	if class.DeletionTimestamp != nil {
		return r.finalize(ctx, class)
	}
	if !slices.Contains(class.Finalizers, awsv1.FinalizerTermination) {
		if class, err = r.setFinalizers(ctx, class, append(slices.Clone(class.Finalizers), awsv1.FinalizerTermination)); err != nil {
			return 0, err
		}
	}
	if why := translate.RefusedClass(class); why != "" {
		return refreshNotReady, r.refuse(ctx, class, why) // its reason may end without a new version
	}
	o := r.observe(ctx, class)
	if o.temporary() == nil {
		r.answers.resolved(class)
	}
	if o.subnetsErr == nil && r.Addresses != nil {
		r.Addresses(o.asked.Add(-sharedFor), free(o.subnets)) // the answer may be another class's
	}
	if o.reservationsErr == nil && len(o.reservations) > 0 {
		r.Counted(o.asked, left(o.reservations))
	}
	decided := decide(class, o, r.Config.facts(), r.Now())
	if decided.Conditions().IsReady() {
		if o.launchAsked, o.launchErr = r.mayLaunch(ctx, decided); o.launchAsked || o.launchErr != nil {
			decided = decide(class, o, r.Config.facts(), r.Now())
		}
	}
	if newest, changed := r.newest(known); changed { // while AWS answered
		if newest == nil || newest.Generation != class.Generation || newest.DeletionTimestamp != nil {
			return 0, nil // its change has scheduled the next call
		}
		class = newest
		decided = decide(class, o, r.Config.facts(), r.Now())
	}
	if !equality.Semantic.DeepEqual(decided.Status, class.Status) {
		if _, err := r.Writer.UpdateStatus(ctx, decided, metav1.UpdateOptions{FieldManager: translate.FieldManager}); err != nil {
			return 0, fmt.Errorf("ec2nodeclass %q write status: %w", name, err)
		}
		r.logChange(class, decided)
	}
	if err := o.temporary(); err != nil {
		return 0, fmt.Errorf("ec2nodeclass %q resolve: %w", name, err)
	}
	if decided.Conditions().IsReady() {
		return untilNextEnd(decided, r.Now(), refreshReady), nil
	}
	return refreshNotReady, nil
}

// newest returns the newest version of the class, nil if it is deleted or another one has
// its name, and says whether it is another one than that which was known.
func (r *Reconciler) newest(known *awsv1.EC2NodeClass) (is *awsv1.EC2NodeClass, changed bool) {
	is, there := r.Objects.EC2NodeClass(known.Name)
	if !there || is.UID != known.UID {
		return nil, true
	}
	return is, is.ResourceVersion != known.ResourceVersion
}

// refuse writes why nothing is launched from the class, and asks AWS nothing.
func (r *Reconciler) refuse(ctx context.Context, class *awsv1.EC2NodeClass, why string) error {
	decided := class.DeepCopy()
	decided.Conditions().Set(awsv1.ConditionValidationSucceeded, metav1.ConditionFalse, reasonRefused, why, r.Now())
	if equality.Semantic.DeepEqual(decided.Status, class.Status) {
		return nil
	}
	if _, err := r.Writer.UpdateStatus(ctx, decided, metav1.UpdateOptions{FieldManager: translate.FieldManager}); err != nil {
		return fmt.Errorf("ec2nodeclass %q write status: %w", class.Name, err)
	}
	r.logChange(class, decided)
	return nil
}

// untilNextEnd is the time to the next end of a capacity reservation, but not more
// than most.
func untilNextEnd(class *awsv1.EC2NodeClass, now time.Time, most time.Duration) time.Duration {
	for _, c := range class.Status.CapacityReservations {
		if c.EndTime != nil && c.EndTime.After(now) {
			most = min(most, c.EndTime.Sub(now))
		}
	}
	return most
}

// logChange logs each condition that has changed.
func (r *Reconciler) logChange(before, after *awsv1.EC2NodeClass) {
	was := map[string]string{}
	for _, c := range before.Status.Conditions {
		was[c.Type] = string(c.Status) + c.Reason + c.Message
	}
	for _, c := range after.Status.Conditions {
		if was[c.Type] != string(c.Status)+c.Reason+c.Message {
			r.Logger.Info("nodeclass condition changed", "ec2nodeclass", after.Name, "condition", c.Type, "status", c.Status, "reason", c.Reason, "says", c.Message)
		}
	}
}

// finalize keeps a deleted class while NodeClaims refer to it, because their launches
// need it. Then it deletes the launch templates and instance profiles of the class and
// removes the finalizer.
func (r *Reconciler) finalize(ctx context.Context, class *awsv1.EC2NodeClass) (again time.Duration, err error) {
	if !slices.Contains(class.Finalizers, awsv1.FinalizerTermination) {
		return 0, nil
	}
	if claims := r.nodeClaimsOf(class.Name); claims > 0 {
		r.Logger.Info("deleted nodeclass waits for its nodeclaims", "ec2nodeclass", class.Name, "nodeclaims", claims)
		return refreshNotReady, nil
	}
	templates, err := r.templatesOf(ctx, class)
	if err != nil {
		return 0, fmt.Errorf("ec2nodeclass %q finalize: %w", class.Name, err)
	}
	for _, template := range templates {
		if err := r.Cloud.DeleteLaunchTemplate(ctx, template); err != nil {
			return 0, fmt.Errorf("ec2nodeclass %q finalize: %w", class.Name, err)
		}
	}
	r.permissions.Delete(class.UID)
	if err := r.deleteProfiles(ctx, class); err != nil {
		return 0, fmt.Errorf("ec2nodeclass %q finalize: %w", class.Name, err)
	}
	if newest, _ := r.newest(class); newest != nil {
		class = newest
	}
	if _, err := r.setFinalizers(ctx, class, kube.FinalizersWithout(class, awsv1.FinalizerTermination)); err != nil {
		return 0, err
	}
	r.Logger.Info("deleted nodeclass released", "ec2nodeclass", class.Name, "launch_templates_deleted", len(templates))
	return 0, nil
}

// templatesOf names the launch templates of the class.
func (r *Reconciler) templatesOf(ctx context.Context, class *awsv1.EC2NodeClass) ([]string, error) {
	return r.Cloud.LaunchTemplates(ctx, map[string]string{awsspec.TagClusterName: r.Cluster().Name, awsspec.TagNodeClass: class.Name})
}

// nodeClaimsOf counts the NodeClaims that refer to the class, including those that
// are being deleted.
func (r *Reconciler) nodeClaimsOf(class string) int {
	n := 0
	for _, c := range r.Objects.NodeClaims() {
		if translate.MayReferTo(c, class) {
			n++
		}
	}
	return n
}

// setFinalizers replaces the whole list, if it is still that of the class; nothing else of the
// class matters, which may have changed while AWS was asked.
func (r *Reconciler) setFinalizers(ctx context.Context, class *awsv1.EC2NodeClass, finalizers []string) (*awsv1.EC2NodeClass, error) {
	changed, err := kube.SetFinalizers(ctx, r.Writer, class, finalizers, metav1.PatchOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return nil, fmt.Errorf("ec2nodeclass %q set finalizers: %w", class.Name, err)
	}
	return changed, nil
}
