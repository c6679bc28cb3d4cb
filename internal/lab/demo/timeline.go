package demo

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// timeline is what the observer saw: when EC2 got each launch, and what the
// daemon said about it.
type timeline struct {
	mu       sync.Mutex
	launched map[string]time.Time // NodeClaim -> when EC2 had its CreateFleet
	prices   map[string]quantity.Money
}

// watch starts to observe and takes the inventory that destroy is held to.
func watch(ctx context.Context, d *demo) (*timeline, error) {
	t := &timeline{launched: map[string]time.Time{}, prices: map[string]quantity.Money{}}
	facts, market, err := embedded.Load(region)
	if err != nil {
		return nil, err
	}
	for _, x := range catalog.Build(facts, market, catalog.Settings{Zones: market.Zones}) {
		for _, o := range x.Offerings {
			t.prices[x.Name+" "+o.CapacityType+" "+o.Zone] = o.Price
		}
	}
	d.lab.Cloud.EC2.Watch(func(i ec2sim.Instance, old, _ ec2sim.State) {
		if old != "" {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.launched[i.Tags["karpenter.sh/nodeclaim"]] = i.LaunchTime
	})
	d.inventory, err = d.takeInventory(ctx)
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
	for _, r := range slices.SortedFunc(mapValues(rows), func(a, b *row) int { return cmp.Compare(a.what, b.what) }) {
		d.say("  %2d x %s %s/h", r.count, r.what, r.price.Dollars())
	}
	d.say("  fleet: %d instances, %s/h (on-demand prices of the catalogue; spot prices are estimates)", len(d.instances()), total.Dollars())
	for _, l := range d.newLaunches() {
		d.say("  why %s: %s", l.NodeClaim, l.Why)
	}
}

// decision is a line of the daemon's log about a launch.
type decision struct {
	Message   string  `json:"@message"`
	NodeClaim string  `json:"nodeclaim"`
	Why       string  `json:"why"`
	DecidedIn string  `json:"decided_in"`
	Seen      []int64 `json:"seen_unix_nano"`
}

// decisions reads the launches out of the logs of the daemon's replicas.
func (d *demo) decisions() []decision {
	files, _ := filepath.Glob(filepath.Join(d.lab.LogDir(), "*karpenterd*.log")) // the pattern is well formed
	var out []decision
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			continue // rotated away
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var x decision
			if json.Unmarshal(lines.Bytes(), &x) == nil && x.Message == "launch nodeclaim" {
				out = append(out, x)
			}
		}
		_ = file.Close() // only read
	}
	return out
}

// newLaunches are the decisions that were not printed yet.
func (d *demo) newLaunches() []decision {
	all := d.decisions()
	fresh := slices.DeleteFunc(all, func(x decision) bool { return d.printed[x.NodeClaim] })
	for _, x := range fresh {
		d.printed[x.NodeClaim] = true
	}
	return fresh
}

// summary prints the waits that were measured.
func (d *demo) summary() {
	d.title("What was measured")
	var waits []time.Duration
	d.timeline.mu.Lock()
	for _, x := range d.decisions() {
		at, ok := d.timeline.launched[x.NodeClaim]
		if !ok {
			continue // had no capacity: its pods were planned for anew
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
	files, _ := filepath.Glob(filepath.Join(d.lab.LogDir(), "*karpenterd*.log")) // the pattern is well formed
	for _, name := range files {
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
