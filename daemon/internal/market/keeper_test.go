package market

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// region is an AWS, a world and an API server for one Keeper after another.
type region struct {
	t     *testing.T
	now   time.Time
	kube  *fake.Clientset
	types []catalog.Fact
	spot  map[string]map[string]quantity.Money
	fails map[string]error // by group
	gate  chan struct{}    // no call returns before it is closed
	free  map[string]bool  // groups that do not wait for the gate

	mu    sync.Mutex
	calls map[string]int

	facts  []catalog.Fact // what the world was told
	market catalog.Market
	sold   int
	pools  []*v1.NodePool
	zones  []catalog.Zone
	report []Group
}

var zoneA = catalog.Zone{Name: "us-west-2a", ID: "usw2-az1"}

func newRegion(t *testing.T) *region {
	t.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: install.CatalogueName}}
	return &region{
		t: t, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), kube: fake.NewClientset(made),
		types: []catalog.Fact{{Name: "m5.large", Arch: "amd64", VCPU: 2, MemoryMiB: 8192, UsageClasses: []string{label.OnDemand, label.Spot}}},
		spot:  map[string]map[string]quantity.Money{"m5.large": {"us-west-2a": 30}},
		fails: map[string]error{}, calls: map[string]int{}, zones: []catalog.Zone{zoneA},
	}
}

func (r *region) call(ctx context.Context, group string) error {
	r.mu.Lock()
	r.calls[group]++
	r.mu.Unlock()
	if r.gate != nil && !r.free[group] {
		select {
		case <-r.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return r.fails[group]
}

func (r *region) InstanceTypes(ctx context.Context) ([]catalog.Fact, error) {
	return r.types, r.call(ctx, groupTypes)
}

func (r *region) AllInstanceTypeZones(ctx context.Context) (map[string][]string, error) {
	return map[string][]string{"m5.large": {"us-west-2a"}}, r.call(ctx, groupOfferings)
}

func (r *region) OnDemandPrices(ctx context.Context) (map[string]quantity.Money, error) {
	return map[string]quantity.Money{"m5.large": 90}, r.call(ctx, groupOnDemand)
}

func (r *region) SpotPrices(ctx context.Context, _ time.Time) (map[string]map[string]quantity.Money, error) {
	return r.spot, r.call(ctx, groupSpot)
}

func (r *region) Sell(facts []catalog.Fact, m catalog.Market) {
	r.facts, r.market, r.sold = facts, m, r.sold+1
}
func (r *region) Zones() []catalog.Zone       { return r.zones }
func (r *region) NodePools() []*v1.NodePool   { return r.pools }
func (r *region) NodeClaims() []*v1.NodeClaim { return nil }

// keeper makes the Keeper of a daemon that starts now.
func (r *region) keeper() *Keeper {
	r.facts, r.market, r.sold = nil, catalog.Market{}, 0
	return New(Config{
		Cloud: r, World: r, Store: Store{r.kube.CoreV1().ConfigMaps("karpenter")}, Logger: hclog.NewNullLogger(), Now: func() time.Time { return r.now },
		Facts: []catalog.Fact{{Name: "m5.large", UsageClasses: []string{label.OnDemand, label.Spot}}},
		Market: catalog.Market{
			Region: "us-west-2", Zones: []catalog.Zone{zoneA}, Offered: map[string][]int{"m5.large": {0}}, OnDemand: map[string]quantity.Money{"m5.large": 100},
			Spot: map[string][]quantity.Money{"m5.large": {50}}, SpotIsEstimate: true,
			Sources: []catalog.Source{{Group: "spot", Date: "2025-05-28"}, {Group: "on-demand", Date: "2026-07-06"}},
		},
		Report: func(g []Group) { r.report = g },
	})
}

// after lets the time go by and sweeps.
func (r *region) after(k *Keeper, d time.Duration) {
	r.t.Helper()
	r.now = r.now.Add(d)
	if err := k.Sweep(r.t.Context(), r.now); err != nil {
		r.t.Fatal(err)
	}
}

// want checks the prices that the world was told last.
func (r *region) want(when string, onDemand, spot quantity.Money) {
	r.t.Helper()
	types := catalog.Build(r.facts, r.market, catalog.Settings{Zones: []catalog.Zone{zoneA}})
	if len(types) != 1 || len(types[0].Offerings) != 2 {
		r.t.Errorf("%s: sold is %+v", when, types)
		return
	}
	for _, o := range types[0].Offerings {
		if want := map[string]quantity.Money{label.OnDemand: onDemand, label.Spot: spot}[o.CapacityType]; o.Price != want {
			r.t.Errorf("%s: %s costs %d, want %d", when, o.CapacityType, o.Price, want)
		}
	}
}

func (r *region) wantCalls(when string, types, spot int) {
	r.t.Helper()
	want := map[string]int{groupTypes: types, groupOfferings: types, groupOnDemand: types, groupSpot: spot}
	if fmt.Sprint(r.calls) != fmt.Sprint(want) {
		r.t.Errorf("%s: calls %v, want %v", when, r.calls, want)
	}
}

func TestKeeper_AsksForSpotPricesEveryTenMinutesAndForTheRestTwiceADay(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.want("after the start", 90, 30)
	r.after(k, 9*time.Minute)
	r.wantCalls("after 9 minutes", 1, 1)
	r.spot = map[string]map[string]quantity.Money{"m5.large": {"us-west-2a": 35}}
	r.after(k, time.Minute)
	r.want("after 10 minutes", 90, 35)
	r.wantCalls("after 10 minutes", 1, 2)
	r.after(k, 12*time.Hour)
	r.wantCalls("after 12 hours", 2, 3)
}

func TestKeeper_AFailureChangesNothingAndIsTriedAgainAfterAMinute(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.fails[groupSpot] = errors.New("throttled")
	r.after(k, 10*time.Minute)
	r.want("when EC2 does not answer", 90, 30)
	r.after(k, 50*time.Second)
	r.wantCalls("50 seconds later", 1, 2)
	r.after(k, 10*time.Second)
	r.wantCalls("a minute later", 1, 3)
	if s := k.State(); s.Reason != "" {
		t.Errorf("state %+v: an answer of 11 minutes ago is current", s)
	}
	r.after(k, 9*time.Minute)
	s := k.State()
	if s.Reason != awsv1.ReasonOutdated || s.Message != "spot prices are those of 2026-03-04T05:06:07Z, because EC2 does not answer (the daemon's log has the error)" {
		t.Errorf("state %+v after 20 minutes", s)
	}
	r.fails = map[string]error{}
	r.after(k, time.Minute)
	r.wantCalls("a minute after the third failure", 1, 4)
	r.after(k, 3*time.Minute)
	if s := k.State(); s != (State{Known: true}) {
		t.Errorf("state %+v when EC2 answers again", s)
	}
}

func TestKeeper_AnEmptyAnswerTakesNothingOffTheMarket(t *testing.T) {
	r := newRegion(t)
	r.types, r.spot = []catalog.Fact{}, map[string]map[string]quantity.Money{}
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	if len(r.facts) != 1 || !r.market.SpotIsEstimate || r.market.Spot["m5.large"][0] != 50 {
		t.Errorf("facts %v, market %+v: want the table's", r.facts, r.market)
	}
}

func TestKeeper_ADaemonThatStartsInAnOutageWorksWithTheLastAnswers(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0) // keeps them
	r.now = r.now.Add(3 * time.Hour)
	next := r.keeper()
	asked := r.calls[groupSpot]
	next.Begin(t.Context(), time.Hour)
	r.want("in the outage", 90, 30)
	if r.calls[groupSpot] != asked {
		t.Error("the first decision waits although the prices are known")
	}
	for _, g := range groups() {
		r.fails[g] = errors.New("no route")
	}
	r.after(next, 0)
	r.want("after the first tries", 90, 30)
	if s := next.State(); s.Reason != awsv1.ReasonOutdated || !strings.HasPrefix(s.Message, "spot prices are those of 2026-03-04T05:06:07Z") {
		t.Errorf("state %+v", s)
	}
	r.fails, r.spot["m5.large"]["us-west-2a"] = map[string]error{}, 31
	r.after(next, time.Minute)
	r.want("after the outage", 90, 31)
}

func TestKeeper_WithoutAnyAnswerTheTableCountsAndTheStateSaysSo(t *testing.T) {
	r := newRegion(t)
	r.fails[groupSpot] = &aws.UnauthorizedError{Action: "ec2:DescribeSpotPriceHistory"}
	r.fails[groupOnDemand] = errors.New("timeout")
	k := r.keeper()
	if s := k.State(); s.Known {
		t.Errorf("state %+v before the first question", s)
	}
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	r.want("without prices", 100, 50)
	want := State{
		Known: true, Reason: awsv1.ReasonEmbedded,
		Message: "on-demand prices are those of the daemon's own table (of 2026-07-06), because the Price List does not answer (the daemon's log has the error); " +
			"spot prices are those of the daemon's own table (of 2025-05-28, estimated), because the daemon is not authorized to perform ec2:DescribeSpotPriceHistory: " +
			"allow that in the policies of its role",
	}
	if s := k.State(); s != want {
		t.Errorf("state\n%+v, want\n%+v", s, want)
	}
	for _, g := range r.report {
		if embedded := g.Name == groupSpot || g.Name == groupOnDemand; g.Answered.IsZero() != embedded {
			t.Errorf("reported %+v", g)
		}
	}
}

// A short answer would take nodes off the market.
func TestKeeper_AnAnswerThatIsFarShorterThanTheLastDoesNotCount(t *testing.T) {
	r := newRegion(t)
	r.spot["m5.large"] = map[string]quantity.Money{"us-west-2a": 30, "us-west-2b": 31, "us-west-2c": 32, "us-west-2d": 33}
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.fails[groupSpot] = &aws.UnreadError{Count: 3, First: errors.New("odd")}
	r.spot = map[string]map[string]quantity.Money{"m5.large": {"us-west-2a": 20}}
	r.after(k, 10*time.Minute)
	r.want("after one entry of four", 90, 30)
	r.spot = map[string]map[string]quantity.Money{"m5.large": {"us-west-2a": 20, "us-west-2b": 21}}
	r.after(k, time.Minute)
	r.want("after two entries of four", 90, 20)
	if s := k.State(); s != (State{Known: true}) {
		t.Errorf("state %+v: entries that cannot be read are left out", s)
	}
}

// The table of a region has hundreds of types.
func TestKeeper_AFirstAnswerThatIsFarShorterThanTheTableDoesNotCount(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	for _, name := range []string{"a", "b"} {
		k.Market.OnDemand[name] = 1
	}
	k.asked = questions(r, k.Market)
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	if r.want("with three types in the table", 90, 30); k.State().Reason != "" {
		t.Errorf("state %+v: one of three types is a half, rounded down", k.State())
	}
	for _, name := range []string{"c", "d"} {
		k.Market.OnDemand[name] = 1
	}
	next := newRegion(t)
	short := next.keeper()
	short.Market = k.Market
	short.asked = questions(next, k.Market)
	short.Begin(t.Context(), time.Minute)
	next.after(short, 0)
	next.want("with five types in the table", 100, 30)
	if s := short.State(); s.Reason != awsv1.ReasonEmbedded || !strings.Contains(s.Message, "too short to be true") {
		t.Errorf("state %+v", s)
	}
}

func TestKeeper_AClockThatGoesBackStopsNothing(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	r.spot["m5.large"]["us-west-2a"] = 29
	r.after(k, -time.Hour)
	r.want("an hour earlier", 90, 29)
}

// The first decision waits for prices, but not for long.
func TestKeeper_TheFirstDecisionDoesNotWaitForAnAWSThatHangs(t *testing.T) {
	r := newRegion(t)
	r.gate = make(chan struct{})
	k := r.keeper()
	k.Begin(t.Context(), 10*time.Millisecond)
	r.want("after a short wait", 100, 50)
	close(r.gate)
	r.after(k, 0) // which finds the answers
	r.want("after the first sweep", 90, 30)
	r.wantCalls("after the first sweep", 1, 1)
}

// A cluster without a way to the Price List has spot prices all the same.
func TestKeeper_AGroupThatHangsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the wait ends when all has answered that does
		r := newRegion(t)
		r.gate = make(chan struct{})
		defer close(r.gate)
		r.free = map[string]bool{groupSpot: true, groupTypes: true, groupOfferings: true}
		k := r.keeper()
		k.Begin(t.Context(), time.Minute)
		r.want("while the Price List hangs", 100, 30)
	})
}

// standby is the Keeper of a replica that has asked AWS when it started, and then waits.
func (r *region) standby() *Keeper {
	k := r.keeper()
	k.Ahead(r.t.Context())
	synctest.Wait()
	r.spot = map[string]map[string]quantity.Money{"m5.large": {"us-west-2a": 35}}
	return k
}

// A replica waits for days until it is elected.
func TestKeeper_WhatAReplicaWasToldLongBeforeItIsElectedReplacesNothingThatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegion(t)
		waits := r.standby()
		r.now = r.now.Add(72 * time.Hour)
		leader := r.keeper()
		leader.Begin(t.Context(), time.Minute)
		r.after(leader, 0) // keeps the answers
		kept := r.now
		r.now = r.now.Add(5 * time.Minute)
		for _, g := range groups() {
			r.fails[g] = errors.New("no route")
		}
		waits.Begin(t.Context(), time.Minute)
		r.want("when it is elected", 90, 35)
		r.after(waits, 0)
		r.want("after its first sweep", 90, 35)
		for _, g := range r.report {
			if !g.Answered.Equal(kept) {
				t.Errorf("%s are reported of %s, want %s", g.Name, g.Answered, kept)
			}
		}
	})
}

func TestKeeper_AReplicaThatIsElectedAsksAgainForWhatNobodyHasKept(t *testing.T) {
	for after, want := range map[time.Duration]quantity.Money{30 * time.Second: 30, 72 * time.Hour: 35} {
		synctest.Test(t, func(t *testing.T) {
			r := newRegion(t)
			waits := r.standby()
			asked := r.now
			r.now = r.now.Add(after)
			waits.Begin(t.Context(), time.Minute)
			r.want("elected after "+after.String(), 90, want)
			if r.after(waits, 0); want == 30 && !r.report[0].Answered.Equal(asked) {
				t.Errorf("reported as of %s, but asked at %s", r.report[0].Answered, asked)
			}
		})
	}
}

func TestKeeper_ATypeThatNobodyKnowsIsAskedForOnceAnHour(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: "beta.kubernetes.io/instance-type", Operator: "In", Values: []string{"m5.large", "x9.large"}}}
	r.pools = append(r.pools, pool)
	r.after(k, Every)
	r.wantCalls("when a NodePool names x9.large", 2, 1)
	r.after(k, Every)
	r.wantCalls("10 seconds later", 2, 1)
	r.after(k, time.Hour)
	r.wantCalls("an hour later", 3, 2)
	r.types = append(r.types, catalog.Fact{Name: "x9.large"})
	r.after(k, time.Hour)
	r.wantCalls("two hours later", 4, 3)
	r.after(k, time.Hour)
	r.wantCalls("when EC2 knows it", 4, 4)
}

func TestKeeper_AnUnknownTypeLosesNoAnswer(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	pool := &v1.NodePool{}
	pool.Spec.Template.Spec.Requirements = []v1.Requirement{{Key: label.InstanceType, Operator: "In", Values: []string{"x9.large"}}}
	r.pools = append(r.pools, pool)
	for _, g := range groups() {
		r.fails[g] = errors.New("no route")
	}
	r.after(k, Every)
	r.want("when EC2 does not answer", 90, 30)
	if s := k.State(); s != (State{Known: true}) {
		t.Errorf("state %+v", s)
	}
}

func TestKeeper_TheWorldHearsOfNewsOnly(t *testing.T) {
	r := newRegion(t)
	k := r.keeper()
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	told := r.sold
	r.after(k, Every)
	if r.sold != told {
		t.Errorf("told %d times, want %d", r.sold, told)
	}
	r.zones = append(r.zones, catalog.Zone{Name: "us-west-2b", ID: "usw2-az2"})
	if r.after(k, Every); r.sold != told+1 {
		t.Errorf("told %d times after there are subnets in another zone, want %d", r.sold, told+1)
	}
}

// Nobody can be asked in aws-us-gov, and in an isolated network nobody is. The table is in order there, and a type that it has no
// price for counts at a stand-in, which is said.
func TestKeeper_WithoutAPriceListTheStateSaysWhatCounts(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		table    map[string]quantity.Money
		reason   string
		says     []string
		price    quantity.Money
		standIns int
	}{
		"the table has the price": {
			aws.ErrNoPriceList,
			map[string]quantity.Money{"m5.large": 100},
			"",
			[]string{"on-demand prices are those of the daemon's own table (of 2026-07-06), because AWS has no Price List for the region"},
			100, 0,
		},
		"the network is isolated": {
			ErrNotAsked,
			map[string]quantity.Money{"m5.large": 100},
			"",
			[]string{"on-demand prices are those of the daemon's own table (of 2026-07-06), because the network is isolated"},
			100, 0,
		},
		"it has that of another size": {
			aws.ErrNoPriceList,
			map[string]quantity.Money{"m5.xlarge": 200_000},
			awsv1.ReasonStandIn,
			[]string{"because AWS has no Price List", "instance types without a known price on demand in the region count at a stand-in, by their price elsewhere or by their size: 1 of 1 (m5.large)", "No node is replaced to save money"},
			100_000, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegion(t)
			r.fails[groupOnDemand] = c.err
			r.spot = map[string]map[string]quantity.Money{"m5.large": {"us-west-2a": 30}}
			k := r.keeper()
			k.Facts = []catalog.Fact{
				{Name: "m5.large", VCPU: 2, MemoryMiB: 8192, UsageClasses: []string{label.OnDemand, label.Spot}, NameParts: catalog.ParseName("m5.large")},
				{Name: "m5.xlarge", VCPU: 4, MemoryMiB: 16384, UsageClasses: []string{label.OnDemand, label.Spot}, NameParts: catalog.ParseName("m5.xlarge")},
			}
			r.types = k.Facts
			k.Market.OnDemand = c.table
			k.asked = questions(r, k.Market)
			k.Begin(t.Context(), time.Minute)
			r.after(k, 0)
			r.want("without a Price List", c.price, 30)
			s := k.State()
			if s.Reason != c.reason || !s.Known {
				t.Errorf("state %+v", s)
			}
			for _, want := range c.says {
				if !strings.Contains(s.Message, want) {
					t.Errorf("message %q, want %q in it", s.Message, want)
				}
			}
			for _, g := range r.report {
				if g.Name == groupOnDemand && (g.StandIns != c.standIns || !g.Priced) {
					t.Errorf("reported %+v", g)
				}
			}
		})
	}
}

// A region that the daemon's table does not have, with a daemon that may not ask for prices.
func TestKeeper_WithoutAnyPriceWhatIsSoldCountsAtThoseOfAnotherRegion(t *testing.T) {
	r := newRegion(t)
	refused := &aws.UnauthorizedError{Action: "pricing:GetProducts"}
	r.fails[groupOnDemand], r.fails[groupSpot] = refused, refused
	k := r.keeper()
	k.Market = catalog.Market{Region: "mx-central-1", Elsewhere: []map[string]quantity.Money{{"m5.large": 96_000_000}}}
	k.asked = questions(r, k.Market)
	k.Begin(t.Context(), time.Minute)
	r.after(k, 0)
	r.want("without any price", 96_000_000, 96_000_000)
	s := k.State()
	for _, want := range []string{
		"on-demand prices are not known, because the daemon is not authorized to perform pricing:GetProducts", "spot prices are not known",
		"by their size: 1 of 1 (m5.large)", "instance types on spot have no known price and count as on demand: 1",
	} {
		if s.Reason != awsv1.ReasonEmbedded || !strings.Contains(s.Message, want) {
			t.Errorf("state %+v, want %q in it", s, want)
		}
	}
}
