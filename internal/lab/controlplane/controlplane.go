package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// startTimeout bounds how long one component may take to be ready.
const startTimeout = 60 * time.Second

// Binaries are the paths of the programs.
type Binaries struct {
	Etcd, APIServer, ControllerManager, Scheduler, Kwok string
}

// Options is what a control plane is made of.
type Options struct {
	Dir            string // scratch directory, the caller's to remove
	Binaries       Binaries
	Processes      *proc.Set
	Authority      *Authority
	Logger         hclog.Logger
	Issuer         string        // https URL of the service-account issuer
	ServiceCIDR    string        // e.g. 172.20.0.0/16, EKS's default
	TokenReviewURL string        // https URL of the token webhook, served with a certificate of Authority
	BootstrapNodes []string      // nodes whose pods KWOK must leave alone
	ControllerQPS  int           // of the controller manager; 0: its default
	NodeGrace      time.Duration // from a node's last heartbeat to NotReady
	MemoryMiB      int           // what each component has before it collects garbage all the time; 0: 1024, which suits a few hundred objects
	ServersOnly    bool          // etcd and kube-apiserver alone: objects stay as they are written
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	Endpoint        string       // https://127.0.0.1:port
	Admin           *rest.Config // the administrator's token: the launcher's alone
	AdminKubeconfig string       // path of a kubeconfig with the same token
	EtcdURL         string       // http://127.0.0.1:port

	options    Options
	authority  *Authority
	adminToken string
	running    map[string]*proc.Process // by component; used by Start and restarts
	serve      func(port int) (*proc.Process, error)
	ready      func(context.Context, int) error
	restarting atomic.Bool // of the API server
}

// Start launches the components and returns when the API server is ready.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	c := &ControlPlane{options: o, authority: o.Authority, running: map[string]*proc.Process{}}
	if err := os.MkdirAll(filepath.Join(o.Dir, "logs"), 0o700); err != nil {
		return nil, fmt.Errorf("control plane start: %w", err)
	}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"etcd", c.startEtcd},
		{apiServer, c.startAPIServer},
		{"kube-controller-manager", c.startControllerManager},
		{"kube-scheduler", c.startScheduler},
		{"kwok", c.startKwok},
	}
	if o.ServersOnly {
		steps = steps[:2]
	}
	for _, step := range steps {
		began := time.Now()
		if err := step.run(ctx); err != nil {
			return nil, fmt.Errorf("%s start: %w", step.name, err)
		}
		go c.watch(step.name, c.running[step.name])
		o.Logger.Debug("component started", "component", step.name, "took", time.Since(began).Round(time.Millisecond))
	}
	return c, nil
}

// LogFile is where a component writes.
func (c *ControlPlane) LogFile(component string) string {
	return filepath.Join(c.options.Dir, "logs", component+".log")
}

// run starts a component under its name.
func (c *ControlPlane) run(name, binary string, args []string) (*proc.Process, error) {
	memory := cmp.Or(c.options.MemoryMiB, 1024)
	p, err := c.options.Processes.Start(proc.Spec{
		Name: name, Path: binary, Args: args, LogFile: c.LogFile(name), Dir: c.options.Dir,
		// Garbage may pile up to four times of what is in use: many small components on few
		// processors have memory to spare, and no time.
		Env: []string{"HOME=" + c.options.Dir, "PATH=" + os.Getenv("PATH"), "GOGC=300", fmt.Sprintf("GOMEMLIMIT=%dMiB", memory)},
	})
	c.running[name] = p
	return p, err
}

// watch says so when a component ends that nobody stopped: without it the
// laboratory only looks alive.
func (c *ControlPlane) watch(name string, p *proc.Process) {
	<-p.Done()
	if !c.options.Processes.Closing() && !(name == apiServer && c.restarting.Load()) {
		c.options.Logger.Error("component ended", "component", name, "exit-code", p.ExitCode(), "log", tail(c.LogFile(name), 5))
	}
}

// RestartAPIServer ends the API server without notice and starts it again on its port after it
// was down for a while. It returns when it is ready.
func (c *ControlPlane) RestartAPIServer(ctx context.Context, down time.Duration) error {
	if !c.restarting.CompareAndSwap(false, true) {
		return fmt.Errorf("%s restart: %w", apiServer, errRestarting)
	}
	defer c.restarting.Store(false)
	old, ok := c.options.Processes.Find(apiServer)
	if !ok {
		return fmt.Errorf("%s restart: %w", apiServer, ErrExited)
	}
	old.Kill()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(down):
	}
	port, err := strconv.Atoi(c.Endpoint[strings.LastIndexByte(c.Endpoint, ':')+1:])
	if err != nil {
		return fmt.Errorf("%s restart: %w", apiServer, err)
	}
	p, err := c.serve(port)
	if err != nil {
		return fmt.Errorf("%s restart: %w", apiServer, err)
	}
	if err := c.await(ctx, apiServer, p, func(ctx context.Context) error { return c.ready(ctx, port) }); err != nil {
		return fmt.Errorf("%s restart: %w", apiServer, err)
	}
	go c.watch(apiServer, p)
	return nil
}

// retryPort starts a listening component until it is ready, each time on
// another port when the one before was taken in between.
func (c *ControlPlane) retryPort(ctx context.Context, name string, start func(port int) (*proc.Process, error), ready func(context.Context, int) error) (int, error) {
	for range attempts {
		port, err := freePort()
		if err != nil {
			return 0, err
		}
		_ = os.Remove(c.LogFile(name)) // an earlier attempt's log would be read as this one's
		p, err := start(port)
		if err != nil {
			return 0, err
		}
		err = c.await(ctx, name, p, func(ctx context.Context) error { return ready(ctx, port) })
		if !errors.Is(err, errPortTaken) {
			return port, err
		}
	}
	return 0, fmt.Errorf("%w %d times over", errPortTaken, attempts)
}

// await polls until the component is ready, has ended, or takes too long.
func (c *ControlPlane) await(ctx context.Context, name string, p *proc.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = ready(ctx); last == nil {
			return nil
		}
		select {
		case <-p.Done():
			if lostPort(c.LogFile(name)) {
				return errPortTaken
			}
			return fmt.Errorf("%w (exit code %d); the end of its log:\n%s", ErrExited, p.ExitCode(), tail(c.LogFile(name), 15))
		case <-ctx.Done():
			return fmt.Errorf("not ready (%w), last answer: %w", ctx.Err(), last)
		case <-tick.C:
		}
	}
}

// tail is the last lines of a file, for an error message.
func tail(path string, lines int) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// write puts a file into the scratch directory and returns its path.
func (c *ControlPlane) write(name string, content []byte) (string, error) {
	path := filepath.Join(c.options.Dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("%s write: %w", name, err)
	}
	return path, nil
}

// admin prepares the administrator's access once the endpoint is known.
func (c *ControlPlane) admin() error {
	ca := c.authority.PEM()
	c.Admin = &rest.Config{
		Host: c.Endpoint, BearerToken: c.adminToken, QPS: clientQPS, Burst: clientBurst,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
	}
	c.AdminKubeconfig = filepath.Join(c.options.Dir, "admin.kubeconfig")
	return kubeconfig(c.AdminKubeconfig, c.Endpoint, ca, clientcmdapi.AuthInfo{Token: c.adminToken})
}

// fileName makes a user name fit for a file name.
func fileName(user string) string { return strings.NewReplacer(":", "-", "/", "-").Replace(user) }
