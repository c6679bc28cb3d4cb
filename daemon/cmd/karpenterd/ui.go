package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/page"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/reach"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// shown is the recorder of Steps, which also hands them to the page.
type shown struct {
	*telemetry.Recorder

	page *page.Page
}

// Record reports one Step.
func (s shown) Record(in engine.Input, out engine.Output, took time.Duration) {
	s.Recorder.Record(in, out, took)
	in.Memory = out.Memory
	s.page.Note(in, out.Plan)
}

// showPage lets the page show what this replica decides from now on.
func (d *daemon) showPage() {
	d.page.Begin(page.Source{World: d.world, Audit: d.metrics.Audited, Version: version, Cluster: d.config.ClusterName})
}

const (
	// leaderAgain is how long "ui" waits before it looks for the leader anew, and leaderEvery how
	// often it asks whether the replica still answers, for which it has leaderWithin.
	leaderAgain, leaderEvery, leaderWithin = 2 * time.Second, 3 * time.Second, 5 * time.Second
)

var errUnreached = errors.New("the replica does not answer any more")

// viewing is what "ui" does.
type viewing struct {
	target    reach.Target
	port      int
	noBrowser bool
	open      func(url string, warn func(error)) error
	leader    func(ctx context.Context, port int, do func(ctx context.Context, address string) error) error
	// every is how often the replica is asked whether it still answers, and again how long to wait
	// before the leader is looked for anew.
	every, again time.Duration

	shown   bool                   // there was a leader
	address atomic.Pointer[string] // where the leader is forwarded to; nil while it is not
}

func uiCommand() *cobra.Command {
	v := &viewing{open: openBrowser, every: leaderEvery, again: leaderAgain}
	command := &cobra.Command{
		Use: "ui", Short: "open the daemon's live page in a browser",
		Long: "ui shows the fleet, what it costs, what was decided and why, which pods wait, and the NodePools.\n" +
			"It finds the replica of the daemon that decides by its Lease, forwards a port of it in its own process,\n" +
			"with the user's kubeconfig, and opens the page. It works on when another replica is elected, until\n" +
			"Ctrl-C. The user needs the rights to list leases and to create pods/portforward.",
		Example: "  karpenterd ui\n  karpenterd ui --context production --port 8082 --no-browser",
		Args:    noArguments("give flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			v.leader = v.target.Leader
			return v.serve(c.Context(), func(url string) { fmt.Fprintln(c.OutOrStdout(), url) }, func(err error) { fmt.Fprintln(c.ErrOrStderr(), "karpenterd:", err) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&v.target.Kubeconfig, "kubeconfig", "", "kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&v.target.Context, "context", "", "context of the kubeconfig; default: the current one")
	flags.StringVar(&v.target.Namespace, "daemon-namespace", "", "namespace of the daemon; default: the one that has its Lease")
	flags.IntVar(&v.port, "port", 0, "port of this machine for the page; default: a free one")
	flags.BoolVar(&v.noBrowser, "no-browser", false, "print the address only")
	return command
}

// serve serves the leader's page on a port of this machine, which stays when the leader changes.
func (v *viewing) serve(ctx context.Context, say func(url string), warn func(error)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(install.Loopback, strconv.Itoa(v.port)))
	if err != nil {
		return fmt.Errorf("page serve: %w: give another --port", err)
	}
	server := &http.Server{Handler: v.proxy(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	tell := sync.OnceFunc(func() {
		address := "http://" + listener.Addr().String() + page.Path
		say(address)
		if v.noBrowser {
			return
		}
		if err := v.open(address, warn); err != nil {
			warn(err)
		}
	})
	said := ""
	for {
		found := false
		err := v.leader(ctx, install.LocalPort, func(ctx context.Context, at string) error {
			if err := answers(ctx, at); err != nil {
				return err
			}
			found = true
			v.address.Store(&at)
			defer v.address.Store(nil)
			tell()
			return v.stands(ctx, at)
		})
		if ctx.Err() != nil {
			return nil // the user has ended it
		}
		if v.shown = v.shown || found; !v.shown {
			return err // nothing was ever there to show
		}
		if found {
			said = "" // what is lost anew is said anew
		}
		if text := fmt.Sprint(err); text != said {
			said = text
			warn(fmt.Errorf("%w; looking for the replica that decides", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return fmt.Errorf("page serve: %w", err)
		case <-time.After(v.again):
		}
	}
}

// stands returns once the replica at the address does not answer any more.
func (v *viewing) stands(ctx context.Context, address string) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // the caller asks the context
		case <-time.After(v.every):
		}
		if err := answers(ctx, address); err != nil {
			return fmt.Errorf("%w: %w", errUnreached, err)
		}
	}
}

// answers asks for the page itself, which costs next to nothing.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, leaderWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+address+page.Path, nil)
	if err != nil {
		return fmt.Errorf("page ask: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("page ask: %w", err)
	}
	_ = response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return fmt.Errorf("page ask: %s: the daemon is older than this program, and has no page", response.Status)
	}
	return nil
}

// proxy hands requests for the page to the leader.
func (v *viewing) proxy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := v.address.Load()
		switch {
		case r.URL.Path == "/", r.URL.Path+"/" == page.Path:
			http.Redirect(w, r, page.Path, http.StatusFound)
		case !strings.HasPrefix(r.URL.Path, page.Path): // the replica has more there than the page
			http.NotFound(w, r)
		case at == nil:
			http.Error(w, "no replica is connected: karpenterd ui looks for the one that decides", http.StatusBadGateway)
		default:
			handOn(*at).ServeHTTP(w, r)
		}
	})
}

// handOn hands requests to the address. Events are handed on as they come.
func handOn(address string) http.Handler {
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorLog:      hclog.NewNullLogger().StandardLogger(nil), // each event that another election cuts off
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host // the page looks how the browser knows it
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
}

// openBrowser opens the address in the user's browser, which stays when this program ends. A program
// that could not open it says so after a while.
func openBrowser(address string, warn func(error)) error {
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	command := exec.Command(program, args...) //nolint:gosec,noctx // the address is our own; Ctrl-C is not for the browser
	apart(command)
	if err := command.Start(); err != nil {
		return fmt.Errorf("browser open: %w: open the address by hand", err)
	}
	go func() {
		if err := command.Wait(); err != nil {
			warn(fmt.Errorf("browser open: %s: %w: open the address by hand", program, err))
		}
	}()
	return nil
}
