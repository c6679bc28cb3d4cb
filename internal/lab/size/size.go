package size

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// planeMemory is what each component of the control plane may take, in MiB. With less, the API
// server of a large cluster spends its time on garbage, and it is that which is measured.
const planeMemory = 8192

// Options say how large the cluster is.
type Options struct {
	Nodes, Pods, Apps int
	// Karpenter makes NodeClaims and instances those of a fleet that Karpenter has run.
	Karpenter bool
	// Watch is how long the daemon is watched after its first decision.
	Watch time.Duration
	Out   io.Writer
}

// Default is the cluster that the requirement is about.
func Default() Options {
	return Options{Nodes: 2000, Pods: 40_000, Apps: 400, Watch: time.Minute}
}

// run is one measurement.
type run struct {
	Options
	lab     *lab.Lab
	core    kubernetes.Interface // speaks protobuf, without a rate limit
	clients *kube.Clients
	applier *kube.Applier
}

// Run fills a laboratory, measures, and reports. It leaves nothing behind,
// whether it succeeds or not.
func Run(ctx context.Context, o Options) (err error) {
	if o.Nodes < 2 || o.Apps < 1 || o.Pods < o.Apps {
		return errors.New("size run: give at least 2 nodes, 1 app and a pod for each app")
	}
	binary, err := toolchain.Self(ctx, o.Out, "./daemon/cmd/karpenterd")
	if err != nil {
		return err
	}
	r := &run{Options: o}
	r.lab, err = lab.Start(ctx, lab.Options{Logger: hclog.NewNullLogger(), DaemonBinary: binary, ServersOnly: true, PlaneMemoryMiB: planeMemory, Progress: o.Out})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.lab.Close()) }()
	if err := r.connect(); err != nil {
		return err
	}
	if err := r.exemptPods(ctx); err != nil {
		return err
	}
	options, err := deploy.Account(ctx, r.lab)
	if err != nil {
		return err
	}
	template, err := r.install(ctx, options)
	if err != nil {
		return err
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	began := time.Now()
	found, err := r.measure(ctx, template)
	if err != nil {
		return err
	}
	if err := found.report(o.Out); err != nil || !o.Karpenter {
		return err
	}
	fleet, err := r.takenOver(ctx, began)
	if err != nil {
		return err
	}
	return fleet.report(o.Out, found.decided)
}

func (r *run) connect() error {
	unlimited := deploy.Unlimited(r.lab)
	var err error
	if r.clients, err = kube.NewClients(unlimited); err != nil {
		return err
	}
	if r.applier, err = kube.NewApplier(unlimited); err != nil {
		return err
	}
	unlimited.ContentType = "application/vnd.kubernetes.protobuf"
	if r.core, err = kubernetes.NewForConfig(unlimited); err != nil {
		return fmt.Errorf("client create: %w", err)
	}
	return nil
}

// claimed is how many nodes belong to NodeClaims: half of them, and all of Karpenter's fleet.
func (o Options) claimed() int {
	if o.Karpenter {
		return o.Nodes
	}
	return o.Nodes / 2
}

// say tells people what is going on.
func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Out, "size: "+format+"\n", args...)
}

// fill writes the cluster.
func (r *run) fill(ctx context.Context) error {
	began := time.Now()
	for _, step := range []func(context.Context) error{r.pools, r.nodes, r.workloads} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.say("written in %s", time.Since(began).Round(time.Second))
	return nil
}
