package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestChecks_FindNothingInARelease(t *testing.T) {
	f := newFixture(t)
	f.pack(t)
	f.sum(t)
	f.finish(t)
	if said := f.all(); len(said) > 0 {
		t.Errorf("faults: %s", strings.Join(said, "\n"))
	}
}

// Each check is worth what it finds.
func TestChecks_FindEachFault(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(t *testing.T, f *fixture) // of what is packed
		after  func(t *testing.T, f *fixture) // of a release that is whole
		want   string
	}{
		"a file too many": {
			before: change(providerArchive, func(e []entry) []entry { return append(e, entry{name: "README.md", mode: 0o644, modified: testTime}) }),
			want:   providerArchive + ": has README.md",
		},
		"no licence": {before: change(daemonArchive, func(e []entry) []entry { return e[:1] }), want: daemonArchive + ": lacks LICENSE"},
		"no program": {before: change(daemonArchive, func(e []entry) []entry { return e[1:] }), want: daemonArchive + ": lacks karpenterd"},
		"not executable in a zip archive": {
			before: change(providerArchive, func(e []entry) []entry { e[0].mode = 0o644; return e }),
			want:   providerProgram + " has the mode -rw-r--r--",
		},
		"not executable in a tar archive": {
			before: change(daemonArchive, func(e []entry) []entry { e[0].mode = 0o644; return e }),
			want:   "karpenterd has the mode -rw-r--r--",
		},
		"the time of the build": {
			before: change(providerArchive, func(e []entry) []entry { e[1].modified = testTime.Add(time.Minute); return e }),
			want:   "LICENSE is of 2027-01-15 08:01:00",
		},
		"the user of the build": {before: change(daemonArchive, func(e []entry) []entry { e[0].owner = "me"; return e }), want: "karpenterd belongs to me:me"},
		"another platform": {before: change(daemonArchive, func(e []entry) []entry {
			e[0].content = replaced(e[0].content, "GOARCH=amd64", "GOARCH=arm64")
			return e
		}), want: "was built with GOARCH=arm64, want amd64"},
		"with cgo": {before: change(daemonArchive, func(e []entry) []entry {
			e[0].content = replaced(e[0].content, "CGO_ENABLED=0", "CGO_ENABLED=1")
			return e
		}), want: "was built with CGO_ENABLED=1"},
		"with the paths of the machine": {before: change(daemonArchive, func(e []entry) []entry {
			e[0].content = replaced(e[0].content, "-trimpath=true", "-trimpath=fals")
			return e
		}), want: "was built with -trimpath=fals"},
		"an archive that is none": {after: holds(daemonArchive, "x"), want: daemonArchive + ": archive"},
		"an archive too many": {
			after: holds("karpenterd_1.2.3_plan9_amd64.tar.gz", "x"),
			want:  "plan9_amd64.tar.gz: is no archive of the release",
		},
		"no version": {
			before: change(daemonArchive, func(e []entry) []entry { e[0].content = replaced(e[0].content, testVersion, "9.9.9"); return e }),
			want:   "karpenterd does not have its version 1.2.3",
		},
		"no digest": {before: change(providerArchive, func(e []entry) []entry {
			e[0].content = replaced(e[0].content, testDigest, strings.Repeat("0", len(testDigest)))
			return e
		}), want: providerProgram + " does not have the digest"},
		"no bill": {after: gone(billName(daemonArchive)), want: billName(daemonArchive) + ": open"},
		"a bill that lacks a module": {
			after: edit(billName(daemonArchive), `"name": "./lib"`, `"name": "./bil"`),
			want:  billName(daemonArchive) + ": lacks ./lib@",
		},
		"a bill of something else":        {after: edit(billName(daemonArchive), `"version": "1.2.3"`, `"version": "1.2.2"`), want: "is not of karpenterd 1.2.3"},
		"a checksum of an older file":     {after: holds(billName(daemonArchive), "{}"), want: sumsFile + ": has "},
		"no checksum of an archive":       {after: unsummed(providerArchive), want: sumsFile + ": lacks " + providerArchive},
		"no checksum of a bill":           {after: unsummed(billName(providerArchive)), want: "lacks " + billName(providerArchive)},
		"no checksum of the manifest":     {after: unsummed("terraform-provider-karpenter_1.2.3_manifest.json"), want: "lacks terraform-provider-karpenter_1.2.3_manifest.json"},
		"a checksum twice":                {after: edit(sumsFile, "", "", twice), want: sumsFile + ": lists "},
		"a checksum of what is not there": {after: edit(sumsFile, providerArchive+"\n", "other.zip\n"), want: "lists other.zip, which is no file of the release"},
		"a line that is no checksum":      {after: edit(sumsFile, "", "", func(s string) string { return s + "hello\n" }), want: "which is no checksum"},
		"an armored signature":            {after: armored, want: sumsFile + ".sig: is no binary signature"},
		"a signature of something else":   {after: edit(sumsFile, providerArchive, "other.zip"), want: sumsFile + ".sig: is no binary signature"},
		"no signature":                    {after: gone(sumsFile + ".sig"), want: sumsFile + ".sig: open"},
		"no provenance":                   {after: gone(provenanceFile), want: provenanceFile + ": open"},
		"a provenance of another file":    {after: edit(provenanceFile, daemonArchive, "other.tar.gz"), want: provenanceFile + ": is about other.tar.gz"},
		"a provenance that lacks a file":  {after: edit(provenanceFile, daemonArchive, "other.tar.gz"), want: `has "" for ` + daemonArchive},
		"a provenance of another commit":  {after: edit(provenanceFile, testCommit, strings.Repeat("f", 40)), want: "says that the commit is"},
		"a provenance of another image":   {after: edit(provenanceFile, trimAlgorithm(testDigest), strings.Repeat("2", 64)), want: "says that the image is"},
		"a provenance without a builder":  {after: edit(provenanceFile, `"builder"`, `"metadata2"`), want: provenanceFile},
		"a statement of another type":     {after: edit(provenanceFile, "slsa.dev/provenance/v1", "slsa.dev/provenance/v0"), want: "which is no provenance of SLSA 1"},
		"no statement at all":             {after: edit(provenanceFile, "in-toto.io/Statement/v1", "in-toto.io/Statement/v0"), want: "is no statement"},
		"an older protocol":               {after: manifest(`{"version": 1, "metadata": {"protocol_versions": ["5.0"]}}`), want: "the protocols [5.0], want 1 and 6.0"},
		"no manifest of the registry":     {after: manifest(``), want: "terraform-registry-manifest.json: unexpected end"},
		"a plugin of another name":        {after: edit(krewFile, "name: karpenter", "name: karpenterd"), want: "is of karpenterd v1.2.3"},
		"a plugin of another version":     {after: edit(krewFile, "version: v1.2.3", "version: v1.2.2"), want: "is of karpenter v1.2.2"},
		"a plugin elsewhere":              {after: edit(krewFile, "download/v1.2.3", "download/v1.2.2"), want: "download/v1.2.2/" + daemonArchive + " for linux/amd64"},
		"a plugin with another checksum":  {after: edit(krewFile, "sha256: ", "sha256: 0"), want: krewFile + ": has 0"},
		"a plugin without its program":    {after: edit(krewFile, "bin: karpenterd", "bin: kubectl-karpenter"), want: `starts "kubectl-karpenter"`},
		"a plugin without a platform":     {after: edit(krewFile, "arch: amd64", "arch: arm64"), want: krewFile + ": lacks linux/amd64"},
		"a plugin for too much":           {after: edit(krewFile, "arch: amd64", "arch: arm64"), want: "has linux/arm64, which it must not have"},
		"no plugin":                       {after: gone(krewFile), want: krewFile + ": open"},
		"a chart that nobody packaged":    {before: chart("", ""), want: "karpenterd-1.2.3.tgz: archive read"},
		"a chart of another version":      {before: chart("version: 1.2.2\nappVersion: 1.2.3\n", testDigest), want: `has version "1.2.2" and appVersion "1.2.3"`},
		"a chart for another version":     {before: chart("version: 1.2.3\nappVersion: 1.2.2\n", testDigest), want: `has version "1.2.3" and appVersion "1.2.2"`},
		"a chart without an image":        {before: chart("version: 1.2.3\nappVersion: 1.2.3\n", ""), want: "does not name the image " + testDigest},
		"an extra file that is not there": {
			after: func(_ *testing.T, f *fixture) { f.config.Release.ExtraFiles[0].Glob = "gone.json" },
			want:  ".goreleaser.yml: gone.json names 0 files",
		},
		"a chart that is not released": {before: chart("version: 1.2.3\nappVersion: 1.2.3\n", testDigest), after: gone("../" + chartFolder + "/karpenterd-1.2.3.tgz"), want: "bin/chart/*.tgz names 0 files"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for _, step := range []func(*testing.T, *fixture){tt.before, whole, tt.after} {
				if step != nil {
					step(t, f)
				}
			}
			if said := f.all(); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, tt.want) }) {
				t.Errorf("no fault has %q: %s", tt.want, strings.Join(said, "\n"))
			}
		})
	}
}

// A chart that is packaged as it must be is no fault, and belongs to the checksums.
func TestChecks_TakeAChart(t *testing.T) {
	f := newFixture(t)
	chart("version: 1.2.3\nappVersion: 1.2.3\n", testDigest)(t, f)
	f.pack(t)
	f.sum(t)
	f.finish(t)
	if said := f.all(); len(said) > 0 {
		t.Errorf("faults: %s", strings.Join(said, "\n"))
	}
	f.sum(t, "karpenterd-1.2.3.tgz")
	if said := strings.Join(f.all(), "\n"); !strings.Contains(said, "lacks karpenterd-1.2.3.tgz") {
		t.Errorf("a chart without a checksum is no fault: %s", said)
	}
}

// whole makes the release of what is to be packed.
func whole(t *testing.T, f *fixture) {
	t.Helper()
	f.pack(t)
	f.sum(t)
	f.finish(t)
}

func gone(file string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		must(t, os.Remove(f.path(file)))
	}
}

func holds(file, text string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		f.put(t, f.path(file), text)
	}
}

func unsummed(file string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		f.sum(t, file)
	}
}

func armored(t *testing.T, f *fixture) {
	t.Helper()
	f.finish(t, "--armor")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// change changes what is packed into an archive.
func change(archive string, how func([]entry) []entry) func(*testing.T, *fixture) {
	return func(_ *testing.T, f *fixture) { f.archives[archive] = how(f.archives[archive]) }
}

// replaced is the program with another text of the same length in it.
func replaced(program []byte, old, with string) []byte {
	return bytes.ReplaceAll(program, []byte(old), []byte(with)[:len(old)])
}

// edit changes a text of the release.
func edit(file, old, with string, how ...func(string) string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		text, err := os.ReadFile(f.path(file))
		must(t, err)
		changed := string(text)
		if old != "" {
			changed = strings.Replace(changed, old, with, 1)
		}
		for _, h := range how {
			changed = h(changed)
		}
		if changed == string(text) {
			t.Fatalf("%s has no %q", file, old)
		}
		f.put(t, f.path(file), changed)
	}
}

func twice(text string) string { return text + text }

func manifest(text string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		f.put(t, filepath.Join(f.root, "terraform-registry-manifest.json"), text)
	}
}

// chart gives the source a chart, and its package these lines and the digest of an image, if any;
// without lines there is no package.
func chart(lines, image string) func(*testing.T, *fixture) {
	return func(t *testing.T, f *fixture) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Join(f.root, chartSource), 0o700))
		must(t, os.MkdirAll(filepath.Join(f.root, chartFolder), 0o700))
		f.put(t, filepath.Join(f.root, chartSource, "Chart.yaml"), "name: karpenterd\n")
		if lines == "" {
			return
		}
		entries := []entry{{name: "karpenterd/Chart.yaml", mode: 0o644, modified: testTime, content: []byte("name: karpenterd\n" + lines)}}
		if image != "" {
			entries = append(entries, entry{name: "karpenterd/templates/_helpers.tpl", mode: 0o644, modified: testTime, content: []byte("@" + image)})
		}
		text := writeTar(t, entries)
		f.put(t, filepath.Join(f.root, chartFolder, "karpenterd-1.2.3.tgz"), string(text))
	}
}
