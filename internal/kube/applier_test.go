package kube

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const poolPath = "/apis/karpenter.sh/v1/nodepools/spot"

func pool(extra map[string]any) map[string]any {
	body := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool",
		"metadata": map[string]any{"name": "spot", "uid": "u1", "generation": int64(2)},
	}
	for k, v := range extra {
		body[k] = v
	}
	return body
}

func poolRef() Ref {
	return Ref{GroupVersionKind: schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}, Name: "spot"}
}

func newApplier(t *testing.T) (*apiServer, *Applier) {
	t.Helper()
	server, config := newAPIServer(t)
	applier, err := NewApplier(config)
	if err != nil {
		t.Fatal(err)
	}
	return server, applier
}

func TestApplier_DiscoveryEndsByItself(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: discoveryTimeout, time.Second: time.Second} {
		a, err := NewApplier(&rest.Config{Host: "https://cluster.example", Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		client, is := a.Discovery().RESTClient().(*rest.RESTClient)
		if !is || client.Client.Timeout != want {
			t.Errorf("with a timeout of %s, discovery ends after %s, want %s", timeout, client.Client.Timeout, want)
		}
	}
}

func TestApply_SendsTheObjectAsTheProvidersManager(t *testing.T) {
	server, applier := newApplier(t)
	server.on("PATCH "+poolPath, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Content-Type"); got != "application/apply-patch+yaml" {
			t.Errorf("content type %q", got)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"kind":"NodePool"`) {
			t.Errorf("body %s (%v)", body, err)
		}
		answerJSON(w, http.StatusOK, pool(nil))
	})
	out, err := applier.Apply(context.Background(), &unstructured.Unstructured{Object: pool(nil)}, false)
	if err != nil || out.GetUID() != "u1" {
		t.Fatalf("got %v, %v", out, err)
	}
	want := "PATCH " + poolPath + "?fieldManager=terraform-provider-karpenter&force=false"
	if got := server.requests(); !slices.Contains(got, want) {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestApply_EndsACreationThatWasInterrupted applies an object that still has the mark of
// its creation, and fields that belong to the creation.
func TestApply_EndsACreationThatWasInterrupted(t *testing.T) {
	server, applier := newApplier(t)
	var types []string
	server.on("PATCH "+poolPath, func(w http.ResponseWriter, r *http.Request) {
		types = append(types, r.Header.Get("Content-Type"))
		live := pool(nil)
		if len(types) < 3 {
			metadata := live["metadata"].(map[string]any)
			metadata["annotations"] = map[string]any{createMark: "A"}
			metadata["managedFields"] = []any{map[string]any{
				"manager": FieldManager, "operation": "Update", "apiVersion": "karpenter.sh/v1", "fieldsType": "FieldsV1",
				"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + createMark: map[string]any{}}}},
			}}
		}
		answerJSON(w, http.StatusOK, live)
	})
	out, err := applier.Apply(context.Background(), &unstructured.Unstructured{Object: pool(nil)}, true)
	if err != nil || len(out.GetAnnotations()) > 0 {
		t.Fatalf("got %v, %v", out, err)
	}
	const apply = "application/apply-patch+yaml"
	if want := []string{apply, "application/json-patch+json", apply}; !slices.Equal(types, want) {
		t.Errorf("patches %v, want %v", types, want)
	}
}

func TestApply_NamesManagerAndPathOfConflicts(t *testing.T) {
	server, applier := newApplier(t)
	server.on("PATCH "+poolPath, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusConflict, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "Apply failed with 1 conflict",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{
				Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl-edit" using karpenter.sh/v1`, Field: ".spec.weight",
			}}},
		})
	})
	_, err := applier.Apply(context.Background(), &unstructured.Unstructured{Object: pool(nil)}, false)
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("got %v, want a *ConflictError", err)
	}
	if want := `NodePool "spot" apply: conflict: .spec.weight is owned by "kubectl-edit"`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestApply_WaitsForItsKindToBeServed(t *testing.T) {
	server, applier := newApplier(t)
	server.serve(false)
	if _, err := applier.Apply(context.Background(), &unstructured.Unstructured{Object: pool(nil)}, false); !errors.Is(err, ErrKindNotServed) {
		t.Fatalf("without a deadline: got %v, want ErrKindNotServed", err)
	}
	server.on("PATCH "+poolPath, object(pool(nil)))
	time.AfterFunc(50*time.Millisecond, func() { server.serve(true) })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := applier.Apply(ctx, &unstructured.Unstructured{Object: pool(nil)}, false); err != nil {
		t.Fatalf("with a deadline: %v", err)
	}
}

func TestGetAndDelete_ReportWhatIsGone(t *testing.T) {
	server, applier := newApplier(t)
	_, err := applier.Get(context.Background(), poolRef())
	if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrKindNotServed) {
		t.Errorf("missing object: %v", err)
	}
	var options metav1.DeleteOptions
	server.on("DELETE "+poolPath, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
			t.Error(err)
		}
		answerJSON(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	})
	if err := applier.Delete(context.Background(), poolRef(), "u1"); err != nil {
		t.Fatal(err)
	}
	if options.Preconditions == nil || *options.Preconditions.UID != "u1" {
		t.Errorf("delete did not insist on the uid: %+v", options)
	}
	server.serve(false)
	applier.mapper.Reset()
	if _, err := applier.Get(context.Background(), poolRef()); !errors.Is(err, ErrKindNotServed) || !errors.Is(err, ErrNotFound) {
		t.Errorf("missing kind: %v", err)
	}
	if err := applier.Delete(context.Background(), poolRef(), "u1"); err != nil {
		t.Errorf("delete of what cannot exist: %v", err)
	}
}

func TestWait_ExplainsWhatWasSeenLast(t *testing.T) {
	server, applier := newApplier(t)
	server.on("GET "+poolPath, object(pool(map[string]any{
		"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "x"}}},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "reason": "NodeClassNotFound", "message": "no such class", "observedGeneration": 2},
		}},
	})))
	server.on("GET /api/v1/namespaces/default/events", object(map[string]any{
		"apiVersion": "v1", "kind": "EventList", "items": []any{
			event("other", "Unrelated", "2026-01-01T00:00:00Z"), event("spot", "Second", "2026-01-01T00:00:02Z"), event("spot", "First", "2026-01-01T00:00:01Z"),
		},
	}))
	server.on("GET /api/v1/pods", object(map[string]any{
		"apiVersion": "v1", "kind": "PodList", "items": []any{map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x-1"},
			"status": map[string]any{"containerStatuses": []any{map[string]any{
				"name": "main", "state": map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff", "message": "no such image"}},
			}}},
		}},
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := applier.Wait(ctx, poolRef(), ConditionTrue("Ready"))
	var failure *NotReadyError
	if !errors.As(err, &failure) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if failure.Why != "condition Ready is False" {
		t.Errorf("why %q", failure.Why)
	}
	if want := []string{"Ready=False NodeClassNotFound: no such class"}; !slices.Equal(failure.Conditions, want) {
		t.Errorf("conditions %q", failure.Conditions)
	}
	if len(failure.Events) != 2 || !strings.Contains(failure.Events[0], "First") || !strings.Contains(failure.Events[1], "Second") {
		t.Errorf("events %q", failure.Events)
	}
	if want := []string{"pod x-1, container main waits: ImagePullBackOff: no such image"}; !slices.Equal(failure.Containers, want) {
		t.Errorf("containers %q", failure.Containers)
	}
}

// TestTrouble_SaysWhyEachContainerDoesNotRun has containers in each state.
func TestTrouble_SaysWhyEachContainerDoesNotRun(t *testing.T) {
	crash := map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error", "message": "one\ntwo\nthree\nno region is set\n"}}
	for want, status := range map[string]map[string]any{
		"pod p, container c waits: CrashLoopBackOff: back-off (last exit code 1 Error: two\n    three\n    no region is set)": {
			"state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff", "message": "back-off"}}, "lastState": crash,
		},
		"pod p, container c has ended: exit code 137 OOMKilled":                                        {"state": map[string]any{"terminated": map[string]any{"exitCode": int64(137), "reason": "OOMKilled"}}},
		"pod p, container c runs again (last exit code 1 Error: two\n    three\n    no region is set)": {"ready": false, "state": map[string]any{"running": map[string]any{}}, "lastState": crash},
		"pod p, container c waits: ContainerCreating":                                                  {"state": map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}},
		"": {"ready": true, "state": map[string]any{"running": map[string]any{}}, "lastState": crash},
	} {
		status["name"] = "c"
		if got := waitingLine("p", status); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	done := map[string]any{"name": "c", "state": map[string]any{"terminated": map[string]any{"exitCode": int64(0), "reason": "Completed"}}}
	if got := waitingLine("p", done); got != "" {
		t.Errorf("an init container that is done: %q", got)
	}
}

func event(about, reason, at string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": reason}, "type": "Warning",
		"reason": reason, "message": "m", "lastTimestamp": at, "involvedObject": map[string]any{"kind": "NodePool", "name": about},
	}
}

func TestWaitGone_EndsWhenAnotherObjectHasTheName(t *testing.T) {
	server, applier := newApplier(t)
	server.on("GET "+poolPath, object(pool(nil)))
	if err := applier.WaitGone(context.Background(), poolRef(), "older", nil); err != nil {
		t.Errorf("got %v", err)
	}
	held := pool(nil)
	held["metadata"].(map[string]any)["finalizers"] = []any{"karpenter.sh/termination"}
	server.on("GET "+poolPath, object(held))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	seen := 0
	err := applier.WaitGone(ctx, poolRef(), "u1", func(*unstructured.Unstructured) { seen++ })
	if err == nil || !strings.Contains(err.Error(), "held by finalizers [karpenter.sh/termination]") || seen == 0 {
		t.Errorf("got %v after %d reads", err, seen)
	}
}

func TestChecks_ReadStatusOfTheCurrentGeneration(t *testing.T) {
	ready := func(status string, observed int64) map[string]any {
		return pool(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "observedGeneration": observed}}}})
	}
	deployment := func(spec, updated, available, all, observed int64) map[string]any {
		return pool(map[string]any{
			"spec":   map[string]any{"replicas": spec},
			"status": map[string]any{"updatedReplicas": updated, "availableReplicas": available, "replicas": all, "observedGeneration": observed},
		})
	}
	tests := []struct {
		name  string
		check Check
		obj   map[string]any
		want  bool
	}{
		{"ready", ConditionTrue("Ready"), ready("True", 2), true},
		{"not ready", ConditionTrue("Ready"), ready("False", 2), false},
		{"ready for an older generation", ConditionTrue("Ready"), ready("True", 1), false},
		{"no condition", ConditionTrue("Ready"), pool(nil), false},
		{"rolled out", RolledOut, deployment(2, 2, 2, 2, 2), true},
		{"not observed", RolledOut, deployment(2, 2, 2, 2, 1), false},
		{"not available", RolledOut, deployment(2, 2, 1, 2, 2), false},
		{"old replicas remain", RolledOut, deployment(2, 2, 2, 3, 2), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, missing := tt.check(&unstructured.Unstructured{Object: tt.obj}); got != tt.want {
				t.Errorf("got %v (%s)", got, missing)
			}
		})
	}
}
