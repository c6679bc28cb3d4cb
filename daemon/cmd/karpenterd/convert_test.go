package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	oldPool     = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {providerRef: {name: b}, ttlSecondsAfterEmpty: 30}\n"
	oldBeta     = "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {requirements: [], nodeClassRef: {name: b}}}, disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s, expireAfter: Never}}\n"
	oldTemplate = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: b}\nspec: {subnetSelector: {a: \"${var.cluster}\"}, securityGroupSelector: {a: b}}\n"
	// quiet converts without a warning.
	quiet = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {}\n"
)

// runConvert runs the command on standard input and arguments.
func runConvert(input string, args ...string) (out, said string, err error) {
	return invoke(context.Background(), input, append([]string{"convert"}, args...)...)
}

func TestConvert_WritesManifestsToOutAndWarningsToErr(t *testing.T) {
	out, said, err := runConvert(oldPool+"---\n"+oldTemplate, "--instance-profile", "nodes")
	if err != nil {
		t.Fatal(err, said)
	}
	for _, want := range []string{"kind: EC2NodeClass", "instanceProfile: nodes", "kind: NodePool", "consolidateAfter: 30s"} {
		if !strings.Contains(out, want) {
			t.Errorf("out lacks %q:\n%s", want, out)
		}
	}
	if !strings.Contains(said, `warning: stdin: Provisioner "a": spec.ttlSecondsUntilExpired: absent`) || strings.Contains(out, "warning") {
		t.Errorf("said %s", said)
	}
}

func TestConvert_HCLKeepsTemplates(t *testing.T) {
	out, said, err := runConvert(oldPool+"---\n"+oldTemplate, "--hcl", "--role", "nodes", "-")
	if err != nil {
		t.Fatal(err, said)
	}
	for _, want := range []string{`resource "karpenter_node_pool" "a" {`, "karpenter_node_class.b.name", `a = "${var.cluster}"`, `role `} {
		if !strings.Contains(out, want) {
			t.Errorf("out lacks %q:\n%s", want, out)
		}
	}
}

func TestConvert_WritesNothingAfterAnError(t *testing.T) {
	out, said, err := runConvert(oldPool + "---\n" + oldTemplate)
	if err == nil || out != "" || !strings.Contains(said, `error: stdin: AWSNodeTemplate "b": spec.instanceProfile: missing`) {
		t.Errorf("%v\nout %s\nsaid %s", err, out, said)
	}
	if out, _, err := runConvert("kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n"); err == nil || out != "" || !strings.Contains(err.Error(), "no object of Karpenter") {
		t.Errorf("%v\nout %s", err, out)
	}
}

func TestConvert_StrictTakesWarningsForErrors(t *testing.T) {
	if out, said, err := runConvert(oldPool+"---\n"+oldTemplate, "--strict", "--role", "nodes"); err == nil || out != "" || !strings.Contains(err.Error(), "--strict") || said == "" {
		t.Errorf("%v\nout %s\nsaid %s", err, out, said)
	}
	if out, said, err := runConvert(oldBeta+"---\n"+quiet, "--strict"); err != nil || out == "" {
		t.Errorf("%v\nout %s\nsaid %s", err, out, said)
	}
}

func TestConvert_ReadsFilesAndFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/pool.yaml": oldPool, "b.yml": oldTemplate, "values.yaml": "replicas: 1\n", ".git/c.yaml": "karpenter: [", "README.md": "x"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	byFolder, said, err := runConvert("", "--role", "nodes", dir)
	if err != nil {
		t.Fatal(err, said)
	}
	if byFile, _, err := runConvert("", "--role", "nodes", filepath.Join(dir, "b.yml"), filepath.Join(dir, "a", "pool.yaml")); err != nil || byFile != byFolder {
		t.Errorf("%v\nby file:\n%s\nby folder:\n%s", err, byFile, byFolder)
	}
	if !strings.Contains(said, "not converted: document 1 of "+filepath.Join(dir, "values.yaml")) {
		t.Errorf("said %s", said)
	}
	if _, _, err := runConvert(oldPool, "--role", "a", "--instance-profile", "b"); err == nil || !strings.Contains(err.Error(), "give one of them") {
		t.Errorf("a role and an instance profile: %v", err)
	}
	if _, _, err := runConvert("", filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a file that does not exist is no error")
	}
	if _, _, err := runConvert("", t.TempDir()); err == nil || !strings.Contains(err.Error(), "name the files") {
		t.Errorf("an empty folder: %v", err)
	}
}
