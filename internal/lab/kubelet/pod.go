package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Waits of a pod's life.
const (
	prepareRetry = 250 * time.Millisecond // until what a pod refers to can be read
	closeGrace   = 5 * time.Second        // for processes when the laboratory closes
	apiTimeout   = 10 * time.Second       // for the last words about a pod
)

// pod is one pod of this node.
type pod struct {
	kubelet *Kubelet
	object  *corev1.Pod // as it was first seen; a pod's spec does not change
	dir     string
	address address
	changed chan struct{}
	deleted chan struct{} // closed when the pod is to go
	once    sync.Once

	network context.Context // until the last container has ended
	hangUp  context.CancelFunc

	mu         sync.Mutex
	started    metav1.Time
	problem    *corev1.ContainerStateWaiting // why no container has started
	containers []*container
	conditions []corev1.PodCondition
	stopping   bool
	grace      time.Duration
}

func (k *Kubelet) newPod(object *corev1.Pod) *pod {
	p := &pod{
		kubelet: k, object: object, dir: filepath.Join(k.options.Dir, "pods", string(object.UID)),
		address: k.addresses.next(), started: metav1.Now(), grace: 30 * time.Second,
		changed: make(chan struct{}, 1), deleted: make(chan struct{}),
		problem: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"},
	}
	p.network, p.hangUp = context.WithCancel(context.WithoutCancel(k.ctx))
	if s := object.Spec.TerminationGracePeriodSeconds; s != nil {
		p.grace = time.Duration(*s) * time.Second
	}
	return p
}

// remove tells the pod to go within a grace period.
func (p *pod) remove(grace time.Duration) {
	p.once.Do(func() {
		p.mu.Lock()
		p.grace = grace
		p.mu.Unlock()
		close(p.deleted)
	})
}

// going says whether the pod was told to go.
func (p *pod) going() bool {
	select {
	case <-p.deleted:
		return true
	default:
		return false
	}
}

func (p *pod) gracePeriod() time.Duration {
	if p.kubelet.closing() {
		return closeGrace
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.grace
}

// run is the pod's life. It ends when the pod is deleted or ctx ends; then
// nothing of it is left.
func (p *pod) run(ctx context.Context) {
	defer os.RemoveAll(p.dir)
	reporting, stopReporting := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	reporter.Go(func() { p.report(reporting) })
	p.dirty()

	living, end := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.deleted:
			p.mu.Lock()
			p.stopping = true
			p.mu.Unlock()
			end()
		case <-living.Done():
		}
	}()
	if !p.going() { // else it was on its way out when it was first seen
		if refresh, ok := p.prepare(living); ok {
			p.live(living, refresh)
		}
	}
	p.hangUp()
	select {
	case <-ctx.Done():
	case <-p.deleted: // a pod whose containers are all done waits for this
	}
	end()
	stopReporting()
	reporter.Wait()
	if ctx.Err() == nil {
		p.farewell(ctx)
	}
}

// prepare mounts the volumes and resolves the containers, trying again until
// it works: what the pod refers to may come later, and so may the API
// server's knowledge that this node may read it.
func (p *pod) prepare(ctx context.Context) (refresh time.Time, ok bool) {
	for {
		refresh, err := p.tryPrepare(ctx)
		if err == nil {
			return refresh, true
		}
		if ctx.Err() != nil {
			return refresh, false
		}
		reason := "CreateContainerConfigError"
		if errors.Is(err, errImage) {
			reason = "ErrImagePull"
		}
		p.mu.Lock()
		news := p.problem.Message != err.Error()
		p.problem = &corev1.ContainerStateWaiting{Reason: reason, Message: err.Error()}
		p.mu.Unlock()
		if news {
			p.kubelet.options.Logger.Info("pod cannot start yet", "pod", p.object.Namespace+"/"+p.object.Name, "reason", err)
			p.dirty()
		}
		if !pause(ctx, prepareRetry) {
			return refresh, false
		}
	}
}

func (p *pod) tryPrepare(ctx context.Context) (refresh time.Time, err error) {
	if len(p.object.Spec.InitContainers) > 0 {
		return refresh, fmt.Errorf("init containers: %w", errUnsupported)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return refresh, fmt.Errorf("pod directory create: %w", err)
	}
	if refresh, err = p.mountVolumes(ctx); err != nil {
		return refresh, err
	}
	var containers []*container
	for _, spec := range p.object.Spec.Containers {
		c, err := p.newContainer(ctx, spec)
		if err != nil {
			return refresh, err
		}
		containers = append(containers, c)
	}
	p.mu.Lock()
	p.containers, p.problem = containers, nil
	p.mu.Unlock()
	return refresh, nil
}

// live runs the containers until they are done or ctx ends, and keeps the
// tokens fresh meanwhile.
func (p *pod) live(ctx context.Context, refresh time.Time) {
	fresh, stop := context.WithCancel(ctx)
	var tokens, containers sync.WaitGroup
	if !refresh.IsZero() {
		tokens.Go(func() { p.keepTokens(fresh, refresh) })
	}
	for _, c := range p.containers {
		containers.Go(func() { c.run(ctx) })
	}
	containers.Wait()
	stop()
	tokens.Wait()
}

func (p *pod) keepTokens(ctx context.Context, refresh time.Time) {
	for pause(ctx, time.Until(refresh)) {
		next, err := p.mountVolumes(ctx)
		if err != nil {
			p.kubelet.options.Logger.Warn("volumes not refreshed", "pod", p.object.Name, "error", err)
			next = time.Now().Add(10 * time.Second)
		}
		refresh = next
	}
}

// farewell reports how the containers ended and lets the pod object go.
func (p *pod) farewell(ctx context.Context) {
	// As kubelets do: a pod that is gone at the API has left nothing on its node.
	_ = os.RemoveAll(p.dir)
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	now, uid := int64(0), p.object.UID
	err := p.writeStatus(ctx)
	if err == nil {
		err = p.kubelet.clients.CoreV1().Pods(p.object.Namespace).Delete(ctx, p.object.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		p.kubelet.options.Logger.Warn("pod not removed", "pod", p.object.Name, "error", err)
	}
}
