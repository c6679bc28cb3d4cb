package telemetry

import (
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// Metrics are the daemon's measurements.
type Metrics struct {
	registry *prometheus.Registry

	decisions  prometheus.Histogram
	panics     prometheus.Counter
	claims     *prometheus.CounterVec
	terminated *prometheus.CounterVec
	failures   *prometheus.CounterVec
	messages   *prometheus.CounterVec
	awsCalls   *prometheus.CounterVec
	drifted    *prometheus.GaugeVec
	unread     *prometheus.GaugeVec
	waiting    prometheus.Gauge
	refused    prometheus.Gauge
	planCost   *prometheus.GaugeVec
	planBound  prometheus.Gauge
	toDecision prometheus.Histogram
	leader     prometheus.Gauge
	templates  prometheus.Gauge
	profiles   prometheus.Gauge
	orphans    prometheus.Gauge
	fleet      *audits
	disruption *disruptions
	Decisions  *Decisions
	catalogue  catalogue
	clients    clients
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(version string) *Metrics {
	seconds := []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		decisions: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "karpenter_scheduler_scheduling_duration_seconds",
			Help: "Duration of one scheduling decision.", Buckets: seconds,
		}),
		panics: newPanics(),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_nodeclaims_created_total",
			Help: "NodeClaims created.",
		}, []string{"nodepool", "capacity_type"}),
		terminated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_nodeclaims_terminated_total",
			Help: "NodeClaims terminated: their instance has ended.",
		}, []string{"nodepool"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_cloudprovider_instance_launch_failures_total",
			Help: "Launch attempts without an instance.",
		}, []string{"nodepool"}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_interruption_received_messages_total",
			Help: "Messages received from the interruption queue, by kind.",
		}, []string{"message_type"}),
		awsCalls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenterd_aws_calls_total",
			Help: "Calls to AWS by service, operation and result.",
		}, []string{"service", "operation", "result"}),
		drifted: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "karpenterd_nodeclaims_drifted",
			Help: "NodeClaims with the condition Drifted that are not being deleted yet, by NodePool and reason.",
		}, []string{"nodepool", "reason"}),
		unread:    newUnread(),
		waiting:   gauge("karpenter_scheduler_queue_depth", "Pods that wait for a node."),
		refused:   gauge("karpenter_scheduler_unschedulable_pods_count", "Pods that fit no NodePool."),
		planCost:  newCosts("karpenterd_plan_cost_dollars_per_hour", "Cost of the new nodes in the last plan that launched nodes, by kind."),
		planBound: gauge("karpenterd_plan_bound_dollars_per_hour", "Proven lower bound of the cost of new nodes for the pods of that plan."),
		toDecision: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "karpenter_pods_scheduling_decision_duration_seconds",
			Help: "Time from when the daemon first saw a pod waiting to the decision to launch a node for it.", Buckets: seconds,
		}),
		leader:     gauge("karpenterd_leader", "1 if this replica is the leader, 0 if not."),
		templates:  gauge("karpenterd_launch_templates", "Launch templates of the cluster; an account may have 5,000 in a Region."),
		profiles:   gauge("karpenterd_instance_profiles", "Instance profiles that the daemon made for EC2NodeClasses of the cluster; an account may have 1,000."),
		orphans:    gauge("karpenterd_held_orphans", "Instances without a NodeClaim that are not terminated yet, because they are too many."),
		fleet:      newAudits(),
		disruption: newDisruptions(),
		Decisions:  newDecisions(),
		catalogue:  newCatalogue(),
		clients:    newClients(),
	}
	m.Decisions.fleet = m.fleet.last
	m.registry.MustRegister(m.decisions, m.panics, m.claims, m.terminated, m.failures, m.messages, m.awsCalls, m.drifted, m.unread,
		m.waiting, m.refused, m.planCost, m.planBound, m.toDecision, m.leader, m.templates, m.profiles, m.orphans, m.fleet.cost, m.fleet.bound, newBuild(version), m.catalogue.embedded, m.catalogue.answered, m.catalogue.standIns, m.catalogue.smaller,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.disruption.collectors()...)
	m.registry.MustRegister(m.clients.collectors()...)
	return m
}

// newBuild makes what says which version this is.
func newBuild(version string) prometheus.Gauge {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "karpenter_build_info", Help: "The daemon's version.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version(), "goarch": runtime.GOARCH, "commit": commit()},
	})
	build.Set(1)
	return build
}

// commit is that which the program was built from; empty where the build does not say.
func commit() string {
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return ""
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// newPanics makes the counter of decisions that panicked.
func newPanics() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "karpenterd_decision_panics_total",
		Help: "Decisions that failed by a fault of the daemon, and were made again without the objects at fault.",
	})
}

// newUnread makes the gauge of objects that cannot be read.
func newUnread() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "karpenterd_unreadable_objects",
		Help: "NodePools, NodeClaims and EC2NodeClasses in which a field has a value of a wrong type, by kind.",
	}, []string{"kind"})
}

// newCosts makes the gauges of what nodes cost, by kind: instances, volumes, public
// addresses, and the cost of each node that the settings name. A bound is on the sum
// of all kinds.
func newCosts(name, help string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"kind"})
	setCosts(v, 0, plan.Extra{})
	return v
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// mostScrapes is how many may read the metrics at the same time: some Prometheus servers, and
// a person. Others are told to come again.
const mostScrapes = 4

// Handler serves the metrics in Prometheus' text format. Every pod may read them where no
// policy of the network forbids it: they have counts by NodePool and EC2NodeClass, and name
// no pod, namespace or node.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes})
}

// DecisionPanicked counts a decision that panicked.
func (m *Metrics) DecisionPanicked() { m.panics.Inc() }

// LaunchTemplates sets how many launch templates there are.
func (m *Metrics) LaunchTemplates(n int) { m.templates.Set(float64(n)) }

// InstanceProfiles sets how many instance profiles there are.
func (m *Metrics) InstanceProfiles(n int) { m.profiles.Set(float64(n)) }

// HeldOrphans sets how many instances without a NodeClaim are held.
func (m *Metrics) HeldOrphans(n int) { m.orphans.Set(float64(n)) }

// Message counts one message of the interruption queue by its kind.
func (m *Metrics) Message(kind string) { m.messages.WithLabelValues(kind).Inc() }

// Leading sets whether this replica is the leader.
func (m *Metrics) Leading(yes bool) {
	m.leader.Set(0)
	if yes {
		m.leader.Set(1)
	}
}
