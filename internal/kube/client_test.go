package kube

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/hashicorp/go-hclog"
	"k8s.io/klog/v2"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

func TestClients_ReadAndWriteOurKinds(t *testing.T) {
	server, config := newAPIServer(t)
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	server.on("GET "+poolPath, object(pool(map[string]any{"spec": map[string]any{"weight": 7}})))
	got, err := clients.NodePools.Get(context.Background(), "spot", metav1.GetOptions{})
	if err != nil || got.Spec.Weight == nil || *got.Spec.Weight != 7 {
		t.Fatalf("got %+v, %v", got, err)
	}
	server.on("PUT "+poolPath+"/status", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"nodes":3`) {
			t.Errorf("body %s (%v)", body, err)
		}
		answerJSON(w, http.StatusOK, pool(nil))
	})
	nodes := int64(3)
	got.Status.Nodes = &nodes
	if _, err := clients.NodePools.UpdateStatus(context.Background(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	server.on("PATCH /apis/karpenter.sh/v1/nodeclaims/c/status", object(map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim"}))
	if _, err := clients.NodeClaims.Patch(context.Background(), "c", types.MergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func TestInformer_HoldsWhatTheServerLists(t *testing.T) {
	server, config := newAPIServer(t)
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	server.on("GET /apis/karpenter.sh/v1/nodepools", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			if r.URL.Query().Get("sendInitialEvents") == "true" { // a server before 1.32 refuses this
				answerJSON(w, http.StatusUnprocessableEntity, metav1.Status{
					TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
					Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "sendInitialEvents is forbidden",
				})
				return
			}
			<-r.Context().Done()
			return
		}
		answerJSON(w, http.StatusOK, map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePoolList", "metadata": map[string]any{"resourceVersion": "5"}, "items": []any{pool(nil)},
		})
	})
	ctx, cancel := context.WithCancel(context.Background())
	informer := NewInformer(clients.NodePools, &v1.NodePool{}, func(o metav1.Object) metav1.Object { return o })
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer did not sync")
	}
	item, found, err := informer.GetStore().GetByKey("spot")
	if p, ok := item.(*v1.NodePool); !found || err != nil || !ok || p.UID != "u1" {
		t.Errorf("got %v, %v, %v", item, found, err)
	}
	cancel()
	<-done
}

func TestLogTo_GivesKlogsLinesTheirLevel(t *testing.T) {
	var out strings.Builder
	LogTo(hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info, DisableTime: true}))
	t.Cleanup(klog.ClearLogger)
	klog.Background().WithName("leases").Info("acquired", "lease", "a/b")
	klog.Background().V(4).Info("chatter")
	klog.Background().Error(io.EOF, "watch ended")
	got := out.String()
	if !strings.Contains(got, "[INFO]  acquired: logger=leases lease=a/b") || !strings.Contains(got, "[ERROR] watch ended: error=EOF") || strings.Contains(got, "chatter") {
		t.Errorf("got %q", got)
	}
}
