package telemetry

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// catalogue says how old the facts are that the daemon decides with.
type catalogue struct{ embedded, answered, standIns, smaller *prometheus.GaugeVec }

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
		standIns: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "karpenterd_catalogue_stand_in_prices",
			Help: "Instance types of which nobody knows the price on demand or on spot, so that they count at a stand-in.",
		}, by),
		smaller: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "karpenterd_smaller_instance_types",
			Help: "Instance types of which nodes have reported less for pods than the catalogue says, by EC2NodeClass; plans count on what they reported.",
		}, []string{"nodeclass"}),
	}
}

// SmallerTypesCounted sets how many instance types have less for pods than expected. It takes
// out the classes that are deleted, and no others: a scrape meanwhile would find none.
func (r *Recorder) SmallerTypesCounted(byClass map[string]int) {
	for class := range r.counted {
		if _, there := byClass[class]; !there {
			r.Metrics.catalogue.smaller.DeleteLabelValues(class)
		}
	}
	for class, n := range byClass {
		r.Metrics.catalogue.smaller.WithLabelValues(class).Set(float64(n))
	}
	r.counted = maps.Clone(byClass)
}

// SmallerType reports that nodes of an instance type have less for pods than expected.
func (r *Recorder) SmallerType(class *awsv1.EC2NodeClass, instanceType, resource string, has *plan.Reported) {
	to := &corev1.ObjectReference{APIVersion: awsv1.GroupVersion().String(), Kind: awsv1.EC2NodeClassKind, Name: class.Name, UID: class.UID}
	if translate.FromTemplate(class) {
		to.APIVersion, to.Kind = class.APIVersion, class.Kind
	}
	r.event(to, corev1.EventTypeWarning, "SmallerInstanceType", has.Explain(instanceType, resource))
}

// Catalogue sets what is known of each group of facts.
func (m *Metrics) Catalogue(groups []market.Group) {
	for _, g := range groups {
		if g.Priced {
			m.catalogue.standIns.WithLabelValues(g.Name).Set(float64(g.StandIns))
		}
		if g.Answered.IsZero() {
			m.catalogue.embedded.WithLabelValues(g.Name).Set(1)
			m.catalogue.answered.DeleteLabelValues(g.Name)
			continue
		}
		m.catalogue.embedded.WithLabelValues(g.Name).Set(0)
		m.catalogue.answered.WithLabelValues(g.Name).Set(float64(g.Answered.UnixNano()) / 1e9)
	}
}
