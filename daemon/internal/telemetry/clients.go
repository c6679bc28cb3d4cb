package telemetry

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// clients are the measurements of calls to AWS and to the API server, and of what waits for the
// daemon's own work. Names and labels of client-go's are those of controller-runtime. No label has
// a URL or the name of an object, so that their number is bounded.
type clients struct {
	awsDuration *prometheus.HistogramVec
	awsErrors   *prometheus.CounterVec

	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	held     *prometheus.HistogramVec

	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	queued, worked             *prometheus.HistogramVec

	messageAge prometheus.Histogram
	deleted    prometheus.Counter
}

func newClients() clients {
	call := []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	wait := []float64{.001, .01, .1, 1, 10, 60, 600}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"name", "controller"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return clients{
		awsDuration: histogram("karpenterd_aws_call_duration_seconds", "Duration of calls to AWS, with retries and what they waited for their turn.", call, "service", "operation"),
		awsErrors:   counter("karpenterd_aws_errors_total", "Calls to AWS that failed, by AWS's error code.", "service", "operation", "code"),
		requests:    counter("rest_client_requests_total", "Requests to the API server, by HTTP status.", "code", "method", "host"),
		duration:    histogram("rest_client_request_duration_seconds", "Time to the answer of the API server.", call, "verb", "host"),
		held:        histogram("rest_client_rate_limiter_duration_seconds", "Time that requests to the API server waited for the client's own rate limit.", call, "verb", "host"),
		depth:       gauge("workqueue_depth", "Objects that wait in the queue."),
		unfinished:  gauge("workqueue_unfinished_work_seconds", "How long the objects of the queue that are worked on have been so, together."),
		longest:     gauge("workqueue_longest_running_processor_seconds", "How long one of them has been worked on at most."),
		adds:        counter("workqueue_adds_total", "Objects that were put into the queue.", "name", "controller"),
		retries:     counter("workqueue_retries_total", "Objects that were put into the queue again after an error.", "name", "controller"),
		queued:      histogram("workqueue_queue_duration_seconds", "How long objects waited in the queue.", wait, "name", "controller"),
		worked:      histogram("workqueue_work_duration_seconds", "How long an object of the queue was worked on.", wait, "name", "controller"),
		messageAge: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "karpenter_interruption_message_queue_duration_seconds",
			Help: "Time from the event that a message of the interruption queue is about until the daemon received it.", Buckets: []float64{.5, 1, 2, 5, 10, 20, 40, 60, 90, 120, 300},
		}),
		deleted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "karpenter_interruption_deleted_messages_total", Help: "Messages deleted from the interruption queue.",
		}),
	}
}

func (c clients) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		c.awsDuration, c.awsErrors, c.requests, c.duration, c.held, c.depth, c.unfinished, c.longest,
		c.adds, c.retries, c.queued, c.worked, c.messageAge, c.deleted,
	}
}

// AWSCall counts one call; its result is "ok" or "error".
func (m *Metrics) AWSCall(call aws.Call) {
	result := "ok"
	if call.Err != nil {
		result = "error"
		m.clients.awsErrors.WithLabelValues(call.Service, call.Operation, aws.CodeOf(call.Err)).Inc()
	}
	m.awsCalls.WithLabelValues(call.Service, call.Operation, result).Inc()
	m.clients.awsDuration.WithLabelValues(call.Service, call.Operation).Observe(call.Duration.Seconds())
}

// ObserveAPIServer counts the requests of all clients of client-go in this process, from the
// first Metrics that asks for it: client-go has one place for the whole process.
func (m *Metrics) ObserveAPIServer() {
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestLatency: latency{m.clients.duration}, RateLimiterLatency: latency{m.clients.held}, RequestResult: results{m.clients.requests},
	})
}

// latency observes durations by verb and host.
type latency struct{ *prometheus.HistogramVec }

// Observe leaves out the path of the URL.
func (l latency) Observe(_ context.Context, verb string, u url.URL, d time.Duration) {
	l.WithLabelValues(verb, u.Host).Observe(d.Seconds())
}

// results counts the answers of the API server.
type results struct{ *prometheus.CounterVec }

// Increment counts one answer; its code is "<error>" where there was none.
func (r results) Increment(_ context.Context, code, method, host string) {
	r.WithLabelValues(code, method, host).Inc()
}

// Queues returns where client-go's queues measure themselves.
func (m *Metrics) Queues() workqueue.MetricsProvider { return queues{m.clients} }

type queues struct{ c clients }

// NewDepthMetric and the others measure the queue of the name.
func (q queues) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.c.depth.WithLabelValues(name, name)
}

func (q queues) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.c.adds.WithLabelValues(name, name)
}

func (q queues) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.c.queued.WithLabelValues(name, name)
}

func (q queues) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.c.worked.WithLabelValues(name, name)
}

func (q queues) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.c.unfinished.WithLabelValues(name, name)
}

func (q queues) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.c.longest.WithLabelValues(name, name)
}

func (q queues) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.c.retries.WithLabelValues(name, name)
}

// MessageAge notes how old the event of a message was when it was received.
func (m *Metrics) MessageAge(d time.Duration) { m.clients.messageAge.Observe(d.Seconds()) }

// MessagesDeleted counts messages that were deleted from the interruption queue.
func (m *Metrics) MessagesDeleted(n int) { m.clients.deleted.Add(float64(n)) }
