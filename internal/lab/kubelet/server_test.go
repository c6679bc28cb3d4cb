package kubelet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// roleVariable makes this test binary the program of the test pod.
const roleVariable = "KUBELET_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	os.Exit(program(os.Args[1], os.Args[2:]))
}

// program waits until it is told to stop, or tells what it was given.
func program(what string, words []string) int {
	for _, word := range words {
		fmt.Println(word)
	}
	if what == "wait" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		fmt.Println(os.Getpid())
		<-ctx.Done()
		return 0
	}
	_, _ = io.Copy(os.Stdout, os.Stdin)
	dir, _ := os.Getwd()
	fmt.Fprintln(os.Stderr, os.Getenv(install.EnvLoopback), dir)
	return 7
}

// node is a kubelet whose API server holds nothing, with one pod that waits.
type node struct {
	*Kubelet
	pod       *pod
	authority *controlplane.Authority
}

func startNode(t *testing.T) node {
	t.Helper()
	authority, err := controlplane.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	serving, err := authority.Server("node")
	if err != nil {
		t.Fatal(err)
	}
	dir, self := t.TempDir(), selfPath(t)
	processes, err := proc.NewSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { processes.Close(closeGrace) })
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := &Kubelet{clients: fake.NewClientset(), addresses: NewAddresses(), pods: map[types.UID]*pod{}, options: Options{
		Name: "n", Dir: dir, Config: &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: authority.PEM()}},
		CertPEM: serving.Cert, KeyPEM: serving.Key, APIServer: controlplane.KubeletClient,
		Images: map[string]string{"ours/program": self}, Env: []string{roleVariable + "=program"},
		Processes: processes, Logger: hclog.NewNullLogger(),
	}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	if k.server, err = k.serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	k.see(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "program", Image: "ours/program", Args: []string{"wait", "first", "second"}}}},
	})
	k.mu.Lock()
	n := node{k, k.pods["u-1"], authority}
	k.mu.Unlock()
	until(t, "the container runs", func() bool {
		_, _, ok := n.pod.runningContainer("program")
		return ok
	})
	return n
}

func selfPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// until polls; how long that takes decides nothing.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so after a minute: %s", what)
		}
	}
}

// as is a client with a certificate of the authority.
func (n node) as(t *testing.T, authority *controlplane.Authority, user string) *rest.Config {
	t.Helper()
	config := &rest.Config{Host: fmt.Sprintf("https://127.0.0.1:%d", n.server.port)}
	config.CAData = n.authority.PEM()
	if user == "" {
		return config
	}
	pair, err := authority.Client(user)
	if err != nil {
		t.Fatal(err)
	}
	config.CertData, config.KeyData = pair.Cert, pair.Key
	return config
}

func (n node) apiServer(t *testing.T) *rest.Config {
	t.Helper()
	return n.as(t, n.authority, controlplane.KubeletClient)
}

// get asks for a path and returns the answer's status and text.
func get(t *testing.T, config *rest.Config, path string) (int, string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// exec runs a command in the pod as kubectl does.
func (n node) exec(ctx context.Context, t *testing.T, in io.Reader, out, errs io.Writer, command ...string) error {
	t.Helper()
	query := url.Values{"command": command, "output": {"1"}, "error": {"1"}}
	if in != nil {
		query.Set("input", "1")
	}
	config := n.apiServer(t)
	target, err := url.Parse(config.Host + "/exec/ns/p/program?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, target)
	if err != nil {
		t.Fatal(err)
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: errs})
}

// forward opens a connection to a port of the pod as kubectl does.
func (n node) forward(t *testing.T, port int) (data io.ReadWriter, complaints io.Reader, closed <-chan bool) {
	t.Helper()
	config := n.apiServer(t)
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host + "/portForward/ns/p/u-1")
	if err != nil {
		t.Fatal(err)
	}
	connection, _, err := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target).Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "1")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	if complaints, err = connection.CreateStream(headers); err != nil {
		t.Fatal(err)
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	if data, err = connection.CreateStream(headers); err != nil {
		t.Fatal(err)
	}
	return data, complaints, connection.CloseChan()
}

// echo answers on a free port of an address with what it is sent.
func echo(t *testing.T, address string) (port int) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// roundTrip sends a word and wants it back.
func roundTrip(t *testing.T, data io.ReadWriter) {
	t.Helper()
	got := make([]byte, len("ping"))
	if _, err := data.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(data, got); err != nil || string(got) != "ping" {
		t.Fatalf("got %q, %v; want ping", got, err)
	}
}

func TestNext_LocalhostsAndPodsHaveDifferentPartsOfTheLoopbackNetwork(t *testing.T) {
	for range 1000 {
		one := NewAddresses().next()
		local, loopback := net.ParseIP(one.local).To4(), net.ParseIP(one.loopback).To4()
		if local[0] != 127 || local[1] < 1 || local[1] > 127 || loopback[0] != 127 || loopback[1] < 128 || loopback[1] > 254 {
			t.Fatalf("address %s and localhost %s, want 127.1-127 and 127.128-254", local, loopback)
		}
	}
}

func TestServer_AnswersTheAPIServerAlone(t *testing.T) {
	n := startNode(t)
	stranger, err := controlplane.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config *rest.Config
		want   int
	}{
		"the API server":                   {n.apiServer(t), http.StatusOK},
		"no certificate":                   {n.as(t, nil, ""), http.StatusUnauthorized},
		"a certificate of somebody else's": {n.as(t, stranger, controlplane.KubeletClient), http.StatusUnauthorized},
		"another user of the cluster":      {n.as(t, n.authority, "system:node:n"), http.StatusForbidden},
	} {
		if status, text := get(t, c.config, "/containerLogs/ns/p/program"); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, text, c.want)
		}
	}
}

func TestServer_SaysWhatDoesNotExist(t *testing.T) {
	n := startNode(t)
	for path, want := range map[string]string{
		"/portForward/ns/other":                    "404 pod does not exist\n",
		"/portForward/ns/p/u-2":                    "404 pod does not exist\n",
		"/exec/ns/p/u-1/other?command=x&output=1":  "404 container not found (\"other\")\n",
		"/containerLogs/ns/p/other":                "404 container \"other\" not found in pod \"p\"\n",
		"/containerLogs/ns/p/program?follow=true":  "400 follow of logs: not supported by the laboratory's kubelet\n",
		"/containerLogs/ns/p/program?tailLines=-1": "400 tailLines \"-1\" is not a number of lines\n",
		"/attach/ns/p/program":                     "404 404 page not found\n",
	} {
		if status, text := get(t, n.apiServer(t), path); fmt.Sprint(status, " ", text) != want {
			t.Errorf("%s: %d %q, want %q", path, status, text, want)
		}
	}
}

func TestLogs_HaveAsManyLinesFromTheEndAsAreAskedFor(t *testing.T) {
	n := startNode(t)
	var all string
	until(t, "the program has written its three lines", func() bool {
		_, all = get(t, n.apiServer(t), "/containerLogs/ns/p/program?stream=All")
		return strings.Count(all, "\n") == 3
	})
	if !strings.HasPrefix(all, "first\nsecond\n") {
		t.Errorf("logs are %q, want them to begin with first and second", all)
	}
	pid := strings.TrimPrefix(all, "first\nsecond\n")
	for lines, want := range map[string]string{"0": "", "1": pid, "2": "second\n" + pid, "9": all} {
		if _, got := get(t, n.apiServer(t), "/containerLogs/ns/p/program?tailLines="+lines); got != want {
			t.Errorf("%s lines: %q, want %q", lines, got, want)
		}
	}
}

func TestPortForward_ReachesThePodsLocalhostAndNotItsAddress(t *testing.T) {
	n := startNode(t)
	_, before, _ := n.pod.runningContainer("program")
	data, _, _ := n.forward(t, echo(t, n.pod.address.loopback))
	roundTrip(t, data)

	port := echo(t, n.pod.address.local)
	_, complaints, _ := n.forward(t, port)
	text, err := io.ReadAll(complaints) // err: the stream is reset behind the text
	if want := fmt.Sprintf("failed to connect to localhost:%d inside namespace", port); !strings.Contains(string(text), want) || !strings.HasSuffix(string(text), "connect: connection refused") {
		t.Errorf("a port of the pod's address: %q, %v; want %q, connection refused", text, err, want)
	}
	if before.Err() != nil {
		t.Error("the pod's process has ended")
	}
}

func TestExec_RunsTheImagesProgramInTheContainersWorld(t *testing.T) {
	n := startNode(t)
	var out, errs bytes.Buffer
	name := filepath.Base(selfPath(t))
	err := n.exec(t.Context(), t, strings.NewReader("from stdin"), &out, &errs, name, "tell", "a word")
	var code utilexec.CodeExitError
	if !errors.As(err, &code) || code.Code != 7 {
		t.Errorf("ended with %v, want exit code 7", err)
	}
	if got, want := out.String(), "a word\nfrom stdin"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if want := n.pod.address.loopback + " " + n.pod.dir + "\n"; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs.String(), want)
	}
}

func TestExec_OtherProgramsAreNotInTheImage(t *testing.T) {
	n := startNode(t)
	for _, name := range []string{"sh", "/bin/sh", selfPath(t)} {
		err := n.exec(t.Context(), t, nil, io.Discard, io.Discard, name, "-c", "true")
		if err == nil || !strings.Contains(err.Error(), `exec: "`+name+`": executable file not found in $PATH`) {
			t.Errorf("%s: %v, want that it is not found", name, err)
		}
	}
}

// waiting is a command in the pod that waits until somebody ends it.
type waiting struct {
	pid   int
	ended <-chan error
}

func (n node) wait(ctx context.Context, t *testing.T) waiting {
	t.Helper()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	name := filepath.Base(selfPath(t))
	go func() {
		ended <- n.exec(ctx, t, nil, write, io.Discard, name, "wait")
	}()
	var w waiting
	if _, err := fmt.Fscanln(read, &w.pid); err != nil {
		t.Fatal(err)
	}
	w.ended = ended
	return w
}

// gone waits until the process is no more.
func (w waiting) gone(t *testing.T) {
	t.Helper()
	if err := <-w.ended; err == nil {
		t.Error("the command ended well")
	}
	until(t, "the process of the command is gone", func() bool { return errors.Is(syscall.Kill(w.pid, 0), syscall.ESRCH) })
}

func TestExec_EndsWithItsConnectionAndDisturbsNobody(t *testing.T) {
	n := startNode(t)
	_, container, _ := n.pod.runningContainer("program")
	other := n.wait(t.Context(), t)
	ctx, cancel := context.WithCancel(t.Context())
	w := n.wait(ctx, t)
	cancel()
	w.gone(t)
	if err := syscall.Kill(other.pid, 0); err != nil || container.Err() != nil {
		t.Errorf("another command: %v, the container: %v; want both to go on", err, container.Err())
	}
	n.Close()
	other.gone(t)
}

func TestStreams_EndWithThePod(t *testing.T) {
	n := startNode(t)
	data, _, closed := n.forward(t, echo(t, n.pod.address.loopback))
	roundTrip(t, data)
	w := n.wait(t.Context(), t)
	n.forget(n.pod.object)
	if _, err := data.Read(make([]byte, 1)); err == nil {
		t.Error("the forwarded connection goes on")
	}
	<-closed
	w.gone(t)
}

func TestClose_LeavesNoStreamAndNoServer(t *testing.T) {
	n := startNode(t)
	data, _, closed := n.forward(t, echo(t, n.pod.address.loopback))
	roundTrip(t, data)
	w := n.wait(t.Context(), t)
	n.Close()
	<-closed
	w.gone(t)
	if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", n.server.port)); err == nil {
		_ = conn.Close()
		t.Error("the server still listens")
	}
	var stacks bytes.Buffer
	until(t, "no goroutine of a stream or the server is left", func() bool {
		stacks.Reset()
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Fatal(err)
		}
		for _, ours := range []string{"k8s.io/cri-streaming/", "internal/lab/kubelet.(*", "internal/lab/kubelet.move"} {
			if strings.Contains(stacks.String(), ours) {
				return false
			}
		}
		return true
	})
}
