package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPacked_HasAnArchiveForEachPlatformOfARelease(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yml")
	must(t, err)
	c, err := readConfig(text)
	must(t, err)
	archives, err := c.packed(testVersion)
	must(t, err)
	names := map[string]packed{}
	for _, a := range archives {
		names[a.name] = a
	}
	for name, program := range map[string]string{
		"terraform-provider-karpenter_1.2.3_linux_amd64.zip": "terraform-provider-karpenter_v1.2.3",
		"terraform-provider-karpenter_1.2.3_windows_386.zip": "terraform-provider-karpenter_v1.2.3.exe",
		"terraform-provider-karpenter_1.2.3_freebsd_arm.zip": "terraform-provider-karpenter_v1.2.3",
		"karpenterd_1.2.3_darwin_arm64.tar.gz":               "karpenterd",
		"karpenterd_1.2.3_windows_arm64.zip":                 "karpenterd.exe",
	} {
		if names[name].program != program {
			t.Errorf("%s has %q, want %q", name, names[name].program, program)
		}
	}
	if len(archives) != 13+6 || len(names) != len(archives) {
		t.Errorf("%d archives with %d names, want 13 of the provider and 6 of the daemon", len(archives), len(names))
	}
}

func TestNarrowed_KeepsTheTargetsAlone(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yml")
	must(t, err)
	text, err = narrowed(text, []string{"linux/amd64", "darwin/arm64", "freebsd/386"})
	must(t, err)
	c, err := readConfig(text)
	must(t, err)
	archives, err := c.packed(testVersion)
	must(t, err)
	var got []string
	for _, a := range archives {
		got = append(got, a.build+" "+a.platform.String())
	}
	slices.Sort(got)
	if want := []string{"daemon darwin/arm64", "daemon linux/amd64", "provider darwin/arm64", "provider freebsd/386", "provider linux/amd64"}; !slices.Equal(got, want) {
		t.Errorf("archives %v, want %v", got, want)
	}
	for _, targets := range [][]string{{"plan9/amd64", "linux/amd64"}, {"freebsd/amd64"}, {"linux"}} {
		if _, err := narrowed(text, targets); !errors.Is(err, errTargets) {
			t.Errorf("targets %v: %v", targets, err)
		}
	}
}

func TestStandIn_RefusesWhatARegistryWouldNotRead(t *testing.T) {
	key, err := testKey()
	must(t, err)
	dir := t.TempDir()
	file, text := filepath.Join(dir, "key"), filepath.Join(dir, "text")
	must(t, keepKey(key, file))
	must(t, os.WriteFile(text, []byte("x"), 0o600))
	out := filepath.Join(dir, "out")
	for name, args := range map[string][]string{
		"another key":   {"--batch", "--local-user", "AA", "--output", out, "--detach-sign", text},
		"no key":        {"--batch", "--output", out, "--detach-sign", text},
		"clear text":    {"--batch", "--local-user", fingerprint(key), "--output", out, "--clear-sign", text},
		"with the text": {"--batch", "--local-user", fingerprint(key), "--output", out, text},
		"questions":     {"--local-user", fingerprint(key), "--output", out, "--detach-sign", text},
	} {
		if err := signAs(file, args); !errors.Is(err, errSigning) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProvenance_NamesWhoBuilds(t *testing.T) {
	env := map[string]string{
		"GITHUB_SERVER_URL": "https://github.example.com", "GITHUB_WORKFLOW_REF": "o/r/.github/workflows/release.yml@refs/tags/v1.2.3",
		"GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2",
	}
	builder, invocation := builderOf(func(name string) string { return env[name] })
	if builder != "https://github.example.com/o/r/.github/workflows/release.yml@refs/tags/v1.2.3" || invocation != "https://github.example.com/o/r/actions/runs/7/attempts/2" {
		t.Errorf("builder %q, invocation %q", builder, invocation)
	}
	if builder, invocation := builderOf(func(string) string { return "" }); builder != byHand || invocation != "" {
		t.Errorf("by hand: builder %q, invocation %q", builder, invocation)
	}
}

func TestProvenance_IsOfSomething(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "sums")
	must(t, os.WriteFile(empty, nil, 0o600))
	if err := (provenance{builder: byHand}).write(empty, empty+".json"); !errors.Is(err, errNoSums) {
		t.Errorf("of no file: %v", err)
	}
}

// A source without a chart is released without one; a chart without a name is not passed over.
func TestChart_IsThereOrNot(t *testing.T) {
	root := t.TempDir()
	if err := packChart(t.Context(), root, testVersion, testDigest); err != nil {
		t.Errorf("without a chart: %v", err)
	}
	must(t, os.MkdirAll(filepath.Join(root, chartSource), 0o700))
	must(t, os.WriteFile(filepath.Join(root, chartSource, "Chart.yaml"), []byte("version: 1.0.0\n"), 0o600))
	if err := packChart(t.Context(), root, testVersion, testDigest); err == nil || !strings.Contains(err.Error(), "has no name") {
		t.Errorf("a chart without a name: %v", err)
	}
}
