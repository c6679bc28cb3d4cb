package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/act"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/claim"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/legacyapi"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/loop"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/nodeclass"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/page"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/podevent"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/pool"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/remark"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/taints"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const (
	poolEvery    = time.Second      // how often the status of NodePools is brought up to date
	collectEvery = 30 * time.Second // how often instances without a NodeClaim, and the reverse, are searched
	driftEvery   = 10 * time.Second // how often NodeClaims are compared with their pool and class
	rightsEvery  = 30 * time.Second // how often the daemon asks whether it may nominate and bind pods
	clusterEvery = 5 * time.Minute  // how often EKS is asked for the cluster's endpoint and certificate authority, and Kubernetes for its version
	// decisionWithin is how long a decision and what it does may take, and keeperWithin how long
	// any other work that comes again and again: what takes longer stands still. Such work is
	// told to end after choreWithin, as it waits for its turn while EC2 throttles.
	decisionWithin, keeperWithin, choreWithin = 5 * time.Minute, 15 * time.Minute, 10 * time.Minute
	// warmEvery is how often a replica that waits translates what has changed.
	warmEvery = 10 * time.Second
	// catalogueWait is how long the first decision of a daemon waits that knows no live prices.
	catalogueWait = 3 * time.Second
)

// daemon has what run has connected.
type daemon struct {
	config  config
	logger  hclog.Logger
	metrics *telemetry.Metrics
	health  *telemetry.Health
	kube    *kube.Clients
	aws     *aws.Clients
	joined  *joined
	market  *market.Keeper
	reports *market.ReportKeeper
	world   *world.World
	legacy  *legacyapi.Server
	foreign sync.Once // the warning that definitions of older kinds are somebody else's
	keeper  *translate.Keeper
	readers *taints.Readers
	events  record.EventRecorder
	page    page.Page
}

func runCommand(env func(string) string) *cobra.Command {
	var g given
	command := &cobra.Command{
		Use: install.Command, Short: "work for the cluster that flags or the environment name, in a pod of it",
		Args: noArguments("give flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			settings, err := g.settings()
			if err != nil {
				return usageError{err}
			}
			if err := setMemory(env); err != nil {
				return err
			}
			return run(c.Context(), settings)
		},
	}
	g.bind(command.Flags(), env)
	return command
}

// run works until the context ends, or until an error that only a restart can
// resolve. A replica that is not elected keeps its world up to date meanwhile.
func run(ctx context.Context, c config) error {
	d := &daemon{config: c, metrics: telemetry.NewMetrics(version), health: telemetry.NewHealth("starting"), readers: taints.NewReaders(nil)}
	d.logger = newLogger(c, os.Stderr)
	kube.LogTo(d.logger.Named("client-go"))
	d.metrics.ObserveAPIServer()
	d.logger.Info("start", "version", version, "cluster", c.ClusterName, "region", c.Region, "pause_disruption", c.Policy.PauseDisruption)

	group, ctx := errgroup.WithContext(ctx)
	// What names pods and prices is served on the pod's own address alone: whoever may forward
	// a port to the pod, or execute in it, may ask.
	public, local := http.NewServeMux(), http.NewServeMux()
	public.Handle(install.MetricsPath, d.metrics.Handler())
	local.Handle(install.DecisionsPath, d.decisions())
	if !c.Shadow { // which has a page of its own
		local.Handle(page.Path, d.page.Handler())
	}
	profiles(local)
	for address, handler := range map[string]http.Handler{c.HealthAddress: d.health.Handler(), c.MetricsAddress: public, c.LocalAddress: local} {
		group.Go(func() error { return telemetry.Serve(ctx, address, handler) })
	}
	group.Go(func() error {
		if c.Shadow {
			return d.shadow(ctx, local)
		}
		return d.lead(ctx, group)
	})
	err := d.unless(ctx, group.Wait)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// decisions answers what was decided, and why.
func (d *daemon) decisions() http.Handler {
	if d.config.Shadow {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "this is a shadow, which decides nothing: karpenterd simulate and karpenterd report say what would be done", http.StatusNotFound)
		})
	}
	return d.metrics.Decisions.Handler()
}

// lead connects, and works once this replica is elected.
func (d *daemon) lead(ctx context.Context, group *errgroup.Group) error {
	if err := d.connect(ctx); err != nil {
		return err
	}
	d.market.Ahead(ctx) // the cluster is read meanwhile
	if err := feed(ctx, d.kube, d.world, d.legacy, d.keep, d.readers.Forget, d.config.needsSelectors()); err != nil {
		return err
	}
	boundGarbage(os.Getenv)
	if err := d.serveLegacy(ctx); err != nil {
		return err
	}
	d.health.Ready()
	d.catchingUp().stand(ctx)
	standby, elected := context.WithCancel(ctx)
	defer elected()
	group.Go(func() error { d.warm(standby); return nil })
	return kube.Lead(ctx, d.election(install.LeaseName), func(ctx context.Context) error {
		elected()
		return d.work(ctx)
	})
}

// election is the one for the Lease.
func (d *daemon) election(lease string) kube.Election {
	return kube.Election{Client: d.kube.Core, Namespace: d.config.Namespace, Name: lease, Identity: d.config.PodName, Labels: install.LeaseLabels()}
}

// newLogger makes the logger, whose lines are JSON with the keys that the settings ask for.
func newLogger(c config, out io.Writer) hclog.Logger {
	if c.LogKeys == install.LogKeysKarpenter {
		out = telemetry.KarpenterKeys{Out: out}
	}
	return hclog.New(&hclog.LoggerOptions{
		Name: "karpenterd", Level: c.LogLevel, Output: out, JSONFormat: true,
		TimeFormat: "2006-01-02T15:04:05.000000000Z07:00",
	})
}

// connect makes the clients, and reads what the daemon must know of the cluster.
func (d *daemon) connect(ctx context.Context) error {
	facts, table, err := d.table()
	if err != nil {
		return err
	}
	if means := inCurrency(d.config.Region); means != "" {
		d.logger.Warn(means, "region", d.config.Region)
	}
	access, err := d.reachCluster()
	if err != nil {
		return err
	}
	minor, err := whenAnswered(ctx, d.logger, func() (string, error) {
		return preflight(ctx, d.kube, d.config.Namespace, d.config.needsSelectors())
	})
	if err != nil {
		return err
	}
	if err := d.reachAWS(ctx); err != nil {
		return err
	}
	d.joined = &joined{name: d.config.ClusterName, endpoint: d.config.ClusterEndpoint, bundle: d.config.ClusterCA, own: authority(access), eks: d.aws, kept: d.store(), versions: d.kube.Core.Discovery(), logger: d.logger}
	if err := d.joined.read(ctx, minor); err != nil {
		return explain(err)
	}
	d.keeper = translate.NewKeeper()
	d.world = world.New(facts, table, time.Now)
	d.world.SpreadByDefault(d.config.Spread)
	d.world.KeepFromPods(d.config.Overhead)
	d.market, d.reports = d.catalogue(facts, table), d.reported()
	if err := d.startEvents(ctx); err != nil {
		return err
	}
	d.legacy = d.newLegacy()
	return nil
}

// table is the daemon's own of what the region sells.
func (d *daemon) table() ([]catalog.Fact, catalog.Market, error) {
	facts, table, err := embedded.Load(d.config.Region)
	if errors.Is(err, embedded.ErrUnknownRegion) { // newer than the daemon, or mistaken: AWS's answers show it
		d.logger.Warn("the daemon's own table does not have the region: nothing is launched until AWS says what it sells", "region", d.config.Region)
		facts, table, err = embedded.Elsewhere(d.config.Region)
	}
	return facts, table, err
}

// reachCluster makes the clients of the API server, and returns by what access.
func (d *daemon) reachCluster() (*rest.Config, error) {
	access, err := kube.DaemonConfig()
	if err != nil {
		return nil, err
	}
	d.kube, err = kube.NewClients(access)
	return access, err
}

// reachAWS makes the client of AWS.
func (d *daemon) reachAWS(ctx context.Context) (err error) {
	d.aws, err = aws.New(ctx, aws.Config{
		Region: d.config.Region, FIPS: &d.config.FIPS, DualStack: &d.config.DualStack, UserAgent: "karpenterd/" + version,
		Observe: func(_ context.Context, call aws.Call) { d.metrics.AWSCall(call) },
	})
	return err
}

// explain adds the remedy to an error of the first call to AWS.
func explain(err error) error {
	var refused *aws.UnauthorizedError
	if errors.As(err, &refused) && refused.Action == "sts:AssumeRoleWithWebIdentity" {
		return fmt.Errorf("%w: role %q does not trust this service account: correct the role's trust policy, or the service account's annotation %s",
			err, os.Getenv("AWS_ROLE_ARN"), install.RoleARNAnnotation)
	}
	if aws.Unanswered(err) {
		return fmt.Errorf("%w: EKS cannot be reached: correct --region ($%s), give the daemon a way to EKS, such as a VPC endpoint, or name the cluster's endpoint by --cluster-endpoint ($%s): then the daemon starts without EKS",
			err, install.EnvRegion, install.EnvClusterEndpoint)
	}
	return fmt.Errorf("%w: correct --cluster-name ($%s) or --region ($%s), or allow the daemon's role eks:DescribeCluster on the cluster",
		err, install.EnvClusterName, install.EnvRegion)
}

// authority is the certificate authority by which the daemon knows the API server, PEM.
func authority(c *rest.Config) []byte {
	if len(c.CAData) > 0 {
		return c.CAData
	}
	data, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil // nobody knows one: see joined.read
	}
	return data
}

func (d *daemon) startEvents(ctx context.Context) error {
	scheme, err := kube.NewScheme()
	if err != nil {
		return err
	}
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return fmt.Errorf("scheme make: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: eventsOf(d.kube.Core)})
	d.events = broadcaster.NewRecorder(scheme, corev1.EventSource{Component: translate.FieldManager})
	return nil
}

func eventsOf(c kubernetes.Interface) typedcore.EventInterface { return c.CoreV1().Events("") }

// warm keeps the world translated for decisions while the replica waits to be elected: of
// 40,000 pods that takes a second, in which nobody would decide.
func (d *daemon) warm(ctx context.Context) {
	for ctx.Err() == nil {
		d.world.Snapshot() // what is wrong with objects is logged by the first decision
		select {
		case <-ctx.Done():
		case <-time.After(warmEvery):
		}
	}
}

// recorder tells users what the elected replica does.
func (d *daemon) recorder() *telemetry.Recorder {
	r := &telemetry.Recorder{Logger: d.logger, Events: d.events, Metrics: d.metrics, Waiting: d.world.WaitingSince, Provisioner: d.legacy.Serves}
	d.reports.Recorder = r
	return r
}

// work is what the elected replica does.
func (d *daemon) work(ctx context.Context) error {
	d.metrics.Leading(true)
	defer d.metrics.Leading(false)
	d.logger.Info("elected")
	if err := d.learn(ctx); err != nil {
		return err
	}
	pools := &pool.Keeper{World: d.world, Pools: d.pools()}
	recorder := d.recorder()
	classes := d.classes()
	seen := witness{recorder, pools, classes.ProfileFailed, &d.page}
	d.showPage()
	decisions := loop.New(loop.Config{
		Panicked: d.panicked(ctx), Working: func() func() { return d.health.Begin("a decision", decisionWithin) },
		World: d.world, Recorder: shown{recorder, &d.page}, Policy: d.config.Policy, WorkLimit: loop.WorkLimit, Logger: d.logger.Named("loop"), Learn: d.learnNow,
		Memory: engine.After(pool.DisruptedUntil(d.world.NodePools(), time.Now())),
		Actor:  &act.Actor{Core: d.kube.Core, Claims: d.kube.NodeClaims, World: d.world, Recorder: seen, Now: time.Now},
	})
	rights := d.rights(ctx, decisions)
	claims := &claim.Controller{
		Core: d.kube.Core, Claims: d.kube.NodeClaims, World: d.world, Cloud: d.aws, Scarcity: decisions, Recorder: seen,
		Logger: d.logger.Named("nodeclaim"), Now: time.Now, Cluster: d.joined.now, Queues: d.metrics.Queues(),
	}
	claims.Hasten(d.config.Factor)
	claims.Start()
	classes.CountReservations(ctx)
	podEvents := podevent.New(d.world, d.kube.NodeClaims, d.logger.Named("podevent"), time.Now, d.metrics.Queues())
	unsubscribe := d.world.Subscribe(world.Subscriber{
		Claim: func(name string) { claims.Enqueue(name); podEvents.Enqueue(name) }, Class: classes.Enqueue,
	})
	defer unsubscribe()
	remarks, others := d.remarks(recorder)
	collector := &claim.Collector{Controller: claims, Away: decisions.CloudAway, Held: d.heldOrphans(recorder)}
	templates := &claim.TemplateCollector{Controller: claims, Counted: d.metrics.LaunchTemplates}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return decisions.Run(ctx) })
	group.Go(func() error { return claims.Run(ctx) })
	group.Go(func() error { return mayNominate(ctx, d.kube.Core, d.logger) })
	group.Go(func() error { classes.Run(ctx); return nil })
	group.Go(func() error { podEvents.Run(ctx); return nil })
	group.Go(func() error { d.interruptions(seen, claims).Run(ctx); return nil })
	d.repeat(ctx, group, []chore{
		{collectEvery, "sweep for orphans", collector.Sweep},
		{claim.TemplatesEvery, "search for launch templates that nothing needs", templates.Sweep},
		{rightsEvery, "check of the right to bind pods", rights},
		{nodeclass.CollectEvery, "search for instance profiles that nothing needs", classes.Collect},
		{driftEvery, "search for drift", d.drift(recorder, collector).Sweep},
		{market.Every, "keep what AWS has said about types and prices", d.market.Sweep},
		{market.ReportsEvery, "keep what nodes have reported of their size", d.reports.Sweep},
		{clusterEvery, "look at the cluster", d.lookAndTell(recorder)},
		{remark.Every, "look at annotations", remarks.Look},
		{uncarriedEvery, "search for kinds that are not carried out", others.Look},
		{poolEvery, "nodepool status update", pools.Sync},
		{poolEvery, "provisioner status update", d.legacy.Sync},
	})
	return group.Wait()
}

// chore is work that comes again and again.
type chore struct {
	interval time.Duration
	what     string
	do       func(context.Context, time.Time) error
}

// repeat does the chores until the context ends.
func (d *daemon) repeat(ctx context.Context, group *errgroup.Group, chores []chore) {
	for _, r := range chores {
		group.Go(func() error {
			return every(ctx, r.interval, d.logger, r.what, func(ctx context.Context, now time.Time) error {
				done := d.health.Begin(r.what, keeperWithin)
				defer done()
				ctx, cancel := context.WithTimeout(ctx, choreWithin)
				defer cancel()
				return r.do(ctx, now)
			})
		})
	}
}

// heldOrphans counts the instances without a NodeClaim that the daemon does not dare to
// terminate, and tells of them.
func (d *daemon) heldOrphans(to *telemetry.Recorder) func(context.Context, int, string) {
	return func(ctx context.Context, n int, why string) {
		d.metrics.HeldOrphans(n)
		if why != "" {
			to.HeldOrphans(d.self(ctx), why)
		}
	}
}

// lookAndTell looks at the cluster, and tells of a Kubernetes that is newer than the daemon.
func (d *daemon) lookAndTell(to *telemetry.Recorder) func(context.Context, time.Time) error {
	return d.joined.lookAndTell(func(ctx context.Context, newer string) { to.NewerKubernetes(d.self(ctx), newer) })
}

// self is the daemon's own pod, as the object of Events.
func (d *daemon) self(ctx context.Context) *corev1.ObjectReference {
	out := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: d.config.Namespace, Name: d.config.PodName}
	if pod, err := d.kube.Core.CoreV1().Pods(out.Namespace).Get(ctx, out.Name, metav1.GetOptions{}); err == nil {
		out.UID = pod.UID // kubectl describe looks for it
	}
	return out
}

// remarks makes what tells users of objects that need their attention.
func (d *daemon) remarks(r *telemetry.Recorder) (*remark.Teller, *uncarried) {
	others := newUncarried(d.kube, d.logger)
	return &remark.Teller{World: d.world, Recorder: r, Others: others.All}, others
}

// learn reads what the first decision needs: what the leader before this one has written,
// what nodes have reported, and what AWS sells.
func (d *daemon) learn(ctx context.Context) error {
	priced := make(chan struct{})
	go func() {
		defer close(priced)
		d.reports.Begin(ctx)
		d.market.Begin(ctx, catalogueWait)
	}()
	err := d.catchingUp().run(ctx)
	<-priced
	return err
}

func (d *daemon) catchingUp() catchingUp {
	return catchingUp{clients: d.kube, world: d.world, keeper: d.keeper, logger: d.logger, namespace: d.config.Namespace, pod: d.config.PodName}
}

// keep looks at an object that is watched before the fields are dropped that no decision
// needs, and returns what is kept in its place.
func (d *daemon) keep(o metav1.Object) metav1.Object {
	d.readers.Observe(o)
	return d.keeper.Compact(o)
}

// learnNow notes what is known of the cluster by now.
func (d *daemon) learnNow(h *engine.Hindrances) {
	h.ExactNamespaces, h.TaintReader = d.joined.exactNamespaces(), d.readers.Found()
}

// rights tells the loop whether the daemon may bind pods, and returns what tells it again.
func (d *daemon) rights(ctx context.Context, l *loop.Loop) func(context.Context, time.Time) error {
	tell := func(ctx context.Context, _ time.Time) error {
		if d.config.Policy.Landing == plan.LandPrefer {
			return nil // the daemon needs no such right, and has none
		}
		may, err := kube.MayBind(ctx, d.kube.Core)
		if err == nil {
			l.Bind(may)
		}
		return err
	}
	if err := tell(ctx, time.Now()); err != nil {
		d.logger.Warn("could not check whether the daemon may bind pods; the first binding will show it", "error", err)
	}
	return tell
}

// mayNominate returns kube.ErrMayNotNominate once the daemon may not nominate pods: the next
// one does not start before it may. It asks every rightsEvery until the context ends, and believes
// the second no in a row: a ClusterRole may be deleted and made again in between.
func mayNominate(ctx context.Context, core kubernetes.Interface, logger hclog.Logger) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	refused := false
	err := every(ctx, rightsEvery, logger, "check of the right to nominate pods", func(ctx context.Context, _ time.Time) error {
		may, err := kube.MayNominate(ctx, core)
		if err != nil {
			return err
		}
		if !may && refused {
			stop(kube.ErrMayNotNominate)
		}
		refused = !may
		return nil
	})
	if errors.Is(context.Cause(ctx), kube.ErrMayNotNominate) {
		return kube.ErrMayNotNominate
	}
	return err
}

// every calls f at once and then at the interval, until the context ends. It logs an
// error and continues.
func every(ctx context.Context, interval time.Duration, logger hclog.Logger, what string, f func(context.Context, time.Time) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := f(ctx, time.Now()); err != nil && ctx.Err() == nil {
			logger.Warn(what+" failed; retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
