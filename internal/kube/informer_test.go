package kube

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// podList answers a list of n pods as an API server does that has the pods in its
// cache: all at once for resource version 0, and page by page otherwise.
func podList(w http.ResponseWriter, r *http.Request, n int) {
	query := r.URL.Query()
	from, _ := strconv.Atoi(query.Get("continue"))
	to := n
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && query.Get("resourceVersion") != "0" {
		to = min(n, from+limit)
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if to < n {
		list.Continue = strconv.Itoa(to)
	}
	for i := from; i < to; i++ {
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", i), ResourceVersion: "5", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}},
		})
	}
	answerProtobuf(w, &list)
}

func answerProtobuf(w http.ResponseWriter, o runtime.Object) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, w) // the client may be gone
}

// hold runs the informer until it holds n objects, and returns these.
func hold(t *testing.T, informer cache.SharedIndexInformer, n int) []any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	for len(informer.GetStore().ListKeys()) < n {
		select {
		case <-ctx.Done():
			t.Fatalf("the informer holds %d objects, want %d", len(informer.GetStore().ListKeys()), n)
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	<-done
	return informer.GetStore().List()
}

// Objects come page by page, never all at once. Each object is reduced once, and a page
// is reduced before the next page but one is requested. If a page has expired, the list
// begins again.
func TestInformer_ListsPageByPageAndReducesEachObjectOnce(t *testing.T) {
	for name, from := range map[string]func(*Clients) Lister[*corev1.PodList]{
		"decoded at once": func(c *Clients) Lister[*corev1.PodList] { return c.Core.CoreV1().Pods("") },
		"decoded later": func(c *Clients) Lister[*corev1.PodList] {
			return Early[*corev1.PodList](c.Core.CoreV1().RESTClient(), "pods", c.Core.CoreV1().Pods(""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, config := newAPIServer(t)
			clients, err := NewClients(config)
			if err != nil {
				t.Fatal(err)
			}
			listsPageByPage(t, server, from(clients))
		})
	}
}

func listsPageByPage(t *testing.T, server *apiServer, from Lister[*corev1.PodList]) {
	t.Helper()
	const pods = 2*page + 1
	var kept, asked atomic.Int64
	server.on("GET /api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("watch") == "true" {
			if query.Get("sendInitialEvents") != "" {
				t.Error("the informer asks for a stream of all")
			}
			event := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "new", ResourceVersion: "8", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}}}
			answerJSON(w, http.StatusOK, map[string]any{"type": "ADDED", "object": withKind(event)})
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		first, _ := strconv.Atoi(query.Get("continue"))
		if whole := int64(first) - kept.Load(); whole > 2*page {
			t.Errorf("%d pods are whole while more are asked for", whole)
		}
		if asked.Add(1) == 2 {
			answerJSON(w, http.StatusGone, metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
			})
			return
		}
		podList(w, r, pods)
	})
	informer := NewInformer(from, &corev1.Pod{}, func(o metav1.Object) metav1.Object {
		kept.Add(1)
		o.SetManagedFields(nil)
		return o
	})
	items := hold(t, informer, pods+1)
	if asked.Load() != 5 || kept.Load() != page+pods+1 {
		t.Errorf("%d pages were asked for and %d pods reduced, want 5 and %d", asked.Load(), kept.Load(), page+pods+1)
	}
	for _, o := range items {
		if p, ok := o.(*corev1.Pod); !ok || p.ManagedFields != nil {
			t.Fatalf("%+v is held", o)
		}
	}
}

func withKind(p *corev1.Pod) *corev1.Pod {
	p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	return p
}

// Built-in kinds are requested in protobuf, the product's own kinds in JSON. A server
// without protobuf may answer in JSON.
func TestNewClients_RequestBuiltInKindsInProtobuf(t *testing.T) {
	server, config := newAPIServer(t)
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	accepts := map[string]string{}
	note := func(answer func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			accepts[r.URL.Path] = r.Header.Get("Accept")
			answer(w)
		}
	}
	server.on("GET /api/v1/pods", note(func(w http.ResponseWriter) {
		answerProtobuf(w, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}})
	}))
	server.on("GET /api/v1/nodes", note(func(w http.ResponseWriter) {
		answerJSON(w, http.StatusOK, corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}})
	}))
	server.on("GET /apis/karpenter.sh/v1/nodepools", note(func(w http.ResponseWriter) {
		answerJSON(w, http.StatusOK, map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePoolList", "items": []any{}})
	}))
	if pods, err := clients.Core.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil || pods.ResourceVersion != "9" {
		t.Errorf("pods: %+v, %v", pods, err)
	}
	if _, err := clients.Core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("nodes from a server without protobuf: %v", err)
	}
	if _, err := clients.NodePools.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("nodepools: %v", err)
	}
	for path, want := range map[string]string{"/api/v1/pods": "application/vnd.kubernetes.protobuf,application/json", "/apis/karpenter.sh/v1/nodepools": "application/json"} {
		if got := accepts[path]; !strings.HasPrefix(got, want) {
			t.Errorf("%s is asked for as %q, want %q", path, got, want)
		}
	}
}
