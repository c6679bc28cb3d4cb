package kube

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func encodedPods(tb testing.TB, next string, names ...string) []byte {
	tb.Helper()
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: next}}
	for _, name := range names {
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}})
	}
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(&list, &out); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// Where the next page continues is told without decoding only where decoding says the same.
func FuzzContinueOf(f *testing.F) {
	f.Add(encodedPods(f, "from-here", "p"))
	f.Add(encodedPods(f, ""))
	f.Add(encodedPods(f, "x", "p", "q")[:20])
	f.Add([]byte("k8s\x00\x12\x02\x0a\x7f"))
	f.Add(append(encodedPods(f, "x"), 0x12, 0x00)) // a second list
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"y"}}`))
	f.Fuzz(func(t *testing.T, page []byte) {
		next, told := continueOf(page)
		if !told {
			return
		}
		object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), page)
		if list, is := object.(*corev1.PodList); err == nil && is && list.Continue != next {
			t.Errorf("%q continues at %q, want %q", page, next, list.Continue)
		}
	})
}

// An API server that speaks JSON alone is read as well, and what it refuses is an error.
func TestRead_PagesInJSONAndRefusalsAreReadToo(t *testing.T) {
	server, config := newAPIServer(t)
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	refuse := false
	server.on("GET /api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		next := ""
		switch r.URL.Query().Get("continue") {
		case "":
			next = "second"
		default:
			if refuse {
				answerJSON(w, http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no more pods for you"})
				return
			}
		}
		answerJSON(w, http.StatusOK, corev1.PodList{
			TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: next},
			Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p" + next}}},
		})
	})
	from := Early[*corev1.PodList](clients.Core.CoreV1().RESTClient(), "pods", clients.Core.CoreV1().Pods(""))
	var names []string
	revision, err := Read(t.Context(), from, func(o metav1.Object) { names = append(names, o.GetName()) })
	if err != nil || revision != "9" || strings.Join(names, " ") != "psecond p" {
		t.Errorf("read %v of revision %q, error %v", names, revision, err)
	}
	refuse = true
	if _, err := Read(t.Context(), from, func(metav1.Object) {}); err == nil || !strings.Contains(err.Error(), "no more pods for you") {
		t.Errorf("error %v, want what the API server said", err)
	}
}
