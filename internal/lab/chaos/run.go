package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/faults"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

const (
	// timeFactor is the laboratory's.
	timeFactor = 6
	// calmWithin is how soon after calm all pods run: the longest pause of the daemon after a
	// lack of capacity, ten minutes by its clock, and a launch.
	calmWithin = 3 * time.Minute
	// leakWithin is how soon after that nothing is left over.
	leakWithin = 2 * time.Minute
	patience   = 3 * time.Minute // for what is no chaos: the installation
	// mostRefused is how many calls of a round EC2 may throttle. A daemon that was killed does not
	// know what the one before it has used up.
	mostRefused = 20
	// grows is how much more memory and how many more goroutines than in the first calm the
	// daemon may have later, in times, and some on top.
	grows          = 2
	moreGoroutines = 100
	moreBytes      = 100 << 20
)

// ErrViolated says that something happened that must never happen.
var ErrViolated = errors.New("an invariant was violated")

// Options are what a run is made of.
type Options struct {
	Seed    uint64
	Minutes float64   // how long the rounds take, about
	Tries   int       // how many shorter schedules are tried after a violation
	Out     io.Writer // gets what happens
	LogTo   string    // a file that gets the daemon's log; empty: none
}

// Run lives through the schedule of the seed, and cuts it down if it fails. The error wraps
// ErrViolated where an invariant was.
func Run(ctx context.Context, o Options) error {
	const quiet = 10 * time.Second // about, after each storm
	schedule := Draw(o.Seed, max(1, int(o.Minutes*float64(time.Minute)/float64(storm+quiet))))
	say := func(format string, args ...any) { fmt.Fprintf(o.Out, "chaos: "+format+"\n", args...) }
	say("seed %d, %d rounds with %d events", o.Seed, len(schedule), schedule.Events())
	err := once(ctx, o, schedule)
	if !errors.Is(err, ErrViolated) || o.Tries == 0 || ctx.Err() != nil {
		return err
	}
	say("cut the schedule down, in at most %d runs", o.Tries)
	short := Shorten(schedule, o.Tries, func(s Schedule) bool {
		again := once(ctx, o, s)
		return errors.Is(again, ErrViolated)
	})
	return fmt.Errorf("seed %d: %w; the shortest schedule that was found to fail:\n%s", o.Seed, err, short)
}

// run is one life of a laboratory.
type run struct {
	Options
	lab    *lab.Lab
	core   kubernetes.Interface
	claims *kube.NodeClaims
	client faults.Client
	first  map[int]usage // of each process, in its first calm
	began  time.Time
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Out, "chaos: %6.1fs  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// once lives through the schedule in a laboratory of its own.
func once(ctx context.Context, o Options, schedule Schedule) (err error) {
	binary, err := toolchain.Self(ctx, o.Out, "./daemon/cmd/karpenterd")
	if err != nil {
		return err
	}
	l, err := lab.Start(ctx, lab.Options{DaemonBinary: binary, TimeFactor: timeFactor, BootDelay: time.Second, NodeGrace: 10 * time.Second})
	if err != nil {
		return err
	}
	r := &run{Options: o, lab: l, client: faults.Client{URL: l.Faults.URL()}, first: map[int]usage{}, began: time.Now()}
	defer func() { err = errors.Join(err, deploy.KeepLog(l, r.LogTo), l.Close()) }()
	if err := r.prepare(ctx); err != nil {
		return err
	}
	l.Cloud.Throttle(true)
	seen := newObserver(r)
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { seen.watch(watching) })
	defer func() { stop(); watch.Wait() }()
	if err := r.calm(ctx, seen); err != nil {
		return err
	}
	for i, round := range schedule {
		r.say("round %d of %d", i+1, len(schedule))
		seen.begin()
		began := time.Now()
		if err := r.play(ctx, round, seen); err != nil {
			return err
		}
		if err := r.client.EndAll(ctx); err != nil {
			return err
		}
		r.say("calm")
		if err := r.calm(ctx, seen); err != nil {
			return err
		}
		r.refused(seen, began)
		if found := seen.found(); len(found) > 0 {
			return fmt.Errorf("%w in round %d:\n%s", ErrViolated, i+1, strings.Join(found, "\n"))
		}
	}
	return nil
}

// prepare installs the daemon, and makes pools and workload.
func (r *run) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := matches(r.lab.Faults.Known()); err != nil {
		return err
	}
	options, err := deploy.Account(ctx, r.lab)
	if err != nil {
		return err
	}
	config := deploy.Unlimited(r.lab)
	clients, err := kube.NewClients(config)
	if err != nil {
		return err
	}
	r.core, r.claims = clients.Core, clients.NodeClaims
	applier, err := kube.NewApplier(config)
	if err != nil {
		return err
	}
	objects, err := install.Objects(options)
	if err != nil {
		return err
	}
	if err := deploy.Apply(ctx, applier, kube.RolledOut, objects...); err != nil {
		return err
	}
	if err := deploy.Apply(ctx, applier, kube.ConditionTrue("Ready"), deploy.NodeClass(r.lab, className)); err != nil {
		return err
	}
	if err := deploy.Apply(ctx, applier, kube.ConditionTrue("Ready"), pools()...); err != nil {
		return err
	}
	return r.createWorkload(ctx)
}

// play lets the events of a round happen, each at its time.
func (r *run) play(ctx context.Context, round Round, seen *observer) error {
	began := time.Now()
	var going sync.WaitGroup
	defer going.Wait()
	for _, e := range round {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(e.At - time.Since(began)):
		}
		r.say("%s", e)
		going.Go(func() { r.happen(ctx, e, seen) })
	}
	select {
	case <-ctx.Done():
	case <-time.After(storm - time.Since(began)):
	}
	return ctx.Err()
}

// happen begins a fault or scales a Deployment. A fault may not find what it is about, or be hit
// by another; a Deployment is scaled as soon as the API server answers.
func (r *run) happen(ctx context.Context, e Event, seen *observer) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if e.Fault == "" {
		for r.scale(ctx, e.App, e.Replicas) != nil && ctx.Err() == nil {
			wait(ctx, time.Second)
		}
		return
	}
	parameters := slices.Clone(e.With)
	if on := e.targetOf(); on != nothing {
		i, found := r.drawn(e)
		if !found {
			return
		}
		seen.hit(i.ID)
		if on == aNode {
			parameters = append(parameters, "node", i.PrivateDNSName)
		} else {
			parameters = append(parameters, "instance", i.ID)
		}
	}
	if e.For > 0 {
		parameters = append(parameters, "for", e.For.String())
	}
	if _, err := r.client.Begin(ctx, e.Fault, parameters...); err != nil {
		r.say("%s was not begun: %v", e.Fault, err)
	}
}

// drawn is the running instance that the event is about.
func (r *run) drawn(e Event) (ec2sim.Instance, bool) {
	all := slices.DeleteFunc(r.instances(), func(i ec2sim.Instance) bool {
		return i.State != ec2sim.StateRunning || e.targetOf() == aSpotInstance && !i.Spot
	})
	if len(all) == 0 {
		return ec2sim.Instance{}, false
	}
	return all[e.Draw%uint64(len(all))], true
}

// calm waits until all pods run and nothing is left over.
func (r *run) calm(ctx context.Context, seen *observer) error {
	began := time.Now()
	if why := r.within(ctx, calmWithin, r.allRun); why != "" {
		seen.violated("%s after calm not all pods run: %s", calmWithin, why)
		return fmt.Errorf("%w:\n%s", ErrViolated, strings.Join(seen.found(), "\n"))
	}
	ran := time.Since(began)
	if why := r.within(ctx, leakWithin, seen.leftOver); why != "" {
		seen.violated("%s after calm there is left: %s", leakWithin, why)
	}
	r.say("all pods ran after %.1fs, and nothing was left over after %.1fs", ran.Seconds(), time.Since(began).Seconds())
	r.flat(ctx, seen)
	return ctx.Err()
}

// within asks until there is nothing to say any more, or returns what there is when time is over.
func (r *run) within(ctx context.Context, limit time.Duration, ask func(context.Context) (string, error)) string {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := "nothing was read"
	for {
		switch why, err := ask(ctx); {
		case err == nil && why == "":
			return ""
		case err == nil:
			last = why
		}
		if !wait(ctx, time.Second) {
			return last
		}
	}
}

// wait says whether the context still holds after d.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// refused holds the calls since then to what EC2 allows.
func (r *run) refused(seen *observer, since time.Time) {
	n := map[string]int{}
	for _, c := range r.lab.Cloud.Calls() {
		if c.Time.After(since) && c.ErrorCode == "RequestLimitExceeded" {
			n[c.Action]++
		}
	}
	for action, n := range n {
		if n > mostRefused {
			seen.violated("EC2 throttled %d calls of %s in one round", n, action)
		}
	}
}
