//go:build lab

package provider_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// build builds the provider with the linker's flags that .goreleaser.yml has for a release
// with the digest; without a digest, as one of no release. It returns the folder of the program,
// which is linked again only when something has changed.
func build(t testing.TB, digest string) string {
	t.Helper()
	if digest == "" {
		program, err := toolchain.Self(t.Context(), os.Stderr, toolchain.Provider)
		must(t, err)
		return filepath.Dir(program)
	}
	text, err := os.ReadFile("../.goreleaser.yml")
	must(t, err)
	var release struct {
		Builds []struct {
			Ldflags []string `json:"ldflags"`
		} `json:"builds"`
	}
	must(t, yaml.Unmarshal(text, &release))
	flags, err := template.New("").Option("missingkey=error").Parse(strings.Join(release.Builds[0].Ldflags, " "))
	must(t, err)
	var out strings.Builder
	must(t, flags.Execute(&out, map[string]any{"Version": "1.2.3", "Env": map[string]string{"IMAGE_DIGEST": digest}}))
	program, err := toolchain.Linked(t.Context(), os.Stderr, toolchain.Provider, out.String())
	must(t, err)
	return filepath.Dir(program)
}

// workspace makes a folder with the configuration, which runs the provider of its folder.
func (c cli) workspace(t testing.TB, provider, config string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"main.tf": config,
		"rc":      fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n}\n", c.host+"/karpenterd/karpenter", provider),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs the tool in a workspace, and returns what it says.
func (c cli) run(t testing.TB, dir, command string, args ...string) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.path, append([]string{command, "-no-color", "-input=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, c.env(dir)
	out, err := cmd.CombinedOutput()
	return strings.Join(strings.Fields(strings.ReplaceAll(string(out), "│", " ")), " "), err
}

// env is the environment of the tool in a workspace.
func (c cli) env(dir string) []string {
	return append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "rc"), "AWS_EC2_METADATA_DISABLED=true", "CHECKPOINT_DISABLE=1")
}

// plan plans a daemon with the provider of the folder, and returns what the tool says.
func (c cli) plan(t *testing.T, provider string) (dir, said string, err error) {
	t.Helper()
	dir = c.workspace(t, provider, `
terraform {
  required_providers {
    karpenter = { source = "karpenterd/karpenter" }
  }
}
provider "karpenter" {
  region = "us-west-2"
}
resource "karpenter_daemon" "this" {
  cluster_name = "lab"
  role_arn     = "arn:aws:iam::123456789012:role/karpenter"
}`)
	said, err = c.run(t, dir, "plan", "-out=plan")
	return dir, said, err
}

// A user of a release gets its image; a provider of no release asks for one before anything
// is made.
func TestAccDaemon_OnlyAReleaseBuildNamesAnImage(t *testing.T) {
	own, released := build(t, ""), build(t, releaseDigest)
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			_, said, err := cli.plan(t, own)
			for _, want := range []string{"no image to deploy: image is not set", "(version dev)", "make image", `on main.tf line 10, in resource "karpenter_daemon" "this"`} {
				if err == nil || !strings.Contains(said, want) {
					t.Errorf("a plan of a build without a digest lacks %q (%v): %s", want, err, said)
				}
			}
			dir, said, err := cli.plan(t, released)
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			show := exec.CommandContext(t.Context(), cli.path, "show", "-json", "plan")
			show.Dir, show.Env = dir, cli.env(dir)
			text, err := show.Output()
			if err != nil {
				t.Fatal(err)
			}
			var plan struct {
				Changes []struct {
					Change struct {
						After struct {
							Reference string `json:"image_reference"`
						} `json:"after"`
					} `json:"change"`
				} `json:"resource_changes"`
			}
			if err := json.Unmarshal(text, &plan); err != nil {
				t.Fatal(err)
			}
			if len(plan.Changes) != 1 || plan.Changes[0].Change.After.Reference != "ghcr.io/karpenterd/karpenterd@"+releaseDigest {
				t.Errorf("the plan of a release is %+v", plan.Changes)
			}
		})
	}
}
