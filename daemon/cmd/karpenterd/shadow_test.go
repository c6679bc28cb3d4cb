package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/page"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/shadow"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
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

// A shadow has a page where the daemon has its own, for browsers of this machine alone.
func TestShadow_ShowsItsReportAsAPage(t *testing.T) {
	t.Parallel()
	view := shadow.View{}
	mux := http.NewServeMux()
	serveShadow(mux, func() shadow.View { return view })
	get := func(host, path string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		r.Host = host
		mux.ServeHTTP(w, r)
		return w
	}
	if w := get("127.0.0.1:8082", page.Path); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "has not looked at the cluster yet") {
		t.Errorf("before the first look: %d %s", w.Code, w.Body)
	}
	view.Report = &simulate.Report{Region: "us-west-2", Observed: &simulate.Observed{Hours: 5, Since: time.Now(), PaidPerHour: 2, ForecastPerHour: 1, Saved: 5, SavedPercent: 50}}
	w := get("localhost:8082", page.Path)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "The daemon would have come to $1.00: $5.00 less in that time (50.0 %).") || w.Header().Get("Content-Security-Policy") != simulate.PagePolicy {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	view.Time = time.Now()
	if w := get("127.0.0.1:8082", install.ShadowPath); w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{page.Path, install.ShadowPath} {
		if w := get("evil.example.com", path); w.Code != http.StatusForbidden {
			t.Errorf("%s of a host of somebody else: %d", path, w.Code)
		}
	}
	view.Failed = "no node says the region"
	if w := get("127.0.0.1:8082", page.Path); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), view.Failed) {
		t.Errorf("after a look that failed: %d %s", w.Code, w.Body)
	}
}
