package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// dirty has the status reported soon.
func (p *pod) dirty() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// report writes the status whenever it has changed, until ctx ends.
func (p *pod) report(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		}
		if err := p.writeStatus(ctx); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
			p.kubelet.options.Logger.Warn("pod status not written", "pod", p.object.Name, "error", err)
			if !pause(ctx, time.Second) {
				return
			}
			p.dirty()
		}
	}
}

// writeStatus sends the pod's present status. The uid keeps a later pod of the
// same name from being given it.
func (p *pod) writeStatus(ctx context.Context) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.object.UID},
		"status":   p.status(),
	})
	if err != nil {
		return fmt.Errorf("pod status encode: %w", err)
	}
	_, err = p.kubelet.clients.CoreV1().Pods(p.object.Namespace).Patch(ctx, p.object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// misread says whether somebody else has changed whether the pod is ready: the control plane
// calls all pods of a node not ready that was silent for a while.
func (p *pod) misread(object *corev1.Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, own := range p.conditions {
		if own.Type == corev1.PodReady {
			return !slices.ContainsFunc(object.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == own.Type && c.Status == own.Status })
		}
	}
	return false
}

// status is what the pod looks like now.
func (p *pod) status() corev1.PodStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := corev1.PodStatus{
		Phase: corev1.PodPending, StartTime: &p.started,
		HostIP: p.kubelet.options.InternalIP, HostIPs: []corev1.HostIP{{IP: p.kubelet.options.InternalIP}},
	}
	if p.problem != nil {
		for _, c := range p.object.Spec.Containers {
			s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
				Name: c.Name, Image: c.Image, State: corev1.ContainerState{Waiting: p.problem},
			})
		}
	}
	ready := len(p.containers) > 0
	ended, failed := len(p.containers) > 0, false
	for _, c := range p.containers {
		one := c.snapshot()
		s.ContainerStatuses = append(s.ContainerStatuses, one)
		ready = ready && one.Ready
		final := one.State.Terminated
		ended = ended && final != nil && (p.stopping || !restarts(p.object.Spec.RestartPolicy, int(final.ExitCode)))
		failed = failed || final != nil && final.ExitCode != 0
	}
	if len(p.containers) > 0 {
		// The API refuses a loopback address here: this one stands for it.
		s.PodIP, s.PodIPs = p.address.shown, []corev1.PodIP{{IP: p.address.shown}}
		s.Phase = corev1.PodRunning
	}
	switch {
	case ended && failed:
		s.Phase = corev1.PodFailed
	case ended:
		s.Phase = corev1.PodSucceeded
	}
	prepared := len(p.containers) > 0
	p.condition(corev1.PodReadyToStartContainers, prepared, "")
	p.condition(corev1.PodInitialized, true, "")
	p.condition(corev1.ContainersReady, ready, "ContainersNotReady")
	p.condition(corev1.PodReady, ready, "ContainersNotReady")
	s.Conditions = append(s.Conditions, p.conditions...)
	return s
}

// condition sets a condition and keeps the time of its last change.
func (p *pod) condition(kind corev1.PodConditionType, ok bool, otherwise string) {
	status, reason := corev1.ConditionTrue, ""
	if !ok {
		status, reason = corev1.ConditionFalse, otherwise
	}
	for i := range p.conditions {
		if c := &p.conditions[i]; c.Type == kind {
			if c.Status != status {
				c.Status, c.Reason, c.LastTransitionTime = status, reason, metav1.Now()
			}
			return
		}
	}
	p.conditions = append(p.conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.Now()})
}
