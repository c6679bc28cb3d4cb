package drifted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// workers are few, so that a cluster that is taken over leaves the rate limit to launches.
const workers = 4

// markDrifted is the value of AnnotationVoluntaryDisruption that is reported.
const markDrifted = "drifted"

// Objects are what NodeClaims are compared with.
type Objects interface {
	NodePools() []*v1.NodePool
	NodeClaims() []*v1.NodeClaim
	EC2NodeClasses() []*awsv1.EC2NodeClass
	TypesOf(class string) (cluster.Class, bool)
}

// World has the newest objects, and stores the answers to writes.
type World interface {
	Objects
	Observe(object metav1.Object)
	NodeClaim(name string) (*v1.NodeClaim, bool)
	NodeOf(providerID string) (*corev1.Node, bool)
}

// Cloud is the part of package aws that a Keeper uses.
type Cloud interface {
	Instances(ctx context.Context, tags map[string]string) ([]aws.Instance, error)
	InstanceTypeZones(ctx context.Context, types []string) (map[string][]string, error)
}

// Writer writes objects of one kind.
type Writer[T any] interface {
	Patch(ctx context.Context, name string, kind types.PatchType, body []byte, o metav1.PatchOptions, subresources ...string) (T, error)
}

// Claims writes NodeClaims and their status.
type Claims interface {
	Writer[*v1.NodeClaim]
	UpdateStatus(ctx context.Context, claim *v1.NodeClaim, o metav1.UpdateOptions) (*v1.NodeClaim, error)
}

// Recorder is told of what users should see.
type Recorder interface {
	Drifted(c *v1.NodeClaim, reason, message string)
	NotDrifted(c *v1.NodeClaim, was string)
	DriftCounted(claims []*v1.NodeClaim)
	StaleDriftMark(node *corev1.Node)
	AnotherController(p *v1.NodePool, version string)
}

// Keeper writes hashes and conditions. Sweep is not for several goroutines at once.
type Keeper struct {
	World    World
	Claims   Claims
	Pools    Writer[*v1.NodePool]
	Classes  Writer[*awsv1.EC2NodeClass]
	Cloud    Cloud
	Cluster  string // its name
	Recorder Recorder

	begun   bool // the first Sweep is over
	listing listing
	sales   map[string]sale    // by instance type
	marked  map[types.UID]bool // nodes whose stale mark was reported
	stamped map[types.UID]bool // NodePools that had the daemon's hash in the last sweep
}

// Sweep brings hashes and conditions up to date once. The first Sweep of a new leader
// only begins: its NodeClaims are read anew at the election, but its pools and classes
// may still be older than what NodeClaims were made from.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) error {
	if !k.begun {
		k.begun = true
		return nil
	}
	var claims []*v1.NodeClaim
	for _, c := range k.World.NodeClaims() {
		if judged(c) {
			claims = append(claims, c)
		}
	}
	known := newKnowledge()
	faults := []error{k.stampPools(ctx, known), k.stampClasses(ctx, known)}
	if len(claims) > 0 {
		faults = append(faults, k.list(ctx, now))
		k.complete(&known, now)
		faults = append(faults, k.compare(ctx, claims, known, now))
	}
	k.reportMarks(claims)
	k.Recorder.DriftCounted(k.World.NodeClaims())
	return errors.Join(faults...)
}

// judged says whether drift of the NodeClaim can matter: it has an instance that stays.
func judged(c *v1.NodeClaim) bool {
	return c.DeletionTimestamp == nil && c.Unread == "" && c.Status.ProviderID != "" && c.Conditions().Get(v1.ConditionLaunched).IsTrue()
}

// compare looks at the NodeClaims, several at a time.
func (k *Keeper) compare(ctx context.Context, claims []*v1.NodeClaim, known knowledge, now time.Time) error {
	unasked := k.askSales(ctx, known, claims, now)
	known.sales = k.sales
	faults := make([]error, len(claims))
	var group errgroup.Group
	group.SetLimit(workers)
	for i, c := range claims {
		group.Go(func() error {
			faults[i] = k.reconcile(ctx, known, c.Name, now)
			return nil
		})
	}
	_ = group.Wait() // what failed is in faults
	faults = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
	if len(faults) > 1 { // one text is enough for thousands
		faults = []error{fmt.Errorf("%d of %d nodeclaims: %w", len(faults), len(claims), faults[0])}
	}
	return errors.Join(errors.Join(faults...), unasked)
}

// reconcile stamps the NodeClaim if its hashes are of another version, and then writes
// the verdict on it.
func (k *Keeper) reconcile(ctx context.Context, known knowledge, name string, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nodeclaim %s compare: %w", name, err)
	}
	claim, there := k.World.NodeClaim(name) // of now: a long sweep begins with many
	if !there || !judged(claim) {
		return nil
	}
	e := known.evidence(claim)
	if stamp := drift.Restamp(claim, e.Pool, e.Class); len(stamp) > 0 {
		got, err := k.Claims.Patch(ctx, name, types.MergePatchType, annotate(claim, stamp).JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager})
		if err != nil {
			return unlessOutdated(err, "nodeclaim %s hash write", name)
		}
		k.World.Observe(got)
		claim, e.Claim = got, got
	}
	return k.settle(ctx, claim, drift.Judge(e), now)
}

// settle writes the condition if the verdict asks for another one.
func (k *Keeper) settle(ctx context.Context, claim *v1.NodeClaim, v drift.Verdict, now time.Time) error {
	has := claim.Conditions().Get(v1.ConditionDrifted)
	want := settled(claim, v, now)
	if want == nil {
		return nil
	}
	got, err := k.Claims.UpdateStatus(ctx, want, metav1.UpdateOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return unlessOutdated(err, "nodeclaim %s condition %s write", claim.Name, v1.ConditionDrifted)
	}
	k.World.Observe(got)
	switch {
	case v.Reason == "":
		k.Recorder.NotDrifted(got, has.Reason)
	case !has.IsTrue() || has.Reason != string(v.Reason):
		k.Recorder.Drifted(got, string(v.Reason), v.Message)
	}
	return nil
}

// settled is the NodeClaim with the condition that the verdict asks for; nil if it has that.
func settled(claim *v1.NodeClaim, v drift.Verdict, now time.Time) *v1.NodeClaim {
	has := claim.Conditions().Get(v1.ConditionDrifted)
	stands := has.IsTrue() && has.Reason == string(v.Reason) && has.Message == v.Message
	if v.Reason != "" && stands || v.Reason == "" && (has.Type == "" || !v.Refutes(has.Reason)) {
		return nil
	}
	want := claim.DeepCopy()
	if v.Reason == "" {
		want.Conditions().Clear(v1.ConditionDrifted)
	} else {
		want.Conditions().Set(v1.ConditionDrifted, metav1.ConditionTrue, string(v.Reason), v.Message, now)
	}
	return want
}

// reportMarks reports each node once that carries an old Karpenter's mark of drift.
func (k *Keeper) reportMarks(claims []*v1.NodeClaim) {
	marked := map[types.UID]bool{}
	for _, c := range claims {
		node, up := k.World.NodeOf(c.Status.ProviderID)
		if !up || node.Annotations[v1.AnnotationVoluntaryDisruption] != markDrifted {
			continue
		}
		marked[node.UID] = true
		if !k.marked[node.UID] {
			k.Recorder.StaleDriftMark(node)
		}
	}
	k.marked = marked
}

// reportAnother reports each NodePool on which somebody else has written a hash since the
// daemon did: Karpenter works beside it, and both would launch and remove nodes.
func (k *Keeper) reportAnother() {
	stamped := map[types.UID]bool{}
	for _, p := range k.World.NodePools() {
		version := p.Annotations[v1.AnnotationNodePoolHashVersion]
		stamped[p.UID] = version == drift.Version
		if k.stamped[p.UID] && drift.ByAnother(version) {
			k.Recorder.AnotherController(p, version)
		}
	}
	k.stamped = stamped
}

// stampPools reads the NodePools, and writes on each the hash of its template. Each is
// hashed once: NodeClaims are compared with what was read.
func (k *Keeper) stampPools(ctx context.Context, known knowledge) error {
	var faults []error
	k.reportAnother()
	for _, p := range k.World.NodePools() {
		faults = append(faults, stampOne(ctx, k, k.Pools, p, p.DeletionTimestamp, known.readPool(p)))
	}
	return errors.Join(faults...)
}

// stampClasses does the same for EC2NodeClasses and their specs.
func (k *Keeper) stampClasses(ctx context.Context, known knowledge) error {
	var faults []error
	for _, c := range k.World.EC2NodeClasses() {
		faults = append(faults, stampOne(ctx, k, k.Classes, c, c.DeletionTimestamp, known.readClass(c)))
	}
	return errors.Join(faults...)
}

func stampOne[T metav1.Object](ctx context.Context, k *Keeper, w Writer[T], object T, deleted *metav1.Time, stamp map[string]string) error {
	same := true
	for key, value := range stamp {
		same = same && object.GetAnnotations()[key] == value
	}
	if same || deleted != nil {
		return nil
	}
	got, err := w.Patch(ctx, object.GetName(), types.MergePatchType, annotate(object, stamp).JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager})
	if err != nil {
		return unlessOutdated(err, "%s hash write", object.GetName())
	}
	k.World.Observe(got)
	return nil
}

// annotate is a merge patch of exactly this version of the object.
func annotate(object metav1.Object, annotations map[string]string) translate.Patch {
	return translate.PatchOfVersion(object, map[string]any{"annotations": annotations})
}

// unlessOutdated drops an error that says that the object is deleted or has changed: the
// next sweep sees the newer version.
func unlessOutdated(err error, format string, args ...any) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
