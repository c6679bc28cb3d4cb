package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	points    []dated
	saved     savings
	empty     savings // nodes that no pod needed

	viewers viewers
}

// numbered is a decision with its key, and as text: it never changes.
type numbered struct {
	key  string
	text json.RawMessage
	decision
}

// dated is a point as text, with its time and its key. The same holds for it.
type dated struct {
	at   int64
	key  string
	text json.RawMessage
}

// savings is by how much removals have cut the cost: what each node cost an hour when it was
// removed, less what the nodes cost that are there in its place.
type savings struct {
	removals int
	rate     quantity.Money // an hour
	// charged are the replacements whose cost has been taken off the rate. A move may take several
	// nodes away, one after the other.
	charged map[string]bool
}

// removed counts a node that was removed to save money. What replaces it are the NodeClaims that
// carry its move: those that failed, or that nothing needed, are not among them any more.
func (s *savings) removed(d plan.Delete, prices view.View) {
	s.removals++
	s.rate = s.rate.Add(max(d.Saves, 0))
	there := map[string]bool{}
	for c := range prices.Snapshot.EachClaim() {
		if s.charged[c.Name] {
			there[c.Name] = true
			continue
		}
		if c.Move == nil || c.Deleting || !slices.ContainsFunc(c.Move.Sources, func(x cluster.Source) bool { return x.Claim == d.Claim }) {
			continue
		}
		if price, known := prices.PriceOf(*c); known {
			s.rate, there[c.Name] = s.rate.Add(-price), true
		}
	}
	s.charged = there
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
	p.measure(after.Now)
}

// Launched is told that a NodeClaim was created.
func (p *Page) Launched(l plan.Launch, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(launched(l, now))
}

// prices are those of the last Step.
func (p *Page) prices(now time.Time) view.View {
	return view.View{Snapshot: p.input.Snapshot, Policy: p.input.Policy.WithDefaults(), Now: now}
}

// measure adds a point to the curve of costs.
func (p *Page) measure(now time.Time) {
	if n := len(p.points); n > 0 && now.Unix()-p.points[n-1].at < int64(pointEvery/time.Second) {
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
	prices := p.prices(now)
	for c := range p.input.Snapshot.EachClaim() {
		if price, known := prices.PriceOf(*c); known {
			x.Pools[c.Pool] += dollars(price)
			x.Buys[c.CapacityType] += dollars(price)
			x.Zones[c.Zone] += dollars(price)
		}
	}
	p.keep(x)
}

// keep adds the point.
func (p *Page) keep(x point) {
	text, err := json.Marshal(x)
	if err != nil {
		return // a number that is none: the next audit has another
	}
	p.points = append(p.points, dated{x.At, strconv.FormatInt(x.At, 10), text})
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
	switch d.Why { //nolint:exhaustive // the others are not made to save money
	case plan.Underutilized:
		p.saved.removed(d, p.prices(now))
	case plan.Empty:
		p.empty.removed(d, p.prices(now))
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
	for i := len(p.decisions) - 1; i >= 0; i-- {
		if x := &p.decisions[i]; x.Claim == d.Claim {
			if x.Kind == kindKept && x.Why == why {
				return // the next plan has the same wish
			}
			break
		}
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
	text, err := json.Marshal(d)
	if err != nil {
		return // as for points
	}
	p.made++
	p.decisions = append(p.decisions, numbered{strconv.Itoa(p.made), text, d})
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
