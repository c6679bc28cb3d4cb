package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

var (
	errExplain  = errors.New("say what to explain: node NAME, or pod NAMESPACE/NAME")
	errUnknown  = errors.New("the last plan does not know it")
	errNoAnswer = errors.New("no decisions")
)

// Explain asks the daemon at the address (host:port of its metrics) why a node stays or
// goes, or what the last plan has for a pod, and prints the answer. what is "node" or
// "pod"; a node may be named by its NodeClaim.
func Explain(ctx context.Context, out io.Writer, address, what, name string) error {
	if what != "node" && what != "pod" || name == "" {
		return errExplain
	}
	report, err := ask(ctx, address)
	if err != nil {
		return err
	}
	if what == "node" {
		i := slices.IndexFunc(report.Nodes, func(n NodeDecision) bool { return n.Node == name || n.NodeClaim == name })
		if i < 0 {
			return fmt.Errorf("node %s: %w: only nodes of NodePools are decided about", name, errUnknown)
		}
		n := report.Nodes[i]
		_, err = fmt.Fprintf(out, "node %s (nodeclaim %s, nodepool %s, %s an hour) %s\n", n.Node, n.NodeClaim, n.NodePool, n.PricePerHour, n.Why)
		return err //nolint:wrapcheck // of the caller's writer
	}
	if !strings.Contains(name, "/") {
		name = "default/" + name
	}
	i := slices.IndexFunc(report.Pods, func(p PodDecision) bool { return p.Pod == name })
	if i < 0 {
		return fmt.Errorf("pod %s: %w: only pods that need a node are in it", name, errUnknown)
	}
	p := report.Pods[i]
	line := "pod " + p.Pod + ": " + p.Verdict
	for _, more := range []string{p.On, p.Why} {
		if more != "" {
			line += ", " + more
		}
	}
	_, err = fmt.Fprintln(out, line)
	return err //nolint:wrapcheck // of the caller's writer
}

func ask(ctx context.Context, address string) (report Report, err error) {
	url := "http://" + address + install.DecisionsPath
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return report, fmt.Errorf("decisions read: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return report, fmt.Errorf("decisions read: %w: run this where the daemon runs, or name its metrics port with --address", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return report, fmt.Errorf("%w: %s", errNoAnswer, strings.TrimSpace(string(text)))
	}
	if err := json.NewDecoder(response.Body).Decode(&report); err != nil {
		return report, fmt.Errorf("decisions read from %s: %w", url, err)
	}
	return report, nil
}
