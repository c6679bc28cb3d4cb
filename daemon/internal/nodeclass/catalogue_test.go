package nodeclass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

func TestReconcile_ACatalogueThatIsNotCurrentIsSaidAndReadyDoesNotDependOnIt(t *testing.T) {
	w, r := newWorld()
	look := func(of market.State, status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		w.o.catalogue = of
		reconcile(t, r)
		c := w.class.Conditions().Get(awsv1.ConditionCatalogueCurrent)
		if c.Status != status || c.Reason != reason || c.Message != message || !w.class.Conditions().IsReady() {
			t.Errorf("condition %+v, ready %v", c, w.class.Conditions().IsReady())
		}
	}
	look(market.State{}, "", "", "") // before the first question
	look(market.State{Known: true, Reason: awsv1.ReasonEmbedded, Message: "spot prices are old"}, metav1.ConditionFalse, awsv1.ReasonEmbedded, "spot prices are old")
	look(market.State{Known: true}, metav1.ConditionTrue, awsv1.ConditionCatalogueCurrent, "")
	look(market.State{Known: true, Message: "there is no Price List"}, metav1.ConditionTrue, awsv1.ConditionCatalogueCurrent, "there is no Price List")
	look(market.State{Known: true}, metav1.ConditionTrue, awsv1.ConditionCatalogueCurrent, "")
	look(market.State{}, metav1.ConditionTrue, awsv1.ConditionCatalogueCurrent, "")
}
