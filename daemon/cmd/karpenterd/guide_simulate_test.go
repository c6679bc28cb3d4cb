package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// simulateGuide returns the blocks of the guide with the fence.
func simulateGuide(t *testing.T, fence string) (out []string) {
	t.Helper()
	text, err := os.ReadFile("../../../templates/guides/simulate.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```") {
		if block, is := strings.CutPrefix(part, fence+"\n"); is && i%2 == 1 {
			out = append(out, block)
		}
	}
	return out
}

func TestSimulateGuide_ListsWhatTheCommandLists(t *testing.T) {
	t.Parallel()
	var all, ofKubernetes []string // plural and group
	for _, w := range watches(clients(t, "http://127.0.0.1:1"), false) {
		all = append(all, w.what)
		if !strings.Contains(w.what, "karpenter") {
			ofKubernetes = append(ofKubernetes, w.what)
		}
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(simulateGuide(t, "yaml")[0]), &role); err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Verbs, []string{"get", "list"}) {
			t.Errorf("the role of the guide allows %s of %s", rule.Verbs, rule.Resources)
		}
		for _, resource := range rule.Resources {
			allowed = append(allowed, strings.TrimSuffix(resource+"."+rule.APIGroups[0], "."))
		}
	}
	listed := slices.Clone(all)
	for _, k := range olderKinds() {
		if k.newer == "" {
			listed = append(listed, k.what())
		}
	}
	same(t, "the role of the guide", allowed, listed)
	dumps := 0
	for _, block := range simulateGuide(t, "shell") {
		for line := range strings.Lines(block) {
			rest, is := strings.CutPrefix(line, "kubectl get ")
			if !is {
				continue
			}
			dumps++
			want := all
			if !strings.Contains(rest, "nodepools") {
				want = ofKubernetes
			}
			list, _, _ := strings.Cut(rest, " ")
			same(t, "the dump of the guide", strings.Split(list, ","), plurals(want))
		}
	}
	if dumps != 2 {
		t.Errorf("the guide writes %d dumps, want 2", dumps)
	}
}

func plurals(all []string) (out []string) {
	for _, what := range all {
		plural, _, _ := strings.Cut(what, ".")
		out = append(out, plural)
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("%s has\n%s, want\n%s", what, got, want)
	}
}

// The reports in the guide and in README.md are what the command prints of the dump beside this
// test. Where prices or decisions change, the texts follow.
func TestSimulateGuide_ShowsWhatTheCommandPrints(t *testing.T) {
	t.Parallel()
	pool := filepath.Join(t.TempDir(), "nodepool.yaml")
	if err := os.WriteFile(pool, []byte(simulateGuide(t, "yaml")[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	_, report, said := start(t, "karpenterd", "simulate", "-f", dumpOfTheGuide, "--with", pool)
	texts := simulateGuide(t, "text")
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(readme), "$ bin/karpenterd simulate\n")
	if !found || len(texts) != 2 {
		t.Fatalf("README.md shows a report: %v; the guide shows %d, want 2", found, len(texts))
	}
	after, _, _ = strings.Cut(after, "```")
	for _, text := range append(texts, after) {
		rest := strings.Split(report, "\n")
		for line := range strings.Lines(text) {
			begin, cut := strings.CutSuffix(strings.TrimSuffix(line, "\n"), "...")
			begin = strings.TrimRight(begin, " ")
			i := slices.IndexFunc(rest, func(x string) bool { return x == begin || cut && strings.HasPrefix(x, begin) })
			if i < 0 {
				t.Fatalf("shown is, and at this place the command does not print,\n%s\nbut\n%s%s", line, report, said)
			}
			rest = rest[i+1:]
		}
	}
}

// dumpOfTheGuide is the cluster whose report the guide shows.
const dumpOfTheGuide = "testdata/simulate/dump.json.gz"

func TestSimulateGuide_TheBlocksDoWhatTheGuideSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool, prices := filepath.Join(dir, "nodepool.yaml"), filepath.Join(dir, "prices.yaml")
	for i, name := range []string{pool, prices} {
		if err := os.WriteFile(name, []byte(simulateGuide(t, "yaml")[1+i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, block := range simulateGuide(t, "shell") {
		for line := range strings.Lines(block) {
			command, _, _ := strings.Cut(strings.TrimSpace(line), " | ")
			if !strings.HasPrefix(command, "karpenterd simulate -f dump.json") && !strings.HasPrefix(command, "karpenterd report -f dump.json") {
				continue
			}
			if strings.Contains(command, "--prices live") {
				continue // see TestSimulate_LivePricesAreThoseOfAWS
			}
			want := exitDone
			if strings.Contains(command, "saving>10%") {
				want = exitFound
			}
			command, _, _ = strings.Cut(command, " > ") // the shell's part
			words := strings.Fields(strings.NewReplacer("dump.json", dumpOfTheGuide, "nodepool.yaml", pool, "prices.yaml", prices, "'", "").Replace(command))
			if code, out, said := start(t, words...); code != want || out == "" {
				t.Errorf("%s: code %d, want %d; %s", command, code, want, said)
			}
			ran++
		}
	}
	if ran != 11 {
		t.Errorf("%d commands of the guide were run, want 11", ran)
	}
	_, out, _ := start(t, "karpenterd", "simulate", "-f", dumpOfTheGuide, "-o", "json")
	var report struct {
		Then struct{ CostPerMonth float64 }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Then.CostPerMonth <= 0 {
		t.Errorf("then.costPerMonth is %v: %v", report.Then.CostPerMonth, err)
	}
}
