package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	pollEvery = 500 * time.Millisecond
	// diagnoseWithin bounds the reads that explain a failed wait. The context of the wait
	// has ended by then.
	diagnoseWithin = 10 * time.Second
	maxEvents      = 10
)

// Check reports whether an object is as wanted, and if not, what is missing.
type Check func(*unstructured.Unstructured) (done bool, missing string)

// ConditionTrue checks that the condition is True for the object's current generation.
func ConditionTrue(conditionType string) Check {
	return func(obj *unstructured.Unstructured) (bool, string) {
		for _, c := range conditions(obj) {
			if c.kind != conditionType {
				continue
			}
			if c.generation != 0 && c.generation < obj.GetGeneration() {
				return false, fmt.Sprintf("condition %s is for an older generation", conditionType)
			}
			return c.status == "True", fmt.Sprintf("condition %s is %s", conditionType, c.status)
		}
		return false, fmt.Sprintf("condition %s does not exist yet", conditionType)
	}
}

// RolledOut checks that the Deployment's controller has seen the newest generation, and
// that all replicas are of that generation and available.
func RolledOut(obj *unstructured.Unstructured) (bool, string) {
	available, want := Availability(obj)
	updated, all := number(obj, 0, "status", "updatedReplicas"), number(obj, 0, "status", "replicas")
	if number(obj, 0, "status", "observedGeneration") < obj.GetGeneration() {
		return false, "the deployment controller has not seen the newest generation"
	}
	return updated >= want && available >= want && all <= updated,
		fmt.Sprintf("%d of %d replicas are updated, %d available, %d old", updated, want, available, max(all-updated, 0))
}

// Availability is how many replicas of a Deployment are available, and how many it asks for.
func Availability(obj *unstructured.Unstructured) (available, wanted int64) {
	return number(obj, 0, "status", "availableReplicas"), number(obj, 1, "spec", "replicas") // 1 is the API's default
}

func number(obj *unstructured.Unstructured, otherwise int64, fields ...string) int64 {
	if n, found, err := unstructured.NestedInt64(obj.Object, fields...); found && err == nil {
		return n
	}
	return otherwise
}

// Wait reads the object until check reports done, and returns it as last read. It also
// waits for an object that does not exist yet, and lives through errors that pass (see
// Polling). If ctx ends first, the error is a *NotReadyError with the object's conditions,
// recent warning Events and what its containers wait for.
func (a *Applier) Wait(ctx context.Context, ref Ref, check Check) (*unstructured.Unstructured, error) {
	missing := "it does not exist yet"
	var last *unstructured.Unstructured
	err := Polling{DeniedWithin: a.DeniedWithin}.Until(ctx, func(ctx context.Context) (bool, error) {
		obj, err := a.Get(ctx, ref)
		switch {
		case err == nil:
			last = obj
			var done bool
			done, missing = check(obj)
			return done, nil
		case errors.Is(err, ErrKindNotServed):
			a.mapper.Reset()
			return false, nil
		case errors.Is(err, ErrNotFound):
			return false, nil
		}
		if !OutOfTime(ctx, err) {
			missing = fmt.Sprintf("the API server does not answer: %v", err)
		}
		return false, err
	})
	if err != nil && ctx.Err() != nil {
		return last, a.notReady(ctx, err, ref, last, missing)
	}
	return last, err
}

// WaitGone waits until the object with the uid is gone; an empty uid is any object of
// the name. progress, which may be nil, is called with each object read. It lives through
// errors that pass (see Polling). If ctx ends first, the error is a *NotReadyError with
// the finalizers of the object.
func (a *Applier) WaitGone(ctx context.Context, ref Ref, uid types.UID, progress func(*unstructured.Unstructured)) error {
	missing := "it still exists"
	var last *unstructured.Unstructured
	err := Polling{DeniedWithin: a.DeniedWithin}.Until(ctx, func(ctx context.Context) (bool, error) {
		obj, err := a.Get(ctx, ref)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && uid != "" && obj.GetUID() != uid:
			return true, nil
		case err == nil:
			last, missing = obj, "it still exists"
			if held := obj.GetFinalizers(); len(held) > 0 {
				missing = fmt.Sprintf("it still exists: held by finalizers %v", held)
			}
			if progress != nil {
				progress(obj)
			}
			return false, nil
		}
		if !OutOfTime(ctx, err) {
			missing = fmt.Sprintf("the API server does not answer: %v", err)
		}
		return false, err
	})
	if err != nil && ctx.Err() != nil {
		failure := a.notReady(ctx, err, ref, last, missing)
		failure.Removal = true
		return failure
	}
	return err
}

// notReady collects what a user needs to understand why a wait failed. It leaves out
// what it cannot read, because a second error must not hide the first.
func (a *Applier) notReady(ctx context.Context, err error, ref Ref, obj *unstructured.Unstructured, missing string) *NotReadyError {
	failure := &NotReadyError{Object: ref, Why: missing, Err: err}
	if obj == nil {
		return failure
	}
	for _, c := range conditions(obj) {
		failure.Conditions = append(failure.Conditions, c.String())
	}
	failure.Trouble = a.Trouble(ctx, obj)
	return failure
}

// Trouble is what keeps the pods of a workload from running, and the recent warning Events of
// an object and of its pods.
type Trouble struct {
	Containers []string // what containers wait for, and how they ended
	Events     []string // newest last
}

// String has a paragraph for each list that is not empty.
func (t Trouble) String() string {
	return section("containers", t.Containers) + section("warning events", t.Events)
}

// Trouble reads what troubles the object. What cannot be read is left out: a second error
// must not hide the first.
func (a *Applier) Trouble(ctx context.Context, obj *unstructured.Unstructured) Trouble {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnoseWithin)
	defer cancel()
	pods, containers := a.podsOf(ctx, obj)
	return Trouble{Containers: containers, Events: a.warnings(ctx, obj.GetNamespace(), append(pods, obj.GetName()))}
}

// podsOf lists the pods that a workload's selector matches, and what their containers
// wait for.
func (a *Applier) podsOf(ctx context.Context, obj *unstructured.Unstructured) (pods, waiting []string) {
	labels, found, err := unstructured.NestedStringMap(obj.Object, "spec", "selector", "matchLabels")
	if !found || err != nil {
		return nil, nil
	}
	items, err := a.List(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, obj.GetNamespace(), metav1.FormatLabelSelector(metav1.SetAsLabelSelector(labels)))
	if err != nil {
		return nil, nil
	}
	for _, pod := range items {
		pods = append(pods, pod.GetName())
		for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
			statuses, _, err := unstructured.NestedSlice(pod.Object, "status", field)
			if err != nil {
				continue
			}
			for _, status := range statuses {
				if line := waitingLine(pod.GetName(), status); line != "" {
					waiting = append(waiting, line)
				}
			}
		}
		for _, c := range conditions(&pod) {
			if c.kind == "PodScheduled" && c.status == "False" {
				waiting = append(waiting, fmt.Sprintf("pod %s is not scheduled: %s", pod.GetName(), c.message))
			}
		}
	}
	return pods, waiting
}

// waitingLine says why a container does not run, or does not run on; "" if it runs well.
func waitingLine(pod string, status any) string {
	s, ok := status.(map[string]any)
	if !ok {
		return ""
	}
	text := func(fields ...string) string {
		value, _, err := unstructured.NestedString(s, fields...)
		if err != nil {
			return ""
		}
		return value
	}
	// ended says how the container ended, by the state or the last one.
	ended := func(state string) string {
		code, found, err := unstructured.NestedInt64(s, state, "terminated", "exitCode")
		if !found || err != nil {
			return ""
		}
		out := strings.TrimSpace(fmt.Sprintf("exit code %d %s", code, text(state, "terminated", "reason")))
		if message := lastLines(text(state, "terminated", "message")); message != "" {
			out += ": " + message
		}
		return out
	}
	name, last := fmt.Sprintf("pod %s, container %s", pod, text("name")), ended("lastState")
	now, reason := ended("state"), text("state", "waiting", "reason")
	if last != "" {
		last = fmt.Sprintf(" (last %s)", last)
	}
	switch {
	case reason != "":
		line := name + " waits: " + reason
		if message := text("state", "waiting", "message"); message != "" {
			line += ": " + message
		}
		return line + last
	case strings.HasPrefix(now, "exit code 0"), s["ready"] == true: // an init container is done
		return ""
	case now != "":
		return name + " has ended: " + now
	case last != "":
		return name + " runs again" + last
	}
	return ""
}

// messageLines is how many lines of a termination message are shown: it may be the end of a log,
// and the reason stands last.
const messageLines = 3

func lastLines(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	return strings.Join(lines[max(0, len(lines)-messageLines):], "\n    ")
}

// warnings returns the newest Warning Events of the named objects. Events of
// cluster-scoped objects are in the namespace default.
func (a *Applier) warnings(ctx context.Context, namespace string, names []string) []string {
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	items, err := a.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, namespace, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return nil
	}
	type event struct{ at, line string }
	var events []event
	for _, item := range items {
		text := func(fields ...string) string {
			value, _, err := unstructured.NestedString(item.Object, fields...)
			if err != nil {
				return ""
			}
			return value
		}
		if !slices.Contains(names, text("involvedObject", "name")) {
			continue
		}
		at := text("lastTimestamp")
		if at == "" {
			at = text("eventTime")
		}
		events = append(events, event{at: at, line: fmt.Sprintf("%s %s %s: %s: %s", at, text("involvedObject", "kind"), text("involvedObject", "name"), text("reason"), text("message"))})
	}
	slices.SortStableFunc(events, func(x, y event) int {
		if x.at < y.at {
			return -1
		}
		if x.at > y.at {
			return 1
		}
		return 0
	})
	var lines []string
	for _, e := range events[max(0, len(events)-maxEvents):] {
		lines = append(lines, e.line)
	}
	return lines
}

type condition struct {
	kind, status, reason, message string
	generation                    int64
}

func (c condition) String() string {
	line := c.kind + "=" + c.status
	if c.reason != "" {
		line += " " + c.reason
	}
	if c.message != "" {
		line += ": " + c.message
	}
	return line
}

// conditions reads status.conditions of any kind.
func conditions(obj *unstructured.Unstructured) []condition {
	list, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	var out []condition
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		text := func(name string) string {
			value, ok := fields[name].(string)
			if !ok {
				return ""
			}
			return value
		}
		c := condition{kind: text("type"), status: text("status"), reason: text("reason"), message: text("message")}
		if n, ok := fields["observedGeneration"].(int64); ok {
			c.generation = n
		}
		out = append(out, c)
	}
	return out
}
