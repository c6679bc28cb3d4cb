//go:build lab && pulumi

package pulumi

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	onDemand = "onDemand"
	digest   = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
)

// TestPulumi_TheQuickStartInYAML goes the way of the guide, block by block as it is written:
// up, nothing more to do, a change as an update, an import, and destroy with nothing left.
func TestPulumi_TheQuickStartInYAML(t *testing.T) {
	l := startLab(t)
	before := l.inventory(t)
	s := newShell(t, l)
	s.block(t, "begin in YAML", "$PWD/bin/terraform-provider-karpenter", s.provider, "bin/image.env", s.image)
	s.block(t, "configure", "my-cluster", l.ClusterName, "us-west-2", l.Region,
		"123456789012.dkr.ecr.us-west-2.amazonaws.com", "ghcr.io", "Repository karpenterd", "Repository karpenterd/karpenterd")
	t.Cleanup(func() {
		if t.Failed() {
			_, _ = s.run(context.WithoutCancel(t.Context()), "cd ~/karpenter-pulumi && pulumi destroy")
		}
	})
	s.block(t, "up")
	s.did(t, map[string]int{"create": 12})
	s.block(t, "nothing to do")
	l.readyAs(t, "200")

	uid := l.pool(t, "on-demand").GetUID()
	s.edit(t, "        cpu: \"200\"\n", "        cpu: \"100\"\n")
	s.block(t, "up")
	s.did(t, map[string]int{"update": 1, "same": 11})
	l.readyAs(t, "100")
	if got := l.pool(t, "on-demand").GetUID(); got != uid {
		t.Errorf("the pool was replaced: its UID was %s and is %s", uid, got)
	}
	s.block(t, "nothing to do")

	s.imports(t)
	s.cut(t, "  # A pod runs on this pool if it has the node selector", "outputs:\n")
	s.edit(t, "    - ${spot.name}\n", "")
	s.block(t, "up")
	s.did(t, map[string]int{"delete": 1, "same": 11})
	s.must(t, "pulumi refresh --expect-no-changes")
	s.block(t, "destroy")
	l.nothingNew(t, before)
	s.ranAll(t)
}

// imports lets Pulumi forget a pool, and imports what is there. The block "up" is that of the
// guide's import.
func (s *shell) imports(t *testing.T) {
	t.Helper()
	urn := ""
	for _, r := range s.state(t).Deployment.Resources {
		if strings.HasSuffix(r.URN, "::"+onDemand) {
			urn = r.URN
		}
	}
	s.must(t, "pulumi state delete '"+urn+"'")
	s.edit(t, "  onDemand:\n    type: karpenter:NodePool\n", "  onDemand:\n    type: karpenter:NodePool\n    options:\n      import: on-demand\n")
	s.block(t, "import")
	s.did(t, map[string]int{"import": 1, "same": 11})
	s.edit(t, "    options:\n      import: on-demand\n", "")
	s.block(t, "nothing to do")
}

// TestPulumi_TheQuickStartInPython runs the program of the example, which Pulumi's Automation
// API calls in place of the program that runs Python, with the same changes.
func TestPulumi_TheQuickStartInPython(t *testing.T) {
	l := startLab(t)
	before := l.inventory(t)
	s := newShell(t, l)
	p := s.newPython(t, l)
	t.Cleanup(func() {
		if t.Failed() {
			_, _ = p.run(context.WithoutCancel(t.Context()), "destroy")
		}
	})
	p.must(t, "up")
	l.readyAs(t, "200")
	p.must(t, "preview")
	uid := l.pool(t, "on-demand").GetUID()
	p.edit(t, `    limits={"cpu": "200"},`, `    limits={"cpu": "100"},`)
	p.must(t, "up")
	l.readyAs(t, "100")
	if got := l.pool(t, "on-demand").GetUID(); got != uid {
		t.Errorf("the pool was replaced: its UID was %s and is %s", uid, got)
	}
	p.must(t, "preview")
	p.must(t, "destroy")
	l.nothingNew(t, before)
}

// The schema makes the secret: the program has it in plain text.
func TestPulumi_SensitiveConfigurationIsEncryptedInTheState(t *testing.T) {
	s := newShell(t, startLab(t))
	const top, nested = "the-secret-of-the-key", "the-secret-of-the-token"
	folder := filepath.Join(s.home, "karpenter-pulumi")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	program := `name: secrets
runtime: yaml
resources:
  provider:
    type: pulumi:providers:karpenter
    properties:
      region: us-west-2
      accessKey: AKIAEXAMPLE
      secretKey: ` + top + `
      kubernetes: { host: "https://127.0.0.1:1", token: ` + nested + ` }
`
	if err := os.WriteFile(filepath.Join(folder, "Pulumi.yaml"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(t, "cd ~/karpenter-pulumi; pulumi stack init prod; pulumi package add terraform-provider '"+s.provider+"'; pulumi up")
	for _, secret := range []string{top, nested} {
		s.keepsSecret(t, secret)
	}
	s.must(t, "pulumi destroy")
}

// TestPulumi_NamesAreThoseOfTheSchema compares the package that the bridge makes with the
// schema that it reads: every input of a resource is a property, by the rules that the
// provider's tests hold the schema to, for what is nested as well.
func TestPulumi_NamesAreThoseOfTheSchema(t *testing.T) {
	l := startLab(t)
	s := newShell(t, l)
	var made struct {
		Resources map[string]struct{ InputProperties map[string]any }
		Functions map[string]any
	}
	if err := json.Unmarshal(s.schema(t), &made); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("../../../provider/testdata/schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(recorded)) {
		path, kinds, _ := strings.Cut(strings.TrimSpace(line), " ")
		parts := strings.Split(path, ".")
		if len(parts) != 2 || parts[0] == "provider" || !strings.Contains(kinds, "optional") && !strings.Contains(kinds, "required") {
			continue
		}
		kind := camel(strings.TrimPrefix(parts[0], "karpenter_"))
		token := "karpenter:index/" + kind + ":" + strings.ToUpper(kind[:1]) + kind[1:]
		if _, there := made.Resources[token].InputProperties[camel(parts[1])]; !there {
			t.Errorf("%s has no %s: %v", token, camel(parts[1]), slices.Sorted(maps.Keys(made.Resources[token].InputProperties)))
		}
		found++
	}
	if _, there := made.Functions["karpenter:index/getCluster:getCluster"]; !there || found < 100 {
		t.Errorf("the package has functions %v, and %d inputs of resources were found", slices.Sorted(maps.Keys(made.Functions)), found)
	}
}

func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// readyAs fails unless both pools are ready and the first has the limit.
func (l *pulumiLab) readyAs(t *testing.T, cpu string) {
	t.Helper()
	for _, name := range []string{"on-demand", "spot"} {
		l.ready(t, l.pool(t, name))
	}
	if got, _, _ := unstructured.NestedString(l.pool(t, "on-demand").Object, "spec", "limits", "cpu"); got != cpu {
		t.Errorf("the pool has the limit %q, and the program %q", got, cpu)
	}
}
