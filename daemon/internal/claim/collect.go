package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// listingLag is how long EC2's listings may be behind. Until an instance or a launch
// is that old, the Collector does not act on what a listing lacks.
const listingLag = 30 * time.Second

// listWait is how long EC2 may take to list the cluster's instances.
const listWait = 25 * time.Second

const (
	// throttledSweeps is how many sweeps in a row EC2 throttles before it counts as away.
	throttledSweeps = 3
	// orphansPercent is how much of the fleet one sweep may terminate because no NodeClaim owns
	// it, and orphansFew how many in any case; orphansPause is how long more than that are held.
	orphansPercent = 10
	orphansFew     = 2
	orphansPause   = time.Hour
)

// orphan is an instance that no NodeClaim owns.
type orphan struct {
	since time.Time // when that was found, or when EC2 last did not terminate it
	told  bool      // people know that it is held
}

// Collector terminates instances that no NodeClaim owns, and deletes NodeClaims whose
// instance no longer exists. It also finds the instances whose capacity reservation has
// ended.
//
// To terminate an instance takes two independent signals: in two sweeps the world has no
// NodeClaim that owns it, and then the API server has none either. A NodeClaim owns the
// instance that it records, and the instance with its uid in a tag. Karpenter's instances
// have no such tag until a sweep has found their NodeClaim. To delete a NodeClaim takes two,
// too: in two sweeps EC2 says that the instance no longer exists, or that somebody has stopped it,
// and the API server has no Node that is Ready. Somebody may remove a NodeClaim by force: then its Node would keep the
// daemon's finalizer for ever. It loses the finalizer when the API server has no such
// NodeClaim and the instance no longer exists, by the same signals.
type Collector struct {
	*Controller
	Away func(bool) // is told whether EC2 does not answer
	// Held is told how many instances without a NodeClaim are not terminated, because they are
	// too many, and, when that begins, why; "" else.
	Held func(ctx context.Context, orphans int, why string)

	listed  listing
	orphans map[string]orphan // of the last sweep, by id

	away      bool               // EC2 has not answered since a sweep that failed
	answered  int                // sweeps that EC2 has answered, one after the other
	throttled int                // sweeps that EC2 has throttled, one after the other
	suspects  map[string]bool    // instances without a NodeClaim in the last sweep
	vanished  map[types.UID]bool // NodeClaims without an instance in the last sweep
	stranded  map[types.UID]bool // Nodes without their NodeClaim in the last sweep
	untagged  sync.Once          // the warning that an instance could not be tagged
	heldBy    types.UID          // the NodeClaim that the log last said keeps lost instances
}

// Sweep compares instances and NodeClaims once.
func (c *Collector) Sweep(ctx context.Context, _ time.Time) error {
	instances, err := c.list(ctx)
	if err != nil {
		return fmt.Errorf("instances list: %w", err)
	}
	claims := ownersOf(c.World.NodeClaims())
	suspects := map[string]bool{}
	there := map[string]bool{}
	var faults []error
	var lost []aws.Instance
	untagged, tagged := map[*v1.NodeClaim]aws.Instance{}, map[*v1.NodeClaim]aws.Instance{}
	for _, i := range instances {
		there[i.ID] = i.Gone() || !i.Down()
		claim := claims.of(i)
		if i.Gone() || c.Now().Sub(i.LaunchTime) < listingLag {
			continue
		}
		if owns(claim, i) {
			faults = append(faults, c.releaseReserved(ctx, claim, i))
			switch {
			case tagless(claim, i):
				untagged[claim] = i
			case unmarked(claim):
				tagged[claim] = i
			}
			continue
		}
		suspects[i.ID] = true
		if c.suspects[i.ID] {
			lost = append(lost, i)
		}
	}
	c.suspects = suspects
	faults = append(faults, c.collect(ctx, lost, len(instances)))
	c.tag(ctx, untagged)
	faults = append(faults, c.mark(ctx, tagged))
	vanished := map[types.UID]bool{}
	missing, err := c.instanceless(ctx, claims, there)
	faults = append(faults, err)
	for _, claim := range missing {
		node, up, err := c.liveNode(ctx, claim)
		faults = append(faults, err)
		if err != nil || up && translate.NodeReady(node) {
			continue
		}
		vanished[claim.UID] = true
		if c.vanished[claim.UID] {
			c.Logger.Info("delete nodeclaim whose instance no longer exists or was stopped", "nodeclaim", claim.Name, "instance", claim.Status.ProviderID)
			faults = append(faults, c.deleteClaim(ctx, claim))
		}
	}
	c.vanished = vanished
	faults = append(faults, c.freeNodes(ctx, claims.byUID))
	return errors.Join(faults...)
}

// list lists the cluster's instances. EC2 counts as away from a failure until it has
// answered in two sweeps: between these, launches that failed are tried again.
func (c *Collector) list(ctx context.Context) ([]aws.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	asked := c.Now()
	instances, err := c.Cloud.Instances(ctx, c.fleetTags())
	if errors.Is(err, aws.ErrThrottled) {
		// EC2 answers, if not at once. Where that lasts, no NodeClaim must time out meanwhile.
		if c.throttled++; c.throttled < throttledSweeps {
			return nil, err
		}
	}
	if err != nil {
		c.answered, c.away = 0, true
		c.Away(true)
		return nil, err
	}
	if c.away {
		c.away = false
		c.resume()
	}
	c.listed.put(asked, instances)
	c.throttled = 0
	if c.answered++; c.answered > 1 {
		c.Away(false)
	}
	return slices.DeleteFunc(instances, func(i aws.Instance) bool {
		return i.Tags[awsspec.TagNodeClaimUID] == "" && !awsspec.LaunchedFor(c.Cluster().Name, i.Tags)
	}), nil
}

// resume has NodeClaims tried again that wait for EC2: their pauses have grown to minutes while it
// was away.
func (c *Collector) resume() {
	c.gate.reopen()
	for _, claim := range c.World.NodeClaims() {
		if claim.Status.ProviderID == "" || claim.DeletionTimestamp != nil {
			c.queue.Forget(claim.Name)
			c.queue.Add(claim.Name)
		}
	}
}

// owns reports whether the instance belongs to the claim, or may still do so: a launch
// is not recorded yet, or a deletion handles all instances of the claim.
func owns(claim *v1.NodeClaim, i aws.Instance) bool {
	if claim == nil {
		return false
	}
	return claim.Status.ProviderID == "" || claim.DeletionTimestamp != nil ||
		claim.Status.ProviderID == awsspec.ProviderID(i.Zone, i.ID)
}

// collect terminates those of the instances that nothing owns by the API server, either.
// Its list is consistent: every NodeClaim that was written before is in it.
func (c *Collector) collect(ctx context.Context, lost []aws.Instance, fleet int) error {
	if len(lost) == 0 {
		c.due(ctx, nil, fleet)
		return nil
	}
	list, err := c.Claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("nodeclaims list: %w", err)
	}
	live := make([]*v1.NodeClaim, len(list.Items))
	for i := range list.Items {
		live[i] = &list.Items[i]
	}
	claims := ownersOf(live)
	lost = slices.DeleteFunc(lost, func(i aws.Instance) bool { return owns(claims.of(i), i) || expected(live, i) })
	if c.held(live, lost) {
		c.Held(ctx, len(lost), "")
		return nil
	}
	lost = c.due(ctx, lost, fleet)
	ids := make([]string, len(lost))
	for n, i := range lost {
		c.Logger.Warn("terminate instance that no nodeclaim owns", "instance", i.ID, "nodeclaim", i.Tags[awsspec.TagNodeClaim])
		ids[n] = i.ID
	}
	return c.Cloud.Terminate(ctx, ids...)
}

// due returns those of the orphans that may be terminated now. Where they are more than a sweep
// may terminate, something else is wrong most likely, as where etcd was restored from an old
// backup: each waits for an hour then, in which people can look. After that a sweep terminates as
// many as it may, the oldest first.
func (c *Collector) due(ctx context.Context, orphans []aws.Instance, fleet int) []aws.Instance {
	before := c.orphans
	c.orphans = make(map[string]orphan, len(orphans))
	news := false
	most := max(orphansFew, fleet*orphansPercent/100)
	for _, i := range orphans {
		o, known := before[i.ID]
		if !known {
			o.since = c.Now()
		}
		if held := len(orphans) > most; held && !o.told {
			news, o.told = true, true
		}
		c.orphans[i.ID] = o
	}
	if len(orphans) <= most {
		c.Held(ctx, 0, "")
		return orphans
	}
	why := ""
	if news {
		why = fmt.Sprintf("%d of %d instances of the cluster have no NodeClaim, more than %d %%: none is terminated before %s, in case their NodeClaims were lost. Restore the NodeClaims, or terminate the instances (aws ec2 describe-instances --filters Name=tag:%s,Values=%s)",
			len(orphans), fleet, orphansPercent, c.Now().Add(orphansPause).UTC().Format(time.RFC3339), awsspec.TagClusterName, c.Cluster().Name)
		c.Logger.Warn("instances without a nodeclaim are held", "why", why)
	}
	due := pick.Those(orphans, func(i aws.Instance) bool { return c.Now().Sub(c.orphans[i.ID].since) >= orphansPause })
	slices.SortStableFunc(due, func(a, b aws.Instance) int { return c.orphans[a.ID].since.Compare(c.orphans[b.ID].since) })
	due = due[:min(most, len(due))]
	for _, i := range due { // one that EC2 does not terminate comes last
		c.orphans[i.ID] = orphan{since: c.Now(), told: true}
	}
	c.Held(ctx, len(orphans)-len(due), why)
	return due
}

// held says whether the instances have to stay, because one of them may be that of a
// NodeClaim whose status cannot be read. The tags do not tell: Karpenter's instances have
// none of their NodeClaim, and a NodeClaim that came back from a backup has another uid.
func (c *Collector) held(claims []*v1.NodeClaim, lost []aws.Instance) bool {
	i := slices.IndexFunc(claims, func(x *v1.NodeClaim) bool { return x.Status.ProviderID == "" && x.Unread.In("status") })
	if i < 0 || len(lost) == 0 {
		return false
	}
	if by := claims[i]; c.heldBy != by.UID {
		c.heldBy = by.UID
		c.Logger.Warn("instances that no nodeclaim owns are not terminated: one of them may be the instance of a nodeclaim whose status cannot be read",
			"nodeclaim", by.Name, "instances", len(lost), "instance", lost[0].ID, "why", by.Unread.Explain(v1.NodeClaimKind, by.Name))
	}
	return true
}

// instanceless returns the NodeClaims whose instance is gone by both of EC2's answers: it is not
// listed, and not running when it is asked for by its id.
func (c *Collector) instanceless(ctx context.Context, claims owners, there map[string]bool) ([]*v1.NodeClaim, error) {
	var faults []error
	suspects, ids := map[string]*v1.NodeClaim{}, []string(nil)
	for _, claim := range claims.byUID {
		launched := claim.DeepCopy().Conditions().Get(v1.ConditionLaunched)
		if claim.Unread != "" {
			continue // what it records may be left out
		}
		if !launched.IsTrue() || claim.DeletionTimestamp != nil || c.Now().Sub(launched.LastTransitionTime.Time) < listingLag {
			continue
		}
		_, id, err := awsspec.ParseProviderID(claim.Status.ProviderID)
		faults = append(faults, err)
		if err == nil && !there[id] {
			suspects[id], ids = claim, append(ids, id)
		}
	}
	found, err := c.Cloud.InstancesByID(ctx, ids...)
	if err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	var gone []*v1.NodeClaim
	for id, claim := range suspects {
		if i, known := found[id]; !known || i.Down() {
			gone = append(gone, claim)
		}
	}
	return gone, errors.Join(faults...)
}

// freeNodes removes the Nodes whose NodeClaim was removed by force.
func (c *Collector) freeNodes(ctx context.Context, claims map[string]*v1.NodeClaim) error {
	var faults []error
	stranded := map[types.UID]bool{}
	for _, node := range c.World.Nodes() {
		i := slices.IndexFunc(node.OwnerReferences, func(r metav1.OwnerReference) bool {
			return r.Kind == v1.NodeClaimKind && strings.HasPrefix(r.APIVersion, v1.Group+"/")
		})
		if i < 0 || !slices.Contains(node.Finalizers, v1.FinalizerTermination) {
			continue
		}
		if claims[string(node.OwnerReferences[i].UID)] != nil {
			faults = append(faults, c.freeTwin(ctx, node))
			continue
		}
		stranded[node.UID] = true
		if c.stranded[node.UID] {
			faults = append(faults, c.free(ctx, node, node.OwnerReferences[i]))
		}
	}
	c.stranded = stranded
	return errors.Join(faults...)
}

// freeTwin lets a Node go that somebody has deleted while its NodeClaim has another one: the
// machine has joined again under another name.
func (c *Collector) freeTwin(ctx context.Context, node *corev1.Node) error {
	if other, up := c.World.NodeOf(node.Spec.ProviderID); node.DeletionTimestamp == nil || !up || other.Name == node.Name {
		return nil
	}
	c.Logger.Info("remove deleted node whose machine has joined under another name", "node", node.Name)
	return c.removeNode(ctx, node)
}

// free removes the Node if its NodeClaim and its instance no longer exist.
func (c *Collector) free(ctx context.Context, node *corev1.Node, owner metav1.OwnerReference) error {
	claim, err := c.Claims.Get(ctx, owner.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("nodeclaim %s get: %w", owner.Name, err)
	}
	if err == nil && claim.UID == owner.UID {
		return nil // of a class that is not ours, or the watch is behind
	}
	_, id, err := awsspec.ParseProviderID(node.Spec.ProviderID)
	if err != nil {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}
	if gone, err := c.instanceIs(ctx, id, aws.Instance.Gone); err != nil || !gone {
		return err
	}
	live, err := c.Core.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("node %s get: %w", node.Name, err)
	}
	if live.UID != node.UID || translate.NodeReady(live) {
		return nil
	}
	c.Logger.Warn("remove node whose nodeclaim was removed by force and whose instance no longer exists", "node", node.Name, "nodeclaim", owner.Name)
	return c.removeNode(ctx, live)
}

// instanceIs asks EC2 whether the instance is so; one that no longer exists is.
func (c *Controller) instanceIs(ctx context.Context, id string, so func(aws.Instance) bool) (bool, error) {
	i, err := c.Cloud.Instance(ctx, id)
	if errors.Is(err, aws.ErrNotFound) {
		return true, nil
	}
	return err == nil && so(i), err
}

// releaseReserved relabels a NodeClaim and its Node as on-demand when the capacity
// reservation of the instance has ended: the instance continues as on-demand. Karpenter
// does the same.
func (c *Collector) releaseReserved(ctx context.Context, claim *v1.NodeClaim, i aws.Instance) error {
	if claim.Labels[label.CapacityType] != label.Reserved || i.CapacityType != aws.CapacityTypeOnDemand || claim.DeletionTimestamp != nil {
		return nil
	}
	meta := map[string]any{"labels": map[string]any{
		label.CapacityType: label.OnDemand, label.Reservation: nil, label.ReservationType: nil, label.ReservationInterruptible: nil,
	}}
	c.Logger.Info("capacity reservation of nodeclaim has ended; the instance continues as on-demand", "nodeclaim", claim.Name, "reservation", claim.Labels[label.Reservation])
	// The Node first: while the NodeClaim has its label, the next sweep tries again.
	if node, up := c.World.NodeOf(claim.Status.ProviderID); up {
		if err := c.patchNode(ctx, node, translate.PatchOf(node, meta)); err != nil {
			return err
		}
	}
	_, err := c.patchClaim(ctx, claim, translate.PatchOf(claim, meta), "patch")
	return err
}
