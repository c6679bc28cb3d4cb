package page

import (
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/view"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	// pointEvery is the shortest time between two points of the curve of costs: the fleet is
	// audited once a minute. mostPoints is a day of them.
	pointEvery, mostPoints = time.Minute, 24 * 60
	// mostDecisions is how many decisions are kept: at the ten a minute of a busy day, an hour.
	mostDecisions = 600
	// mostPods is how many pods a decision, or a row of pods that wait, names: as many as EKS
	// recommends for a node.
	mostPods = 110
)

// World is where the page reads what a Step does not know.
type World interface {
	NodePool(name string) (*v1.NodePool, bool)
	WaitingSince(pod string) (time.Time, bool)
}

// Source is what the page of a replica that decides is made of.
type Source struct {
	World            World
	Audit            func() (plan.Audit, bool) // the last audit, and whether there has been one
	Version, Cluster string
}

// Page has what the page shows. The zero value is that of a replica that decides nothing.
type Page struct {
	mu        sync.Mutex
	source    Source
	since     time.Time // zero while nothing is known
	input     engine.Input
	outcomes  []plan.Outcome
	decisions []numbered
	made      int // decisions so far
	points    []point
	saved     savings

	viewers viewers
}

// numbered is a decision with its number, which is its key.
type numbered struct {
	number int
	decision
}

// savings is what the removals that were made to save money have saved: what each node cost an
// hour, less what the nodes cost that were launched in their place, for as long as it is ago.
type savings struct {
	removals int
	rate     quantity.Money // an hour
	until    time.Time      // sum is what was saved until then
	sum      float64        // dollars
}

// change adds to the rate.
func (s *savings) change(by quantity.Money, now time.Time) {
	s.sum, s.until = s.at(now), now
	s.rate = s.rate.Add(by)
}

// at is the sum at the time, in dollars.
func (s *savings) at(now time.Time) float64 {
	if s.until.IsZero() {
		return 0
	}
	return s.sum + dollars(s.rate)*now.Sub(s.until).Hours()
}

// Begin says that this replica decides from now on.
func (p *Page) Begin(s Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.source = s
}

// Note keeps what a Step knew, with the memory after it, and what it decided. It returns at once.
func (p *Page) Note(after engine.Input, decided plan.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since.IsZero() {
		p.since = after.Now
	}
	p.input, p.outcomes = after, decided.Outcomes
	for _, a := range decided.Actions {
		if l, is := a.(plan.Launch); is {
			p.add(launched(l, after.Now))
			if l.Move != nil && plan.DeleteReason(l.Move.Reason).Traits().Saves {
				p.saved.change(-l.Price, after.Now)
			}
		}
	}
	p.measure(after.Now)
}

// measure adds a point to the curve of costs.
func (p *Page) measure(now time.Time) {
	if n := len(p.points); n > 0 && now.Unix()-p.points[n-1].At < int64(pointEvery/time.Second) {
		return
	}
	if p.source.Audit == nil {
		return
	}
	audit, audited := p.source.Audit()
	if !audited {
		return
	}
	x := point{
		At: now.Unix(), Cost: dollars(audit.Total()), Bound: dollars(audit.Proof.Bound),
		Pools: map[string]float64{}, Buys: map[string]float64{}, Zones: map[string]float64{},
	}
	prices := view.View{Snapshot: p.input.Snapshot, Policy: p.input.Policy.WithDefaults(), Now: now}
	for c := range p.input.Snapshot.EachClaim() {
		if price, known := prices.PriceOf(*c); known {
			x.Pools[c.Pool] += dollars(price)
			x.Buys[c.CapacityType] += dollars(price)
			x.Zones[c.Zone] += dollars(price)
		}
	}
	p.points = append(p.points, x)
	if len(p.points) > mostPoints {
		p.points = p.points[1:]
	}
}

// Deleted is told that a NodeClaim was deleted.
func (p *Page) Deleted(d plan.Delete, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := decision{At: now.Unix(), Kind: kindRemoval, Claim: d.Claim, Node: d.Node, Reason: string(d.Why), Why: removal(d)}
	if d.Saves > 0 {
		out.Frees = known(d.Saves, true)
	}
	if d.Why.Traits().Saves {
		p.saved.removals++
		p.saved.change(max(d.Saves, 0), now)
	}
	if c, there := p.input.Snapshot.Claim(d.Claim); there {
		out.Pool, out.What = c.Pool, bought(&c)
	}
	p.name(&out, d.Node)
	p.add(out)
}

// name names the pods of the node that need another place.
func (p *Page) name(d *decision, node string) {
	if node == "" {
		return
	}
	for _, pod := range p.input.Snapshot.PodsOn(node) {
		if !pod.Pinned {
			if d.Count++; len(d.Pods) < mostPods {
				d.Pods = append(d.Pods, pod.ID())
			}
		}
	}
}

// Kept is told that a NodeClaim that was to be deleted stays for now.
func (p *Page) Kept(d plan.Delete, why string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.decisions); n > 0 && p.decisions[n-1].Kind == kindKept && p.decisions[n-1].Claim == d.Claim && p.decisions[n-1].Why == why {
		return
	}
	p.add(p.about(d.Claim, decision{At: now.Unix(), Kind: kindKept, Node: d.Node, Reason: string(d.Why), Why: why}))
}

// LaunchFailed is told that a launch brought no instance.
func (p *Page) LaunchFailed(claim, pool, why string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.decisions) - 1; i >= 0; i-- {
		if x := &p.decisions[i]; x.Kind == kindFailed && x.Claim == claim && x.Why == why {
			return // it is tried again and again
		}
	}
	p.add(decision{At: now.Unix(), Kind: kindFailed, Claim: claim, Pool: pool, Reason: "LaunchFailed", Why: why})
}

// Interrupted is told that EC2 will take the instance of a NodeClaim.
func (p *Page) Interrupted(claim, kind string, deadline, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := decision{
		At: now.Unix(), Kind: kindInterrupt, Reason: kind,
		Why: fmt.Sprintf("EC2 takes the instance at %s (%s): its pods get other places before", deadline.UTC().Format(time.RFC3339), strings.ReplaceAll(kind, "_", " ")),
	}
	p.add(p.about(claim, d))
}

// about adds what is known of the NodeClaim.
func (p *Page) about(claim string, d decision) decision {
	d.Claim = claim
	if c, there := p.input.Snapshot.Claim(claim); there {
		d.Pool, d.Node, d.What = c.Pool, c.Node, bought(&c)
		p.name(&d, c.Node)
	}
	return d
}

func (p *Page) add(d decision) {
	p.made++
	p.decisions = append(p.decisions, numbered{p.made, d})
	if len(p.decisions) > mostDecisions {
		p.decisions = p.decisions[1:]
	}
}

// launched is the decision to launch a node.
func launched(l plan.Launch, now time.Time) decision {
	why := l.Why
	why.RunnerUp = plan.Choice{} // it is shown by itself
	d := decision{
		At: now.Unix(), Kind: kindLaunch, Pool: l.Pool, Claim: l.Name, Reason: "PodsNeedRoom", Why: why.Explain(),
		What: l.Why.Best.Type + ", " + l.CapacityType, Price: known(l.Price, !l.Why.Best.StandIn),
		Pods: l.Pods[:min(len(l.Pods), mostPods)], Count: len(l.Pods) + int(l.Declared),
	}
	switch {
	case l.Move != nil:
		d.Reason = "Replaces:" + l.Move.Reason
	case l.Why.Replaces != "":
		d.Reason = "Replaces:" + string(plan.Interrupted)
	case l.Why.Static > 0:
		d.Reason = "StaticPool"
	}
	if r := l.Why.RunnerUp; r.Type != "" {
		d.RunnerUp, d.RunnerAt = r.Type, known(r.Price, !r.StandIn)
	}
	return d
}

// removal says in one sentence why a node was deleted.
func removal(d plan.Delete) string {
	text := map[plan.DeleteReason]string{
		plan.Empty:                 "no pod runs there that needs the node",
		plan.Underutilized:         "its pods run elsewhere for less",
		plan.Drifted:               "it is no longer what its NodePool and EC2NodeClass ask for",
		plan.Expired:               "its time by expireAfter is over",
		plan.PoolDeleted:           "its NodePool is being deleted",
		plan.Surplus:               "its static NodePool has more nodes than spec.replicas",
		plan.ReplacementUnused:     "it was launched for a move that ended before it was needed",
		plan.Interrupted:           "EC2 takes its instance",
		plan.LaunchTimeout:         "no instance was launched in time",
		plan.RegistrationTimeout:   "its instance did not join the cluster in time",
		plan.InitializationTimeout: "it did not get ready in time",
		plan.DeletedAlready:        "somebody else deleted it",
	}[d.Why]
	if d.Detail != "" {
		text += " (" + d.Detail + ")"
	}
	return text
}

// bought is the instance type and the capacity type of the NodeClaim.
func bought(c *cluster.Claim) string {
	if c.InstanceType == "" {
		return ""
	}
	return c.InstanceType + ", " + c.CapacityType
}
