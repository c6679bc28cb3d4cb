package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/shadow"
)

// shadows are the measurements of a shadow.
type shadows struct {
	cost, then, bound, unplaced, at, failed prometheus.Gauge
	nodes, dollars                          *prometheus.CounterVec
	waited                                  prometheus.Histogram
	compared                                time.Time // of the newest comparison that counts
}

// Shadow returns what publishes a look of a shadow. It is called once, where this is a shadow.
func (m *Metrics) Shadow() func(shadow.View) {
	by := []string{"by"}
	s := &shadows{
		cost:     gauge("karpenterd_shadow_fleet_cost_dollars_per_hour", "What the nodes cost now that the daemon could replace."),
		then:     gauge("karpenterd_shadow_forecast_cost_dollars_per_hour", "What nodes for the same pods would cost after an hour of the daemon's work."),
		bound:    gauge("karpenterd_shadow_fleet_bound_dollars_per_hour", "Proven lower bound of the cost of any fleet for the same pods."),
		unplaced: gauge("karpenterd_shadow_unplaced_pods", "Pods that would have no place after an hour of the daemon's work."),
		at:       gauge("karpenterd_shadow_forecast_timestamp_seconds", "When the last forecast was made, in seconds since 1970."),
		failed:   gauge("karpenterd_shadow_failed", "1 if the last forecast failed, 0 if not."),
		nodes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenterd_shadow_launched_nodes_total",
			Help: "Nodes that another program has launched (by=other), and that the daemon would have launched for the same pods (by=karpenterd).",
		}, by),
		dollars: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenterd_shadow_launched_dollars_per_hour_total",
			Help: "Cost of these nodes.",
		}, by),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "karpenterd_shadow_other_decision_duration_seconds",
			Help:    "How long after the last of its pods was made another program made a NodeClaim.",
			Buckets: []float64{.1, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300},
		}),
	}
	// A replica that waits to be elected has seen nothing, and serves none of it.
	begin := sync.OnceFunc(func() {
		m.registry.MustRegister(s.cost, s.then, s.bound, s.unplaced, s.at, s.failed, s.nodes, s.dollars, s.waited)
	})
	return func(v shadow.View) {
		begin()
		s.publish(v)
	}
}

func (s *shadows) publish(v shadow.View) {
	s.failed.Set(0)
	if v.Failed != "" {
		s.failed.Set(1)
		return
	}
	f := &v.Report.Forecast
	s.cost.Set(f.Now.CostPerHour)
	s.then.Set(f.Then.CostPerHour)
	s.bound.Set(f.Now.BoundPerHour)
	s.unplaced.Set(float64(f.UnplacedPods()))
	s.at.Set(float64(v.Time.Unix()))
	if len(v.Compared) == 0 || !v.Compared[0].Time.After(s.compared) {
		return
	}
	c := &v.Compared[0]
	s.compared = c.Time
	s.nodes.WithLabelValues("other").Add(float64(c.Theirs.Nodes))
	s.nodes.WithLabelValues("karpenterd").Add(float64(c.Ours.Nodes))
	s.dollars.WithLabelValues("other").Add(c.Theirs.CostPerHour)
	s.dollars.WithLabelValues("karpenterd").Add(c.Ours.CostPerHour)
	for _, seconds := range c.WaitedSeconds {
		s.waited.Observe(seconds)
	}
}
