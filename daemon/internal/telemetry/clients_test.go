package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// page is what /metrics says.
func page(m *Metrics) string {
	out := httptest.NewRecorder()
	m.Handler().ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return out.Body.String()
}

func TestMetrics_AWSCallsHaveTheirDurationAndTheirErrorsAWSsCode(t *testing.T) {
	m := NewMetrics("test")
	refused := &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
	for _, err := range []error{nil, fmt.Errorf("launch: %w", refused), refused, errors.New("x"), aws.ErrThrottled} {
		m.AWSCall(aws.Call{Service: "EC2", Operation: "CreateFleet", Duration: 2 * time.Second, Err: err})
	}
	for code, want := range map[string]float64{"RequestLimitExceeded": 2, "other": 1, "held": 1} {
		if got := value(t, m, `karpenterd_aws_errors_total{code="`+code+`",operation="CreateFleet",service="EC2"}`); got != want {
			t.Errorf("%s: %v calls, want %v", code, got, want)
		}
	}
	if got := value(t, m, `karpenterd_aws_call_duration_seconds_sum{operation="CreateFleet",service="EC2"}`); got != 10 {
		t.Errorf("calls took %v s, want 10", got)
	}
}

// Each pod has a URL of its own, and a metric must not have a series for each pod.
func TestMetrics_RequestsToTheAPIServerHaveNoSeriesForTheirURLs(t *testing.T) {
	m := NewMetrics("test")
	for i := range 1000 {
		u := url.URL{Scheme: "https", Host: "api.example", Path: fmt.Sprint("/api/v1/namespaces/default/pods/web-", i)}
		latency{m.clients.duration}.Observe(t.Context(), "GET", u, time.Second)
		results{m.clients.requests}.Increment(t.Context(), "200", "GET", u.Host)
	}
	results{m.clients.requests}.Increment(t.Context(), "429", "PATCH", "api.example")
	if got := value(t, m, `rest_client_requests_total{code="200",host="api.example",method="GET"}`); got != 1000 {
		t.Errorf("%v requests, want 1000", got)
	}
	if got := value(t, m, `rest_client_request_duration_seconds_count{host="api.example",verb="GET"}`); got != 1000 {
		t.Errorf("%v durations, want 1000", got)
	}
	if all := page(m); strings.Contains(all, "web-1") || strings.Count(all, "rest_client_requests_total{") != 2 {
		t.Error("the page has series for URLs")
	}
}

func TestMetrics_AQueueShowsWhatWaitsAndHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics("test")
		q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "nodeclaim", MetricsProvider: m.Queues()})
		defer q.ShutDown()
		for i := range 3 {
			q.Add(fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		item, _ := q.Get()
		time.Sleep(2 * time.Second)
		q.Done(item)
		time.Sleep(time.Second) // the queue looks every half second
		const of = `{controller="nodeclaim",name="nodeclaim"}`
		for name, want := range map[string]float64{
			"workqueue_depth": 2, "workqueue_adds_total": 3, "workqueue_queue_duration_seconds_sum": 1, "workqueue_work_duration_seconds_sum": 2,
			"workqueue_unfinished_work_seconds": 0, "workqueue_longest_running_processor_seconds": 0, "workqueue_retries_total": 0,
		} {
			if got := value(t, m, name+of); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	})
}

func TestGuide_NamesEveryMetricOfClients(t *testing.T) {
	guide, err := os.ReadFile("../../../templates/guides/disruption.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range newClients().collectors() {
		descriptions := make(chan *prometheus.Desc, 1)
		c.Describe(descriptions)
		_, name, _ := strings.Cut((<-descriptions).String(), `"`)
		name, _, _ = strings.Cut(name, `"`)
		if !strings.Contains(string(guide), "`"+name+"`") {
			t.Errorf("templates/guides/disruption.md does not name the metric %s", name)
		}
	}
}
