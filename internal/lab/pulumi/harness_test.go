//go:build lab && pulumi

package pulumi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/demo"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/judge"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// patience is how long one command may take on a busy machine.
const patience = 10 * time.Minute

type pulumiLab struct {
	*lab.Lab
	made  toolchain.Ready
	pools dynamic.ResourceInterface
}

func startLab(t *testing.T) *pulumiLab {
	t.Helper()
	need := toolchain.LabNeeds()
	need.Tools = append(need.Tools, toolchain.Pulumi, toolchain.PulumiYAML, toolchain.PulumiBridge)
	ready, err := toolchain.Prepare(t.Context(), os.Stderr, need)
	if err != nil {
		t.Fatal(err)
	}
	started, err := lab.Start(t.Context(), lab.Options{Dir: t.TempDir(), DaemonBinary: ready.Programs[toolchain.Daemon], TimeFactor: 6, BootDelay: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := dynamic.NewForConfig(started.AdminConfig)
	if err != nil {
		t.Fatal(err)
	}
	return &pulumiLab{Lab: started, made: ready, pools: client.Resource(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"})}
}

func (l *pulumiLab) pool(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	pool, err := l.pools.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func (l *pulumiLab) ready(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	if is, why := kube.ConditionTrue("Ready")(object); !is {
		t.Errorf("%s is not ready after the update: %s", object.GetName(), why)
	}
}

func (l *pulumiLab) inventory(t *testing.T) []string {
	t.Helper()
	all, err := demo.Inventory(t.Context(), l.Lab)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// nothingNew fails if the account has what it had not before, or the cluster the daemon.
func (l *pulumiLab) nothingNew(t *testing.T, before []string) {
	t.Helper()
	if diff := cmp.Diff(before, l.inventory(t)); diff != "" {
		t.Errorf("the destroy has left or taken something: %s", diff)
	}
	if _, err := l.pools.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the definition of node pools is left: %v", err)
	}
	if _, err := l.Admin.AppsV1().Deployments("karpenter").Get(t.Context(), "karpenterd", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the daemon's Deployment is left: %v", err)
	}
}

// shell is where a user of the guide types: variables and the folder last from block to block.
type shell struct {
	home, provider string
	image          string // the file with the digest of the image
	env            []string
	blocks         map[string]string
	ran            map[string]bool
}

func newShell(t *testing.T, l *pulumiLab) *shell {
	t.Helper()
	root, err := toolchain.Root()
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{home: t.TempDir(), provider: l.made.Programs[toolchain.Provider], blocks: blocks(t), ran: map[string]bool{}}
	bin := filepath.Join(s.home, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []toolchain.Tool{toolchain.Pulumi, toolchain.PulumiYAML} {
		if err := os.Symlink(l.made.Tools[tool].Path, filepath.Join(bin, string(tool))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.home, "state"), []byte("cd '"+root+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.image = filepath.Join(s.home, "image.env")
	if err := os.WriteFile(s.image, []byte("IMAGE_DIGEST="+digest+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(s.home, "backend")
	if err := os.Mkdir(backend, 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = append(append(os.Environ(), l.Env()...), "HOME="+s.home, "PULUMI_HOME="+filepath.Join(s.home, ".pulumi"), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PULUMI_BACKEND_URL=file://"+backend, "PULUMI_CONFIG_PASSPHRASE=the passphrase of a test", "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_SKIP_CONFIRMATIONS=true", "NO_COLOR=1", "CHECKPOINT_DISABLE=1")
	bridge := l.made.Tools[toolchain.PulumiBridge]
	s.must(t, fmt.Sprintf("pulumi plugin install resource terraform-provider %s -f '%s'", bridge.Version, bridge.Path))
	return s
}

// blocks returns the blocks of commands in the guide by the comment that each begins with.
func blocks(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../templates/guides/pulumi.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i, part := range strings.Split(string(text), "```") {
		block, is := strings.CutPrefix(part, "sh\n# ")
		if title, commands, _ := strings.Cut(block, "\n"); i%2 == 1 && is {
			out[title] = commands
		}
	}
	return out
}

// block runs a block as it is written, but for what the pairs replace.
func (s *shell) block(t *testing.T, title string, fills ...string) {
	t.Helper()
	commands, there := s.blocks[title]
	if !there {
		t.Fatalf("the guide has no block %q", title)
	}
	s.ran[title] = true
	s.must(t, strings.NewReplacer(fills...).Replace(commands))
}

// ranAll fails if the test has left out a block. The guide's tests have the reasons of the others.
func (s *shell) ranAll(t *testing.T) {
	t.Helper()
	others := []string{"build", "install the bridge", "begin in Python"}
	for _, title := range slices.Sorted(maps.Keys(s.blocks)) {
		if !s.ran[title] && !slices.Contains(others, title) {
			t.Errorf("the guide has a block %q, which this test does not run", title)
		}
	}
}

func (s *shell) must(t *testing.T, commands string) string {
	t.Helper()
	said, err := s.run(t.Context(), commands)
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, said)
	}
	return said
}

func (s *shell) run(ctx context.Context, commands string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	script := fmt.Sprintf("set -aeu -o pipefail\n. '%s'\n%s\n{ export -p; echo \"cd '$PWD'\"; } > '%[1]s'\n", filepath.Join(s.home, "state"), commands)
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Env, cmd.WaitDelay = s.env, time.Second
	var complaint strings.Builder // a warning of Pulumi's is no JSON
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(fmt.Errorf("%w: %s", err, complaint.String()), ctx.Err())
	}
	return string(out), err
}

// edit replaces the first place of a text in the program.
func (s *shell) edit(t *testing.T, old, with string) {
	t.Helper()
	replace(t, filepath.Join(s.home, "karpenter-pulumi", "Pulumi.yaml"), old, with)
}

// cut takes a part out of the program: from one text up to another.
func (s *shell) cut(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home, "karpenter-pulumi", "Pulumi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), from)
	part, _, there := strings.Cut(rest, to)
	if !there {
		t.Fatalf("the program has no %q before %q:\n%s", from, to, text)
	}
	s.edit(t, from+part, "")
}

func replace(t *testing.T, file, old, with string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q:\n%s", file, old, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// did fails unless the last update has done so much to resources of the provider. The stack
// and the provider are resources of Pulumi's own, and always the same after the first update.
func (s *shell) did(t *testing.T, want map[string]int) {
	t.Helper()
	var history []struct{ ResourceChanges map[string]int }
	if err := json.Unmarshal([]byte(s.must(t, "pulumi stack history --json --page-size 1")), &history); err != nil || len(history) == 0 {
		t.Fatalf("no history: %v", err)
	}
	if diff := cmp.Diff(want, history[0].ResourceChanges); diff != "" {
		t.Errorf("the update did something else: %s", diff)
	}
}

type exported struct {
	Deployment struct {
		Resources []struct{ URN, ID, Type string }
	}
}

func (s *shell) state(t *testing.T) (out exported) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.must(t, "pulumi stack export")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// keepsSecret fails if the state has the secret as it is, or has it not at all.
func (s *shell) keepsSecret(t *testing.T, secret string) {
	t.Helper()
	if strings.Contains(s.must(t, "pulumi stack export"), secret) {
		t.Error("the state has the provider's secret key in plain text")
	}
	if !strings.Contains(s.must(t, "pulumi stack export --show-secrets"), secret) {
		t.Error("the state does not have the provider's secret key: nothing was shown")
	}
}

// schema is that of the package that the bridge makes of the provider.
func (s *shell) schema(t *testing.T) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.home, "bin", "pulumi"), "package", "get-schema", "terraform-provider", s.provider)
	cmd.Env, cmd.Dir = s.env, s.home
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("schema: %v\n%s", err, complaint.String())
	}
	return out
}

// python runs the program in Python.
type python struct {
	*shell
	interpreter, program string
	settings             []byte
}

func (s *shell) newPython(t *testing.T, l *pulumiLab) *python {
	t.Helper()
	requirements, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := &python{shell: s, program: filepath.Join(s.home, "program")}
	if p.interpreter, err = judge.Environment(t.Context(), os.Stderr, requirements); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(p.program, os.DirFS("../../../examples/pulumi/python")); err != nil {
		t.Fatal(err)
	}
	p.settings, err = json.Marshal(map[string]string{
		"clusterName": l.ClusterName, "region": l.Region,
		"imageRegistry": "ghcr.io", "imageRepository": "karpenterd/karpenterd", "imageDigest": digest,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "PYTHONPATH="+s.sdk(t), "PYTHONDONTWRITEBYTECODE=1")
	return p
}

// sdk writes the SDK that Pulumi's own generator makes of the provider.
func (s *shell) sdk(t *testing.T) (folder string) {
	t.Helper()
	sdk := filepath.Join(s.home, "sdk")
	// Compiled as Pulumi itself is, so that it finds compiled what that needed.
	generate := exec.CommandContext(t.Context(), "go", "run", "-C", "../../../tools/pulumi", "-trimpath", "-buildvcs=false", ".", sdk)
	generate.Stdin = bytes.NewReader(s.schema(t))
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("the SDK: %v\n%s", err, out)
	}
	// What pip would record of the package: the SDK asks for its own version.
	record := filepath.Join(sdk, "pulumi_karpenter-0.0.0.dist-info")
	if err := os.Mkdir(record, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(record, "METADATA"), []byte("Metadata-Version: 2.1\nName: pulumi_karpenter\nVersion: 0.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return sdk
}

func (p *python) must(t *testing.T, command string) {
	t.Helper()
	if said, err := p.run(t.Context(), command); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, said)
	}
}

func (p *python) run(ctx context.Context, command string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.interpreter, "run.py", p.program, "karpenter", "prod", command)
	cmd.Env, cmd.Stdin, cmd.WaitDelay = p.env, bytes.NewReader(p.settings), time.Second
	out, err := cmd.CombinedOutput()
	return string(out), errors.Join(err, ctx.Err())
}

func (p *python) edit(t *testing.T, old, with string) {
	t.Helper()
	replace(t, filepath.Join(p.program, "__main__.py"), old, with)
}
