package telemetry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A series that is taken out and put back is another one, and a scrape in between lacks it.
func TestSmallerTypes_ClassesThatStayAreThereInEveryScrapeAndThoseThatAreGoneInNone(t *testing.T) {
	r := &Recorder{Metrics: NewMetrics("test")}
	r.SmallerTypesCounted(map[string]int{"stays": 1, "goes": 2})
	series := r.Metrics.catalogue.smaller.WithLabelValues("stays")
	r.SmallerTypesCounted(map[string]int{"stays": 3, "comes": 0})
	if r.Metrics.catalogue.smaller.WithLabelValues("stays") != series {
		t.Error("the series of a class that stays was taken out")
	}
	for class, want := range map[string]float64{"stays": 3, "comes": 0} {
		if got := value(t, r.Metrics, `karpenterd_smaller_instance_types{nodeclass="`+class+`"}`); got != want {
			t.Errorf("%s: %v, want %v", class, got, want)
		}
	}
	page := httptest.NewRecorder()
	r.Metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if strings.Contains(page.Body.String(), `nodeclass="goes"`) {
		t.Error("a class that is gone is still counted")
	}
}
