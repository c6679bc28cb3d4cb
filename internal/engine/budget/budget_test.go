package budget_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/budget"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// A Thursday.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// pool has so many nodes that run; change sees each of them with its NodeClaim.
func pool(t *testing.T, n int, budgets []cluster.Budget, change func(int, *cluster.Claim, *cluster.Node)) cluster.Snapshot {
	t.Helper()
	o := cluster.Objects{Pools: []cluster.Pool{{Name: "p", Disruption: cluster.Disruption{Budgets: budgets}}}}
	for i := range n {
		name := fmt.Sprintf("n%02d", i)
		c := cluster.Claim{Name: name, UID: name, Pool: "p", Node: name, Launched: true, Registered: true, Initialized: true}
		x := cluster.Node{Name: name, UID: "u" + name, Claim: name, Ready: true}
		if change != nil {
			change(i, &c, &x)
		}
		o.Claims, o.Nodes = append(o.Claims, c), append(o.Nodes, x)
	}
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allowed is how many nodes may be disrupted, one after the other.
func allowed(s cluster.Snapshot, now time.Time, why plan.DeleteReason) (n int) {
	l := budget.Open(view.Of(s, view.DefaultPolicy(), now))
	for n < 100 {
		if _, yes := l.Allows("p", why); !yes {
			return n
		}
		l.Charge("p")
		n++
	}
	return n
}

func TestLedger_CountsPercentUpAndLeavesOutWhatDoesNotRun(t *testing.T) {
	ten := []cluster.Budget{{Most: 10, Percent: true}}
	for name, c := range map[string]struct {
		budgets []cluster.Budget
		change  func(int, *cluster.Claim, *cluster.Node)
		want    int
	}{
		"rounded up":            {ten, nil, 2},
		"a number":              {[]cluster.Budget{{Most: 3}}, nil, 3},
		"the least of several":  {[]cluster.Budget{{Most: 3}, {Most: 1}}, nil, 1},
		"none":                  {nil, nil, 100},
		"nothing":               {[]cluster.Budget{{Most: 0}}, nil, 0},
		"not readable":          {[]cluster.Budget{{Most: 5, Invalid: "a bad schedule"}}, nil, 0},
		"one not ready":         {ten, func(i int, _ *cluster.Claim, n *cluster.Node) { n.Ready = i > 0 }, 1},
		"one deleting":          {ten, func(i int, c *cluster.Claim, _ *cluster.Node) { c.Deleting = i == 0 }, 1},
		"one announced":         {ten, func(i int, c *cluster.Claim, _ *cluster.Node) { announce(i == 0, c) }, 1},
		"one ending":            {ten, func(i int, c *cluster.Claim, _ *cluster.Node) { c.Deleting, c.Ending = i == 0, i == 0 }, 1},
		"two not initialized":   {ten, func(i int, c *cluster.Claim, _ *cluster.Node) { c.Initialized = i > 1 }, 1},
		"of another reason":     {[]cluster.Budget{{Most: 0, Reasons: []string{"Drifted"}}}, nil, 100},
		"of several, with this": {[]cluster.Budget{{Most: 4, Reasons: []string{"Drifted", "Empty"}}}, nil, 4},
	} {
		if got := allowed(pool(t, 11, c.budgets, c.change), noon, plan.Empty); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func announce(yes bool, c *cluster.Claim) {
	if yes {
		c.Disrupting = &cluster.Disrupting{Reason: "Empty"}
	}
}

func bits(list ...int) (b uint64) {
	for _, i := range list {
		b |= 1 << i
	}
	return b
}

func every() *cluster.Schedule {
	const all = 1<<63 - 1
	return &cluster.Schedule{Minutes: bits(0), Hours: bits(9), Days: all, Months: all, Weekdays: all, AnyDay: true, AnyWeekday: true}
}

func TestLedger_AWindowIsOpenForItsDurationAfterEachOfItsTimes(t *testing.T) {
	nine := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	budgets := func(s *cluster.Schedule, d time.Duration) cluster.Snapshot {
		return pool(t, 10, []cluster.Budget{{Most: 0, Schedule: s, Duration: d}}, nil)
	}
	workdays := every()
	workdays.Weekdays, workdays.AnyWeekday = bits(1, 2, 3, 4, 5), false
	away := every()
	away.Zone = time.FixedZone("UTC+2", 2*60*60)
	never := every()
	never.Months, never.Days, never.AnyDay = bits(2), bits(30), false
	hourly := every()
	hourly.Hours = 1<<24 - 1
	for name, c := range map[string]struct {
		s    *cluster.Schedule
		d    time.Duration
		at   time.Time
		open bool
	}{
		"before":               {every(), time.Hour, nine.Add(-time.Second), false},
		"at the time":          {every(), time.Hour, nine, true},
		"at the end":           {every(), time.Hour, nine.Add(time.Hour - time.Second), true},
		"after":                {every(), time.Hour, nine.Add(time.Hour), false},
		"over midnight":        {every(), 20 * time.Hour, nine.Add(19 * time.Hour), true},
		"on a Saturday":        {workdays, time.Hour, nine.AddDate(0, 0, 2), false},
		"in another zone":      {away, time.Hour, nine, false},
		"there, at its time":   {away, time.Hour, nine.Add(-2 * time.Hour), true},
		"on no day":            {never, time.Hour, nine, false},
		"windows that overlap": {hourly, 90 * time.Minute, nine.Add(40 * time.Minute), true},
	} {
		if got := allowed(budgets(c.s, c.d), c.at, plan.Empty) == 0; got != c.open {
			t.Errorf("%s: open %v", name, got)
		}
	}
	l := budget.Open(view.Of(budgets(every(), time.Hour), view.DefaultPolicy(), nine.Add(time.Minute)))
	if at := l.Changes(); !at.Equal(nine.Add(time.Hour)) {
		t.Errorf("the window ends at %s", at)
	}
}

func TestLedger_MostIsWhatIsAllowedAndUsedTogether(t *testing.T) {
	closed := every()
	closed.Hours = bits(3)
	for name, c := range map[string]struct {
		budgets []cluster.Budget
		bounded bool
	}{
		"none":             {nil, false},
		"percent":          {[]cluster.Budget{{Most: 30, Percent: true}}, true},
		"least of several": {[]cluster.Budget{{Most: 5}, {Most: 3}, {Most: 0, Reasons: []string{"Drifted"}}}, true},
		"not readable":     {[]cluster.Budget{{Most: 5, Invalid: "bad"}, {Most: 3}}, true},
		"window closed":    {[]cluster.Budget{{Most: 0, Schedule: closed, Duration: time.Hour}}, false},
		"window open":      {[]cluster.Budget{{Most: 4, Schedule: every(), Duration: 4 * time.Hour}}, true},
	} {
		s := pool(t, 11, c.budgets, func(i int, _ *cluster.Claim, n *cluster.Node) { n.Ready = i > 0 })
		l := budget.Open(view.Of(s, view.DefaultPolicy(), noon))
		most, bounded := l.Most("p", plan.Empty)
		if got := int(max(0, most-l.Used("p"))); bounded != c.bounded || bounded && got != allowed(s, noon, plan.Empty) {
			t.Errorf("%s: %d of %d are used, bounded %t, but %d are allowed", name, l.Used("p"), most, bounded, allowed(s, noon, plan.Empty))
		}
	}
	if most, bounded := budget.Open(view.Of(pool(t, 1, nil, nil), view.DefaultPolicy(), noon)).Most("another", plan.Empty); most != 0 || !bounded {
		t.Errorf("a pool that is not there allows %d", most)
	}
}
