package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/cloudctl"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/faults"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/kubelet"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/machine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/relay"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/webhook"
)

// stopGrace is how long each component of the control plane has to stop.
const stopGrace = 10 * time.Second

// Lab is a running laboratory. Safe for concurrent use once started.
type Lab struct {
	Region, ClusterName string
	Endpoint            string // of the API server
	CA                  []byte // PEM, of the API server
	EtcdURL             string // of what the API server keeps its objects in

	Cloud    *awssim.Cloud
	VPC      ec2sim.VPC
	Machines *machine.Host // boot logs, boot delays

	AdminConfig *rest.Config         // the launcher's alone
	Kubeconfig  string               // path, with the same rights
	Deployer    awssim.Credentials   // of the IAM user that Terraform is
	DeployerARN string               // has an access entry with the cluster admin policy
	Processes   *proc.Set            // start helpers here and they end with the laboratory
	Dir         string               // scratch directory of this run
	Admin       kubernetes.Interface // AdminConfig's clients
	Faults      *faults.Server       // what can go wrong in this laboratory, at a control endpoint

	options    Options
	root       string
	plane      *controlplane.ControlPlane
	hook       *webhook.Server
	controller *cloudctl.Controller
	kubelets   []*kubelet.Kubelet
	network    *relay.Relay // between pods and the API server
	types      map[string]ec2sim.Type
}

// Start brings a laboratory up. It leaves nothing behind when it fails.
func Start(ctx context.Context, o Options) (*Lab, error) {
	o = o.withDefaults()
	l := &Lab{options: o, Region: o.Region, ClusterName: o.ClusterName}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("laboratory start: %w", err), l.Close())
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	var swept []string
	var err error
	if l.root, l.Dir, swept, err = scratch(l.options.Dir); err != nil {
		return err
	}
	for _, dir := range swept {
		l.say("swept what a laboratory left that did not end well: %s", dir)
	}
	if l.Processes, err = proc.NewSet(l.Dir); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"programs", l.findBinaries},
		{"simulated AWS", l.startCloud},
		{"control plane", l.startPlane},
		{"cluster", l.furnish},
		{"machines", l.startMachines},
		{"network", l.startNetwork},
		{"bootstrap nodes", l.startBootstrapNodes},
		{"faults", l.startFaults},
	} {
		began := time.Now()
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		l.say("%-16s ready in %s", step.name, time.Since(began).Round(10*time.Millisecond))
	}
	return nil
}

// Settle waits until all changes that were made so far are seen by all services.
func (l *Lab) Settle() { time.Sleep(l.options.Lag) }

// say tells people what is going on.
func (l *Lab) say(format string, args ...any) {
	_, _ = fmt.Fprintf(l.options.Progress, "lab: "+format+"\n", args...)
}

// LogDir holds a log file for every component and for every container of the
// bootstrap nodes; it goes with the laboratory.
func (l *Lab) LogDir() string { return filepath.Join(l.Dir, "logs") }

// AdminUserAgents counts the uses of the administrator's token by user agent;
// only the launcher's own may be among them.
func (l *Lab) AdminUserAgents() (map[string]int, error) { return l.plane.AdminUserAgents() }

// RequestsOf has what a service account has asked of the API server.
func (l *Lab) RequestsOf(namespace, account string) (map[controlplane.Request]bool, error) {
	return l.plane.RequestsOf(namespace, account)
}

// Env is the environment by which AWS SDKs, Terraform and OpenTofu act as the
// deployer in the simulated cloud and nowhere else.
func (l *Lab) Env() []string {
	return append(l.cloudEnv(),
		"AWS_ACCESS_KEY_ID="+l.Deployer.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+l.Deployer.SecretAccessKey,
		"AWS_REGION="+l.Region,
		"AWS_DEFAULT_REGION="+l.Region,
	)
}

// cloudEnv says where AWS answers, and keeps the user's own AWS configuration
// and a real metadata service out.
func (l *Lab) cloudEnv() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + l.Cloud.URL(),
		// The Go SDK makes the STS client of its web identity credentials
		// before it has read the variable above; the service's own it sees.
		"AWS_ENDPOINT_URL_STS=" + l.Cloud.URL(),
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE=" + os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	}
}

// podEnv is what the containers of the bootstrap nodes get beside their own: where
// AWS answers, how fast time goes there, and how much garbage may pile up.
func (l *Lab) podEnv() []string {
	return append(append(l.cloudEnv(), install.EnvTimeFactor+"="+strconv.FormatFloat(l.options.TimeFactor, 'g', -1, 64)), garbage(os.Getenv)...)
}

// garbage is GOGC, if whoever starts the laboratory has set it: what holds for the laboratory
// holds for the programs in it. The daemon's own setting spares memory and takes a quarter of
// its processor time, which tests lack.
func garbage(env func(string) string) []string {
	if percent := env("GOGC"); percent != "" {
		return []string{"GOGC=" + percent}
	}
	return nil
}

// findBinaries fills in the programs that the options do not name.
func (l *Lab) findBinaries(ctx context.Context) error {
	b := &l.options.Binaries
	wanted := map[toolchain.Tool]*string{toolchain.Etcd: &b.Etcd, toolchain.APIServer: &b.APIServer}
	if !l.options.ServersOnly {
		wanted[toolchain.ControllerManager], wanted[toolchain.Scheduler], wanted[toolchain.Kwok] = &b.ControllerManager, &b.Scheduler, &b.Kwok
	}
	var missing []toolchain.Tool
	for tool, path := range wanted {
		if *path == "" {
			missing = append(missing, tool)
		}
	}
	found, err := toolchain.Ensure(ctx, l.options.Progress, missing...)
	if err != nil {
		return err
	}
	for _, tool := range missing {
		*wanted[tool] = found[tool].Path
	}
	return nil
}

// startPlane starts webhook and control plane, which need each other's address
// in this order.
func (l *Lab) startPlane(ctx context.Context) error {
	authority, err := controlplane.NewAuthority()
	if err != nil {
		return err
	}
	l.CA = authority.PEM()
	serving, err := authority.Server("eks-webhooks")
	if err != nil {
		return err
	}
	l.hook, err = webhook.Start(webhook.Options{
		Cluster: l.ClusterName, Region: l.Region, CertPEM: serving.Cert, KeyPEM: serving.Key,
		Verifier: l.Cloud, Logger: l.logger("webhook"),
	})
	if err != nil {
		return err
	}
	l.plane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: l.Dir, Binaries: l.options.Binaries, Processes: l.Processes, Authority: authority, Logger: l.logger("control-plane"),
		Issuer: l.issuer(), ServiceCIDR: ServiceCIDR, TokenReviewURL: l.hook.URL + webhook.TokenPath, BootstrapNodes: bootstrapNames(),
		ServersOnly: l.options.ServersOnly, ControllerQPS: l.options.ControllerQPS, MemoryMiB: l.options.PlaneMemoryMiB, NodeGrace: l.options.NodeGrace,
	})
	if err != nil {
		return err
	}
	l.Endpoint, l.EtcdURL, l.AdminConfig, l.Kubeconfig = l.plane.Endpoint, l.plane.EtcdURL, l.plane.Admin, l.plane.AdminKubeconfig
	if l.Admin, err = kubernetes.NewForConfig(l.AdminConfig); err != nil {
		return fmt.Errorf("client create: %w", err)
	}
	return nil
}

func (l *Lab) logger(name string) hclog.Logger { return l.options.Logger.Named(name) }

// Close stops everything and removes the scratch directory.
func (l *Lab) Close() error {
	var errs []error
	if l.Faults != nil {
		errs = append(errs, l.Faults.Close())
	}
	var nodes sync.WaitGroup
	for _, k := range l.kubelets {
		nodes.Go(k.Close)
	}
	nodes.Wait()
	if l.controller != nil {
		l.controller.Close()
	}
	if l.Machines != nil {
		l.Machines.Close()
	}
	if l.Processes != nil {
		l.Processes.Close(stopGrace)
	}
	for _, c := range []struct {
		name string
		io.Closer
		set bool
	}{{"network", l.network, l.network != nil}, {"webhook", l.hook, l.hook != nil}, {"simulated AWS", l.Cloud, l.Cloud != nil}} {
		if !c.set {
			continue
		}
		if err := c.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s close: %w", c.name, err))
		}
	}
	if l.Dir != "" {
		if err := os.RemoveAll(l.Dir); err != nil {
			errs = append(errs, fmt.Errorf("scratch directory remove: %w", err))
		}
		_ = os.Remove(l.root) // stays while other laboratories use it
	}
	return errors.Join(errs...)
}
