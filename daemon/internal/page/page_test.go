package page

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// read reads an event.
func read(t *testing.T, e event) (c change) {
	t.Helper()
	if err := json.Unmarshal(e.data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// value is a value of the snapshot.
func value[T any](t *testing.T, c change, section, key string) (out T) {
	t.Helper()
	text, there := c.Set[section][key]
	if !there {
		t.Fatalf("the section %s has no %q", section, key)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// seen is the whole snapshot.
func (w *world) seen() change {
	w.tb.Helper()
	first, to, err := w.page.follow("")
	if err != nil || len(first) != 1 || !first[0].whole {
		w.tb.Fatalf("%v, %d events", err, len(first))
	}
	w.page.leave(to)
	var c change
	if err := json.Unmarshal(first[0].data, &c); err != nil {
		w.tb.Fatal(err)
	}
	return c
}

func TestFleet_EachNodeIsACellWithItsPriceFillAndState(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	general, batch := w.first("general").Name, w.first("batch")
	batch.Interruption = &cluster.Interruption{Reason: "spot_interrupted", Noticed: w.now, Deadline: w.now.Add(time.Minute)}
	gone := w.first("databases").Node
	for i := range w.objects.Nodes {
		if n := &w.objects.Nodes[i]; n.Name == gone {
			n.Ready = false
		}
	}
	w.pods("late", 1, 3_000, func(p *cluster.Pod) {
		p.Shape.Selector = label.All(label.Is(label.InstanceType, "c7g.2xlarge"), label.Is(label.CapacityType, label.OnDemand))
	})
	w.pods("more", 9, 7_000, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.CapacityType, label.OnDemand)) })
	coming := w.order(w.step())
	if len(coming) == 0 {
		t.Fatal("nothing is launched")
	}
	w.step()
	c := w.seen()
	if n := value[node](t, c, sectionNodes, general); n.Price == nil || *n.Price != 0.6528 || n.CPU < 40 || n.Pods != 6 || n.State != stateUp || n.Stays == "" || n.Buy != label.OnDemand {
		t.Errorf("%+v", n)
	}
	if n := value[node](t, c, sectionNodes, batch.Name); n.State != stateGoing || n.Goes != string(plan.Interrupted) {
		t.Errorf("%+v", n)
	}
	if n := value[node](t, c, sectionNodes, w.first("databases").Name); n.State != stateNotReady {
		t.Errorf("%+v", n)
	}
	if n := value[node](t, c, sectionNodes, coming[0]); n.State != stateComing || n.Node != "" || n.Price == nil {
		t.Errorf("%+v", n)
	}
	foreign := w.objects.Nodes[len(w.objects.Nodes)-1].Name
	if n := value[node](t, c, sectionNodes, foreign); n.Claim != "" || n.Pool != "" || n.Price != nil {
		t.Errorf("%+v", n)
	}
	if x := value[point](t, c, sectionPoints, fmt.Sprint(w.now.Unix())); x.Cost < x.Bound || x.Bound <= 0 || x.Pools["edge"] != 2*0.0816 || x.Buys[label.Reserved] != x.Pools["databases"] || x.Zones["eu-west-1a"] == 0 {
		t.Errorf("%+v", x)
	}
	for key, text := range c.Set[sectionNodes] {
		if strings.Contains(string(text), "shop/") {
			t.Errorf("the cell of %s names pods: %s", key, text)
		}
	}
}

func TestPools_SayLimitsBudgetsAndFieldsWithoutEffect(t *testing.T) {
	w := newWorld(t, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	w.step()
	c := w.seen()
	batch := value[pool](t, c, sectionPools, "batch")
	if want := []limit{{"cpu", "72", "72", 100}}; !slices.Equal(batch.Limits, want) {
		t.Errorf("%+v, want %+v", batch.Limits, want)
	}
	general := value[pool](t, c, sectionPools, "general")
	if b := general.Budgets; len(b) != 2 || !b[0].Holds || b[0].Until != 0 || b[1].Holds || !strings.Contains(b[1].Text, "schedule: 0 22 * * * (UTC)") || time.Unix(b[1].Until, 0).UTC().Hour() != 22 {
		t.Errorf("%+v", b)
	}
	if !general.Ready || general.Why == "" || len(general.Conditions) != 4 {
		t.Errorf("%+v", general)
	}
	if p := value[pool](t, c, sectionPools, "databases"); !p.Paused || !strings.Contains(p.Why, "pauses disruption") {
		t.Errorf("%+v", p)
	}
	gpu := value[pool](t, c, sectionPools, "gpu")
	if gpu.Ready || !strings.Contains(gpu.NotReady, "no subnet") || len(gpu.Unsupported) != 1 || gpu.Unsupported[0].Path != "spec.template.spec.taints[0].timeAdded" || gpu.Unsupported[0].Remedy == "" {
		t.Errorf("%+v", gpu)
	}
	if p := value[pool](t, c, sectionPools, "edge"); !p.Static || p.Replicas != 2 {
		t.Errorf("%+v", p)
	}
}

func TestWaiting_TheFirstHurdleIsTheNearest(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	w.pods("render", 9, 6_000, func(p *cluster.Pod) { p.Shape.Selector = label.All(label.Is(label.CapacityType, label.Spot)) })
	w.step()
	for _, text := range w.seen().Set[sectionWaiting] {
		var x waiting
		if err := json.Unmarshal(text, &x); err != nil {
			t.Fatal(err)
		}
		if h := x.Hurdles[0]; h.Pool != "batch" || !strings.Contains(h.What, "72 cpu") || !strings.Contains(h.Remedy, "raise the limit") || x.Since == 0 || x.Verdict != string(plan.Unplaceable) {
			t.Errorf("%+v", x)
		}
		return
	}
	t.Error("no pod waits")
}

func TestDecisions_SayWhatWasDoneAndWhatItSaves(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	w.step()
	name, node := w.first("general").Name, w.first("general").Node
	w.page.Deleted(plan.Delete{Claim: name, Node: node, Why: plan.Underutilized, Saves: quantity.NanoDollars / 2}, w.now)
	w.page.Deleted(plan.Delete{Claim: name, Node: node, Why: plan.Drifted}, w.now)
	w.page.LaunchFailed("general-x", "general", "no capacity", w.now)
	w.page.LaunchFailed("general-x", "general", "no capacity", w.now) // tried again
	w.page.Kept(plan.Delete{Claim: name, Node: node, Why: plan.Empty}, "a pod has come", w.now)
	w.page.Kept(plan.Delete{Claim: name, Node: node, Why: plan.Empty}, "a pod has come", w.now)
	c := w.seen()
	if len(c.Set[sectionDecisions]) != 4 {
		t.Errorf("%d decisions, want 4", len(c.Set[sectionDecisions]))
	}
	if d := value[decision](t, c, sectionDecisions, "1"); d.Kind != kindRemoval || d.Pool != "general" || *d.Frees != 0.5 || d.Count != 5 || !strings.HasPrefix(d.Pods[0], "shop/") || d.Why == "" {
		t.Errorf("%+v", d)
	}
	if m := value[meta](t, c, sectionMeta, metaKey); m.Removals != 1 || m.Saving != 0.5 {
		t.Errorf("%+v", m)
	}
}

func TestDecisions_TwoNodesThatStayInTurnsAreToldOnceEach(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	w.step()
	for range 3 {
		for _, name := range []string{"a", "b"} {
			w.page.Kept(plan.Delete{Claim: name, Why: plan.Empty}, "a pod has come", w.now)
		}
	}
	if n := len(w.page.decisions); n != 2 {
		t.Errorf("%d decisions, want 2", n)
	}
}

func TestCost_OfAFleetThatHasBecomeEmptyIsNothing(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	w.objects.Claims[0].InstanceType = "x9.huge" // nobody knows the price
	w.step()
	if m := value[meta](t, w.seen(), sectionMeta, metaKey); m.Unpriced != 1 || m.Cost == 0 {
		t.Errorf("%+v", m)
	}
	w.page.viewers.forget()
	w.objects.Claims, w.objects.Nodes, w.objects.Pods = nil, nil, nil
	w.now = w.now.Add(2 * pointEvery)
	w.step()
	c := w.seen()
	if x := value[point](t, c, sectionPoints, fmt.Sprint(w.now.Unix())); x.Cost != 0 {
		t.Errorf("%+v", x)
	}
	if m := value[meta](t, c, sectionMeta, metaKey); !m.Audited || m.Cost != 0 {
		t.Errorf("%+v", m)
	}
}

// A node that is there is known also where the page was closed and opened again; and nothing of
// the cluster is kept for nobody.
func TestViewers_WhatNobodyLooksAtIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Now())
		w.step()
		last := ""
		for range 2 {
			first, to, err := w.page.follow(last)
			if err != nil || !first[0].whole {
				t.Fatalf("%v, %+v", err, first[0])
			}
			last = w.page.viewers.id(first[0])
			w.page.leave(to)
			if v := &w.page.viewers; v.table != nil || v.recent != nil || len(v.last.standings.Nodes) > 0 {
				t.Error("the closed page is kept")
			}
			if _, known := w.page.detail(w.first("general").Name); !known {
				t.Error("a node that is there is not known")
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if v := &w.page.viewers; v.table != nil || v.recent != nil || len(v.last.standings.Nodes) > 0 {
			t.Error("what somebody asked for once is kept")
		}
	})
}

// A plan is no launch: the API server may refuse the NodeClaim.
func TestDecisions_ALaunchIsANodeClaimThatWasCreated(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	w.step()
	l := plan.Launch{Name: "general-y", Pool: "general", Price: quantity.NanoDollars / 5}
	w.page.Note(w.page.input, plan.Plan{Actions: []plan.Action{l}})
	if n := len(w.page.decisions); n != 0 {
		t.Errorf("%d decisions of a plan", n)
	}
	w.page.Launched(l, w.now)
	if d := value[decision](t, w.seen(), sectionDecisions, "1"); d.Kind != kindLaunch || d.Claim != "general-y" || *d.Price != 0.2 {
		t.Errorf("%+v", d)
	}
}

// What moves save is what their nodes cost less what is there in their place; a replacement that
// failed is not there, and a node that nothing needed saves nothing.
func TestSavings_AreThoseOfMovesLessWhatReplacesTheNodes(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	one, two, by := w.objects.Claims[0].Name, w.objects.Claims[1].Name, &w.objects.Claims[6] // an m7g.xlarge for $0.1632
	by.Move = &cluster.Move{ID: "m", Count: 1, Reason: string(plan.Underutilized), Sources: []cluster.Source{{Claim: one}, {Claim: two}}}
	w.step()
	w.page.LaunchFailed("general-x", "general", "no capacity", w.now)
	w.page.Deleted(plan.Delete{Claim: "general-x", Why: plan.LaunchTimeout}, w.now)
	for _, name := range []string{one, two} {
		w.page.Deleted(plan.Delete{Claim: name, Why: plan.Underutilized, Saves: quantity.NanoDollars / 2}, w.now)
	}
	w.page.Deleted(plan.Delete{Claim: w.objects.Claims[2].Name, Why: plan.Empty, Saves: quantity.NanoDollars}, w.now)
	m := value[meta](t, w.seen(), sectionMeta, metaKey)
	if m.Removals != 2 || m.Saving != 1-0.1632 || m.Empty != 1 || m.Emptied != 1 {
		t.Errorf("%+v", m)
	}
}

func TestRemoval_HasASentenceForEachReason(t *testing.T) {
	for _, why := range plan.Reasons() {
		if removal(plan.Delete{Why: why}) == "" {
			t.Errorf("%s has none", why)
		}
	}
}

// However many look and however often the loop decides, the page is worked out once in two
// seconds; and not at all while nobody looks.
func TestViewers_ALookIsMadeOnceInTwoSecondsForAllOfThemAndNoneForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Now())
		w.step()
		var all []chan event
		for range 3 {
			_, to, err := w.page.follow("")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, to)
		}
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			w.now = time.Now()
			w.step()
		}
		synctest.Wait()
		if n := w.page.viewers.number; n < 4 || n > 6 {
			t.Errorf("%d looks in ten seconds", n)
		}
		for _, to := range all {
			if len(to) != len(all[0]) || len(to) == 0 {
				t.Errorf("%d events, and another has %d", len(to), len(all[0]))
			}
			w.page.leave(to)
		}
		before := w.page.viewers.number
		time.Sleep(time.Minute)
		synctest.Wait()
		if after := w.page.viewers.number; after != before {
			t.Errorf("%d looks for nobody", after-before)
		}
	})
}

func TestViewers_OnlyWhatHasChangedIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Now())
		w.step()
		_, to, err := w.page.follow("")
		if err != nil {
			t.Fatal(err)
		}
		defer w.page.leave(to)
		name := w.first("general").Name
		w.first("general").Deleting = true
		w.now = w.now.Add(time.Second)
		w.step()
		time.Sleep(lookEvery)
		synctest.Wait()
		c := read(t, <-to)
		if n := value[node](t, c, sectionNodes, name); n.State != stateGoing {
			t.Errorf("%+v", n)
		}
		if len(c.Set[sectionNodes]) != 1 || len(c.Set[sectionPoints]) != 0 || len(c.Gone) != 0 {
			t.Errorf("%d nodes and %d points are sent, and %v are gone", len(c.Set[sectionNodes]), len(c.Set[sectionPoints]), c.Gone)
		}
		time.Sleep(lookEvery)
		synctest.Wait()
		if c := read(t, <-to); len(c.Set)+len(c.Gone) > 0 || c.At == 0 || !c.Deciding {
			t.Errorf("nothing has happened, and %+v is sent", c)
		}
		w.objects.Claims = slices.DeleteFunc(w.objects.Claims, func(c cluster.Claim) bool { return c.Name == name })
		w.now = w.now.Add(time.Second)
		w.step()
		time.Sleep(lookEvery)
		synctest.Wait()
		if c := read(t, <-to); !slices.Contains(c.Gone[sectionNodes], name) {
			t.Errorf("%v are gone", c.Gone)
		}
	})
}

func TestViewers_WhoComesBackGetsWhatWasMissedOrEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Now())
		w.step()
		first, to, err := w.page.follow("")
		if err != nil {
			t.Fatal(err)
		}
		go func() { // it reads what comes
			for range to {
				continue
			}
		}()
		last := w.page.viewers.id(first[0])
		for range 5 {
			w.now = w.now.Add(time.Second)
			w.step()
			time.Sleep(lookEvery)
		}
		synctest.Wait()
		missed, again, err := w.page.follow(last)
		if err != nil || len(missed) != 5 || missed[0].whole || missed[0].number != first[0].number+1 {
			t.Errorf("%v, %d events", err, len(missed))
		}
		for what, id := range map[string]string{"of another replica": "0a0b0c0d-1", "of the future": fmt.Sprintf("%s-999", w.page.viewers.self), "no number": w.page.viewers.self + "-x", "too long ago": w.page.viewers.self + "-0"} {
			if what == "too long ago" {
				time.Sleep((mostRecent + 2) * lookEvery)
			}
			got, third, err := w.page.follow(id)
			if err != nil || len(got) != 1 || !got[0].whole {
				t.Errorf("%s: %v, %d events", what, err, len(got))
			}
			w.page.leave(third)
		}
		w.page.leave(to)
		w.page.leave(again)
	})
}

func TestViewers_WhoIsTooSlowIsSentAwayAndTooManyAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Now())
		w.step()
		_, slow, err := w.page.follow("")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep((mostBehind + 2) * lookEvery)
		synctest.Wait()
		for range mostBehind {
			<-slow
		}
		if _, open := <-slow; open || len(w.page.viewers.open) > 0 {
			t.Error("a viewer that reads nothing is still there")
		}
		var all []chan event
		for range mostViewers {
			_, to, err := w.page.follow("")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, to)
		}
		if _, _, err := w.page.follow(""); err == nil {
			t.Error("one more than may is let in")
		}
		for _, to := range all {
			w.page.leave(to)
		}
	})
}

func TestViewers_AFaultOfThePageDoesNotEndTheDaemon(t *testing.T) {
	w := newWorld(t, time.Now())
	w.step()
	w.page.source.World = nil
	w.page.Begin(Source{World: (*world)(nil)})
	if c := w.seen(); c.Fault == "" {
		t.Errorf("%+v", c)
	}
}

func TestHandler_AReplicaThatDecidesNothingSaysSo(t *testing.T) {
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path+"snapshot", nil)
	request.Host = "localhost:8082"
	(&Page{}).Handler().ServeHTTP(answer, request)
	if body := answer.Body.String(); answer.Code != http.StatusOK || !strings.Contains(body, `"deciding":false`) {
		t.Errorf("%d %s", answer.Code, body)
	}
}

func TestHandler_AnswersThisMachineAndItsOwnPageAlone(t *testing.T) {
	w := newWorld(t, time.Now())
	w.step()
	handler := w.page.Handler()
	for _, c := range []struct {
		path, host, site, mode string
		want                   int
	}{
		{"", "127.0.0.1:8082", "", "", 200},
		{"", "localhost:40113", "none", "navigate", 200},
		{"", "[::1]:8082", "", "", 200},
		{"", "[::1]", "", "", 200},
		{"", "LOCALHOST:1", "", "", 200},
		{"", "localhost.", "", "", 200},
		{"", "localhost.example.com", "", "", 403},
		{"", "localhost", "cross-site", "navigate", 200}, // a link in a wiki
		{"snapshot", "127.0.0.1:8082", "same-origin", "cors", 200},
		{"snapshot", "127.0.0.1:8082", "cross-site", "no-cors", 403},
		{"snapshot", "127.0.0.1:8082", "same-site", "cors", 403}, // another port of this machine
		{"snapshot", "127.0.0.1:8082", "cross-site", "navigate", 403},
		{"snapshot", "karpenter.example.com", "", "", 403}, // a name that somebody lets mean 127.0.0.1
		{"snapshot", "10.0.0.7:8082", "", "", 403},
		{"node?key=none", "localhost", "", "", 404},
		{"app.js", "localhost", "", "", 200},
		{"app.css", "localhost", "", "", 200},
		{"licences.txt", "localhost", "", "", 200},
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path+c.path, nil)
		request.Host = c.host
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode} {
			if value != "" {
				request.Header.Set(name, value)
			}
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != c.want {
			t.Errorf("%+v: %d", c, answer.Code)
		}
		header := answer.Header()
		if p := header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none';") || strings.Contains(p, "unsafe") || strings.Contains(p, "http") {
			t.Errorf("%+v: %q", c, p)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%+v: %v", c, header)
		}
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, nil)
	request.Host = "localhost"
	answer := httptest.NewRecorder()
	if handler.ServeHTTP(answer, request); answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", answer.Code)
	}
}

// The page is whole: nothing of it comes from elsewhere, and nothing is in the markup that the
// policy forbids.
func TestDist_TakesNothingFromElsewhere(t *testing.T) {
	for _, name := range []string{"index.html", "app.css"} {
		text, err := dist.ReadFile("dist/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`(?i)(src|href)="(https?:)?//|url\(\s*["']?(https?:)?//|@import|<style|<script>| style=| on[a-z]+=`).FindString(string(text)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
	sources, err := filepath.Glob("web/src/*.ts*")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%v, %d sources", err, len(sources))
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write`).FindString(string(text)); found != "" {
			t.Errorf("%s has %q: texts of the cluster would become markup", name, found)
		}
	}
	script, err := dist.ReadFile("dist/app.js")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`\beval\(|new Function\(`).FindString(string(script)); found != "" {
		t.Errorf("app.js has %q", found)
	}
}

func TestHandler_EventsComeAsTheyHappen(t *testing.T) {
	w := newWorld(t, time.Now())
	w.step()
	server := httptest.NewServer(w.page.Handler())
	ctx, leave := context.WithCancel(t.Context())
	defer server.Close()
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+Path+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("%q", kind)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<24)
	var got []string
	for len(got) < 3 && lines.Scan() {
		got = append(got, lines.Text())
	}
	if got[0] != "event: whole" || !strings.HasPrefix(got[1], "id: "+w.page.viewers.self+"-") || !strings.HasPrefix(got[2], `data: {"at":`) {
		t.Errorf("%.300q", got)
	}
}

func TestDetail_SaysWhatKeepsTheNodeAndWhatItWouldTake(t *testing.T) {
	w := newWorld(t, time.Unix(1_790_000_000, 0))
	w.step()
	d, known := w.page.detail(w.first("databases").Name)
	if !known || !strings.Contains(d.Why, "pauses disruption") || !strings.Contains(d.Remedy, "remove the annotation") || len(d.Pods) != 6 || len(d.Room) != 3 || d.Instance == "" {
		t.Errorf("%+v", d)
	}
	if last := d.Pods[len(d.Pods)-1]; !last.Pinned || last.Owner != "DaemonSet node-agent" {
		t.Errorf("%+v", last)
	}
	if d, known := w.page.detail(w.objects.Nodes[len(w.objects.Nodes)-1].Name); !known || len(d.Pods) != 6 {
		t.Errorf("a node of no NodePool: %+v", d)
	}
}

type slow struct {
	*world

	after *time.Duration
}

func (s slow) NodePool(name string) (*v1.NodePool, bool) {
	time.Sleep(*s.after)
	return s.world.NodePool(name)
}

// A browser takes a minute of silence for a lost connection.
func TestViewers_AreToldTheTimeAlsoWhereLooksAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, took := newWorld(t, time.Now()), time.Second
		w.page.Begin(Source{World: slow{w, &took}, Audit: w.audited})
		w.step()
		_, to, err := w.page.follow("")
		if err != nil {
			t.Fatal(err)
		}
		defer w.page.leave(to)
		began := time.Now()
		c := read(t, <-to)
		if after := time.Since(began); after > 2*timeEvery || !c.Deciding || len(c.Set) > 0 {
			t.Errorf("%+v after %s", c, after)
		}
	})
}

// BenchmarkLook is a look at a fleet of 2,000 nodes with 40,000 pods, of which nothing has changed
// but the time, with a day of history, and the whole snapshot of it. Goal: 40 ms for a look, a fiftieth of lookEvery.
func BenchmarkLook(b *testing.B) {
	w := large(b, 2_000, 20)
	w.remember()
	w.step()
	for b.Loop() {
		w.page.viewers.next = time.Time{}
		w.page.input.Now = w.page.input.Now.Add(time.Second)
		w.page.look()
	}
	e := w.page.viewers.snapshot()
	b.ReportMetric(float64(len(e.data))/1e3, "kB/snapshot")
	b.ReportMetric(float64(len(w.page.viewers.recent[len(w.page.viewers.recent)-1].data))/1e3, "kB/change")
}

// remember gives the page a day of history of 20 pools, and as many decisions as it keeps.
func (w *world) remember() {
	for i := range mostDecisions {
		w.page.Launched(plan.Launch{Name: fmt.Sprintf("general-%05d", i), Pool: "general", Pods: slices.Repeat([]string{"shop-production/checkout-7b4d9c6f5-00001"}, 20)}, w.now)
	}
	for i := range mostPoints {
		x := point{At: w.now.Add(time.Duration(i-mostPoints) * pointEvery).Unix(), Cost: 1.2345, Bound: 1.11, Pools: map[string]float64{}}
		for k := range 20 {
			x.Pools[fmt.Sprint("pool-number-", k)] = 1.2345678 + float64(k)
		}
		w.page.keep(x)
	}
}

// large is a fleet with so many nodes, and so many pods on each.
func large(tb testing.TB, nodes, podsEach int) *world {
	tb.Helper()
	w := newWorld(tb, time.Now().Truncate(time.Second))
	w.objects.Pools[0].Limits = nil
	for i := 10; i < nodes; i++ {
		w.node("general", []string{"m7g.4xlarge", "m7g.2xlarge", "c7g.2xlarge", "r7g.4xlarge", "m7g.large"}[i%5], label.OnDemand, i, 40+i*7%55)
	}
	for i := range w.objects.Nodes {
		for k := range podsEach - 6 {
			w.pods("small", 1, 10, func(p *cluster.Pod) {
				p.Name, p.Node, p.Unschedulable = fmt.Sprintf("small-%d-%d", i, k), w.objects.Nodes[i].Name, false
				p.UID = "uid-" + p.Name
			})
		}
	}
	return w
}
