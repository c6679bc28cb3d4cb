package claim

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// mostNamed is how many volumes a message names.
const mostNamed = 3

// detach waits until the volumes of drained pods are detached from the node. An instance
// that ended before would leave them attached for Kubernetes, which then waits six minutes
// before it attaches them to another node. Volumes of pods that stay on the node, as those
// of DaemonSets do, are never detached. After the deadline the instance ends all the same.
// Without a terminationGracePeriod there is no deadline, as in Karpenter.
func (c *Controller) detach(ctx context.Context, claim *v1.NodeClaim, node *corev1.Node, deadline time.Time) (again time.Duration, done bool, err error) {
	now := c.Now()
	staying := slices.DeleteFunc(c.World.PodsOn(node.Name), func(p *corev1.Pod) bool { return translate.Finished(p) || evictable(p, now) })
	volumes := c.World.AttachedTo(node.Name, staying)
	want := claim.DeepCopy()
	var changed bool
	switch late := !deadline.IsZero() && !now.Before(deadline); {
	case len(volumes) == 0:
		done, changed = true, want.Conditions().SetTrue(v1.ConditionVolumesDetached, now)
	case late:
		done, changed = true, want.Conditions().Set(v1.ConditionVolumesDetached, metav1.ConditionFalse, v1.ReasonTerminationGracePeriodPassed,
			"terminationGracePeriod is over, and still attached to node "+node.Name+": "+nameSome(volumes), now)
	default:
		message := "still attached to node " + node.Name + ": " + nameSome(volumes)
		changed = want.Conditions().Set(v1.ConditionVolumesDetached, metav1.ConditionUnknown, v1.ReasonAwaitingVolumeDetachment, message, now)
		c.Recorder.Detaching(claim, node.Name, message)
		again = drainPoll
	}
	if changed {
		return again, false, c.writeStatus(ctx, claim, want)
	}
	return again, done, nil
}

func nameSome(volumes []string) string {
	text := quantity.Count(int64(len(volumes)), "volume") + " (" + strings.Join(volumes[:min(mostNamed, len(volumes))], ", ")
	if len(volumes) > mostNamed {
		text += ", ..."
	}
	return text + ")"
}
