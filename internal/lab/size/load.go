package size

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

const (
	calm, busy = 20, 200 // pod events a second
	loadFor    = 30 * time.Second
	stuckPods  = 100 // pods that can never run, of stuckKinds kinds
	stuckKinds = 20
	launches   = 5
	// standby is how long a replica has waited before the leader ends.
	standby = 5 * time.Second
)

// load measures the daemon's share of a core while pods change, and then also how soon it
// launches while more of them change and some can never run.
func (r *run) load(ctx context.Context, d *replica, f *findings) error {
	list, err := r.core.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: 10 * busy, FieldSelector: "metadata.namespace!=karpenter"})
	if err != nil {
		return fmt.Errorf("pods list: %w", err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Spec.NodeName == "" })
	if len(list.Items) == 0 {
		return errors.New("pods list: nothing runs")
	}
	r.say("%d pods a second change", calm)
	if f.calm, err = r.share(ctx, d, func(ctx context.Context) error { return r.events(ctx, list.Items, calm) }); err != nil {
		return err
	}
	r.say("%d pods a second change, and %d can never run", busy, stuckPods)
	for i := range stuckPods {
		if err := r.waits(ctx, &list.Items[0], fmt.Sprintf("never-%03d", i), func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"example.com/disk": fmt.Sprintf("nvme-%d", i%stuckKinds)}
		}); err != nil {
			return err
		}
	}
	time.Sleep(standby)
	f.busy, err = r.share(ctx, d, func(ctx context.Context) error {
		changes := make(chan error, 1)
		go func() { changes <- r.events(ctx, list.Items, busy) }()
		err := r.launches(ctx, &list.Items[0], f)
		return errors.Join(err, <-changes)
	})
	return err
}

// share is the daemon's share of a core while something is done.
func (r *run) share(ctx context.Context, d *replica, do func(context.Context) error) (float64, error) {
	var before, after usage
	began := time.Now()
	err := errors.Join(read(d.process.PID, &before), do(ctx), read(d.process.PID, &after))
	return (after.processor - before.processor).Seconds() / time.Since(began).Seconds(), err
}

// events changes that many pods a second: each gets ready or is not any more.
func (r *run) events(ctx context.Context, pods []corev1.Pod, aSecond int) error {
	tick := time.NewTicker(time.Second / time.Duration(aSecond))
	defer tick.Stop()
	for i := range aSecond * int(loadFor/time.Second) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		p := &pods[i%len(pods)]
		for c := range p.Status.Conditions {
			if x := &p.Status.Conditions[c]; x.Type == corev1.PodReady {
				x.Status = map[corev1.ConditionStatus]corev1.ConditionStatus{corev1.ConditionTrue: corev1.ConditionFalse, corev1.ConditionFalse: corev1.ConditionTrue}[x.Status]
			}
		}
		p.ResourceVersion = ""
		if err := r.store(ctx, []stored{{"pods/" + p.Namespace + "/" + p.Name, p}}); err != nil {
			return err
		}
	}
	return nil
}

// waits writes a pod like another, which the scheduler has found no node for.
func (r *run) waits(ctx context.Context, like *corev1.Pod, name string, change func(*corev1.Pod)) error {
	p := like.DeepCopy()
	p.Name, p.UID, p.ResourceVersion, p.OwnerReferences, p.Spec.NodeName = name, uuid.NewUUID(), "", nil, ""
	p.CreationTimestamp = metav1.Now()
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.Now(),
	}}}
	change(p)
	return r.store(ctx, []stored{{"pods/" + p.Namespace + "/" + p.Name, p}})
}

// launches writes pods that need a new node each, one after the other, and measures how long
// after each EC2 gets the request.
func (r *run) launches(ctx context.Context, like *corev1.Pod, f *findings) error {
	for i := range launches {
		began := time.Now()
		err := r.waits(ctx, like, fmt.Sprintf("large-%d", i), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7"), corev1.ResourceMemory: resource.MustParse("1Gi")}
		})
		if err != nil {
			return err
		}
		at, err := r.called(ctx, "CreateFleet", began)
		if err != nil {
			return err
		}
		f.latencies = append(f.latencies, at.Sub(began))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(began.Add(loadFor / launches))):
		}
	}
	return nil
}

// called waits for a call of EC2 since then.
func (r *run) called(ctx context.Context, action string, since time.Time) (time.Time, error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		for _, c := range r.lab.Cloud.Calls() {
			if c.Action == action && !c.Time.Before(since) {
				return c.Time, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("no %s after %s: %w", action, patience, ctx.Err())
}
