package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/remark"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// apiServer serves the paths with the answers, which may change, and says which others it was
// asked for. A watch stays open.
func apiServer(t *testing.T, answers map[string]any) (u *uncarried, missed chan string, log *strings.Builder) {
	t.Helper()
	missed, log = make(chan string, 100), &strings.Builder{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.URL.Path]
		if changing, does := answer.(func() any); does {
			answer = changing()
		}
		status, refuses := answer.(int)
		switch {
		case r.URL.Query().Get("watch") != "":
			<-r.Context().Done()
			return
		case !known:
			missed <- r.URL.Path
			status, refuses = http.StatusNotFound, true
		}
		if refuses {
			w.WriteHeader(status)
			answer = metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(status),
				Reason: map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound}[status],
			}
		}
		if text, plain := answer.(string); plain {
			_, _ = w.Write([]byte(text))
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return newUncarried(clients(t, server.URL), hclog.New(&hclog.LoggerOptions{Output: log})), missed, log
}

func group(name string, versions ...string) metav1.APIGroup {
	g := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: name}
	for _, v := range versions {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	return g
}

func resources(version string, names ...string) metav1.APIResourceList {
	l := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version}
	for _, name := range names {
		l.APIResources = append(l.APIResources, metav1.APIResource{Name: name})
	}
	return l
}

// wait polls until there are as many objects.
func (u *uncarried) wait(t *testing.T, n int) []remark.Other {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(u.All()) != n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d objects, want %d: %v", len(u.All()), n, u.All())
		}
	}
	return u.All()
}

func TestUncarried_FindsTheObjectsOfEachKindInWhateverVersionItIsServed(t *testing.T) {
	u, _, _ := apiServer(t, map[string]any{
		"/apis/karpenter.sh":          group("karpenter.sh", "v1", "v1alpha1"),
		"/apis/karpenter.sh/v1":       resources("karpenter.sh/v1", "nodepools"),
		"/apis/karpenter.sh/v1alpha1": resources("karpenter.sh/v1alpha1", "nodeoverlays"),
		"/apis/karpenter.sh/v1alpha1/nodeoverlays": `{"kind":"NodeOverlayList","apiVersion":"karpenter.sh/v1alpha1","metadata":{"resourceVersion":"10"},"items":[
			{"kind":"NodeOverlay","apiVersion":"karpenter.sh/v1alpha1","metadata":{"name":"cheap","uid":"o","resourceVersion":"7"},"spec":{"priceAdjustment":"-10%"}}]}`,
		"/apis/autoscaling.x-k8s.io":         group("autoscaling.x-k8s.io", "v1beta1"),
		"/apis/autoscaling.x-k8s.io/v1beta1": resources("autoscaling.x-k8s.io/v1beta1", "capacitybuffers"),
		"/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers": `{"kind":"CapacityBufferList","apiVersion":"autoscaling.x-k8s.io/v1beta1","metadata":{"resourceVersion":"10"},"items":[
			{"kind":"CapacityBuffer","apiVersion":"autoscaling.x-k8s.io/v1beta1","metadata":{"name":"room","namespace":"shop","uid":"b","resourceVersion":"8"}}]}`,
	})
	for range 2 { // the second look begins no other watch
		if err := u.Look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	got := u.wait(t, 2)
	room, cheap := got[0], got[1]
	if room.Object.Kind != "CapacityBuffer" || room.Object.Namespace != "shop" || room.Object.Name != "room" || room.Object.APIVersion != "autoscaling.x-k8s.io/v1beta1" ||
		!strings.Contains(room.Remark.Text, "no room is kept for pods that are to come; run pods of a low priority that take the room and give way") {
		t.Errorf("got %+v", room)
	}
	if cheap.Object.Kind != "NodeOverlay" || cheap.Object.Name != "cheap" || cheap.Object.UID != "o" || !strings.Contains(cheap.Remark.Text, "prices and capacity of instance types are those of AWS; prefer instance types by") {
		t.Errorf("got %+v", cheap)
	}
}

// The watch of a kind that is deleted would ask for it on and on, and its objects would be
// told of.
func TestUncarried_AKindThatGoesIsForgottenAndFoundAgain(t *testing.T) {
	var versions atomic.Value
	versions.Store([]string{"v1alpha1"})
	overlays := func(version string) string {
		return `{"kind":"NodeOverlayList","apiVersion":"karpenter.sh/` + version + `","metadata":{"resourceVersion":"10"},"items":[
			{"kind":"NodeOverlay","apiVersion":"karpenter.sh/` + version + `","metadata":{"name":"cheap","uid":"o","resourceVersion":"7"}}]}`
	}
	u, _, _ := apiServer(t, map[string]any{
		"/apis/karpenter.sh":                       func() any { return group("karpenter.sh", versions.Load().([]string)...) }, //nolint:forcetypeassert // nothing else is stored
		"/apis/karpenter.sh/v1alpha1":              resources("karpenter.sh/v1alpha1", "nodeoverlays"),
		"/apis/karpenter.sh/v1alpha1/nodeoverlays": overlays("v1alpha1"),
		"/apis/karpenter.sh/v1beta1":               resources("karpenter.sh/v1beta1", "nodeoverlays"),
		"/apis/karpenter.sh/v1beta1/nodeoverlays":  overlays("v1beta1"),
	})
	for _, served := range []string{"v1alpha1", "", "v1alpha1", "v1beta1", ""} {
		of, want := []string{served}, 1
		if served == "" {
			of, want = nil, 0
		}
		versions.Store(of)
		if err := u.Look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, o := range u.wait(t, want) {
			if o.Object.APIVersion != "karpenter.sh/"+served {
				t.Errorf("%s is served: %+v", served, o.Object)
			}
		}
		if len(u.watched) != want {
			t.Errorf("%s is served: watched %v", served, u.watched)
		}
	}
}

// A cluster without the kinds costs a small answer for each group, and nothing is watched.
func TestUncarried_AsksNothingMoreWhereTheKindsAreNotServed(t *testing.T) {
	u, missed, log := apiServer(t, map[string]any{"/apis/karpenter.sh": group("karpenter.sh", "v1"), "/apis/karpenter.sh/v1": resources("karpenter.sh/v1", "nodepools")})
	if err := u.Look(t.Context(), time.Now()); err != nil || len(u.watched) > 0 || log.Len() > 0 {
		t.Errorf("watched %v, log %q: %v", u.watched, log, err)
	}
	close(missed)
	var asked []string
	for path := range missed {
		asked = append(asked, path)
	}
	if !slices.Equal(asked, []string{"/apis/autoscaling.x-k8s.io"}) {
		t.Errorf("asked for %q", asked)
	}
}

func TestUncarried_MissingRightsAreSaidOnceAndBreakNothing(t *testing.T) {
	u, _, log := apiServer(t, map[string]any{
		"/apis/karpenter.sh": group("karpenter.sh", "v1alpha1"), "/apis/karpenter.sh/v1alpha1": resources("karpenter.sh/v1alpha1", "nodeoverlays"),
		"/apis/karpenter.sh/v1alpha1/nodeoverlays": http.StatusForbidden,
	})
	for range 3 {
		if err := u.Look(t.Context(), time.Now()); err != nil || len(u.watched) > 0 {
			t.Errorf("watched %v: %v", u.watched, err)
		}
	}
	if said := strings.Count(log.String(), "allow the daemon's service account to list and watch them"); said != 1 {
		t.Errorf("the log says it %d times:\n%s", said, log)
	}
}

func TestUncarried_TheDaemonMayListAndWatchEachKind(t *testing.T) {
	objects, err := install.Objects(install.Options{Image: "a/b:1", ClusterName: "lab", Region: "us-west-2"})
	if err != nil {
		t.Fatal(err)
	}
	var rules string
	for _, o := range objects {
		if o.GetKind() == "ClusterRole" {
			text, err := json.Marshal(o.Object["rules"])
			if err != nil {
				t.Fatal(err)
			}
			rules = string(text)
		}
	}
	for _, kind := range legacy.UncarriedKinds() {
		if want := `{"apiGroups":["` + kind.Group + `"],"resources":["` + kind.Resource + `"],"verbs":["list","watch"]}`; !strings.Contains(rules, want) {
			t.Errorf("no rule %s", want)
		}
	}
}
