//go:build lab

package e2e

import (
	"bufio"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/browser"
)

// pageShowsWhatTheDaemonDoes reads the page in a browser, by way of the command that the guide
// names, with nothing but a kubeconfig, while a node comes and goes.
func pageShowsWhatTheDaemonDoes(t *testing.T, d *daemonLab) {
	p := pool{name: "watched"}
	d.createPool(t, p)
	b := browser.Open(t, d.openPage(t), "daemon/internal/page/web")
	b.Reads(".status", "Live")
	b.Labels(".group", "NodePool "+p.name)

	d.deploy(t, p, 2)
	node := d.running(t, p, 2)[0].Spec.NodeName
	b.Labels(".cell", node, "on-demand", "full")
	b.Follow("#/decisions")
	b.Reads(".decision.launch", "Launched", "is the cheapest of", "pods need room", p.name)
	b.Follow("#/waiting")
	b.Reads("main", "Nothing waits")
	b.Follow("#/pools")
	b.Reads("main", p.name, "ready", "Disruption budgets")

	d.scale(t, p, 0)
	d.empties(t, p)
	b.Follow("#/decisions")
	b.Reads(".decision.removal", "Removed", node, "No pod runs there that needs the node", "empty")
}

// openPage runs the command that shows the page, until the test ends, and returns the address that
// it prints.
func (d *daemonLab) openPage(t *testing.T) (address string) {
	t.Helper()
	user := d.terminal(t)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "exec karpenterd ui --no-browser")
	cmd.Dir, cmd.Env = user.dir, slices.Concat(user.env, []string{"KUBECONFIG=" + d.kubeconfigOfDeployer(t)})
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("karpenterd ui prints nothing: %s", said.String())
	}
	return lines.Text()
}
