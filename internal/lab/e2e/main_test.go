//go:build lab

package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/kubernetes"

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

// runTests lets tests that share a laboratory wait side by side also on a
// machine with few processors, unless the command line says otherwise.
func runTests(m *testing.M) int {
	flag.Bool("update", false, "record which rights the daemon uses")
	flag.Parse()
	parallel := max(6, runtime.GOMAXPROCS(0))
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" {
			parallel = 0
		}
	})
	if parallel > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	folder, err := os.MkdirTemp("", "rights-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(folder)
	if err := os.Setenv(rightsVariable, folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := m.Run()
	if code == 0 {
		if err := checkRights(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
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

// pollEvery is how often tests look. Many of them look side by side, often at all pods or nodes:
// twice as often, each fifth request to the API server is of that kind.
const pollEvery = 400 * time.Millisecond

// eventually polls until check has no complaint, or fails with the last one when patience ends.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", patience, err)
		}
		time.Sleep(pollEvery)
	}
}
