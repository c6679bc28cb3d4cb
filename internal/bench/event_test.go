package bench

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// The pods of the events: one for which there is no room, a small one that fits many
// nodes that run pods, and a small one that asks for a type that no node is of.
func large(i uint64) cluster.Pod {
	return Pods(i, []Deployment{{Name: "one-more", MilliCPU: 15_000, MiB: 100 << 10, Count: 1}})[0]
}

func small(i uint64) cluster.Pod {
	return Pods(i, []Deployment{{Name: "one-more", MilliCPU: 100, MiB: 128, Count: 1}})[0]
}

func selects(i uint64) cluster.Pod {
	p := small(i)
	p.Shape.Selector = label.All(label.Is(label.InstanceType, "m5.large"))
	return p
}

// benchmarkEvent adds one pod to a cluster of 50,000 that run: the index alone, or
// the Step after it as well. Each pod is another one. With room, each tenth of the
// pods has ended.
func benchmarkEvent(b *testing.B, one func(uint64) cluster.Pod, withRoom, withStep bool) {
	b.Helper()
	running, memory := running50k(b, withRoom)
	b.ReportAllocs()
	var touched, launches int
	for i := uint64(1); b.Loop(); i++ {
		b.StopTimer()
		pod := []cluster.Pod{one(i)}
		b.StartTimer()
		next, err := running.Apply(cluster.Delta{Put: cluster.Objects{Pods: pod}})
		if err != nil {
			b.Fatal(err)
		}
		if !withStep {
			continue
		}
		in := engine.Input{Snapshot: next, Memory: memory, Policy: Policy(), Now: Began(), Seed: i}
		out := engine.Step(in)
		b.StopTimer()
		touched, launches = out.Trace.Objects, out.Trace.Launches
		if out.Trace.Refused > 0 {
			b.Fatalf("%+v", out.Trace)
		}
		if i == 1 { // the others are like it, and the check takes a thousand times as long
			if err := Prove(in, out); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
	}
	if withStep {
		b.ReportMetric(float64(touched), "objects-touched")
		b.ReportMetric(float64(launches), "launches")
	}
}

// running50k is a cluster that has done what a Step planned for 50,000 pods.
func running50k(b *testing.B, withRoom bool) (cluster.Snapshot, engine.Memory) {
	b.Helper()
	cases := Cases()
	c := cases[slices.IndexFunc(cases, func(c Case) bool { return c.Name == "w1-50k-shaped" })]
	base, err := c.Base()
	if err != nil {
		b.Fatal(err)
	}
	in, pods, err := c.Prepare(base, 1)
	if err != nil {
		b.Fatal(err)
	}
	objects := settled(base, pods, engine.Step(in).Plan)
	if withRoom {
		i := 0
		objects.Pods = slices.DeleteFunc(objects.Pods, func(cluster.Pod) bool { i++; return i%10 == 0 })
	}
	done, err := cluster.New(objects)
	if err != nil {
		b.Fatal(err)
	}
	out := engine.Step(engine.Input{Snapshot: done, Policy: Policy(), Now: Began()})
	runtime.GC()
	return done, out.Memory
}

// benchmarkUnconstrained compares w1 alone with w1 beside a few pods of every
// kind of constraint, twelve each time: how much longer such a Step takes, the pods' own placement
// included. Both take turns on the same pods, in changing order, so that both have
// the same machine, and the median of the turns' ratios counts: what else the
// machine does meets a turn as a whole, or is the exception.
func benchmarkUnconstrained(b *testing.B, times uint64) {
	b.Helper()
	c := Cases()[0]
	base, err := c.Base()
	if err != nil {
		b.Fatal(err)
	}
	var slower, beside []float64
	turn := func(seed uint64) {
		pods, err := c.Pods(seed)
		if err != nil {
			b.Fatal(err)
		}
		lists := [2][]cluster.Pod{pods, slices.Clip(pods)}
		for n := range times {
			lists[1] = append(lists[1], everyKind(seed*times+n)...)
		}
		var took [2]float64
		for i := range uint64(2) {
			which := (seed + i) % 2
			in, err := base.Input(seed, lists[which])
			if err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			start := time.Now()
			out := engine.Step(in)
			took[which] = time.Since(start).Seconds()
			if err := Prove(in, out); err != nil {
				b.Fatal(err)
			}
		}
		slower, beside = append(slower, 100*(took[1]/took[0]-1)), append(beside, took[1])
	}
	for b.Loop() {
		turn(uint64(len(slower) + 1))
	}
	for len(slower) < 60 {
		turn(uint64(len(slower) + 1))
	}
	b.ReportMetric(median(slower), UnitSlower)
	b.ReportMetric(slices.Min(beside)*1e9, UnitNanos)
}

// everyKind is one pod of each kind of constraint, in a namespace of their own
// so that no selector meets w1.
func everyKind(seed uint64) []cluster.Pod {
	pods := Mixed(seed, len(Kinds()), Kinds()...)
	pods = append(pods, Preferring(seed, 1)...)
	more := func(name string, change func(*cluster.Shape)) {
		p := Pods(seed, []Deployment{{Name: name, MilliCPU: 100, MiB: 128, Count: 1}})[0]
		change(&p.Shape)
		pods = append(pods, p)
	}
	more("ported", func(s *cluster.Shape) { s.Ports = []cluster.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 8080}} })
	more("selecting", func(s *cluster.Shape) { s.Selector = label.All(label.Is(label.Zone, "us-east-1b")) })
	more("affine", func(s *cluster.Shape) {
		s.NodeAffinity = []label.Requirements{label.All(label.Is(label.Zone, "us-east-1a")), label.All(label.Is(label.Zone, "us-east-1b"))}
	})
	more("bound-to-a-volume", func(s *cluster.Shape) {
		s.Volumes = [][]label.Requirements{{label.All(label.Is(label.Zone, "us-east-1c"))}}
	})
	more("urgent", func(s *cluster.Shape) { s.Priority = 1_000 })
	more("ganged", func(s *cluster.Shape) { s.Gang = cluster.Gang{Name: "gang", Size: 1} })
	for i := range pods {
		pods[i].Namespace = "constrained"
		for _, terms := range [][]cluster.PodTerm{pods[i].Shape.PodAffinity, pods[i].Shape.PodAntiAffinity} {
			for j := range terms {
				terms[j].Namespaces = []string{"constrained"}
			}
		}
		pods[i].UID = fmt.Sprintf("%s-%x", pods[i].Name, seed)
	}
	return pods
}
