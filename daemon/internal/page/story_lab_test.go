//go:build lab

package page

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/browser"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// pictures says that the pictures of the guide are made anew. A folder that is named by
// picturesVariable gets all pictures.
var pictures = flag.Bool("update", false, "write the pictures of the guide to the page")

const picturesFolder, picturesVariable = "../../../docs/images", "PICTURES"

// story is a page, and the browser of somebody who watches it.
type story struct {
	*world
	*browser.Browser

	server *httptest.Server
	away   atomic.Bool // nothing answers
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
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			http.Error(w, "nobody is there", http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close) // after the browser has gone, whose connections it would wait for
	s.Browser = browser.Open(t, s.server.URL+Path, "daemon/internal/page/web")
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

// everySize looks at what is shown at each size. The guide has most of what is 1,280 wide.
func (s *story) everySize(name string) {
	s.EverySize(name, func(theme string, size browser.Size) {
		folders := []string{os.Getenv(picturesVariable)}
		inGuide := slices.Contains([]string{"busy", "detail", "cost", "decisions", "waiting", "pools"}, name)
		if *pictures && inGuide && size.Wide == 1280 && theme == "light" {
			folders = append(folders, picturesFolder)
		}
		s.Picture(fmt.Sprintf("page-%s-%s-%d", name, theme, size.Wide), folders...)
	})
}

// decide makes a decision two seconds later.
func (s *story) decide() {
	s.now = s.now.Add(2 * time.Second)
	s.step()
}

func (s *story) calm() {
	s.Reads(".status", "Live")
	s.Reads(".summary", "Nodes\n26", "Without room\n0 pods")
	s.Labels(".cell", "m7g.4xlarge, on-demand, $0.6528/h")
	s.Labels(".group", "NodePool general")
	s.Reads(".group", "gpu", "0 nodes", "not ready", "paused", "Nodes of no NodePool")
	s.everySize("fleet")
	s.Follow("#/waiting")
	s.Reads("main", "Nothing waits")
	s.everySize("nothing-waits")
	s.Follow("#/decisions")
	s.Reads("main", "Nothing has been decided")
	s.Follow("#/fleet")
}

func (s *story) detail() {
	// By keyboard alone: to the second cell, into it, and out again.
	s.Do(chromedp.Focus(chromedp.CSS(".cell")))
	browser.Ask[int](s.Browser, `document.querySelector(".cell").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })), 0`)
	if second := browser.Ask[bool](s.Browser, `document.activeElement === document.querySelectorAll(".cell")[1]`); !second {
		s.tb.Error("the arrow key does not go to the next cell")
	}
	browser.Ask[int](s.Browser, `document.activeElement.click(), 0`)
	s.Reads(".detail", "What keeps it", "within consolidateAfter", "What it would take", "Wait: that changes by itself", "What pods request", "CPU", "6 pods", "shop/", "belongs to the node", "m7g.4xlarge in eu-west-1")
	s.everySize("detail")
	s.Do(chromedp.KeyEvent("\x1b"))
	s.Do(chromedp.WaitNotPresent(chromedp.CSS(".detail")))
	if back := browser.Ask[bool](s.Browser, `document.activeElement === document.querySelectorAll(".cell")[1]`); !back {
		s.tb.Error("the focus does not come back to the cell")
	}
}

func (s *story) launch() {
	s.pods("reports", 6, 3_500, buying(label.OnDemand))
	launched := s.order(s.step())
	if len(launched) == 0 {
		s.tb.Fatal("nothing was launched")
	}
	s.decide()
	s.Labels(".cell", launched[0], "on its way")
	s.Reads(".summary", "on the way")
	s.Follow("#/decisions")
	s.Reads(".decision.launch", "Launched", "is the cheapest", "Runner-up", "more", "pods need room", "general")
	s.Follow("#/waiting")
	s.Reads("main", "With room on its way", "shop/reports-7b4d9-00", launched[0])
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
	s.Follow("#/fleet")
	s.Labels(".cell", node, "leaving")
	s.Follow("#/decisions")
	s.Reads(".decision.interruption", "Interrupted", node, "EC2 takes the instance at", "spot interrupted", "batch")
}

func (s *story) consolidation() {
	c := s.first("general")
	c.Disrupting, c.Deleting = &cluster.Disrupting{Reason: string(plan.Underutilized), Since: s.now}, true
	name, node := c.Name, c.Node
	s.page.Deleted(plan.Delete{Claim: name, Node: node, Why: plan.Underutilized, Saves: quantity.NanoDollars * 6528 / 10000}, s.now.Add(-20*time.Minute))
	s.decide()
	s.Reads(".decision.removal", "Removed", node, "Its pods run elsewhere for less", "frees $0.6528/h", "underutilized")
	s.Follow("#/fleet")
	s.Labels(".cell", node, "leaving")
	s.Follow("#/cost")
	s.Reads(".tiles", "Cut by moves\n$0.6528/h", "1 node removed, less what replaced them", "Proven bound", "no fleet for these pods costs less")
	s.Reads("main", "By NodePool", "By capacity type", "By zone", "eu-west-1a", "databases")
	s.Labels(".chart", "Cost of the fleet and its proven bound")
	s.Do(chromedp.SetValue(chromedp.CSS(".chart-head select"), "zones"))
	browser.Ask[int](s.Browser, `document.querySelector(".chart-head select").dispatchEvent(new Event("change", { bubbles: true })), 0`)
	s.Reads(".chart-legend", "eu-west-1a", "eu-west-1b", "launch")
	s.Labels(".chart", "Cost of instances", "eu-west-1c $1.")
	s.Picture("page-cost-by-zone", os.Getenv(picturesVariable))
}

func (s *story) unplaceable() {
	s.pods("training", 2, 40_000, buying(label.OnDemand))
	s.decide()
	s.Follow("#/waiting")
	s.Reads(".stuck", "shop/training-7b4d9-00", "shop/training-7b4d9-01", "No instance type is large enough", "What to do", "request less")
	s.Reads(".summary .alarm", "2 pods")
	s.Labels("nav i", "2 without room")
}

func (s *story) limit() {
	s.pods("render", 3, 6_000, buying(label.Spot))
	s.decide()
	s.Reads(".stuck", "shop/render-7b4d9-02", "72 cpu", "raise the limit of the NodePool")
	s.Follow("#/pools")
	s.Reads("main", "at its limit", "72 of 72", "paused", "static: 2 nodes", "schedule: 0 22 * * *", "always", "all met")
	s.Reads("main", "gpu", "not ready", "no subnet has the tag team=ml", "2 not met", "Fields without effect", "spec.template.spec.taints[0].timeAdded", "remove the field")
}

func (s *story) eachView() {
	for _, name := range []string{"fleet", "cost", "decisions", "waiting", "pools"} {
		s.Follow("#/" + name)
		s.everySize(map[string]string{"fleet": "busy"}[name] + strings.TrimPrefix(name, "fleet"))
	}
	// A filter leaves what it names, and is in the address.
	s.Follow("#/decisions")
	s.Do(chromedp.SendKeys(chromedp.CSS("input[type=search]"), "reports-7b4d9"))
	s.Reads(".filters", "of")
	if text := s.Text(".decision"); strings.Contains(text, "Removed") || !strings.Contains(text, "Launched") {
		s.tb.Errorf("a filter by pod shows\n%s", text)
	}
	s.Do(chromedp.Reload())
	s.Reads(".decision", "Launched")
	if text := s.Text(".decision"); strings.Contains(text, "Removed") {
		s.tb.Errorf("after a reload, a filter by pod shows\n%s", text)
	}
}

func (s *story) lost() {
	s.away.Store(true)
	s.server.CloseClientConnections()
	s.Reads(".status", "Connection lost since")
	s.Reads(".banner", "The connection to the daemon is lost since", "tries again by itself")
	s.Picture("page-lost", os.Getenv(picturesVariable))
	s.pods("late", 1, 40_000, buying(label.OnDemand)) // while nobody sees it
	s.decide()
	s.away.Store(false)
	s.Reads(".status", "Live")
	s.Follow("#/waiting")
	s.Reads(".stuck", "shop/late-7b4d9-00")
}
