//go:build lab

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// guide has the command blocks of a guide, by the comment that each begins with.
type guide struct {
	name   string
	blocks map[string][]string
	lab    *daemonLab
}

// openGuide reads the guide of templates/guides.
func (d *daemonLab) openGuide(t *testing.T, name string) guide {
	t.Helper()
	text, err := os.ReadFile("../../../templates/guides/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	g := guide{name: name, blocks: map[string][]string{}, lab: d}
	for _, part := range strings.Split(string(text), "```shell\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		lines := strings.Split(block, "\n")
		if title, named := strings.CutPrefix(lines[0], "# "); named {
			g.blocks[title] = lines[1:]
		}
	}
	return g
}

// run runs the commands of the block as they are written. Those of helm are left out:
// there is none here.
func (g guide) run(t *testing.T, block string) (out string) {
	t.Helper()
	lines, there := g.blocks[block]
	if !there || len(lines) == 0 {
		t.Fatalf("guide %s has no block %q", g.name, block)
	}
	for _, line := range lines {
		words := strings.Fields(line)
		var text string
		var err error
		switch words[0] {
		case "kubectl":
			err = g.kubectl(t, words[1:])
		case "karpenterd":
			text, err = g.lab.karpenterd(t, words[1:]...)
		case "helm":
			continue
		default:
			t.Fatalf("guide %s: %s", g.name, line)
		}
		if out += text; err != nil {
			t.Fatalf("guide %s: %s: %v\n%s", g.name, line, err, text)
		}
	}
	return out
}

// karpenterd runs the daemon's program with the administrator's access, as a user does.
func (d *daemonLab) karpenterd(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary, err := toolchain.Self(t.Context(), os.Stderr, "./daemon/cmd/karpenterd")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), binary, args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+d.Kubeconfig)
	out, err := c.CombinedOutput()
	return string(out), err
}

// kubectl makes the requests that kubectl makes for the command.
func (g guide) kubectl(t *testing.T, words []string) error {
	t.Helper()
	flags, args := map[string]string{}, []string{}
	for i := 0; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		switch {
		case words[i] == "-n" || words[i] == "-l":
			flags[words[i]] = words[i+1]
			i++
		case strings.HasPrefix(name, "--"):
			flags[name] = value
			if !given {
				flags[name] = "true"
			}
		default:
			args = append(args, words[i])
		}
	}
	ctx, all := t.Context(), g.lab.Admin
	switch what := strings.Join(args[:2], " "); what {
	case "scale deployment":
		_, err := all.AppsV1().Deployments(flags["-n"]).Patch(ctx, args[2], types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"replicas":%s}}`, flags["--replicas"]), metav1.PatchOptions{})
		return err
	case "wait pod":
		eventually(t, patience, func() error {
			pods, err := all.CoreV1().Pods(flags["-n"]).List(ctx, metav1.ListOptions{LabelSelector: flags["-l"]})
			if err != nil || len(pods.Items) > 0 {
				return fmt.Errorf("%d pods are left: %w", len(pods.Items), err)
			}
			return nil
		})
		return nil
	case "delete secret":
		return all.CoreV1().Secrets(flags["-n"]).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: flags["-l"]})
	case "delete validatingwebhookconfiguration", "delete mutatingwebhookconfiguration":
		for _, name := range args[2:] {
			hooks := all.AdmissionregistrationV1()
			err := hooks.ValidatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{})
			if strings.Contains(what, "mutating") {
				err = hooks.MutatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{})
			}
			if err != nil && !(apierrors.IsNotFound(err) && flags["--ignore-not-found"] == "true") {
				return err
			}
		}
		return nil
	default:
		t.Fatalf("this test cannot run kubectl %s", what)
		return nil
	}
}
