package kube

import (
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func nodeWith(version string, finalizers ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: version, Finalizers: finalizers}}
}

// The clientset applies the patch as the API server does, with the same library.
func TestSetFinalizers_DependsOnTheFinalizersAlone(t *testing.T) {
	for name, c := range map[string]struct {
		live    *corev1.Node
		read    *corev1.Node
		want    []string
		refused bool
	}{
		"the first one":                 {nodeWith("2"), nodeWith("1"), []string{"a"}, false},
		"another one":                   {nodeWith("2", "a"), nodeWith("1", "a"), []string{"a", "b"}, false},
		"one of two":                    {nodeWith("2", "a", "b"), nodeWith("1", "a", "b"), []string{"b"}, false},
		"the last one":                  {nodeWith("2", "a"), nodeWith("1", "a"), nil, false},
		"somebody put one on":           {nodeWith("2", "a", "b"), nodeWith("1", "a"), nil, true},
		"somebody took it off":          {nodeWith("2"), nodeWith("1", "a"), nil, true},
		"somebody put the first one on": {nodeWith("2", "b"), nodeWith("1"), []string{"a"}, true},
		"another object":                {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "other", Finalizers: []string{"a"}}}, nodeWith("1", "a"), nil, true},
	} {
		client := fake.NewClientset(c.live).CoreV1().Nodes()
		_, err := SetFinalizers(t.Context(), client, c.read, c.want, metav1.PatchOptions{})
		got, _ := client.Get(t.Context(), "n", metav1.GetOptions{})
		want := c.want
		if c.refused {
			want = c.live.Finalizers
		}
		if (err != nil) != c.refused || !slices.Equal(got.Finalizers, want) {
			t.Errorf("%s: error %v, finalizers %v, want %v", name, err, got.Finalizers, want)
		}
	}
}

func TestSetFinalizers_ATestThatFailsIsAConflict(t *testing.T) {
	s, config := newAPIServer(t)
	s.answers["PATCH /api/v1/nodes/n"] = func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusUnprocessableEntity, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid,
			Message: "testing value /metadata/finalizers failed: test failed", Code: http.StatusUnprocessableEntity,
		})
	}
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SetFinalizers(t.Context(), clients.Core.CoreV1().Nodes(), nodeWith("1", "a"), nil, metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("error %v", err)
	}
}

// It never succeeds, so nobody must try again at once.
func TestSetFinalizers_AnObjectThatIsRefusedIsNoConflict(t *testing.T) {
	s, config := newAPIServer(t)
	s.answers["PATCH /api/v1/nodes/n"] = func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusUnprocessableEntity, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid,
			Message: `Node "n" is invalid: spec.taints`, Code: http.StatusUnprocessableEntity, Details: &metav1.StatusDetails{Kind: "Node", Name: "n"},
		})
	}
	clients, err := NewClients(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SetFinalizers(t.Context(), clients.Core.CoreV1().Nodes(), nodeWith("1", "a"), nil, metav1.PatchOptions{}); !apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		t.Errorf("error %v", err)
	}
}

func TestReadFinalizers_ReadsWhatWasSet(t *testing.T) {
	for _, want := range [][]string{nil, {"a"}, {"a", "b"}} {
		if got, err := ReadFinalizers(finalizersPatch(nodeWith("1", "x"), want)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	for _, patch := range []string{`{"metadata":{}}`, `[]`, `[{"op":"add","path":"/metadata/finalizers","value":1}]`} {
		if got, err := ReadFinalizers([]byte(patch)); err == nil {
			t.Errorf("%s: %v", patch, got)
		}
	}
}
