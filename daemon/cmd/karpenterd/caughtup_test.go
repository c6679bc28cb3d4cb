package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// A replica that is elected may have a watch that is behind: what the last leader wrote
// is read before the first decision.
func TestCatchUp_TheWorldHasWhatTheWatchesDidNotBringYet(t *testing.T) {
	var mu sync.Mutex
	reads := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		resource := path.Base(r.URL.Path)
		mu.Lock()
		defer mu.Unlock()
		reads[resource]++
		if resource == "nodes" && reads[resource] == 1 || r.URL.Query().Get("resourceVersion") != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(map[string]string{
			"nodeclaims": `{"kind":"NodeClaimList","apiVersion":"karpenter.sh/v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"c","uid":"c","resourceVersion":"7"},
				"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"k"}},"status":{"providerID":"aws:///a/i-1"}}]}`,
			"nodes": `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"n","uid":"n","resourceVersion":"8"},"spec":{"providerID":"aws:///a/i-1"}}]}`,
			"pods":  `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"namespace":"a","name":"p","uid":"p","resourceVersion":"9"},"spec":{"nodeName":"n"}}]}`,
		}[resource]))
	}))
	defer server.Close()
	w := world.New(nil, catalog.Market{}, time.Now)
	behind := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", ResourceVersion: "5"}}
	behind.Spec.NodeClassRef = v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "k"}
	w.Observe(behind)
	for name, version := range map[string]string{"gone": "6", "new": "11"} {
		w.Observe(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}})
		w.Observe(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("pod-" + name), ResourceVersion: version}, Spec: corev1.PodSpec{NodeName: name}})
	}
	c := catchingUp{clients: clients(t, server.URL), world: w, keeper: translate.NewKeeper(), logger: hclog.NewNullLogger(), namespace: "karpenter", pod: "unknown"}
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	claim, _ := w.NodeClaim("c")
	if n, up := w.NodeOf(claim.Status.ProviderID); claim.ResourceVersion != "7" || !up || len(w.PodsOn(n.Name)) != 1 {
		t.Errorf("nodeclaim of version %s, node known: %v; want 7, and its node with a pod", claim.ResourceVersion, up)
	}
	for name, want := range map[string]bool{"gone": false, "new": true} {
		if _, node := w.Node(name); node != want || len(w.PodsOn(name)) > 0 != want {
			t.Errorf("%s: node known %v, pods %d; want both: %v", name, node, len(w.PodsOn(name)), want)
		}
	}
}

// markedPod is the daemon's own pod of that version.
func markedPod(version int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: "me", UID: "me", ResourceVersion: strconv.Itoa(version)}}
}

// The watch of pods brings the marks after everything that was written before them, so all pods
// need not be read. Where it does not bring them, they are.
func TestCatchUp_ReadsAllPodsOnlyWhereTheWatchDoesNotBringTheMarks(t *testing.T) {
	for name, c := range map[string]struct {
		brings        int // how many marks the watch brings
		marked, lists int
		within        time.Duration
	}{
		"both":      {brings: 2, marked: 2, within: time.Minute},
		"the first": {brings: 1, marked: 2, lists: 1, within: 50 * time.Millisecond},
		"none":      {marked: 1, lists: 1, within: 50 * time.Millisecond},
	} {
		w := world.New(nil, catalog.Market{}, time.Now)
		w.Observe(markedPod(1))
		var mu sync.Mutex
		marked, lists := 0, 0
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			out.Header().Set("Content-Type", "application/json")
			kinds := map[string]string{"nodeclaims": "NodeClaim", "nodes": "Node", "pods": "Pod"}
			switch resource := path.Base(r.URL.Path); {
			case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/namespaces/karpenter/pods/me/status"):
				if p, _ := w.Pod("karpenter/me"); p.ResourceVersion != strconv.Itoa(1+marked) {
					t.Errorf("%s: mark %d is written when the watch has brought version %s", name, marked+1, p.ResourceVersion)
				}
				marked++
				_, _ = fmt.Fprintf(out, `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"karpenter","name":"me","uid":"me","resourceVersion":"%d"}}`, 1+marked)
				if brought := markedPod(1 + marked); marked <= c.brings {
					time.AfterFunc(20*time.Millisecond, func() { w.Observe(brought) })
				}
			case kinds[resource] != "":
				if resource == "pods" {
					lists++
				}
				_, _ = fmt.Fprintf(out, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"10"},"items":[]}`, kinds[resource], map[bool]string{true: "karpenter.sh/v1", false: "v1"}[resource == "nodeclaims"])
			default:
				t.Errorf("%s: %s %s", name, r.Method, r.URL)
			}
		}))
		up := catchingUp{
			clients: clients(t, server.URL), world: w, keeper: translate.NewKeeper(), logger: hclog.NewNullLogger(), namespace: "karpenter", pod: "me", within: c.within,
		}
		if err := up.run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
		if marked != c.marked || lists != c.lists {
			t.Errorf("%s: %d marks and %d lists of all pods, want %d and %d", name, marked, lists, c.marked, c.lists)
		}
	}
}

// The container of a former leader starts again in the same pod, and waits there.
func TestStand_APodSaysThatItIsElectedOnlyWhileItMayBe(t *testing.T) {
	for status, want := range map[string]string{"True": "False", "False": "", "": ""} {
		patched := ""
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			out.Header().Set("Content-Type", "application/json")
			var p corev1.Pod
			if r.Method == http.MethodPatch {
				if err := json.NewDecoder(r.Body).Decode(&p); err != nil || len(p.Status.Conditions) != 1 {
					t.Errorf("patch %+v: %v", p, err)
				}
				patched = string(p.Status.Conditions[0].Status)
			}
			_, _ = fmt.Fprintf(out, `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"karpenter","name":"me"},"status":{"conditions":[{"type":%q,"status":%q}]}}`, conditionElected, status)
		}))
		catchingUp{clients: clients(t, server.URL), logger: hclog.NewNullLogger(), namespace: "karpenter", pod: "me"}.stand(t.Context())
		server.Close()
		if patched != want {
			t.Errorf("with status %q: patched to %q, want %q", status, patched, want)
		}
	}
}
