package scalein

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// The required distance to the bound, how soon it is to be reached, and the goals.
const (
	requiredOver, requiredSoon = 0.04, 90 * time.Second
	goalOver, goalSoon         = 0.02, 60 * time.Second
	requiredQuiet              = 5 * time.Minute
)

// sample is the fleet at one moment. Costs are dollars an hour.
type sample struct {
	at        time.Time
	Seconds   float64 `json:"seconds"` // since the end of the last pod that the scale-down ended
	Cost      float64 `json:"cost"`    // of pending and running instances
	Volumes   float64 `json:"volumes"` // of their volumes
	Instances int     `json:"instances"`
	Running   int     `json:"pods_running"`
	Waiting   int     `json:"pods_waiting"` // all others that exist
	Launches  int     `json:"launches"`
	Evictions int     `json:"evictions"`
}

// over is how far the fleet is above the bound, as a fraction of it.
func (s sample) over(bound float64) float64 { return (s.Cost+s.Volumes)/bound - 1 }

// up is what the scale-up came to.
type up struct {
	Pods        int     `json:"pods"`
	Deployments int     `json:"deployments"`
	Seconds     float64 `json:"seconds"` // until all pods ran
	Calm        bool    `json:"calm"`    // nothing moved any more when the scale-down began
	Instances   int     `json:"instances"`
	Cost        float64 `json:"cost"`
}

// scenario says what the figures are about.
type scenario struct {
	Seed             uint64  `json:"seed"` // of the Deployments; 0: those of the published figures
	Share            float64 `json:"share"`
	Policy           string  `json:"consolidation_policy"`
	ConsolidateAfter string  `json:"consolidate_after"`
	Budget           string  `json:"budget"`
	NodeCost         string  `json:"node_cost"`
	Boot             string  `json:"boot"`
	Grace            string  `json:"grace"`
	ControllerQPS    int     `json:"controller_qps"` // 0: the default
}

// findings are what one run found.
type findings struct {
	Subject   string              `json:"subject"` // the controller
	Scenario  scenario            `json:"scenario"`
	Up        up                  `json:"up"`
	Pods      int                 `json:"pods"`  // that the scale-down leaves
	Bound     float64             `json:"bound"` // of instances, volumes and node cost
	Start     sample              `json:"start"`
	End       sample              `json:"end"`
	EndOver   float64             `json:"end_over_bound"`       // as a fraction
	PeakCost  float64             `json:"peak_cost"`            // from the start on
	Within    map[string]*float64 `json:"seconds_until_within"` // for good, by fraction; null: not reached
	LastMove  float64             `json:"last_move_seconds"`    // of launches, ended instances and evictions
	Evictions int                 `json:"evictions"`            // since the scale-down was told
	Again     int                 `json:"pods_evicted_twice"`   // successors of evicted pods that were evicted, too
	Launches  int                 `json:"launches"`             // since the scale-down was told
	Ends      int                 `json:"instances_ended"`      // likewise
	Forecast  *foretold           `json:"forecast"`             // of karpenterd simulate, before the scale-down
	Required  map[string]bool     `json:"requirements_are_met"` // of this scenario
	Samples   []sample            `json:"samples"`              // one a second
}

// findings makes the report of the samples.
func (o *observer) findings(options Options, pods int, began time.Time, samples []sample, bound float64) findings {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := findings{
		Scenario: scenario{
			Seed: options.Seed, Share: options.Share, Policy: options.Policy, ConsolidateAfter: options.ConsolidateAfter, Budget: options.Budget, NodeCost: options.NodeCost,
			Boot: options.Boot.String(), Grace: options.Grace.String(), ControllerQPS: options.ControllerQPS,
		},
		Pods: pods, Bound: bound, LastMove: seconds(o.changed.Sub(began)),
		Evictions: o.evictions, Again: o.again, Launches: o.launches, Ends: o.ends, Samples: samples,
	}
	f.judge(began)
	return f
}

// judge reads the figures from the samples.
func (f *findings) judge(began time.Time) {
	for i := range f.Samples {
		s := &f.Samples[i]
		s.Seconds = seconds(s.at.Sub(began))
		if s.Seconds <= 0 || i == 0 {
			f.Start = *s
			f.PeakCost = s.Cost
		}
		f.PeakCost = max(f.PeakCost, s.Cost)
	}
	f.End = f.Samples[len(f.Samples)-1]
	f.Within = map[string]*float64{}
	for _, over := range []float64{0.1, 0.05, requiredOver, goalOver, 0.01} {
		f.Within[strconv.FormatFloat(over, 'f', 2, 64)] = f.until(over)
	}
	f.EndOver = math.Round(f.End.over(f.Bound)*1e4) / 1e4
	soon := func(over float64, within time.Duration) bool {
		at := f.until(over)
		return at != nil && *at <= within.Seconds()
	}
	f.Required = map[string]bool{
		fmt.Sprintf("within %g %% of the bound in %s", 100*requiredOver, requiredSoon): soon(requiredOver, requiredSoon),
		fmt.Sprintf("goal: within %g %% of the bound in %s", 100*goalOver, goalSoon):   soon(goalOver, goalSoon),
		fmt.Sprintf("quiet for the last %s", requiredQuiet):                            f.End.Seconds-f.LastMove >= requiredQuiet.Seconds(),
		"no pod is evicted twice": f.Again == 0,
		fmt.Sprintf("observed for the %s that this takes", requiredSoon+requiredQuiet): f.End.Seconds >= (requiredSoon+requiredQuiet).Seconds()-2,
	}
}

// until is when the fleet came within the fraction of the bound and stayed there.
func (f *findings) until(over float64) *float64 {
	var at *float64
	for i := range f.Samples {
		s := &f.Samples[i]
		switch {
		case f.Bound <= 0 || s.over(f.Bound) > over:
			at = nil
		case at == nil:
			since := max(0, s.Seconds)
			at = &since
		}
	}
	return at
}

func (f findings) print(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(f); err != nil {
		return fmt.Errorf("findings print: %w", err)
	}
	return nil
}

// seconds has a tenth of a second.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
