package engine

import (
	"math"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Input is all that a Step may look at.
type Input struct {
	Snapshot cluster.Snapshot
	Memory   Memory
	Policy   Policy
	Now      time.Time
	Seed     uint64 // names of new NodeClaims come from it
	// Polish is how many steps of improving it each packing of new nodes gets
	// before anything of it is launched.
	Polish int
	// WorkLimit is after how many units of work the Step stops, 0 for none: a
	// unit is a search for places for the whole demand, or a step of improving
	// it. The plan is then a prefix of what it would be without a limit, and the
	// Memory goes on with it in the next Step. No clock ever decides.
	WorkLimit int
}

// Output is all that a Step has to say.
type Output struct {
	Plan   plan.Plan
	Memory Memory
	Trace  Trace
}

// Trace counts the work of a Step, for benchmarks and for the record.
type Trace struct {
	Pods     int // real pods that needed room
	Declared int64
	Classes  int // groups among them
	Objects  int // claims, nodes, groups and workloads looked at
	Hosts    int // of them those that could take pods
	Types    int // kinds of new node that can be launched
	Rounds   int // times that demand was packed
	Work     int64
	Tries    int // times that the Step was planned anew for the sake of a gang
	Placed   int64
	Launches int // of the whole plan, those of Steps before included
	Refused  int64
	// Units is the work that the plan has taken so far, all tries together.
	Units int
	// Complete says that the plan is made; else the next Step goes on with it.
	Complete bool
}

// Policy holds the settings of the core. The zero value of a field means its
// default; see DefaultPolicy.
type Policy struct {
	// StartupTaint is the daemon's own: it stays on a node until the pods that
	// the node was made for are nominated.
	StartupTaint cluster.Taint
	// OnDemandTolerance and SpotTolerance are how much dearer, in thousandths,
	// an alternative type of a launch may be than the best one.
	OnDemandTolerance, SpotTolerance int64
	// CannotNominate says that the daemon may not write the nominations of pods:
	// none are asked for, and plans are made for the scheduler's own scoring.
	CannotNominate bool
	// IgnorePreferences leaves out what pods only prefer: preferred affinities,
	// spread constraints with ScheduleAnyway, and taints PreferNoSchedule.
	IgnorePreferences bool
	// BestEffortMinValues lets a launch have fewer values than a pool's minValues
	// where there are not as many; else nothing is launched.
	BestEffortMinValues bool
	// SoftMaxMilliCPU is the node size that is not exceeded unless a pod needs
	// it: beyond about 32 vCPU a larger node saves next to nothing and takes
	// more pods with it when it goes.
	SoftMaxMilliCPU int64
	// ReleaseWait is how long a ready node that has pods is kept for pods that
	// are declared while no controller makes progress, and a tenth of how long it
	// is kept at most.
	ReleaseWait time.Duration
	// DeclaredPatience is how long a declared replica counts as demand without
	// any progress of its controller.
	DeclaredPatience time.Duration
	// ArrivalPatience is the least time for which a node that has not had any of
	// its pods yet does not count as empty.
	ArrivalPatience time.Duration
	// LaunchTimeout and RegistrationTimeout end NodeClaims that do not come up. A
	// node that has registered has as long again to become ready for its pods.
	LaunchTimeout, RegistrationTimeout time.Duration
	// DrainReserve is the part of an interruption notice that is kept for
	// draining, at most half of the notice.
	DrainReserve time.Duration
}

// DefaultPolicy returns the settings that the daemon starts with. The tolerances
// are those of Karpenter's users' habit of flexible fleets; the timeouts are
// Karpenter's.
func DefaultPolicy() Policy {
	return Policy{
		StartupTaint:        cluster.Taint{Key: "karpenterd.sh/awaiting-pods", Effect: cluster.NoSchedule},
		OnDemandTolerance:   50,
		SpotTolerance:       200,
		SoftMaxMilliCPU:     32_000,
		ReleaseWait:         3 * time.Second,
		DeclaredPatience:    30 * time.Second,
		ArrivalPatience:     20 * time.Second,
		LaunchTimeout:       5 * time.Minute,
		RegistrationTimeout: 15 * time.Minute,
		DrainReserve:        60 * time.Second,
	}
}

// Step decides. It never fails: what cannot be done is said in the plan's
// outcomes.
//
// A Step that its WorkLimit stops returns what is certain by then: launches that
// are final, and for pods that were not reached the outcome that they wait. What
// depends on the whole plan, the removal of nodes among it, comes with the Step
// that ends it. Outcomes, costs, proofs and the trace are always of the plan as a
// whole, actions only what no Step of it has returned before: together they are
// those of one Step without a limit.
func Step(in Input) Output {
	c, units := resume(in)
	for {
		s := newStep(c.in, c.excluded)
		s.scarce = c.first
		s.packer = &packer{answers: c.answers, left: units, units: c.units}
		s.trace.Tries = c.try
		s.place()
		if s.packer.cut {
			return s.pause(c)
		}
		if id, found := s.incomplete(); found {
			// Without the gang its room goes to others, so all is planned anew.
			c.excluded[id] = true
			for c.try >= gangTries && found {
				id, found = s.incomplete()
				c.excluded[id] = true
			}
			c, units = c.anew(s), s.packer.left
			continue
		}
		s.release()
		s.retire()
		s.trace.Complete = true
		switch {
		case c.first == nil && s.tight && s.short && s.gives():
			c, units = c.anew(s), s.packer.left
			c.first = &finished{s.output(0), s.unplaced}
		case c.first == nil || s.beats(c.first):
			return s.output(c.sent)
		default:
			out := c.first.out
			out.Trace.Tries, out.Trace.Units = s.trace.Tries, s.packer.units
			return out
		}
	}
}

// step is the working state of one Step.
type step struct {
	journal
	rulebook
	offer

	in       Input
	memory   Memory
	excluded map[string]bool // gangs that are not tried any more
	claims   []cluster.Claim // that need attention, by name

	classes     []*demandClass // sorted by priority, then key
	byKey       map[string]*demandClass
	ganged      []gang
	preempting  map[string]int64              // by group: pods for which the scheduler is making room
	preempted   map[string]quantity.Resources // by node: what they will take of it
	attach      []*attach                     // the slots to attach volumes that pods ask for
	portsMatter bool

	settled   bool    // nodes were up that are kept for declared pods; see settle
	arranged  bool    // the time to rearrange is over
	hosts     []*host // what is on its way, soonest first; see sooner
	nodeHosts map[string]*host

	shut     map[string]bool // cells of a class where nothing can be launched
	unmet    map[string]bool // pools whose minValues could not be met
	budgets  map[string]budget
	reserved map[string]int64

	scarce   *finished      // a plan to be bettered, nil where nothing was short
	tight    bool           // limits may be too short for all; see scarcity
	short    bool           // pods have no place for want of what pools may have
	unplaced map[rank]int64 // pods without a place
	homeless int            // pods of nodes that go for which there is no place

	packer *packer // answers, within the units of work of the Step

	launches []plan.Launch
	nominate []plan.Action // with the releases that belong to them, in order
	retired  []plan.Action
	packed   []packed           // calls of the packer
	alike    map[string][]alike // all pods, by namespace; see selected
	proofs   []plan.Certificate
	cost     quantity.Money // of the launches, an hour
}

func newStep(in Input, excluded map[string]bool) *step {
	claims := slices.Collect(in.Snapshot.Unsettled())
	return &step{
		in: in, excluded: excluded, claims: claims, journal: journal{trace: Trace{Objects: len(claims)}}, memory: in.Memory.next(in.Snapshot, in.Now),
		byKey: map[string]*demandClass{}, preempting: map[string]int64{}, preempted: map[string]quantity.Resources{}, nodeHosts: map[string]*host{},
		shut: map[string]bool{}, unmet: map[string]bool{}, unplaced: map[rank]int64{},
		packer: &packer{left: math.MaxInt}, budgets: map[string]budget{}, reserved: map[string]int64{}, offer: offer{words: map[int]plan.Vocabulary{}},
	}
}

// place finds a place for the demand: first where it was promised one, then
// level by level of preferences on what exists and on new nodes.
func (s *step) place() {
	s.collect()
	s.keepPromises()
	s.openFleet()
	s.tight = s.scarcity()
	if s.scarce != nil {
		s.putAside()
		s.seek()
		s.bringBack()
	}
	s.seek()
	s.trace.Launches = len(s.launches)
	if s.packer.cut {
		for _, c := range s.classes {
			s.postpone(c)
		}
		return
	}
	for _, c := range s.classes {
		s.refuse(c)
	}
	s.memory.plan(s.launches)
	s.certify()
}

// collect lists what needs room, and the room that is on its way.
func (s *step) collect() {
	s.gatherDemand()
	s.gatherRules()
	s.gatherHosts()
}

// seek looks for a place for all that is wanted, level by level.
func (s *step) seek() {
	for more := !s.packer.cut; more; {
		s.goRound(s.classes, s.fill)
		if !s.arranged {
			s.rearrange()
		}
		if s.packer.cut {
			break
		}
		s.putOff()
		s.leaveOpen()
		s.provision()
		if s.packer.cut {
			break
		}
		more = false
		for _, c := range s.classes {
			if c.count() > 0 && c.level < c.last() {
				c.level++
				more = true
			}
		}
	}
}

// output says what was decided, without the launches that were sent before.
func (s *step) output(sent int) Output {
	launches := s.launches[min(sent, len(s.launches)):]
	actions := make([]plan.Action, 0, len(launches)+len(s.nominate)+len(s.retired)+1)
	for _, l := range launches {
		actions = append(actions, l)
	}
	actions = slices.Concat(actions, s.nominate, s.retired)
	if !s.wait.Until.IsZero() {
		actions = append(actions, s.wait)
	}
	sortOutcomes(s.outcomes)
	s.trace.Units = s.packer.units
	return Output{
		Plan:   plan.Plan{Actions: actions, Outcomes: s.outcomes, Proofs: s.proofs, Cost: s.cost, Unnominated: s.in.Policy.CannotNominate},
		Memory: s.memory, Trace: s.trace,
	}
}

// sortOutcomes sorts by group, verdict and place, the last first. Keys of groups
// are long and alike, so that each is compared once with the others, not for
// each outcome.
func sortOutcomes(list []plan.Outcome) {
	order, rank := make([]int, len(list)), make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	order = sortBy(order, list, rank, func(o *plan.Outcome) string { return o.On })
	order = sortBy(order, list, rank, func(o *plan.Outcome) string { return string(o.Verdict) })
	order = sortBy(order, list, rank, func(o *plan.Outcome) string { return o.Group })
	for i := range order { // moves go in circles: what is at i gives way first and comes last
		first, to := list[i], i
		for from := order[to]; from >= 0; from = order[to] {
			order[to] = -1
			if from == i {
				list[to] = first
				break
			}
			list[to], to = list[from], from
		}
	}
}

// sortBy brings the order of the list's outcomes into that of their keys, and
// keeps it among equals. The rank of each is scratch.
func sortBy(order []int, list []plan.Outcome, rank []int, key func(*plan.Outcome) string) []int {
	number := map[string]int{}
	var keys []string
	for i := range list {
		k := key(&list[i])
		if i > 0 && k == key(&list[i-1]) {
			rank[i] = rank[i-1]
			continue
		}
		n, known := number[k]
		if !known {
			n = len(keys)
			number[k] = n
			keys = append(keys, k)
		}
		rank[i] = n
	}
	if len(keys) == 1 {
		return order
	}
	slices.Sort(keys)
	to := make([]int, len(keys))
	for i, k := range keys {
		to[number[k]] = i
	}
	first := make([]int, len(keys)+1)
	for i := range rank {
		rank[i] = to[rank[i]]
		first[rank[i]+1]++
	}
	for i := range keys {
		first[i+1] += first[i]
	}
	sorted := make([]int, len(order))
	for _, i := range order {
		sorted[first[rank[i]]] = i
		first[rank[i]]++
	}
	return sorted
}
