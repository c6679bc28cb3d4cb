package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// invoke runs a command in a place without a cluster, and returns what it wrote.
func invoke(ctx context.Context, input string, args ...string) (out, said string, err error) {
	var o, e bytes.Buffer
	root := newRoot(streams{in: strings.NewReader(input), out: &o, err: &e}, func(string) string { return "" })
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	return o.String(), e.String(), err
}

// start runs the program as a shell does.
func start(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	return startIn(t, nil, args...)
}

func startIn(t *testing.T, changes map[string]string, args ...string) (code int, out, said string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), args, streams{in: strings.NewReader(""), out: &o, err: &e}, environment(changes))
	return code, o.String(), e.String()
}

func TestCommand_WhatIsWrongIsSaidOnceWithTheNearestName(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"explian", "node", "a"}, `unknown command "explian" for "karpenterd"`},
		{[]string{"explian"}, "explain"},
		{[]string{"explain"}, "say what to explain: node NAME, pool NAME, or pod NAME"},
		{[]string{"explain", "nodes", "a"}, `"nodes" cannot be explained: say node NAME, pool NAME, or pod NAME`},
		{[]string{"explain", "node"}, "explain node: want one name"},
		{[]string{"explain", "node", "a", "b"}, "explain node: want one name"},
		{[]string{"explain", "node", "a", "--kubecfg", "x"}, `unknown flag: --kubecfg: did you mean --kubeconfig?; "karpenterd explain node --help" lists the flags`},
		{[]string{"explain", "--contxt=x", "pool", "a"}, "did you mean --context?"},
		{[]string{"explain", "node", "a", "--quite-another"}, `unknown flag: --quite-another; "karpenterd explain node --help"`},
		{[]string{"explain", "pod", "shop/web", "-n", "other"}, "explain pod: shop/web is in namespace shop, and --namespace is other"},
		{[]string{"run", "now"}, `unexpected argument "now": give flags only`},
		{[]string{"run", "--log-level=loud"}, `setting log-level is "loud"`},
		{[]string{"convert", "--role=a", "--instance-profile=b"}, "--instance-profile and --role exclude each other; give one of them"},
		{[]string{"handback", "--wait=-1m"}, "--wait is -1m0s: give a time such as 5m"},
		{[]string{"ui", "now"}, `unexpected argument "now": give flags only`},
		{[]string{"definitions", "x"}, `unexpected argument "x"`},
		{[]string{"--no-such"}, "unknown flag: --no-such"},
	} {
		code, out, said := start(t, append([]string{"karpenterd"}, c.args...)...)
		if code != exitUsage || !strings.Contains(said, c.want) || out != "" || strings.Count(said, "karpenterd: ") != 1 {
			t.Errorf("%q: exit %d, printed %q, said %q, want %q", c.args, code, out, said, c.want)
		}
	}
}

func TestCommand_EachHasHelpAndExitCodeZero(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"--help"},
		{"help"},
		{"help", "explain"},
		{"run", "-h"},
		{"explain", "--help"},
		{"explain", "node", "--help"},
		{"ui", "--help"},
		{"convert", "--help"},
		{"definitions", "--help"},
		{"handback", "--help"},
		{"manifests", "--help"},
		{"iam-policy", "--help"},
		{"version"},
		{"--version"},
		{"completion", "bash"},
		{"completion", "zsh"},
		{"completion", "powershell"},
	} {
		if code, out, said := start(t, append([]string{"karpenterd"}, args...)...); code != exitDone || out == "" || said != "" {
			t.Errorf("%q: exit %d, %d bytes printed, said %q", args, code, len(out), said)
		}
	}
	for _, name := range []string{"kubectl-karpenter", "/usr/bin/kubectl-karpenter", "kubectl-karpenter.exe"} {
		if _, out, _ := start(t, name, "explain", "--help"); !strings.Contains(out, "kubectl karpenter explain [command]") {
			t.Errorf("help of %s: %s", name, out)
		}
	}
}

func TestCommand_WhatFailsIsNoWrongUse(t *testing.T) {
	if code, _, said := start(t, "karpenterd", "convert", filepath.Join(t.TempDir(), "none.yaml")); code != exitFailed || !strings.Contains(said, "none.yaml") {
		t.Errorf("exit %d, said %q", code, said)
	}
}

// nobody is an address where nothing listens, whatever else runs on the machine.
const nobody = "127.83.19.7"

// Where there is no kubeconfig, the command asks the daemon beside it.
func TestExplain_AsksTheGivenAddressOrInAPodItsOwn(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	var asked []string
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		fmt.Fprint(w, `{"nodepools": [{"nodepool": "general", "standing": "X", "why": "nothing goes"}], "pods": [{"pod": "shop/web", "verdict": "launched", "why": "a"}]}`)
	}))
	t.Cleanup(daemon.Close)
	address := strings.TrimPrefix(daemon.URL, "http://")
	if code, out, said := start(t, "karpenterd", "explain", "pool", "general", "--address", address); code != exitDone || !strings.Contains(out, "nodepool general") {
		t.Errorf("exit %d, printed %q, said %q", code, out, said)
	}
	for _, args := range [][]string{{"shop/web"}, {"web", "-n", "shop"}, {"shop/web", "--namespace=shop"}} {
		asked = nil
		start(t, append([]string{"karpenterd", "explain", "--address", address, "pod"}, args...)...)
		if len(asked) != 1 || !strings.Contains(asked[0], "pod=shop%2Fweb") {
			t.Errorf("%q: asked %q", args, asked)
		}
	}
	if code, _, said := startIn(t, map[string]string{install.EnvLoopback: nobody}, "karpenterd", "explain", "pool", "general"); code != exitFailed || !strings.Contains(said, nobody+":8082") {
		t.Errorf("without an address: exit %d, said %q", code, said)
	}
}

// In the daemon's pod the command asks that pod, whatever KUBECONFIG says of the cluster.
func TestExplain_InTheDaemonsPodItAsksThatPod(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	inPod := environment(map[string]string{"POD_NAME": "karpenterd-1", install.EnvLoopback: nobody})
	for args, want := range map[string]string{"": nobody + ":8082", "--context=a": "Lease"} {
		var out, said bytes.Buffer
		command := slices.DeleteFunc([]string{"karpenterd", "explain", "pool", "general", args}, func(s string) bool { return s == "" })
		if code := execute(t.Context(), command, streams{out: &out, err: &said}, inPod); code != exitFailed || !strings.Contains(said.String(), want) {
			t.Errorf("%q: exit %d, said %q, want %q", args, code, said.String(), want)
		}
	}
}

func TestExplain_AKubeconfigThatCannotBeReadIsNamed(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--kubeconfig", broken}, {"--kubeconfig", broken + "-none"}} {
		if code, _, said := start(t, append([]string{"karpenterd", "explain", "pool", "general"}, args...)...); code != exitFailed || !strings.Contains(said, "kubeconfig read: ") || !strings.Contains(said, args[1]) {
			t.Errorf("%q: exit %d, said %q", args, code, said)
		}
	}
}
