package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// goes plays a line of a script about nodes that are deleted, and says whether it is
// one. APP is an app, and stands for the node that runs its first pod.
//
//   - play DURATION: carries out the plans for so long; new nodes are up at once
//   - fleet: tells which node runs which pods
//   - why: tells of each node why it stays, or what it is deleted for
//   - forget: the daemon loses its memory
//   - half: the daemon ends after the first launch of the last step is written, and forgets all
//   - pdb APP N [OTHER...]: a PodDisruptionBudget of the apps that allows N disruptions
//   - drift APP, expire APP DURATION, remove APP (somebody deletes the NodeClaim), late
//     APP (the drain of its node waits for replicas that are not ready), terminating
//     APP (the pods of its node are evicted, and still terminating), drained APP (its node is
//     deleted, and the pods come anew)
//   - protect APP (its node must not be disrupted), stays APP (nor be consolidated), unready APP, grace APP DURATION (terminationGracePeriod)
//   - deleted POOL: somebody deletes the NodePool
//   - moved APP: a pod has come to the node, or left it, now
func (s *scenario) goes(line string, args []string) bool {
	s.t.Helper()
	switch line {
	case "play":
		s.play(s.duration(args[0]))
	case "fleet":
		s.fleet()
	case "why":
		s.why()
	case "half":
		s.wanted = s.wanted[:1]
		s.memory = engine.Memory{}
	case "forget":
		s.memory = engine.Memory{}
	case "pdb":
		s.objects.PodBudgets = append(s.objects.PodBudgets, cluster.PodBudget{
			UID: "uid-" + args[0], Namespace: "default", Name: args[0], Allowed: s.number(args[1]),
			Selector: cluster.PodSelector{Match: requirement(s.t, "app", label.In, append(args[2:], args[0])...)},
		})
	case "drift":
		s.claimOf(args[0]).Drift = &cluster.Drift{Reason: "NodePoolDrifted", Since: s.now}
	case "expire":
		s.claimOf(args[0]).ExpiresAt = s.now.Add(s.duration(args[1]))
	case "remove":
		s.claimOf(args[0]).Deleting = true
	case "late":
		s.claimOf(args[0]).ReplicasLate = true
	case "terminating":
		node := s.claimOf(args[0]).Node
		s.onPods(func(p *cluster.Pod) {
			if p.Node == node {
				p.Deleting, p.Returns = true, p.Owner.Kind == "StatefulSet"
			}
		})
	case "drained":
		s.onPods(func(p *cluster.Pod) { p.Deleting, p.Returns = false, false })
		s.end(plan.Delete{Claim: s.claimOf(args[0]).Name})
	case "protect":
		s.onNode(s.claimOf(args[0]).Node, func(n *cluster.Node) { n.DoNotDisrupt = true })
	case "stays":
		s.onNode(s.claimOf(args[0]).Node, func(n *cluster.Node) { n.Stays = true })
	case "unready":
		s.onNode(s.claimOf(args[0]).Node, func(n *cluster.Node) { n.Ready = false })
	case "grace":
		s.claimOf(args[0]).Grace = s.duration(args[1])
	case "deleted":
		for i := range s.objects.Pools {
			s.objects.Pools[i].Deleting = s.objects.Pools[i].Deleting || s.objects.Pools[i].Name == args[0]
		}
	case "moved":
		s.claimOf(args[0]).LastPodEvent = s.now
	default:
		return false
	}
	return true
}

// claimOf returns the NodeClaim whose node runs the first pod of the app.
func (s *scenario) claimOf(app string) *cluster.Claim {
	s.t.Helper()
	for _, p := range s.objects.Pods {
		if i := slices.IndexFunc(s.objects.Claims, func(c cluster.Claim) bool { return c.Node == p.Node && p.Node != "" }); i >= 0 && strings.HasPrefix(p.Name, app+"-") {
			return &s.objects.Claims[i]
		}
	}
	s.t.Fatalf("no pod of %s runs", app)
	return nil
}

// play carries out the plans until the time is over, and tells what they do.
func (s *scenario) play(d time.Duration) {
	s.t.Helper()
	for end := s.now.Add(d); s.now.Before(end); {
		out := s.step()
		next, did := end, false
		for _, a := range out.Plan.Actions {
			w, waits := a.(plan.Wait)
			switch {
			case !waits && !did:
				did = true
				fmt.Fprintf(&s.out, "at %s\n  %s\n", s.now.Sub(start), s.text(a))
			case !waits:
				fmt.Fprintf(&s.out, "  %s\n", s.text(a))
			case w.Until.After(s.now) && w.Until.Before(next):
				next = w.Until
			}
		}
		s.obey(out)
		if did {
			next = s.now.Add(100 * time.Millisecond)
		}
		s.now = next
	}
}

// fleet tells which node runs which pods.
func (s *scenario) fleet() {
	for _, c := range s.objects.Claims {
		var names []string
		for _, p := range s.objects.Pods {
			if p.Node == c.Node && c.Node != "" {
				names = append(names, p.Name)
			}
		}
		slices.Sort(names)
		fmt.Fprintf(&s.out, "fleet: %s %s: %s\n", c.Name, c.InstanceType, strings.Join(names, " "))
	}
}

// why tells of each node why it stays, or what it is deleted for, once the fleet has been
// searched.
func (s *scenario) why() {
	s.t.Helper()
	for _, n := range engine.Standings(s.looked()).Nodes {
		name := cmp.Or(n.Node, n.Claim)
		if n.DeletedFor != "" {
			fmt.Fprintf(&s.out, "why: %s goes: %s\n", name, n.DeletedFor)
		} else {
			fmt.Fprintf(&s.out, "why: %s stays: %s: %s\n", name, n.Stay.Reason, n.Stay.Explain())
		}
	}
}

// disruption reads the options of a pool's line: policy=P, after=DURATION (0s: at once),
// budget=N, budget=N% or budget=N@HOUR+DURATION (each day), zone=NAME (of its hours),
// invalid=TEXT (it cannot be read), of=REASON (of that budget alone), and paused=true.
func (s *scenario) disruption(options map[string]string) (d cluster.Disruption) {
	s.t.Helper()
	d.Policy, d.Paused = cluster.Policy(options["policy"]), options["paused"] != ""
	if after, ok := options["after"]; ok {
		d.After = max(s.duration(after), time.Nanosecond)
	}
	text, ok := options["budget"]
	if !ok {
		return d
	}
	most, window, timed := strings.Cut(text, "@")
	count, percent := strings.CutSuffix(most, "%")
	b := cluster.Budget{Most: s.number(count), Percent: percent, Invalid: options["invalid"]}
	if timed {
		hour, lasts, _ := strings.Cut(window, "+")
		zone, err := time.LoadLocation(options["zone"])
		if err != nil {
			s.t.Fatal(err)
		}
		b.Duration = s.duration(lasts)
		b.Schedule = &cluster.Schedule{
			Minutes: 1, Hours: 1 << s.number(hour), Days: 1<<32 - 2, Months: 1<<13 - 2, Weekdays: 1<<7 - 1, AnyDay: true, AnyWeekday: true,
			Zone: zone, Text: "0 " + hour + " * * *",
		}
	}
	if why, ok := options["of"]; ok {
		b.Reasons = []string{why}
	}
	d.Budgets = []cluster.Budget{b}
	return d
}

// next says whether a release only tells that the node is deleted next, or is not any more.
func next(a plan.Release) (text string, is bool) {
	switch {
	case slices.Contains(a.Puts, room.LeavesNext()):
		return a.Node + " goes next", true
	case slices.Contains(a.Lifts, room.LeavesNext()):
		return a.Node + " does not go next any more", true
	}
	return "", false
}
