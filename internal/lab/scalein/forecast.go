package scalein

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"time"
)

// How far the fleet may be from what was foretold: our own, and the one that the daemon made of
// the same pods in a run of its own where the fleet that is asked about is another controller's.
const (
	requiredForecast  = 0.02
	requiredElsewhere = 0.05
)

// Outcome is a fleet at the end of a measurement.
type Outcome struct {
	Cost      float64 // dollars an hour, of instances and volumes
	Instances int
}

// foretold is what "karpenterd simulate" says before the scale-down of the fleet with the
// replicas that it leaves, beside what came of it. Costs are of instances and volumes.
type foretold struct {
	Now           float64 `json:"cost_before"`
	Cost          float64 `json:"cost"`
	Instances     int     `json:"instances"`
	Bound         float64 `json:"bound"`
	Moves         int     `json:"moves_of_pods"`
	LastRemoval   int     `json:"last_removal_seconds"` // without boots and drains
	Unplaced      int     `json:"pods_without_a_place"`
	Took          float64 `json:"command_took_seconds"`
	RealCost      float64 `json:"real_cost"`
	RealInstances int     `json:"real_instances"`
	Difference    float64 `json:"difference"` // of the foretold cost from the real one, as a fraction of that
}

// report is what is read of a report of the command.
type report struct {
	Now struct {
		CostPerHour float64
	}
	Then struct {
		CostPerHour, BoundPerHour float64
		Nodes                     int
	}
	WouldRemove struct {
		EvictedPods int
		List        []struct{ Seconds int }
	}
	CannotBePlaced []struct{ Pods int }
}

// foretell asks the command what the daemon would make of the fleet if the scale-down were over.
func (r *run) foretell(ctx context.Context) (*foretold, error) {
	r.say("ask karpenterd simulate what %d pods of these will cost", count(r.apps, r.Share))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := []string{"simulate", "--kubeconfig", r.of.Lab.Kubeconfig, "-o", "json"}
	for _, a := range r.apps {
		args = append(args, "--scale", fmt.Sprintf("deployment/%s/%s=%d", namespace, a.name, a.left(r.Share)))
	}
	command := exec.CommandContext(ctx, r.of.Command, args...)
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	began := time.Now()
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("karpenterd simulate: %w: %s", err, said.String())
	}
	f, err := readReport(out.Bytes())
	if err != nil {
		return nil, err
	}
	f.Took = seconds(time.Since(began))
	r.say("foretold: $%.2f/h on %d instances, after %d moves of pods", f.Cost, f.Instances, f.Moves)
	return f, nil
}

func readReport(text []byte) (*foretold, error) {
	var x report
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, fmt.Errorf("report of karpenterd simulate read: %w", err)
	}
	if x.Then.CostPerHour <= 0 {
		return nil, errors.New("report of karpenterd simulate read: it has no cost")
	}
	f := &foretold{
		Now: x.Now.CostPerHour, Cost: x.Then.CostPerHour, Instances: x.Then.Nodes, Bound: x.Then.BoundPerHour,
		Moves: x.WouldRemove.EvictedPods,
	}
	for _, removed := range x.WouldRemove.List {
		f.LastRemoval = max(f.LastRemoval, removed.Seconds)
	}
	for _, u := range x.CannotBePlaced {
		f.Unplaced += u.Pods
	}
	return f, nil
}

// holdForecast compares what was foretold with the fleet at the end, or with what the daemon made
// of the same pods elsewhere, and judges the difference.
func (f *findings) holdForecast(elsewhere *Outcome) {
	came, most, what := Outcome{f.End.Cost + f.End.Volumes, f.End.Instances}, requiredForecast, "what karpenterd simulate foretold is within %g %% of the cost"
	if elsewhere != nil {
		came, most, what = *elsewhere, requiredElsewhere, "what karpenterd simulate foretold of this fleet is within %g %% of what the daemon made of its own"
	}
	x := f.Forecast
	x.RealCost, x.RealInstances = came.Cost, came.Instances
	x.Difference = math.Round((x.Cost/came.Cost-1)*1e4) / 1e4
	f.Required[fmt.Sprintf(what, 100*most)] = math.Abs(x.Difference) <= most && x.Unplaced == 0
}
