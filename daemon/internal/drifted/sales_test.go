package drifted

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// of makes NodeClaim c one of the type in the zone.
func (x *test) of(instanceType, zone string) {
	c := x.claim("c")
	c.Labels[label.InstanceType], c.Labels[label.Zone] = instanceType, zone
	x.put(c)
}

func TestSweep_ATypeIsDriftOnlyIfEC2SaysThatItDoesNotSellIt(t *testing.T) {
	for name, c := range map[string]struct {
		sold    map[string][]string
		away    bool
		reason  string
		message string
	}{
		"sold in the zone":    {map[string][]string{"x9.huge": {"a", "b"}}, false, "", ""},
		"sold in other zones": {map[string][]string{"x9.huge": {"b"}}, false, "InstanceTypeNotFound", "instance type x9.huge in zone a"},
		"sold in no zone":     {nil, false, "InstanceTypeNotFound", "instance type x9.huge in this region"},
		"EC2 does not answer": {nil, true, "", ""},
	} {
		x := newTest(t)
		x.of("x9.huge", "a")
		x.sold, x.away = c.sold, c.away
		if err := x.keeper.Sweep(t.Context(), x.now); (err != nil) != c.away {
			t.Errorf("%s: %v", name, err)
		}
		x.expect(name, c.reason)
		if got := x.claim("c").Conditions().Get(v1.ConditionDrifted).Message; !strings.Contains(got, c.message) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestSweep_ATypeThatIsSoldAgainIsNoDrift(t *testing.T) {
	x := newTest(t)
	x.of("x9.huge", "a")
	x.sweep()
	x.expect("not sold", "InstanceTypeNotFound")
	x.away = true
	for range 3 {
		x.now = x.now.Add(SalesEvery)
		_ = x.keeper.Sweep(t.Context(), x.now) // EC2 is away
		x.expect("EC2 does not answer", "InstanceTypeNotFound")
	}
	x.away, x.sold = false, map[string][]string{"x9.huge": {"a"}}
	x.now = x.now.Add(SalesEvery)
	x.sweep()
	x.expect("sold again", "")
}

func TestSweep_AsksEC2AboutATypeOnceAnHourAtMost(t *testing.T) {
	for _, away := range []bool{false, true} {
		x := newTest(t)
		x.of("x9.huge", "a")
		d := x.launched("d")
		d.Labels[label.InstanceType] = "x9.huge"
		x.put(d)
		x.away = away
		for end := x.now.Add(SalesEvery + time.Minute); x.now.Before(end); x.now = x.now.Add(time.Minute) {
			_ = x.keeper.Sweep(t.Context(), x.now) // an error if EC2 is away
		}
		if fmt.Sprint(x.asked) != "[x9.huge x9.huge]" {
			t.Errorf("away %v: asked about %v", away, x.asked)
		}
	}
}

// An answer from before an instance was launched says less than the launch.
func TestSweep_AnAnswerIsNoEvidenceAboutALaterLaunch(t *testing.T) {
	x := newTest(t)
	x.of("x9.huge", "a")
	x.sweep()
	x.expect("not sold", "InstanceTypeNotFound")
	d := x.launched("d")
	d.Labels[label.InstanceType], d.Labels[label.Zone] = "x9.huge", "a"
	d.CreationTimestamp = metav1.NewTime(x.now.Add(time.Minute))
	x.put(d)
	x.now = x.now.Add(2 * time.Minute)
	x.sweep()
	if got := x.claim("d").Conditions().Get(v1.ConditionDrifted); got.Type != "" {
		t.Errorf("%+v", got)
	}
}

func TestEvidence_TheCatalogueKnowsWhatIsSoldInAZone(t *testing.T) {
	known := &catalog.InstanceType{Name: "m5.large", Offerings: []catalog.Offering{{Zone: "a"}}}
	n := knowledge{types: map[string]map[string]*catalog.InstanceType{"default": {"m5.large": known}}}
	for _, c := range []struct {
		instanceType, zone string
		sale               drift.Sale
		unsure             bool
	}{
		{"m5.large", "a", drift.Sold, false},
		{"m5.large", "", drift.Sold, false},
		{"m5.large", "b", drift.SaleUnknown, true},
		{"x9.huge", "a", drift.SaleUnknown, true},
		{"", "a", drift.SaleUnknown, false},
	} {
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label.InstanceType: c.instanceType, label.Zone: c.zone}}}
		claim.Spec.NodeClassRef.Name = "default"
		if got := n.evidence(claim).Sale; got != c.sale {
			t.Errorf("%s in %s: %v, want %v", c.instanceType, c.zone, got, c.sale)
		}
		if got := n.unsure(claim); got != c.unsure {
			t.Errorf("%s in %s: EC2 is asked: %v", c.instanceType, c.zone, got)
		}
	}
}
