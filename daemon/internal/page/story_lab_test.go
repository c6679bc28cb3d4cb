//go:build lab

package page

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// story is a page, and the browser of somebody who watches it.
type story struct {
	*world
	*browser

	away atomic.Bool // nothing answers
}

// Half an hour of a fleet, as somebody who watches the page reads it in a browser, at each width and
// in both themes.
func TestPage_AStoryThatAPersonReads(t *testing.T) {
	s := &story{world: newWorld(t, time.Now().Add(-50*time.Minute).Truncate(time.Second))}
	for range 48 { // what has been before somebody looks
		s.step()
		s.now = s.now.Add(time.Minute)
	}
	handler := s.page.Handler()
	s.browser = open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			http.Error(w, "nobody is there", http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	for _, chapter := range []struct {
		name string
		tell func(*story)
	}{
		{"calm", (*story).calm},
		{"a node in detail", (*story).detail},
		{"a launch", (*story).launch},
		{"an interruption", (*story).interruption},
		{"a consolidation", (*story).consolidation},
		{"a pod that nothing holds", (*story).unplaceable},
		{"a pool at its limit", (*story).limit},
		{"each view", (*story).eachView},
		{"the connection is lost", (*story).lost},
	} {
		began := time.Now()
		chapter.tell(s)
		t.Logf("%s: %s", chapter.name, time.Since(began).Round(time.Millisecond))
	}
}

// decide makes a decision two seconds later.
func (s *story) decide() {
	s.now = s.now.Add(2 * time.Second)
	s.step()
}

func (s *story) calm() {
	s.reads(".status", "Live")
	s.reads(".summary", "Nodes\n26", "Without room\n0 pods")
	s.labels(".cell", "m7g.4xlarge, on-demand, $0.6528/h")
	s.labels(".group", "NodePool general")
	s.everySize("fleet")
	s.view("waiting")
	s.reads("main", "Nothing waits")
	s.everySize("nothing-waits")
	s.view("decisions")
	s.reads("main", "Nothing has been decided")
	s.view("fleet")
}

func (s *story) detail() {
	// By keyboard alone: to the second cell, into it, and out again.
	s.do(chromedp.Focus(chromedp.CSS(".cell")))
	ask[int](s.browser, `document.querySelector(".cell").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })), 0`)
	if second := ask[bool](s.browser, `document.activeElement === document.querySelectorAll(".cell")[1]`); !second {
		s.browser.t.Error("the arrow key does not go to the next cell")
	}
	ask[int](s.browser, `document.activeElement.click(), 0`)
	s.reads(".detail", "What keeps it", "within consolidateAfter", "What it would take", "Wait: that changes by itself", "What pods request", "CPU", "6 pods", "shop/", "belongs to the node", "m7g.4xlarge in eu-west-1")
	s.everySize("detail")
	s.do(chromedp.KeyEvent("\x1b"))
	s.do(chromedp.WaitNotPresent(chromedp.CSS(".detail")))
	if back := ask[bool](s.browser, `document.activeElement === document.querySelectorAll(".cell")[1]`); !back {
		s.browser.t.Error("the focus does not come back to the cell")
	}
}

func (s *story) launch() {
	s.pods("reports", 6, 3_500, buying(label.OnDemand))
	launched := s.order(s.step())
	if len(launched) == 0 {
		s.browser.t.Fatal("nothing was launched")
	}
	s.decide()
	s.labels(".cell", launched[0], "on its way")
	s.reads(".summary", "on the way")
	s.view("decisions")
	s.reads(".decision.launch", "Launched", "is the cheapest", "Runner-up", "more", "pods need room", "general")
	s.view("waiting")
	s.reads("main", "With room on its way", "shop/reports-7b4d9-00", launched[0])
}

// buying lets a pod run on nodes that are bought so.
func buying(how string) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.CapacityType, how)) }
}

func (s *story) interruption() {
	c := s.first("batch")
	c.Interruption = &cluster.Interruption{Reason: "spot_interrupted", Noticed: s.now, Deadline: s.now.Add(2 * time.Minute)}
	s.page.Interrupted(c.Name, "spot_interrupted", s.now.Add(2*time.Minute), s.now)
	node := c.Node
	s.decide()
	s.view("fleet")
	s.labels(".cell", node, "leaving")
	s.view("decisions")
	s.reads(".decision.interruption", "Interrupted", node, "EC2 takes the instance at", "spot interrupted", "batch")
}

func (s *story) consolidation() {
	c := s.first("general")
	c.Disrupting, c.Deleting = &cluster.Disrupting{Reason: string(plan.Underutilized), Since: s.now}, true
	name, node := c.Name, c.Node
	s.page.Deleted(plan.Delete{Claim: name, Node: node, Why: plan.Underutilized, Saves: quantity.NanoDollars * 326 / 1000}, s.now.Add(-20*time.Minute))
	s.decide()
	s.reads(".decision.removal", "Removed", node, "Its pods run elsewhere for less", "saves $0.3260/h", "underutilized")
	s.view("fleet")
	s.labels(".cell", node, "leaving")
	s.view("cost")
	s.reads(".tiles", "Saved\n$0.10", "1 removal to save money", "Proven bound", "no fleet for these pods costs less")
	s.reads("main", "By NodePool", "By capacity type", "By zone", "eu-west-1a", "databases")
	s.labels(".chart", "Cost of the fleet and its proven bound")
}

func (s *story) unplaceable() {
	s.pods("training", 2, 40_000, buying(label.OnDemand))
	s.decide()
	s.view("waiting")
	s.reads(".stuck", "shop/training-7b4d9-00", "shop/training-7b4d9-01", "No instance type is large enough", "What to do", "request less")
	s.reads(".summary .alarm", "2 pods")
	s.labels("nav i", "2 without room")
}

func (s *story) limit() {
	s.pods("render", 3, 6_000, buying(label.Spot))
	s.decide()
	s.reads(".stuck", "shop/render-7b4d9-02", "72 cpu", "raise the limit of the NodePool")
	s.view("pools")
	s.reads("main", "at its limit", "72 of 72", "paused", "static: 2 nodes", "schedule: 0 22 * * *", "always", "all met")
}

func (s *story) eachView() {
	for _, name := range []string{"fleet", "cost", "decisions", "waiting", "pools"} {
		s.view(name)
		s.everySize(map[string]string{"fleet": "busy"}[name] + strings.TrimPrefix(name, "fleet"))
	}
	// A filter leaves what it names, and is in the address.
	s.view("decisions")
	s.do(chromedp.SendKeys(chromedp.CSS("input[type=search]"), "reports-7b4d9"))
	s.reads(".filters", "of")
	if text := s.text(".decision"); strings.Contains(text, "Removed") || !strings.Contains(text, "Launched") {
		s.browser.t.Errorf("a filter by pod shows\n%s", text)
	}
	s.do(chromedp.Reload())
	s.reads(".decision", "Launched")
	if text := s.text(".decision"); strings.Contains(text, "Removed") {
		s.browser.t.Errorf("after a reload, a filter by pod shows\n%s", text)
	}
}

func (s *story) lost() {
	s.away.Store(true)
	s.breakOff()
	s.reads(".status", "Connection lost since")
	s.reads(".banner", "The connection to the daemon is lost since", "tries again by itself")
	s.picture("page-lost", false)
	s.pods("late", 1, 40_000, buying(label.OnDemand)) // while nobody sees it
	s.decide()
	s.away.Store(false)
	s.reads(".status", "Live")
	s.view("waiting")
	s.reads(".stuck", "shop/late-7b4d9-00")
}
