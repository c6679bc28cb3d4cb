package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Story is what a plan does for the pods of one workload.
type Story struct {
	Workload string // kind namespace/name
	Chapters []Chapter
}

// Chapter is the pods of a workload with the same fate.
type Chapter struct {
	Pods    []string // namespace/name, sorted
	Verdict Verdict
	On      []string // nodes, NodeClaims or launches, sorted
	Dropped []string // preferences given up
	Reasons []Refusal

	key    string // equal for equal fates
	bought []*bought
}

// bought is a launch as a story tells it.
type bought struct {
	price         quantity.Money
	what, because string
	workload      string // of the first pod
	shared        bool   // it is for pods of other workloads, too
}

// WorkloadOf names the workload of a pod as people know it: a Deployment rather than
// the ReplicaSet that the Deployment made.
func WorkloadOf(p cluster.Pod) string {
	kind, name := p.Owner.Kind, p.Owner.Name
	if hash, ok := p.Labels.Get("pod-template-hash"); ok && kind == "ReplicaSet" {
		if short, ok := strings.CutSuffix(name, "-"+hash); ok {
			kind, name = "Deployment", short
		}
	}
	if name == "" {
		kind, name = "Pod", p.Name
	}
	return kind + " " + p.Namespace + "/" + name
}

// Tell groups the plan's outcomes by workload; workloadOf returns the workload for
// the id of a pod. Stories are sorted by workload. A story counts only pods that
// exist; a Launch says how many declared replicas it is for.
func Tell(p Plan, workloadOf func(pod string) string) []Story {
	launches := map[string]*bought{}
	for _, a := range p.Actions {
		if l, ok := a.(Launch); ok {
			launches[l.Name] = &bought{price: l.Price, what: l.what(), because: l.Why.because()}
		}
	}
	stories, index := []Story{}, map[string]int{}
	for _, o := range p.Outcomes {
		fate := Chapter{Verdict: o.Verdict, Dropped: o.Dropped, Reasons: o.Reasons}
		fate.key = string(o.Verdict) + "\n" + strings.Join(o.Dropped, "\n") + "\n" + ExplainRefusals(o.Reasons)
		launch := launches[o.On]
		for _, pod := range o.Pods {
			w := workloadOf(pod)
			i, known := index[w]
			if !known {
				i, index[w] = len(stories), len(stories)
				stories = append(stories, Story{Workload: w})
			}
			stories[i].add(pod, o.On, fate)
			if launch != nil {
				launch.shared = launch.shared || launch.workload != "" && launch.workload != w
				launch.workload = w
			}
		}
	}
	for i := range stories {
		for j := range stories[i].Chapters {
			c := &stories[i].Chapters[j]
			slices.Sort(c.Pods)
			slices.Sort(c.On)
			c.On = slices.Compact(c.On)
			for _, name := range c.On {
				if l, ok := launches[name]; ok && c.Verdict == OnLaunch {
					c.bought = append(c.bought, l)
				}
			}
		}
		slices.SortStableFunc(stories[i].Chapters, func(a, b Chapter) int { return cmp.Compare(order(a.Verdict), order(b.Verdict)) })
	}
	slices.SortFunc(stories, func(a, b Story) int { return strings.Compare(a.Workload, b.Workload) })
	return stories
}

// order puts pods that have a place before pods that have none yet.
func order(v Verdict) int {
	return slices.Index([]Verdict{OnNode, OnClaim, OnLaunch, Preempting, Waiting, AwaitsNodes, Unplaceable}, v)
}

func (s *Story) add(pod, on string, fate Chapter) {
	i := slices.IndexFunc(s.Chapters, func(c Chapter) bool { return c.key == fate.key })
	if i < 0 {
		i, s.Chapters = len(s.Chapters), append(s.Chapters, fate)
	}
	c := &s.Chapters[i]
	c.Pods = append(c.Pods, pod)
	if on != "" {
		c.On = append(c.On, on)
	}
}

// Explain makes one paragraph of the story.
func (s Story) Explain() string {
	total, parts := 0, make([]string, len(s.Chapters))
	for i, c := range s.Chapters {
		total += len(c.Pods)
		parts[i] = c.explain()
	}
	return fmt.Sprintf("%s, %s: %s.", s.Workload, quantity.Count(int64(total), "pod"), strings.Join(parts, ". "))
}

func (c Chapter) explain() string {
	verb := func(many, one string) string {
		if len(c.Pods) == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", len(c.Pods), many)
	}
	var text string
	switch c.Verdict {
	case OnNode:
		text = verb("fit", "fits") + " on " + places(c.On, "node")
	case OnClaim:
		text = verb("fit", "fits") + " on " + places(c.On, "NodeClaim") + onTheWay(len(c.On))
	case OnLaunch:
		text = verb("get", "gets") + " " + c.explainLaunches()
	case Preempting:
		it := "them"
		if len(c.Pods) == 1 {
			it = "it"
		}
		text = verb("are", "is") + " to run on " + places(c.On, "node") + ", " + preemptsFor(it)
	case Waiting:
		text = verb("wait", "waits") + " a moment" + waitsFor(c.Reasons)
	case AwaitsNodes:
		text = verb("wait", "waits") + " for room on nodes that are on their way"
	case Unplaceable:
		return verb("cannot be placed", "cannot be placed") + ": " + ExplainRefusals(c.Reasons)
	}
	if len(c.Dropped) > 0 {
		text += "; preferences given up: " + names(c.Dropped)
	}
	return text
}

func places(on []string, thing string) string {
	if len(on) == 1 {
		return thing + " " + on[0]
	}
	return fmt.Sprintf("%d %ss (%s)", len(on), thing, names(on))
}

func onTheWay(n int) string {
	if n == 1 {
		return ", which is on its way"
	}
	return ", which are on their way"
}

// explainLaunches says what is bought and why. It tells launches of one kind
// together.
func (c Chapter) explainLaunches() string {
	type kind struct {
		*bought // the first of them
		differ  bool
		n       int
	}
	var kinds []kind
	var total quantity.Money
	shared := false
	for _, l := range c.bought {
		total += l.price
		shared = shared || l.shared
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.what == l.what })
		if i < 0 {
			i, kinds = len(kinds), append(kinds, kind{bought: l})
		}
		kinds[i].n++
		kinds[i].differ = kinds[i].differ || kinds[i].because != l.because
	}
	slices.SortStableFunc(kinds, func(a, b kind) int { return cmp.Compare(b.n, a.n) })
	var parts []string
	rest := len(c.bought)
	for _, k := range kinds[:min(len(kinds), mostNames)] {
		part := k.what
		if len(c.bought) > 1 {
			part = fmt.Sprintf("%d x %s", k.n, part)
		}
		switch {
		case k.because == "":
		case k.differ:
			part += ", the first one because " + k.because
		default:
			part += ", because " + k.because
		}
		parts = append(parts, part)
		rest -= k.n
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more of other kinds", rest))
	}
	text := "a new node"
	if n := len(c.bought); n > 1 {
		text = fmt.Sprintf("%d new nodes for %s an hour in all", n, total.Dollars())
	}
	if shared {
		text += ", shared with other workloads"
	}
	return text + ": " + strings.Join(parts, "; ")
}

// what describes the launch in short: instance type, capacity type, zones,
// NodePool and price.
func (l Launch) what() string {
	what := l.CapacityType
	switch n := len(l.Types); n {
	case 0:
	case 1:
		what = l.Types[0].Type + " " + what
	default:
		what = l.Types[0].Type + " (or " + quantity.Count(int64(n-1), "other type") + ") " + what
	}
	if len(l.Zones) > 0 {
		what += " in " + strings.Join(l.Zones, " or ")
	}
	what += " from NodePool " + strconv.Quote(l.Pool)
	price := Choice{Price: l.Price, StandIn: len(l.Types) > 0 && l.Types[0].StandIn}
	return what + " at " + price.costs() + " an hour"
}

// because says which other types were compared: the cheaper type that is too small,
// and the best alternative of another family.
func (r LaunchReason) because() string {
	var parts []string
	if r.Lacks != nil {
		parts = append(parts, fmt.Sprintf("%s at %s %s", r.Passed.Type, r.Passed.costs(), lacks(*r.Lacks)))
	}
	if r.RunnerUp.Type != "" {
		parts = append(parts, fmt.Sprintf("the best alternative of another family, %s, costs %s", r.RunnerUp.Type, r.RunnerUp.costs()))
	}
	return strings.Join(parts, " and ")
}

// Gap is how far the cost of nodes is above the bound, in thousandths of the bound.
// The cost is the total, as in Plan.Total. Gap is not defined where the bound is zero.
func (c Certificate) Gap(cost quantity.Money) (permille int64, defined bool) {
	if c.Bound <= 0 {
		return 0, false
	}
	excess := cost - c.Bound
	return int64(excess/c.Bound)*1000 + int64(excess%c.Bound*1000/c.Bound), true
}

// Explain says in one sentence how far the cost of nodes is from the bound, and what
// the cost consists of: instances, and what the nodes cost beside them.
func (c Certificate) Explain(instances quantity.Money, extra Extra) string {
	cost, parts := instances.Add(extra.Total()), extra.parts(instances)
	what, verb := "new nodes for these pods", "cost"
	if c.Scratch {
		what, verb = "a fleet for all pods, from scratch,", "costs"
	}
	gap, defined := c.Gap(cost)
	switch {
	case !defined:
		return fmt.Sprintf("%s %s %s an hour; no lower bound is proven", what, verb, cost.Dollars()+parts)
	case cost < c.Bound:
		return fmt.Sprintf("%s %s %s an hour or more; the cost is %s, which is less, because running pods and nodes need not follow every rule for new ones", what, verb, c.Bound.Dollars(), cost.Dollars()+parts)
	case cost == c.Bound:
		return fmt.Sprintf("%s cannot cost less than %s an hour, and that is the cost%s", what, c.Bound.Dollars(), parts)
	}
	above := decimal(gap, 10, 1)
	if gap == 0 {
		above = "less than 0.1"
	}
	return fmt.Sprintf("%s cannot cost less than %s an hour; the cost is %s, %s %% above that", what, c.Bound.Dollars(), cost.Dollars()+parts, above)
}
