//go:build lab

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// roleVariable makes this test binary play another part: it is also the
// program of the test pods, and the laboratory that is killed.
const roleVariable = "LAB_E2E_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(runTests(m))
	case "pod":
		os.Exit(podProgram())
	case "laboratory":
		os.Exit(laboratoryProgram())
	default:
		fmt.Fprintln(os.Stderr, "unknown role", os.Getenv(roleVariable))
		os.Exit(2)
	}
}

// runTests lets tests wait side by side also on a machine with few processors: what is
// done at once is bounded by queue and together. It keeps the user's own AWS
// configuration out.
func runTests(m *testing.M) int {
	flag.Parse()
	parallel := true
	flag.Visit(func(f *flag.Flag) { parallel = parallel && f.Name != "test.parallel" })
	dir, err := os.MkdirTemp("", "e2e-profiles-")
	if parallel {
		err = errors.Join(err, flag.Set("test.parallel", "64"))
	}
	profiles.file = filepath.Join(dir, "credentials")
	for name, value := range map[string]string{
		"AWS_SHARED_CREDENTIALS_FILE": profiles.file, "AWS_CONFIG_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	return code
}

// profiles are the deployers of the laboratories. The environment, where the SDK looks
// for credentials, is the process's, and laboratories run side by side: so each has a
// profile of its own in one file.
var profiles struct {
	mu   sync.Mutex
	file string
	n    int
}

// addProfile returns the name of a profile with these credentials.
func addProfile(t *testing.T, c awssim.Credentials) string {
	t.Helper()
	profiles.mu.Lock()
	defer profiles.mu.Unlock()
	profiles.n++
	name := fmt.Sprintf("laboratory-%d", profiles.n)
	file, err := os.OpenFile(profiles.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(file, "[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\n", name, c.AccessKeyID, c.SecretAccessKey)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// turns are those of tests that queue.
var turns = make(chan struct{}, 2)

// queue lets the test run beside the long tests, which only call t.Parallel, and beside
// few others: each has a control plane of its own, which is work to start.
func queue(t *testing.T) {
	t.Helper()
	t.Parallel()
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

// podProgram serves its environment, its arguments and a probe until SIGTERM.
func podProgram() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, strings.Join(os.Environ(), "\n")) })
	mux.HandleFunc("/whoami", func(w http.ResponseWriter, r *http.Request) {
		if err := whoami(r.Context(), w); err != nil {
			fmt.Fprintln(w, err)
		}
	})
	mux.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	server := &http.Server{Addr: os.Args[len(os.Args)-1], Handler: mux, ReadHeaderTimeout: time.Second}
	go func() {
		<-ctx.Done()
		fmt.Println("told to stop")
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); err != nil && ctx.Err() == nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// bare is a control plane alone: no cloud, no machines.
type bare struct {
	*controlplane.ControlPlane
	clients   kubernetes.Interface
	processes *proc.Set
	dir       string
}

func startBare(t *testing.T, bootstrap ...string) bare {
	t.Helper()
	tools, err := toolchain.Ensure(t.Context(), os.Stderr, toolchain.Etcd, toolchain.APIServer, toolchain.ControllerManager, toolchain.Scheduler, toolchain.Kwok)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	processes, err := proc.NewSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { processes.Close(10 * time.Second) })
	authority, err := controlplane.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	plane, err := controlplane.Start(t.Context(), controlplane.Options{
		Dir: dir, Processes: processes, Authority: authority, Logger: hclog.NewNullLogger(), BootstrapNodes: bootstrap,
		Issuer: "https://oidc.eks.us-west-2.amazonaws.com/id/E2E", ServiceCIDR: "172.20.0.0/16",
		Binaries: controlplane.Binaries{
			Etcd: tools[toolchain.Etcd].Path, APIServer: tools[toolchain.APIServer].Path, Kwok: tools[toolchain.Kwok].Path,
			ControllerManager: tools[toolchain.ControllerManager].Path, Scheduler: tools[toolchain.Scheduler].Path,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(plane.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return bare{plane, clients, processes, dir}
}

// eventually polls until check has no complaint, or fails with the last one.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", within, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
