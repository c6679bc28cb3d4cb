package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/daemonlog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// timeline is what the observer saw: when EC2 got each launch, and what the
// daemon said about it.
type timeline struct {
	mu       sync.Mutex
	launched map[string]time.Time // NodeClaim -> when EC2 had its CreateFleet
	ended    map[string]time.Time // instance -> when it began to end
	prices   map[string]quantity.Money
}

// watch starts to observe and takes the inventory that destroy is held to.
func watch(ctx context.Context, d *demo) (*timeline, error) {
	t := &timeline{launched: map[string]time.Time{}, ended: map[string]time.Time{}, prices: map[string]quantity.Money{}}
	facts, market, err := embedded.Load(region)
	if err != nil {
		return nil, err
	}
	for _, x := range catalog.Build(facts, market, catalog.Settings{Zones: market.Zones}) {
		for _, o := range x.Offerings {
			t.prices[x.Name+" "+o.CapacityType+" "+o.Zone] = o.Price
		}
	}
	d.lab.Cloud.EC2.Watch(func(i ec2sim.Instance, old, now ec2sim.State) {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch {
		case old == "":
			t.launched[i.Tags["karpenter.sh/nodeclaim"]] = i.LaunchTime
		case now == ec2sim.StateShuttingDown:
			t.ended[i.ID] = time.Now()
		}
	})
	d.inventory, err = Inventory(ctx, d.lab)
	return t, err
}

// instances are the product's instances that are not on their way out.
func (d *demo) instances() []ec2sim.Instance {
	return slices.DeleteFunc(d.lab.Cloud.EC2.Instances(), func(i ec2sim.Instance) bool {
		return i.State != ec2sim.StatePending && i.State != ec2sim.StateRunning
	})
}

func capacityType(i ec2sim.Instance) string {
	if i.Spot {
		return "spot"
	}
	return "on-demand"
}

func (d *demo) title(text string) { _, _ = fmt.Fprintf(d.out, "\n== %s\n", text) }

// fleet prints what runs and what it costs.
func (d *demo) fleet(context.Context) {
	type row struct {
		what  string
		count int
		price quantity.Money
	}
	rows := map[string]*row{}
	var total quantity.Money
	for _, i := range d.instances() {
		what := fmt.Sprintf("%-14s %-9s", i.Type, capacityType(i))
		price := d.timeline.prices[i.Type+" "+capacityType(i)+" "+i.Zone]
		total += price
		if rows[what] == nil {
			rows[what] = &row{what: what}
		}
		rows[what].count++
		rows[what].price += price
	}
	for _, r := range slices.SortedFunc(maps.Values(rows), func(a, b *row) int { return cmp.Compare(a.what, b.what) }) {
		d.say("  %2d x %s %s/h", r.count, r.what, r.price.Dollars())
	}
	d.say("  fleet: %d instances, %s/h (on-demand prices of the catalogue; spot prices are estimates)", len(d.instances()), total.Dollars())
}

// Messages of the daemon's log that the demo looks for.
const (
	launchMessage = "launch nodeclaim"
	costMessage   = "plan costs"
)

// decision is a line of the daemon's log about something it decided.
type decision struct {
	Time      time.Time `json:"time"`
	Message   string    `json:"message"`
	NodeClaim string    `json:"nodeclaim"`
	Node      string    `json:"node"`
	Pods      int       `json:"pods"`
	Declared  int       `json:"declared"`
	Types     string    `json:"instance_types"`
	Why       string    `json:"why"`
	Replaces  string    `json:"replaces"`
	Move      string    `json:"move"`
	Reason    string    `json:"reason"`
	Detail    string    `json:"detail"`
	Waited    string    `json:"waited"`
	Saves     string    `json:"saves"`
	DecidedIn string    `json:"decided_in"`
	Seen      []int64   `json:"seen_unix_nano"`
}

// text tells the decision; "" for what goes without saying.
func (x decision) text() string {
	switch x.Message {
	case launchMessage:
		pods := fmt.Sprintf("%d waiting and %d declared pods", x.Pods, x.Declared)
		if x.Move != "" {
			pods = "pods that run elsewhere"
		}
		s := fmt.Sprintf("launch %s for %s: %s; decided in %s", x.NodeClaim, pods, x.Why, x.DecidedIn)
		switch {
		case x.Move != "":
			s += "; move " + x.Move
		case x.Replaces != "":
			s += "; replaces " + x.Replaces
		}
		return s
	case "launch failed":
		return "launch " + x.NodeClaim + " found no capacity: its pods are planned for anew"
	case "disrupt node":
		return fmt.Sprintf("taint %s (%s), so that no pod comes: %s", x.Node, x.NodeClaim, x.Reason)
	case "delete nodeclaim":
		return fmt.Sprintf("delete %s: %s for %s; its instance costs %s/h", x.NodeClaim, strings.TrimSpace(x.Reason+" "+x.Detail), x.Waited, x.Saves)
	}
	return ""
}

// decisions reads the logs of the daemon's replicas, in the order of time.
func (d *demo) decisions() []decision {
	var out []decision
	for _, name := range d.daemonLogs() {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // its pod was deleted
		}
		for entry := range daemonlog.Entries(text) {
			var x decision
			if entry.Fields(&x) == nil && (x.text() != "" || x.Message == costMessage) {
				out = append(out, x)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b decision) int { return a.Time.Compare(b.Time) })
	return out
}

func (d *demo) daemonLogs() []string {
	files, _ := filepath.Glob(filepath.Join(d.lab.LogDir(), "*karpenterd*.log")) // the pattern is well formed
	return files
}

// tell prints what the daemon decided since the last time, with its reasons.
func (d *demo) tell() {
	all := d.decisions()
	for _, x := range all[min(d.printed, len(all)):] {
		if text := x.text(); text != "" {
			_, _ = fmt.Fprintf(d.out, "%6.1fs    daemon: %s\n", x.Time.Sub(d.began).Seconds(), text)
		}
	}
	d.printed = len(all)
}

// summary prints the waits that were measured.
func (d *demo) summary() {
	d.title("What was measured")
	var waits []time.Duration
	d.timeline.mu.Lock()
	for _, x := range d.decisions() {
		at, ok := d.timeline.launched[x.NodeClaim]
		if !ok || x.Message != launchMessage {
			continue // no launch, or one without capacity: its pods were planned for anew
		}
		for _, seen := range x.Seen {
			waits = append(waits, at.Sub(time.Unix(0, seen)))
		}
	}
	d.timeline.mu.Unlock()
	slices.Sort(waits)
	if len(waits) > 0 {
		d.say("from the moment the daemon first saw a waiting pod to its CreateFleet at EC2: median %d ms, slowest %d ms, over %d pods",
			waits[len(waits)/2].Milliseconds(), waits[len(waits)-1].Milliseconds(), len(waits))
		d.say("  (Karpenter waits at least 1 s for more pods; 2.35 s were measured for a burst of 40)")
	}
	d.say("%d checks passed; the demo took %.0f s", d.checks, time.Since(d.began).Seconds())
}

// explain prints what helps to find out why the demo failed.
func (d *demo) explain(context.Context) {
	d.title("What the daemon said last")
	for _, name := range d.daemonLogs() {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		for _, line := range lines[max(0, len(lines)-25):] {
			_, _ = fmt.Fprintln(d.out, line)
		}
	}
}
