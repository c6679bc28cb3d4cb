package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSimulate_BadInputIsOneClearErrorAndNothingIsWritten(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := filepath.Join(dir, "folder")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, `--output is "yaml": give table, json, markdown or html`, []string{"-o", "yaml"}},
		{exitUsage, `--from is "there": give now or scratch`, []string{"--from", "there"}},
		{exitUsage, `--nodes is "some": give owned or all`, []string{"--nodes", "some"}},
		{exitUsage, "--for is 0s: give a duration above 0", []string{"--for", "0s"}},
		{exitUsage, `--fail-if is "saving": give unplaced, or saving>N%`, []string{"--fail-if", "saving"}},
		{exitUsage, `want KIND/NAMESPACE/NAME=N`, []string{"--scale", "web=3"}},
		{exitUsage, "name files by -f", []string{"dump.json"}},
		{exitUsage, "did you mean --filename?", []string{"--filenam", "x"}},
		{exitFailed, "no such file", []string{"-f", filepath.Join(dir, "nothing.json")}},
		{exitFailed, "has no file that ends with", []string{"-f", empty}},
		{exitFailed, "it breaks off after 1 objects", []string{"-f", file("cut.json", `{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}},{"apiVersion":`)}},
		{exitFailed, "give at least the output of kubectl get nodes", []string{"-f", file("pod.json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b"}}`), "--region", "us-east-1"}},
		{exitFailed, "nothing in it is of a kind that decisions read", []string{"-f", dumpOfTheGuide, "--with", file("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}},
		{exitFailed, "convert it first", []string{"-f", dumpOfTheGuide, "--with", file("old.yaml", "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\n")}},
		{exitFailed, "--with cannot be standard input", []string{"-f", dumpOfTheGuide, "--with", "-"}},
		{exitFailed, "there is no such Deployment", []string{"-f", dumpOfTheGuide, "--scale", "deployment/shop/nothing=3"}},
		{exitFailed, "the nodes are in us-east-1, and --region is eu-west-1", []string{"-f", dumpOfTheGuide, "--region", "eu-west-1"}},
		{exitFailed, "kubeconfig", nil},
	} {
		code, out, said := start(t, append([]string{"karpenterd", "simulate"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%v: code %d, out %q, said %q; want %d and %q", c.args, code, out, said, c.code, c.want)
		}
	}
}

func TestSimulate_FailIfEndsWithItsOwnCode(t *testing.T) {
	t.Parallel()
	huge := filepath.Join(t.TempDir(), "huge.yaml")
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: huge, namespace: shop}\nspec:\n  containers: [{name: a, resources: {requests: {cpu: \"5000\"}}}]\n"
	if err := os.WriteFile(huge, []byte(pod), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitDone, "", []string{"--fail-if", "unplaced"}},
		{exitFound, "1 pod cannot be placed, such as shop/huge", []string{"-f", huge, "--fail-if", "unplaced"}},
		{exitFound, "1 pod cannot be placed, such as shop/huge", []string{"--with", huge, "--fail-if", "unplaced"}},
		{exitFound, "% would be saved", []string{"--fail-if", "saving>10%"}},
		{exitDone, "", []string{"--fail-if", "saving>99.9"}},
	} {
		code, out, said := start(t, append([]string{"karpenterd", "simulate", "-f", dumpOfTheGuide}, c.args...)...)
		if code != c.code || out == "" || !strings.Contains(said, c.want) {
			t.Errorf("%v: code %d, said %q; want %d and %q", c.args, code, said, c.code, c.want)
		}
	}
}

// What cannot be read is a note of the report, and so is what the input lacks.
func TestSimulate_WhatCannotBeReadIsNoted(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"odd","namespace":"shop"},"spec":{"containers":"none"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, said := start(t, "karpenterd", "simulate", "-f", dumpOfTheGuide, "-f", broken, "-o", "json")
	var report struct{ Notes []string }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err, said)
	}
	notes := strings.Join(report.Notes, "\n")
	for _, want := range []string{"Pod shop/odd cannot be read", "not in the input: ", "PodDisruptionBudgets"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
}
