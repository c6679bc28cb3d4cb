package deploy

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestMetrics_AreReadByTheirWholeNames(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("# HELP a first\na 1\na_more 2\nb{x=\"y\"} 3\nlast 4.5e+06\n"))
	}))
	defer s.Close()
	if got, err := Metrics(t.Context(), s.URL, "last", "a"); err != nil || !slices.Equal(got, []float64{4_500_000, 1}) {
		t.Errorf("got %v, %v; want 4500000 and 1", got, err)
	}
	if _, err := Metrics(t.Context(), s.URL, "a", "b"); err == nil || !strings.Contains(err.Error(), "no b") {
		t.Errorf("error %v; want that there is no b", err)
	}
}
