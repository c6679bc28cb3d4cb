package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
)

// catalogue says how old the facts are that the daemon decides with.
type catalogue struct{ embedded, answered *prometheus.GaugeVec }

func newCatalogue() catalogue {
	by := []string{"group"}
	return catalogue{
		embedded: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "karpenterd_catalogue_embedded",
			Help: "1 if AWS has never answered about the group of facts, so that the daemon works with its own table, 0 if AWS has.",
		}, by),
		answered: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "karpenterd_catalogue_answered_timestamp_seconds",
			Help: "When AWS last answered about the group of facts, in seconds since 1970; no value if never.",
		}, by),
	}
}

// Catalogue sets what is known of each group of facts.
func (m *Metrics) Catalogue(groups []market.Group) {
	for _, g := range groups {
		if g.Answered.IsZero() {
			m.catalogue.embedded.WithLabelValues(g.Name).Set(1)
			m.catalogue.answered.DeleteLabelValues(g.Name)
			continue
		}
		m.catalogue.embedded.WithLabelValues(g.Name).Set(0)
		m.catalogue.answered.WithLabelValues(g.Name).Set(float64(g.Answered.UnixNano()) / 1e9)
	}
}
