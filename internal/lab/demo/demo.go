package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

const (
	// timeFactor shortens what would only be waiting.
	timeFactor = 10
	podGrace   = 30 / timeFactor // seconds, of the pods' termination
	// consolidateAfter is how long a node is empty before it is deleted.
	consolidateAfter = 30 * time.Second / timeFactor

	patience = 5 * time.Minute // for any one step
)

// Options of a run.
type Options struct {
	Out io.Writer
	// TimeFactor is how many times as fast as on AWS instances and notices are; 0 is 10. A slow
	// machine needs a smaller one: a node must have drained when its notice runs out.
	TimeFactor int
}

// demo is one run.
type demo struct {
	out      io.Writer
	began    time.Time
	lab      *lab.Lab
	clients  *kube.Clients
	core     kubernetes.Interface
	tofu     *tofu
	timeline *timeline
	factor   int

	daemon    string   // path of its program
	inventory []string // of the AWS account before the apply
	printed   int      // lines of the daemon's log that were told
	asked     int      // runs of karpenterd explain
	checks    int
}

// spotNotice is how long before it takes an instance EC2 warns.
func (d *demo) spotNotice() time.Duration { return 2 * time.Minute / time.Duration(d.factor) }

// Run runs the demo. It leaves nothing behind, whether it succeeds or not.
func Run(ctx context.Context, o Options) (err error) {
	d := &demo{out: o.Out, began: time.Now(), factor: cmp.Or(o.TimeFactor, timeFactor)}
	ready, err := toolchain.Prepare(ctx, o.Out, toolchain.LabNeeds())
	if err != nil {
		return err
	}
	tools, daemon, provider := ready.Tools, ready.Programs[toolchain.Daemon], ready.Programs[toolchain.Provider]
	d.began, d.daemon = time.Now(), daemon
	d.say("Running %s %s; starting a laboratory: a real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler), KWOK nodes, and a simulated AWS on loopback",
		filepath.Base(tools[toolchain.TerraformCLI].Path), tools[toolchain.TerraformCLI].Version)
	d.lab, err = lab.Start(ctx, lab.Options{
		Logger: hclog.NewNullLogger(), Region: region, ClusterName: clusterName,
		TimeFactor: float64(d.factor), DaemonBinary: daemon, Progress: o.Out,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.lab.Close()) }()
	// As in an account that has never launched a spot instance, and is held to EC2's limits.
	d.lab.Cloud.EC2.RequireSpotRole(true)
	d.lab.Cloud.Throttle(true)
	own := 30 * time.Second / time.Duration(d.factor) // the laboratory's, of a start and of an end
	d.say("Time factor %d: whatever would only be waiting takes a tenth of its time. Instances start within a second and end within %s, machines boot in %s, pods end in %ds, a spot notice is %s, empty nodes stay %s; the daemon knows",
		d.factor, own, own, podGrace, d.spotNotice(), consolidateAfter)
	if err := d.connect(ctx, tools, provider); err != nil {
		return err
	}
	if err := d.story(ctx); err != nil {
		d.explain(ctx)
		return err
	}
	return nil
}

// connect makes the observer's clients. They are the launcher's own: provider,
// daemon and machines come in by their roles.
func (d *demo) connect(ctx context.Context, tools map[toolchain.Tool]toolchain.Found, provider string) error {
	var err error
	d.core = d.lab.Admin
	if d.clients, err = kube.NewClients(d.lab.AdminConfig); err != nil {
		return err
	}
	if d.tofu, err = newTofu(d.lab, tools[toolchain.TerraformCLI].Path, provider); err != nil {
		return err
	}
	d.timeline, err = watch(ctx, d)
	return err
}

// say prints a line of the story with the time since the start.
func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, "%6.1fs  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// check prints what was found to be true; false ends the demo.
func (d *demo) check(ok bool, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if !ok {
		return fmt.Errorf("demo check failed: %s", text)
	}
	d.checks++
	d.say("  ok: %s", text)
	return nil
}

// until waits for what is to become true, a step's patience at most.
func (d *demo) until(ctx context.Context, what string, done func() (bool, string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ok, missing, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("demo waited %s for %s: %s", patience, what, missing)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
