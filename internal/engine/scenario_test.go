package engine_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

var update = flag.Bool("update", false, "rewrite the expected plans of the scenarios")

// TestScenarios plays the stories of testdata. Each has a script of what happens
// to a cluster and the plans that Step makes of it; the comment at its top says
// what to look for. When one fails, read the difference: if the new plan is
// right, run the test with -update. Those of testdata/disruption are about nodes that are
// deleted.
//
// Lines of a script: pool NAME [limit=RES:N] [taint=K=V:E] [capacity=spot]
// [minvalues=K:N] [domains=K:A,B] [leaves=K:OPERATOR[:V]] [weight=N]
// [static=N]; scale NAME N (of a static pool); pods NAME N MILLICPU, with what they
// ask for (see shape in scenario_pods_test.go); declare NAME N MILLICPU;
// arrive NAME N MILLICPU (declared pods come into being); finish NAME (its pods
// complete); step; order (the launches become NodeClaims); up (they join, too); open
// (nominations, taints and cordons of the last plan take effect); interrupt NAME DURATION (the
// NodeClaim that runs pods of NAME); advance DURATION. For nodes that are deleted see goes and
// disruption in scenario_disrupt_test.go.
func TestScenarios(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.txtar", "testdata/disruption/*.txtar"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no scenarios %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := scenario{world: newWorld(t)}
			s.objects.Pools = nil
			for _, line := range scriptOf(t, file) {
				s.run(line)
			}
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "plans", Data: []byte(s.out.String())})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[1].Data); s.out.String() != want {
				t.Errorf("plans:\n%s\nwant:\n%s", s.out.String(), want)
			}
		})
	}
}

// scriptOf gives the lines of a story's script.
func scriptOf(t *testing.T, file string) []string {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(archive.Files[0].Data)), "\n")
}

type scenario struct {
	*world
	last    []plan.Action // of the last step
	wanted  []plan.Launch // not yet NodeClaims
	ordered []plan.Launch // NodeClaims that have not joined
	out     strings.Builder
}

func (s *scenario) run(line string) {
	s.t.Helper()
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	options := map[string]string{}
	var args []string
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			options[k] = v
		} else {
			args = append(args, w)
		}
	}
	switch words[0] {
	case "pool":
		s.addPool(args[0], options)
	case "pods", "arrive":
		s.addPods(words[0], args, options)
	case "declare":
		s.objects.Workloads = append(s.objects.Workloads, cluster.Workload{
			Kind: "ReplicaSet", Namespace: "default", Name: args[0], Missing: s.number(args[1]),
			Shape: cluster.Shape{Requests: quantity.Resources{MilliCPU: s.number(args[2]), PodSlots: 1}},
		})
	case "scale":
		for i := range s.objects.Pools {
			if s.objects.Pools[i].Name == args[0] {
				s.objects.Pools[i].Replicas = s.number(args[1])
			}
		}
	case "finish":
		var rest []cluster.Pod
		for _, p := range s.objects.Pods {
			if !strings.HasPrefix(p.Name, args[0]+"-") {
				rest = append(rest, p)
			}
		}
		s.objects.Pods = rest
	case "step":
		fmt.Fprintf(&s.out, "at %s\n", s.now.Sub(start))
		out := s.step()
		s.last = out.Plan.Actions
		for _, a := range s.last {
			fmt.Fprintf(&s.out, "  %s\n", s.text(a))
			if l, ok := a.(plan.Launch); ok {
				s.wanted = append(s.wanted, l)
			}
		}
		s.tellOutcomes(out.Plan.Outcomes)
	case "reserve":
		s.reserve(args[0], s.number(args[1]))
	case "policy":
		s.policy.IgnorePreferences = options["preferences"] == "ignore"
		s.policy.BestEffortMinValues = options["minvalues"] == "besteffort"
	case "order", "up":
		s.order(s.wanted)
		for _, l := range s.wanted {
			s.onClaim(l.Name, func(c *cluster.Claim) { c.Move = l.Move })
		}
		s.ordered, s.wanted = append(s.ordered, s.wanted...), nil
		if words[0] == "up" {
			s.bringUp(s.ordered)
			s.ordered = nil
		}
	case "open":
		s.open(s.last)
		s.carry(s.last)
	case "interrupt":
		s.interrupt(args[0], args[1])
	case "advance":
		s.now = s.now.Add(s.duration(args[0]))
	default:
		if !s.goes(words[0], args) {
			s.t.Fatalf("unknown line %q", line)
		}
	}
}

func (s *scenario) addPool(name string, options map[string]string) {
	p := cluster.Pool{Name: name, Disruption: s.disruption(options)}
	if limit, ok := options["limit"]; ok {
		resource, n, _ := strings.Cut(limit, ":")
		p.Limits = []quantity.Amount{{Name: resource, Count: s.number(n)}}
	}
	if taint, ok := options["taint"]; ok {
		p.Taints = []cluster.Taint{parseTaint(taint)}
	}
	if c, ok := options["capacity"]; ok {
		p.Requirements = label.All(label.Is(label.CapacityType, c))
	}
	if m, ok := options["minvalues"]; ok {
		key, n, _ := strings.Cut(m, ":")
		p.MinValues = []cluster.MinValues{{Key: key, Count: int(s.number(n))}}
	}
	if d, ok := options["domains"]; ok {
		key, values, _ := strings.Cut(d, ":")
		r, err := label.NewRequirement(key, label.In, strings.Split(values, ",")...)
		if err != nil {
			s.t.Fatal(err)
		}
		p.Requirements = p.Requirements.And(label.All(r))
	}
	if r, ok := options["leaves"]; ok {
		words := strings.Split(r, ":")
		x, err := label.NewRequirement(words[0], label.Operator(words[1]), words[2:]...)
		if err != nil {
			s.t.Fatal(err)
		}
		p.Requirements = p.Requirements.And(label.All(x))
	}
	if n, ok := options["static"]; ok {
		p.Static, p.Replicas = true, s.number(n)
	}
	if w, ok := options["weight"]; ok {
		p.Weight = int32(s.number(w))
	}
	s.pool(p)
}

func (s *scenario) addPods(how string, args []string, options map[string]string) {
	n := s.number(args[1])
	from := len(s.objects.Pods)
	s.pods(args[0], int(n), s.number(args[2]), func(p *cluster.Pod) { s.shape(p, args[0], options) })
	if how == "arrive" {
		for i := range s.objects.Pods[from:] {
			s.objects.Pods[from+i].Name += "-late"
			s.objects.Pods[from+i].UID += "-late"
		}
		for i := range s.objects.Workloads {
			if s.objects.Workloads[i].Name == args[0] {
				s.objects.Workloads[i].Missing -= n
			}
		}
	}
}

func (s *scenario) interrupt(pods, notice string) {
	for _, p := range s.objects.Pods {
		for i, c := range s.objects.Claims {
			if strings.HasPrefix(p.Name, pods+"-") && c.Node == p.Node && p.Node != "" {
				s.objects.Claims[i].Interruption = &cluster.Interruption{Reason: "spot_interrupted", Noticed: s.now, Deadline: s.now.Add(s.duration(notice))}
				return
			}
		}
	}
	s.t.Fatalf("no pod of %s runs", pods)
}

func (s *scenario) text(a plan.Action) string {
	switch a := a.(type) {
	case plan.Launch:
		types := make([]string, len(a.Types))
		for i, c := range a.Types {
			types[i] = c.Type
		}
		text := fmt.Sprintf("launch %s: %s of %s in %s for %s, %s and %d declared, from %s",
			a.Name, a.CapacityType, strings.Join(types, " or "), strings.Join(a.Zones, " or "), a.Content, quantity.Count(int64(len(a.Pods)), "pod"), a.Declared, a.Price.Dollars())
		if a.Why.Replaces != "" {
			text += ", replaces " + a.Why.Replaces
		}
		return text
	case plan.Nominate:
		return "nominate " + a.Pod + " for " + a.Node
	case plan.Release:
		if text, is := next(a); is {
			return text
		}
		return fmt.Sprintf("release %s, %d nominated, %d given up", a.Node, a.Planned, a.GivenUp)
	case plan.Close:
		return "close " + a.Node
	case plan.Bind:
		return "bind " + a.Pod + " to " + a.Node
	case plan.Disrupt:
		return fmt.Sprintf("disrupt %s: %s", a.Node, a.Why)
	case plan.Restore:
		return fmt.Sprintf("restore %s: %s", or(a.Node, a.Claim), a.Why)
	case plan.Delete:
		return fmt.Sprintf("delete %s: %s %s", a.Claim, a.Why, a.Detail)
	case plan.Wait:
		return fmt.Sprintf("wait until %s for %s", a.Until.Sub(start), a.Why)
	}
	s.t.Fatalf("unknown action %T", a)
	return ""
}

func (s *scenario) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *scenario) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func parseTaint(text string) cluster.Taint {
	rest, effect, _ := strings.Cut(text, ":")
	k, v, _ := strings.Cut(rest, "=")
	return cluster.Taint{Key: k, Value: v, Effect: effect}
}
