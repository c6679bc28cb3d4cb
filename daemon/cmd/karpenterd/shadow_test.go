package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
)

func TestExplain_OfAShadowSaysThatItDecidesNothing(t *testing.T) {
	t.Parallel()
	d := &daemon{config: config{Shadow: true}, metrics: telemetry.NewMetrics("dev")}
	server := httptest.NewServer(d.decisions())
	defer server.Close()
	var out bytes.Buffer
	err := telemetry.Explain(t.Context(), &out, strings.TrimPrefix(server.URL, "http://"), "node", "a")
	if err == nil || !strings.Contains(err.Error(), "this is a shadow, which decides nothing: karpenterd simulate") {
		t.Errorf("%v %s", err, out.String())
	}
}

// A cluster without Karpenter has none of its kinds, which is no error; a missing right is one, and
// its message names all of them.
func TestShadow_WatchesWhatIsServedAndNamesEachMissingRight(t *testing.T) {
	t.Parallel()
	answers := func(what string, err error) watched {
		return watched{what: what, list: func(context.Context, metav1.ListOptions) error { return err }}
	}
	of := schema.GroupResource{Resource: "x"}
	missing, refused := apierrors.NewNotFound(of, ""), apierrors.NewForbidden(of, "", errors.New("no"))
	got, err := unserved(t.Context(), []watched{answers("nodes", nil), answers("nodepools.karpenter.sh", missing)})
	if err != nil || !slices.Equal(got, []string{"nodepools.karpenter.sh"}) {
		t.Errorf("%v %v", got, err)
	}
	_, err = unserved(t.Context(), []watched{answers("nodes", refused), answers("pods", refused), answers("jobs.batch", nil)})
	if err == nil || !strings.Contains(err.Error(), "not allowed to list nodes, pods: give") {
		t.Errorf("%v", err)
	}
}
