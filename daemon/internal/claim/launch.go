package claim

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Cloud is the part of package aws that a Controller uses.
type Cloud interface {
	EnsureLaunchTemplate(ctx context.Context, t awsspec.LaunchTemplate) (name string, err error)
	Launch(ctx context.Context, r aws.LaunchRequest) (aws.Launched, error)
	Instances(ctx context.Context, tags map[string]string) ([]aws.Instance, error)
	InstancesOf(ctx context.Context, uid string) ([]aws.Instance, error)
	Instance(ctx context.Context, id string) (aws.Instance, error)
	InstancesByID(ctx context.Context, ids ...string) (map[string]aws.Instance, error)
	NameInstance(ctx context.Context, id, name string) error
	OwnInstance(ctx context.Context, id, nodeClaim, uid string) error
	Terminate(ctx context.Context, ids ...string) error
	LaunchTemplates(ctx context.Context, tags map[string]string) ([]string, error)
	DeleteLaunchTemplate(ctx context.Context, name string) error
}

// launch launches exactly one instance for the NodeClaim, even if the daemon restarts
// or an answer gets lost:
//
//  1. It writes the attempt and its request on the NodeClaim before the call.
//  2. If the NodeClaim has an attempt, it first looks for the instance by tag.
//  3. It tries the attempt again with the request that is written there. The same
//     attempt has the same client token, so EC2 answers with the same instance.
//  4. A new attempt begins only if EC2 said that nothing was launched, or if the request
//     has changed and no instance is listed after the time that listings may be behind. A
//     request of another process that does not follow from the NodeClaim and its class is
//     never sent.
//
// A NodeClaim that somebody else may have launched is taken over first.
func (c *Controller) launch(ctx context.Context, claim *v1.NodeClaim) (time.Duration, error) {
	if claim.Status.ProviderID != "" || madeByKarpenter(claim) {
		return c.takeOver(ctx, claim)
	}
	order, err := c.order(claim)
	if errors.Is(err, errReservationEnded) {
		c.Recorder.LaunchFailed(claim, err)
		return 0, c.deleteClaim(ctx, claim) // a new plan follows for its pods
	}
	if err != nil {
		return c.launchFailed(ctx, claim, err)
	}
	last, err := lastAttempt(claim)
	if err != nil {
		return c.launchFailed(ctx, claim, err)
	}
	last.called = c.lastCall(claim)
	if last.number > 0 {
		found, err := c.adopt(ctx, claim, order)
		if err != nil || found {
			return 0, err
		}
	}
	follows := c.believes(claim) || last.follows(order)
	if !follows && !last.listed(c.Now()) {
		return poll, nil // EC2 may show its instance yet
	}
	if !follows {
		c.Logger.Warn("the launch request on the nodeclaim is not one of its class, so it is not sent, and another attempt begins: the class has changed since the daemon before this one wrote it, or somebody else has written it",
			"nodeclaim", claim.Name, "annotation", v1.AnnotationLaunchRequest)
	}
	anew := !follows || !last.stands(order, c.Now())
	if anew && c.endsUnlaunched(claim, order, last) {
		return 0, c.deleteClaim(ctx, claim) // a new plan follows for its pods
	}
	request := order.request
	if !anew {
		request = last.frozen.Request
	}
	for _, name := range request.Templates() {
		c.templates.named.Store(name, c.Now())
		if t, there := order.by.named(name); there { // else it is of the class as it was
			if err := c.ensureTemplate(ctx, t); err != nil {
				return c.callFailed(ctx, claim, err)
			}
		}
	}
	if anew {
		last = attempt{number: last.number + 1, frozen: &frozen{Began: c.Now().UTC(), Request: order.request}, stamp: order.stamp, first: true}
		if claim, err = last.write(ctx, c, claim); err != nil {
			return 0, err
		}
	}
	order.request = last.frozen.Request
	return c.call(ctx, claim, order, last)
}

// endsUnlaunched says whether the NodeClaim ends without a call, because launches of others
// have just shown that nothing of its request can be had.
func (c *Controller) endsUnlaunched(claim *v1.NodeClaim, order order, last attempt) bool {
	until, why, shut := c.shut(claim, order.request)
	if !shut {
		return false
	}
	c.subnets.forget(claim.UID)
	if last.number == 0 {
		c.unlaunched.Store(claim.UID, true)
	}
	c.Logger.Debug("nodeclaim ends without a launch: a launch of another one has just found no capacity there", "nodeclaim", claim.Name, "code", why.Code, "until", until)
	return true
}

// call makes the call of the attempt, and records what came of it.
func (c *Controller) call(ctx context.Context, claim *v1.NodeClaim, order order, last attempt) (time.Duration, error) {
	order.request.ClientToken = awsspec.ClientToken(string(claim.UID), last.number)
	c.unlaunched.Delete(claim.UID)
	c.subnets.note(claim.UID, flight{subnetsOf(order.request), addressesOf(claim), c.Now()})
	launched, err := c.Cloud.Launch(ctx, order.request)
	c.called.Store(claim.Name, c.Now())
	var scarcity *aws.InsufficientCapacityError
	switch {
	case err == nil:
		c.subnets.note(claim.UID, flight{[]string{launched.SubnetID}, addressesOf(claim), c.Now()})
		c.gate.succeeded(poolOf(claim))
		c.tried(claim, catalog.OfferingKey{
			InstanceType: launched.InstanceType, Zone: launched.Zone, CapacityType: launched.CapacityType, Reservation: launched.Reservation,
		}, launched.Failed)
		return 0, c.launched(ctx, claim, order, launched)
	case errors.As(err, &scarcity):
		c.subnets.forget(claim.UID)
		c.noCapacity(claim, scarcity, order.request)
		c.unlaunched.Store(claim.UID, true)
		c.Recorder.LaunchFailed(claim, err)
		return 0, c.deleteClaim(ctx, claim) // a new plan follows for its pods, without these offerings
	}
	unseen := errors.Is(err, aws.ErrLaunchTemplateNotFound)
	young := unseen && c.templates.young(order.request.Templates(), c.Now())
	if unseen && !young {
		for _, t := range order.by.made {
			c.templates.made.Delete(t.name)
		}
	}
	// The first request with a token launches nothing without its launch template. A later one
	// may get that answer, too, where the first answer got lost.
	nothing := errors.Is(err, aws.ErrNothingLaunched) || unseen && last.first && launched.SentOnce
	if nothing {
		c.subnets.forget(claim.UID)
	}
	if nothing && len(launched.Failed) > 0 {
		c.tried(claim, catalog.OfferingKey{}, launched.Failed)
	}
	// EC2 may know this token with another request. Then the request is not the one that
	// was sent first: somebody has changed the annotation.
	if nothing || errors.Is(err, aws.ErrIdempotentParameterMismatch) && last.listed(c.Now()) {
		next, fault := attempt{number: last.number}.write(ctx, c, claim)
		if fault != nil {
			return 0, fault
		}
		claim = next
	}
	if young {
		c.Logger.Debug("launch waits until EC2 knows the launch template that was just made", "nodeclaim", claim.Name)
		return templatePoll, nil
	}
	return c.callFailed(ctx, claim, err)
}

// callFailed is launchFailed for an error of EC2, which other NodeClaims of the pool would
// get, too: the pool pauses. A call that ended with the context, as when the daemon stops or
// loses its lease, says nothing of launches.
func (c *Controller) callFailed(ctx context.Context, claim *v1.NodeClaim, cause error) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, cause
	}
	longest, key := longestErrorPause, aws.CodeOf(cause)
	if aws.Away(cause) {
		longest, key = longestAwayPause, "away"
	}
	next := c.gate.failed(poolOf(claim), c.Now(), longest)
	c.Recorder.LaunchesFail(claim, key, cause.Error(), next)
	return c.launchFailed(ctx, claim, cause)
}

// lastCall is when the last launch call of the NodeClaim ended at the latest.
func (c *Controller) lastCall(claim *v1.NodeClaim) time.Time {
	if at, known := c.called.Load(claim.Name); known {
		return at.(time.Time)
	}
	return c.started
}

// ensureTemplate asks EC2 for a launch template only once. If somebody deletes it
// later, the launch fails with ErrLaunchTemplateNotFound.
func (c *Controller) ensureTemplate(ctx context.Context, t awsspec.LaunchTemplate) error {
	if _, known := c.templates.made.Load(t.Name()); known {
		return nil
	}
	name, err := c.Cloud.EnsureLaunchTemplate(ctx, t)
	if err == nil {
		c.templates.made.Store(name, c.Now())
	}
	return err
}

// adopt looks for the instance of an earlier attempt.
func (c *Controller) adopt(ctx context.Context, claim *v1.NodeClaim, order order) (bool, error) {
	instances, err := c.Cloud.InstancesOf(ctx, string(claim.UID))
	if err != nil {
		return false, fmt.Errorf("nodeclaim %s instance look-up: %w", claim.Name, err)
	}
	for _, i := range instances {
		if i.Gone() {
			continue
		}
		c.subnets.note(claim.UID, flight{[]string{i.SubnetID}, addressesOf(claim), i.LaunchTime})
		c.gate.succeeded(poolOf(claim))
		capacityType, reservation := boughtAs(order.request, i, c.Now())
		return true, c.launched(ctx, claim, order, aws.Launched{
			InstanceID: i.ID, InstanceType: i.Type, Zone: i.Zone, SubnetID: i.SubnetID, ImageID: i.ImageID,
			CapacityType: capacityType, Reservation: reservation,
		})
	}
	return false, nil
}

// boughtAs returns the capacity type and reservation of an instance that an earlier
// attempt launched. EC2 may not show the reservation of a young instance yet. The
// launch template allows that reservation only, so the request tells it.
func boughtAs(r aws.LaunchRequest, i aws.Instance, now time.Time) (capacityType, reservation string) {
	if r.Reservation != "" && now.Sub(i.LaunchTime) < listingLag {
		return r.CapacityType, r.Reservation
	}
	return i.CapacityType, i.Reservation
}

// launchFailed writes the reason to the status, and returns the error so that the
// launch is tried again.
func (c *Controller) launchFailed(ctx context.Context, claim *v1.NodeClaim, cause error) (time.Duration, error) {
	c.Recorder.LaunchFailed(claim, cause)
	const most = 303
	message := v1.Bounded(cause.Error(), most)
	want := claim.DeepCopy()
	if want.Conditions().Set(v1.ConditionLaunched, metav1.ConditionUnknown, v1.ReasonLaunchFailed, message, c.Now()) {
		if err := c.writeStatus(ctx, claim, want); err != nil {
			return 0, err
		}
	}
	return 0, cause
}

// launched records the instance: first the labels, then the status with the condition
// Launched.
func (c *Controller) launched(ctx context.Context, claim *v1.NodeClaim, order order, l aws.Launched) error {
	labels := catalog.Offering{Zone: l.Zone, CapacityType: l.CapacityType, Reservation: l.Reservation}.Labels().Map()
	labels[label.InstanceType], labels[label.Tenancy] = l.InstanceType, order.tenancy
	for key, value := range impliedLabels(claim) {
		if _, has := claim.Labels[key]; !has {
			labels[key] = value
		}
	}
	t, known := order.types[l.InstanceType]
	for _, x := range t.Labels {
		labels[x.Key] = x.Value
	}
	for _, o := range t.Offerings {
		if o.Zone == l.Zone && o.ZoneID != "" {
			labels[label.ZoneID] = o.ZoneID
		}
	}
	claim, err := c.patchMeta(ctx, claim, labels, nil)
	if err != nil {
		return err
	}
	want := claim.DeepCopy()
	want.Status.ProviderID = awsspec.ProviderID(l.Zone, l.InstanceID)
	want.Status.ImageID = l.ImageID
	if known {
		want.Status.Capacity, want.Status.Allocatable = resourceLists(t)
	}
	want.Conditions().SetTrue(v1.ConditionLaunched, c.Now())
	c.written.Delete(claim.Name)
	if err := c.writeStatus(ctx, claim, want); err != nil {
		return err
	}
	c.Recorder.Launched(claim, l.InstanceType, l.Zone, l.CapacityType, l.InstanceID)
	return nil
}

func resourceLists(t catalog.InstanceType) (capacity, allocatable corev1.ResourceList) {
	return translate.ResourceList(t.Capacity), translate.ResourceList(t.Allocatable)
}
