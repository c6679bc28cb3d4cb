package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// conditionElected is the condition of the daemon's own pod that says whether and when it was
// elected. It is missing on a pod that never was.
const conditionElected corev1.PodConditionType = "karpenterd.sh/Elected"

const (
	// marks is how often the pod is marked. If the watch of pods breaks between the first mark
	// and its answer, all pods are listed and handed on by their names, the daemon's own before
	// others that are older than the mark; what comes with the second mark is after all of them.
	marks = 2
	// markWithin is how long the watch may take to bring the marks; it takes milliseconds. After
	// that all pods are read.
	markWithin, markLook = 5 * time.Second, 5 * time.Millisecond
	// catchUpAgain is the pause after a read that failed.
	catchUpAgain = time.Second
)

// catchingUp is what gives the world what the leader before this one has written. A watch may be
// behind for any time, and each kind by another.
type catchingUp struct {
	clients   *kube.Clients
	world     *world.World
	keeper    *translate.Keeper
	logger    hclog.Logger
	namespace string // of the daemon's own pod
	pod       string
	within    time.Duration // 0: markWithin
}

// run brings the world up to date with the kinds that decide what is launched and what is
// deleted. It tries until it succeeds or the context ends.
func (c catchingUp) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, x := range decisive(c.clients) {
		group.Go(func() error {
			if _, pods := x.example.(*corev1.Pod); pods {
				err := c.mark(ctx)
				if err == nil {
					return nil
				}
				c.logger.Info("the watch of pods does not show whether it is up to date, so all pods are read before the first decision", "error", err)
			}
			return c.read(ctx, x)
		})
	}
	return group.Wait()
}

// mark waits until the watch of pods has brought every write before this moment: the daemon
// writes to its own pod, and the watch, which keeps the order of writes, brings that after them.
// To read all pods instead takes an API server ten seconds where there are 40,000 of them.
func (c catchingUp) mark(ctx context.Context) error {
	within := c.within
	if within == 0 {
		within = markWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	id := c.namespace + "/" + c.pod
	for n := range marks {
		if _, known := c.world.Pod(id); !known {
			return fmt.Errorf("pod %s mark: the cluster does not have it", id)
		}
		version, err := c.write(ctx, n)
		if err != nil {
			return fmt.Errorf("pod %s mark: %w", id, err)
		}
		for !c.brought(id, version) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("pod %s mark: the watch does not bring it: %w", id, ctx.Err())
			case <-time.After(markLook):
			}
		}
	}
	return nil
}

// write writes to the daemon's own pod, and returns the version that it has then.
func (c catchingUp) write(ctx context.Context, n int) (uint64, error) {
	is, err := c.set(ctx, corev1.ConditionTrue, "Elected", fmt.Sprintf("elected at %s, mark %d", time.Now().UTC().Format(time.RFC3339Nano), n+1))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(is.ResourceVersion, 10, 64)
}

// set sets the condition of the daemon's own pod.
func (c catchingUp) set(ctx context.Context, status corev1.ConditionStatus, reason, message string) (*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": conditionElected, "status": status, "reason": reason, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "message": message,
	}}}})
	if err != nil {
		return nil, err
	}
	return c.clients.Core.CoreV1().Pods(c.namespace).Patch(ctx, c.pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: translate.FieldManager}, "status")
}

// stand takes back what the process before this one has written on the pod, which has lost its
// election: its container starts again in the same pod.
func (c catchingUp) stand(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, markWithin)
	defer cancel()
	pod, err := c.clients.Core.CoreV1().Pods(c.namespace).Get(ctx, c.pod, metav1.GetOptions{})
	if err == nil && slices.ContainsFunc(pod.Status.Conditions, func(x corev1.PodCondition) bool {
		return x.Type == conditionElected && x.Status == corev1.ConditionTrue
	}) {
		_, err = c.set(ctx, corev1.ConditionFalse, "Waits", "waits to be elected")
	}
	if err != nil {
		c.logger.Info("the condition of the daemon's own pod may be that of the process before", "condition", conditionElected, "error", err)
	}
}

// brought says whether the world has the pod as of the version, or a later one.
func (c catchingUp) brought(id string, version uint64) bool {
	p, known := c.world.Pod(id)
	if !known {
		return false
	}
	at, err := strconv.ParseUint(p.ResourceVersion, 10, 64)
	return err == nil && at >= version
}

// read reads all objects of the kind.
func (c catchingUp) read(ctx context.Context, x watched) error {
	for {
		err := x.catchUp(ctx, c.world, c.keeper)
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		c.logger.Warn("read before the first decision failed; retrying", "of", x.what, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(catchUpAgain):
		}
	}
}

// catchUp reads all objects of the kind into the world, and takes the others out of it.
func (x watched) catchUp(ctx context.Context, w *world.World, keeper *translate.Keeper) error {
	listed := map[types.UID]bool{}
	revision, err := x.read(ctx, func(o metav1.Object) {
		listed[o.GetUID()] = true
		w.Observe(keeper.Compact(o))
	})
	if err == nil {
		w.ForgetUnlisted(x.example, revision, listed)
	}
	return err
}
