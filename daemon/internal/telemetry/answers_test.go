package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// asked is Decisions whose answers take a second each, and which count them.
type asked struct {
	*Decisions
	found, now, most atomic.Int64 // all answers, those under way, and the most of them at a time
}

func newAsked() *asked {
	a := &asked{Decisions: newDecisions()}
	a.answers.find = func(pod string) (Report, bool) {
		a.found.Add(1)
		a.most.Store(max(a.most.Load(), a.now.Add(1)))
		defer a.now.Add(-1)
		time.Sleep(time.Second)
		return Report{Pods: []PodDecision{{Pod: pod}}}, true
	}
	return a
}

func (a *asked) get(pod string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, install.DecisionsPath+"?pod="+pod, nil))
	return w
}

// together asks n times at once, and returns how often each status came.
func (a *asked) together(n int, pod func(int) string) map[int]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	codes := map[int]int{}
	for i := range n {
		all.Go(func() {
			w := a.get(pod(i))
			mu.Lock()
			defer mu.Unlock()
			codes[w.Code]++
		})
	}
	all.Wait()
	return codes
}

func TestDecisions_ThoseWhoAskAtOnceShareOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked()
		codes := a.together(100, func(int) string { return "" })
		if codes[http.StatusOK] != 100 || a.found.Load() != 1 {
			t.Errorf("statuses %v, answers found: %d", codes, a.found.Load())
		}
	})
}

func TestDecisions_AnAnswerCountsForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDecisions()
		var found int
		d.answers.find = func(string) (Report, bool) { found++; return Report{At: time.Now()}, true }
		a := &asked{Decisions: d}
		first := a.get("").Body.String()
		time.Sleep(answerKept - time.Nanosecond)
		if again := a.get("").Body.String(); again != first || found != 1 {
			t.Errorf("within a second: %s, then %s, answers found: %d", first, again, found)
		}
		time.Sleep(time.Nanosecond)
		if again := a.get("").Body.String(); again == first || found != 2 {
			t.Errorf("after a second: %s again, answers found: %d", again, found)
		}
		a.get("default/a")
		if found != 3 {
			t.Error("the answer about all counts for one pod, too")
		}
		for i := range 1000 {
			a.get(fmt.Sprint(i))
			time.Sleep(answerKept / 10)
		}
		if n := len(d.answers.kept); n > 11 {
			t.Errorf("answers kept: %d", n)
		}
	})
}

func TestDecisions_OneAnswerIsFoundAtATimeAndFewWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked()
		codes := a.together(3*mostQuestions, func(i int) string { return fmt.Sprint("default/", i) })
		if codes[http.StatusOK] != mostQuestions || codes[http.StatusTooManyRequests] != 2*mostQuestions || a.most.Load() != 1 {
			t.Errorf("statuses %v, answers found at a time: %d", codes, a.most.Load())
		}
		if w := a.get("default/later"); w.Code != http.StatusOK {
			t.Errorf("once all are answered: %d %s", w.Code, w.Body)
		}
	})
}

func TestDecisions_AnAnswerThatPanicsEndsNothingElse(t *testing.T) {
	d := newDecisions()
	d.answers.find = func(string) (Report, bool) { panic("of the test") }
	a := &asked{Decisions: d}
	for range mostQuestions + 1 {
		if w := a.get(""); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "of the test") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// Every pod may read the metrics where no policy forbids it, so that they name what an
// administrator has declared, and nothing of a user's namespace.
func TestMetrics_NameNeitherPodsNorNamespacesNorNodes(t *testing.T) {
	may := []string{
		"nodepool", "nodeclass", "capacity_type", "reason", "decision", "consolidation_type", "standing", "way", "kind", "group", "message_type",
		"service", "operation", "result", "code",
		"verb", "host", "method", "name", "controller", // of client-go and of the queues, by what they are for
	}
	all := make(chan *prometheus.Desc)
	go func() {
		defer close(all)
		NewMetrics("test").registry.Describe(all)
	}()
	labelled := 0
	for metric := range all {
		_, labels, _ := strings.Cut(metric.String(), "variableLabels: {")
		labels, _, _ = strings.Cut(labels, "}")
		for _, name := range strings.FieldsFunc(labels, func(r rune) bool { return r == ',' || r == ' ' }) {
			if labelled++; !slices.Contains(may, name) {
				t.Errorf("the label %q of %s", name, metric)
			}
		}
	}
	if labelled < len(may) {
		t.Errorf("labels found: %d", labelled)
	}
}

func TestMetrics_AreGatheredForFewAtATime(t *testing.T) {
	m := NewMetrics("test")
	gathering, end := make(chan bool, 2*mostScrapes), make(chan bool)
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow", Help: "of the test"}, func() float64 {
		gathering <- true
		<-end
		return 1
	}))
	handler := m.Handler()
	get := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, install.MetricsPath, nil))
		return w.Code
	}
	var all sync.WaitGroup
	for range mostScrapes {
		all.Go(func() {
			if code := get(); code != http.StatusOK {
				t.Errorf("one of few: %d", code)
			}
		})
	}
	for range mostScrapes {
		<-gathering
	}
	if code := get(); code != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", code)
	}
	close(end)
	all.Wait()
	if code := get(); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}
