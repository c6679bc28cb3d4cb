package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

const (
	// answerKept is how long an answer counts for all that ask the same. An answer about the
	// whole fleet takes as long as a good part of a decision, so that whoever asks in a loop
	// would slow decisions down; people do not notice a second.
	answerKept = time.Second
	// mostQuestions is how many different questions may be open: one that is being answered,
	// and others that wait for their turn. People ask one at a time.
	mostQuestions = 16
)

var (
	errNoPlan = errors.New("this replica decides nothing: the one that holds the Lease " + install.LeaseName + " does")
	errBusy   = errors.New("too many different questions wait for an answer: ask again in a second")
)

// answers bounds what questions cost: those that are the same and come at once share one
// answer, an answer is kept for answerKept, and never is more than one found at a time.
type answers struct {
	find   func(pod string) (Report, bool) // about one pod, or about all of the fleet where none is named
	asking singleflight.Group
	turn   chan struct{} // has one element while somebody finds an answer

	mu   sync.Mutex
	open int
	kept map[string]foundAnswer // by pod
}

// foundAnswer is the JSON of a Report.
type foundAnswer struct {
	at   time.Time // when it was begun
	text []byte
}

// about returns the JSON about a pod, or about the whole fleet.
func (a *answers) about(ctx context.Context, pod string) ([]byte, error) {
	if text, known := a.lately(pod); known {
		return text, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // nobody listens any more
	case r := <-a.asking.DoChan(pod, func() (any, error) { return a.inTurn(pod) }):
		text, _ := r.Val.([]byte)
		return text, r.Err
	}
}

// lately returns an answer that still counts.
func (a *answers) lately(pod string) ([]byte, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, known := a.kept[pod]
	return k.text, known && time.Since(k.at) < answerKept
}

// inTurn waits for its turn and finds the answer. Somebody may have found it meanwhile.
func (a *answers) inTurn(pod string) (text []byte, err error) {
	if !a.enter() {
		return nil, errBusy
	}
	defer a.leave()
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	if text, known := a.lately(pod); known {
		return text, nil
	}
	defer func() { // as net/http does for its own goroutines: a question must not end the daemon
		if fault := recover(); fault != nil {
			text, err = nil, fmt.Errorf("decisions read: %v", fault)
		}
	}()
	begun := time.Now()
	report, known := a.find(pod)
	if !known {
		return nil, errNoPlan
	}
	if text, err = json.Marshal(report); err != nil {
		return nil, fmt.Errorf("decisions write: %w", err)
	}
	a.keep(pod, foundAnswer{begun, text})
	return text, nil
}

func (a *answers) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open >= mostQuestions {
		return false
	}
	a.open++
	return true
}

func (a *answers) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
}

// keep keeps the answer, and drops those that count no more.
func (a *answers) keep(pod string, found foundAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := map[string]foundAnswer{pod: found}
	for other, old := range a.kept {
		if other != pod && time.Since(old.at) < answerKept {
			kept[other] = old
		}
	}
	a.kept = kept
}

// Handler serves the Report as JSON, or that of one pod. An answer may be a second old.
func (d *Decisions) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		text, err := d.answers.about(request.Context(), request.URL.Query().Get(podQuery))
		switch {
		case errors.Is(err, errNoPlan):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case errors.Is(err, errBusy):
			w.Header().Set("Retry-After", strconv.Itoa(int(answerKept/time.Second)))
			http.Error(w, err.Error(), http.StatusTooManyRequests)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(append(text[:len(text):len(text)], '\n')) //nolint:gosec // JSON in which json.Marshal has escaped what HTML knows; who asked may not listen any more
		}
	})
}
