package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

var (
	errExplain  = errors.New("say what to explain: node NAME, pool NAME, or pod NAMESPACE/NAME")
	errUnknown  = errors.New("the last plan does not know it")
	errNoAnswer = errors.New("no decisions")
)

// Explain asks the daemon at the address (host:port of its metrics) why a node stays or
// is deleted, why no more nodes of a NodePool are, or what the last plan has for a pod and
// whether the pod keeps its node, and prints the answer. what is "node", "pool" or "pod"; a
// node may be named by its NodeClaim.
func Explain(ctx context.Context, out io.Writer, address, what, name string) error {
	line, err := "", errExplain
	if name != "" {
		switch what {
		case "node":
			line, err = explainNode(ctx, address, name)
		case "pool", "nodepool":
			line, err = explainPool(ctx, address, name)
		case "pod":
			line, err = explainPod(ctx, address, name)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, line)
	return err //nolint:wrapcheck // of the caller's writer
}

func explainNode(ctx context.Context, address, name string) (string, error) {
	report, err := ask(ctx, address, "")
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(report.Nodes, func(n NodeDecision) bool { return n.Node == name || n.NodeClaim == name })
	if i < 0 {
		return "", fmt.Errorf("node %s: %w: only nodes of NodePools are decided about", name, errUnknown)
	}
	n := report.Nodes[i]
	line := fmt.Sprintf("node %s (nodeclaim %s, nodepool %s, %s an hour) %s", n.Node, n.NodeClaim, n.NodePool, n.PricePerHour, n.Why)
	if i := slices.IndexFunc(report.Moves, func(m MoveDecision) bool { return m.ID == n.Move && n.Move != "" }); i >= 0 && report.Moves[i].SavingPerHour != "" {
		m := report.Moves[i]
		line += fmt.Sprintf("; the replaced nodes cost %s an hour, their replacements %s, so the move saves %s", m.FreesPerHour, m.CostsPerHour, m.SavingPerHour)
	}
	if n.Remedy != "" {
		line += "; what to do: " + n.Remedy
	}
	return line, nil
}

func explainPool(ctx context.Context, address, name string) (string, error) {
	report, err := ask(ctx, address, "")
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(report.Pools, func(p PoolDecision) bool { return p.NodePool == name })
	if i < 0 {
		return "", fmt.Errorf("nodepool %s: %w", name, errUnknown)
	}
	p := report.Pools[i]
	return fmt.Sprintf("nodepool %s (nodes: %d) %s: %s; %s", p.NodePool, p.Nodes, p.Standing, p.Why, p.Landing), nil
}

func explainPod(ctx context.Context, address, name string) (string, error) {
	if !strings.Contains(name, "/") {
		name = "default/" + name
	}
	report, err := ask(ctx, address, name)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(report.Pods, func(p PodDecision) bool { return p.Pod == name })
	if i < 0 {
		return "", fmt.Errorf("pod %s: %w: it neither has a node nor needs one", name, errUnknown)
	}
	p := report.Pods[i]
	line := "pod " + p.Pod + ": " + p.Verdict
	if p.Verdict == running {
		line = "pod " + p.Pod + " runs on node " + p.On
		p.On = ""
	}
	for _, more := range []string{p.On, p.Why} {
		if more != "" {
			line += ", " + more
		}
	}
	return line, nil
}

// ask asks for all decisions or, where a pod is named, for those about it.
func ask(ctx context.Context, address, pod string) (report Report, err error) {
	address = "http://" + address + install.DecisionsPath
	if pod != "" {
		address += "?" + url.Values{podQuery: {pod}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
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
		return report, fmt.Errorf("decisions read from %s: %w", address, err)
	}
	return report, nil
}
