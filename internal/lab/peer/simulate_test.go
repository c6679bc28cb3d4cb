//go:build lab && peer

package peer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// dumpTo is the fixture of daemon/internal/simulate.
var dumpTo = flag.String("dump", "", "file to write the dump to that TestPeer_IsSimulated simulates, packed by gzip")

// simulated is what is read of a report of "karpenterd simulate -o json".
type simulated struct {
	Now struct {
		Nodes         int
		Pods          int64
		PodsElsewhere int64
		CostPerHour   float64
		CPUPercent    float64
		Pools         []struct {
			Name        string
			Nodes       int
			CostPerHour float64
		}
	}
	Foreign        struct{ Nodes int }
	CannotBePlaced []struct {
		Pods    int
		Example []string
	}
	Notes []string
}

// TestPeer_IsSimulated has Karpenter run a company's cluster, which has become too large, and holds
// what karpenterd simulate says of it to what the API server and EC2 say.
func TestPeer_IsSimulated(t *testing.T) {
	command := must(toolchain.Self(t.Context(), os.Stderr, toolchain.Daemon))(t)
	p := startPeerLab(t, demo())
	class, general, batch := p.nodeClass(), companyPool("general", "on-demand"), companyPool("batch", "spot")
	ok(t, unstructured.SetNestedField(batch.Object, map[string]any{"team": "batch"}, "spec", "template", "metadata", "labels"))
	ok(t, unstructured.SetNestedSlice(batch.Object, []any{map[string]any{"key": "team", "value": "batch", "effect": "NoSchedule"}}, "spec", "template", "spec", "taints"))
	p.apply(t, class, general, batch)
	for _, o := range []*unstructured.Unstructured{class, general, batch} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		must(p.applier.Wait(ctx, kube.RefOf(o), kube.ConditionTrue("Ready")))(t)
		cancel()
	}
	p.apply(t, objects(t, must(os.ReadFile("testdata/cluster.yaml"))(t))...)
	p.eventually(t, func(ctx context.Context) error { return p.allRunBut(ctx, 73, 1) })
	p.resize(t, "shop", "web", 12)
	p.resize(t, "shop", "catalogue", 6)
	p.resize(t, "batch", "render", 4)
	p.eventually(t, func(ctx context.Context) error { return p.allRunBut(ctx, 37, 1) })

	dump := p.dump(t)
	if *dumpTo != "" {
		pack(t, dump, *dumpTo)
	}
	file := filepath.Join(t.TempDir(), "dump.json")
	ok(t, os.WriteFile(file, dump, 0o600))
	fromFile, fromCluster := simulate(t, command, "-f", file), simulate(t, command, "--kubeconfig", p.Kubeconfig)
	for what, r := range map[string]simulated{"the dump": fromFile, "the cluster": fromCluster} {
		p.isTrue(t, what, r)
	}
	if a, b := fmt.Sprint(fromFile), fmt.Sprint(fromCluster); a != b {
		t.Errorf("of the dump:\n%s\nof the cluster:\n%s", a, b)
	}
}

// companyPool has nodes of at most 8 CPUs, so that there are several, and leaves them alone while
// the cluster is looked at.
func companyPool(name, capacityType string) *unstructured.Unstructured {
	o := smallNodes(nodePool())
	o.SetName(name)
	spec := o.Object["spec"].(map[string]any)
	spec["disruption"] = map[string]any{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "15m", "budgets": []any{map[string]any{"nodes": "20%"}}}
	requirements := spec["template"].(map[string]any)["spec"].(map[string]any)["requirements"].([]any)
	requirements[0].(map[string]any)["values"] = []any{capacityType}
	return o
}

// company are the pods of the manifest that would move to another node, and those that wait.
func (p *peerLab) company(ctx context.Context) (pods []corev1.Pod, err error) {
	for _, namespace := range []string{"shop", "payments", "observability", "batch", "ml"} {
		list, err := p.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		pods = append(pods, slices.DeleteFunc(list.Items, func(x corev1.Pod) bool {
			return x.Status.Phase == corev1.PodSucceeded || slices.ContainsFunc(x.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
		})...)
	}
	return pods, nil
}

// allRunBut says whether so many pods run and so many wait, and every node is initialized.
func (p *peerLab) allRunBut(ctx context.Context, run, wait int) error {
	pods, err := p.company(ctx)
	if err != nil {
		return err
	}
	runs := 0
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning && pods[i].DeletionTimestamp == nil {
			runs++
		}
	}
	if runs != run || len(pods)-runs != wait {
		return fmt.Errorf("%d of %d pods run, want %d and %d that wait", runs, len(pods), run, wait)
	}
	nodes, err := p.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "karpenter.sh/nodepool"})
	if err != nil || len(nodes.Items) != len(p.instances()) {
		return fmt.Errorf("%d nodes, %d instances: %w", len(nodes.Items), len(p.instances()), err)
	}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; n.Labels["karpenter.sh/initialized"] != "true" {
			return fmt.Errorf("node %s is not initialized", n.Name)
		}
	}
	return nil
}

func (p *peerLab) resize(t *testing.T, namespace, name string, n int) {
	t.Helper()
	must(p.Core.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{}))(t)
}

// dump is what the command of the guide writes.
func (p *peerLab) dump(t *testing.T) []byte {
	t.Helper()
	kubectl := must(toolchain.Ensure(t.Context(), os.Stderr, toolchain.Kubectl))(t)[toolchain.Kubectl].Path
	guide := string(must(os.ReadFile("../../../templates/guides/simulate.md.tmpl"))(t))
	_, rest, found := strings.Cut(guide, "# write a dump\n")
	line, _, ended := strings.Cut(rest, "\n")
	if !found || !ended {
		t.Fatal("the guide to simulate has no command that writes a dump")
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", line)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig, "PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return must(os.ReadFile(filepath.Join(c.Dir, "dump.json")))(t)
}

// pack writes the dump as the fixture, without what only this machine has.
func pack(t *testing.T, dump []byte, path string) {
	t.Helper()
	var list map[string]any
	ok(t, json.Unmarshal(dump, &list))
	cut(list)
	text := must(json.MarshalIndent(list, "", "    "))(t)
	home, host := must(os.UserHomeDir())(t), must(os.Hostname())(t)
	for _, local := range []string{home + "/", os.TempDir() + "/", `"` + host + `"`, "127.0.0.1"} {
		if bytes.Contains(text, []byte(local)) {
			t.Fatalf("the dump has %q, which is of this machine: cut it", local)
		}
	}
	var out bytes.Buffer
	w := must(gzip.NewWriterLevel(&out, gzip.BestCompression))(t)
	must(w.Write(append(text, '\n')))(t)
	ok(t, w.Close())
	ok(t, os.WriteFile(path, out.Bytes(), 0o600))
	t.Logf("%s: %d KB, %d KB packed", path, len(text)>>10, out.Len()>>10)
}

// cut takes away the environment of containers, and the paths of the programs that stand for
// images.
func cut(x any) {
	switch x := x.(type) {
	case []any:
		for _, one := range x {
			cut(one)
		}
	case map[string]any:
		delete(x, "env")
		if _, there := x["imageID"]; there {
			x["imageID"] = x["image"]
		}
		for _, one := range x {
			cut(one)
		}
	}
}

func simulate(t *testing.T, command string, args ...string) (r simulated) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command, append([]string{"simulate", "-o", "json"}, args...)...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatalf("simulate %v: %v\n%s", args, err, said.String())
	}
	return r
}

// isTrue holds the figures of now to what EC2 and the API server have.
func (p *peerLab) isTrue(t *testing.T, what string, r simulated) {
	t.Helper()
	pods, run, training := must(p.company(t.Context()))(t), int64(0), ""
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning {
			run++
		} else {
			training = pods[i].Namespace + "/" + pods[i].Name
		}
	}
	nodes, cost := map[string]int{}, map[string]float64{}
	_, market, err := embedded.Load(p.Region)
	if err != nil {
		t.Fatal(err)
	}
	var total float64
	for _, i := range p.instances() {
		pool, capacityType := i.Tags["karpenter.sh/nodepool"], "on-demand"
		if i.Spot {
			capacityType = "spot"
		}
		price := dollars(market.PriceOf(i.Type, capacityType, i.Zone))
		if price == 0 {
			t.Errorf("instance %s: %s as %s in %s has no price", i.ID, i.Type, capacityType, i.Zone)
		}
		nodes[pool]++
		cost[pool] += price
		total += price + dollars(market.Volumes.Hourly(catalog.Volume{Type: catalog.GP3, GiB: i.DataVolumeGiB}))
	}
	if r.Now.Nodes != len(p.instances()) || r.Now.Pods != run || math.Abs(r.Now.CostPerHour-total) > 0.001 {
		t.Errorf("%s: %d nodes, %d pods, $%.4f/h; want %d, %d, $%.4f", what, r.Now.Nodes, r.Now.Pods, r.Now.CostPerHour, len(p.instances()), run, total)
	}
	for _, x := range r.Now.Pools {
		if x.Nodes != nodes[x.Name] || math.Abs(x.CostPerHour-cost[x.Name]) > 0.001 {
			t.Errorf("%s: NodePool %s has %d nodes for $%.4f/h, want %d for $%.4f", what, x.Name, x.Nodes, x.CostPerHour, nodes[x.Name], cost[x.Name])
		}
	}
	if len(r.CannotBePlaced) != 1 || r.CannotBePlaced[0].Pods != 1 || !slices.Equal(r.CannotBePlaced[0].Example, []string{training}) {
		t.Errorf("%s: cannot be placed: %+v, want %s alone", what, r.CannotBePlaced, training)
	}
	if r.Foreign.Nodes != 2 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "hashes of Karpenter") {
		t.Errorf("%s: %d nodes of others, want the two of the node group; notes %q", what, r.Foreign.Nodes, r.Notes)
	}
}

// ok ends the test if there is an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dollars(m quantity.Money) float64 { return float64(m) / quantity.NanoDollars }
