package interruption

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Claims writes NodeClaims.
type Claims interface {
	Patch(ctx context.Context, name string, kind types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*v1.NodeClaim, error)
}

// World finds the NodeClaim of an instance, and stores the answers to writes.
type World interface {
	NodeClaimOf(instanceID string) (*v1.NodeClaim, bool)
	NodeClaims() []*v1.NodeClaim
	Observe(object metav1.Object)
}

// recordedWithin is how long after an event a launch is recorded whose instance the event is
// about. The queue has events of every instance in the account, so it is short.
const recordedWithin = time.Minute

// ErrMayBeOurs says that an instance without a NodeClaim may be one that was launched a moment
// ago: its message has to come again.
var ErrMayBeOurs = errors.New("no nodeclaim records the instance yet, and one waits for its instance")

// Marker writes interruptions as annotations of NodeClaims. The decision core reads
// the annotation and decides what follows. A restart of the daemon does not lose it.
type Marker struct {
	World  World
	Claims Claims
	// Told is called for each interruption before the annotation is written.
	Told   func(claim *v1.NodeClaim, kind string, deadline time.Time)
	Logger hclog.Logger
	Now    func() time.Time

	// instances has a lock for each instance, shared by some of them: of two messages about one
	// instance, the second must see what the first has written.
	instances [64]sync.Mutex
}

// Handle marks the NodeClaims of the events' instances. It ignores instances without
// a NodeClaim, because the queue gets events of every instance in the account; but while a
// launch is under way, the error is ErrMayBeOurs. It is safe to repeat. A NodeClaim that cannot
// be marked keeps no other from being marked: a message may name many instances, and each has
// little time. The errors are joined.
func (m *Marker) Handle(ctx context.Context, events []Event) error {
	var failed []error
	for _, e := range events {
		if ours, err := m.markOurs(ctx, e); ours {
			failed = append(failed, err)
		} else if e.Kind != RebalanceRecommendation && m.Now().Sub(e.Time) < recordedWithin && slices.ContainsFunc(m.World.NodeClaims(), launching) {
			failed = append(failed, fmt.Errorf("instance %s: %w", e.InstanceID, ErrMayBeOurs))
		}
	}
	return errors.Join(failed...)
}

// markOurs marks the NodeClaim of the instance, if there is one.
func (m *Marker) markOurs(ctx context.Context, e Event) (ours bool, err error) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(e.InstanceID))
	lock := &m.instances[hash.Sum32()%uint32(len(m.instances))]
	lock.Lock()
	defer lock.Unlock()
	claim, ours := m.World.NodeClaimOf(e.InstanceID)
	if !ours {
		return false, nil
	}
	return true, m.mark(ctx, claim, e)
}

// launching says whether EC2 may have launched an instance that the NodeClaim does not record.
func launching(c *v1.NodeClaim) bool {
	return c.Status.ProviderID == "" && c.Annotations[v1.AnnotationLaunchRequest] != ""
}

func (m *Marker) mark(ctx context.Context, claim *v1.NodeClaim, e Event) error {
	if e.Kind == RebalanceRecommendation {
		m.Logger.Info("EC2 recommends to replace the instance (rebalance recommendation); the daemon waits for an interruption notice", "nodeclaim", claim.Name, "instance", e.InstanceID)
		return nil
	}
	if claim.DeletionTimestamp != nil {
		return nil
	}
	notice := cluster.Interruption{Reason: string(e.Kind), Noticed: m.Now(), Deadline: e.Deadline}
	if notice.Deadline.IsZero() {
		notice.Deadline = notice.Noticed // the instance is ending already
	}
	// The nearest deadline counts: maintenance in ten days is no reason to miss a warning of two
	// minutes. A mark that cannot be read is somebody else's, and is overwritten.
	if known, err := translate.InterruptionOf(claim); err == nil && known != nil && !notice.Deadline.Before(known.Deadline) {
		return nil
	}
	m.Told(claim, string(e.Kind), notice.Deadline)
	body := translate.PatchOf(claim, map[string]any{
		"annotations": map[string]string{v1.AnnotationInterruption: translate.FormatInterruption(notice)},
	}).JSON()
	got, err := m.Claims.Patch(ctx, claim.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: translate.FieldManager})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the NodeClaim is deleted or was replaced
	}
	if err != nil {
		return fmt.Errorf("interruption of nodeclaim %s write: %w", claim.Name, err)
	}
	m.World.Observe(got)
	return nil
}
