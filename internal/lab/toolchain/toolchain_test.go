package toolchain

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFits_KubernetesMinorMustMatchAndOthersMayBeNewer(t *testing.T) {
	kube := accept{atLeast: version{1, 36, 0}, minor: true}
	etcd := accept{atLeast: version{3, 5, 0}}
	for _, tc := range []struct {
		name    string
		accept  accept
		printed string
		want    bool
	}{
		{"same minor", kube, "Kubernetes v1.36.3", true},
		{"older minor", kube, "Kubernetes v1.35.9", false},
		{"newer minor", kube, "Kubernetes v1.37.0", false},
		{"unversioned build", kube, "Kubernetes v0.0.0-master+$Format:%H$", false},
		{"exactly the oldest", etcd, "etcd Version: 3.5.0\nGit SHA: x", true},
		{"newer", etcd, "etcd Version: 4.0.0", true},
		{"too old", etcd, "etcd Version: 3.4.27", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, ok := parseVersion(tc.printed)
			if !ok {
				t.Fatalf("no version found in %q", tc.printed)
			}
			if got := tc.accept.fits(v); got != tc.want {
				t.Errorf("fits(%v) = %v, want %v", v, got, tc.want)
			}
		})
	}
}

func TestParseVersion_NothingInTextWithoutVersion(t *testing.T) {
	for _, text := range []string{"", "command not found", "1.2", "99999999999999999999.1.1"} {
		if v, ok := parseVersion(text); ok {
			t.Errorf("parseVersion(%q) = %v, want none", text, v)
		}
	}
}

// script makes an executable that prints text whatever it is asked.
func script(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+text+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind_PrefersAssetsThenPathThenTheNextStandIn(t *testing.T) {
	assets, path := t.TempDir(), t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	t.Setenv("PATH", path)
	script(t, assets, "etcd", "etcd Version: 3.4.1")
	fit := script(t, path, "etcd", "etcd Version: 3.5.7")
	terraform := script(t, path, "terraform", "Terraform v1.11.4")
	script(t, path, "tofu", "OpenTofu v1.8.0")

	var said bytes.Buffer
	got, ok := find(t.Context(), &said, specs()[Etcd])
	if want := (Found{Path: fit, Version: "3.5.7", Origin: FromPath}); !ok || got != want {
		t.Errorf("etcd = %+v %v, want %+v", got, ok, want)
	}
	if !strings.Contains(said.String(), "3.4.1 is not used: wants 3.5.0 or newer") {
		t.Errorf("nothing said of the etcd that is too old: %q", said.String())
	}

	newer := script(t, assets, "etcd", "etcd Version: 3.6.8")
	if got, _ := find(t.Context(), &said, specs()[Etcd]); got.Path != newer || got.Origin != FromAssets {
		t.Errorf("etcd = %+v, want the one in KUBEBUILDER_ASSETS", got)
	}
	if got, _ := find(t.Context(), &said, specs()[TerraformCLI]); got.Path != terraform {
		t.Errorf("terraform-cli = %+v, want terraform because tofu is too old", got)
	}
	if got, ok := find(t.Context(), &said, specs()[Tofu]); ok {
		t.Errorf("tofu = %+v, want none: terraform is no stand-in for it", got)
	}
	if got, ok := find(t.Context(), &said, specs()[GolangciLint]); ok {
		t.Errorf("golangci-lint = %+v, want none: never from PATH", got)
	}
}

func TestFind_BrokenExecutableIsSaidAndPassedOver(t *testing.T) {
	path := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("PATH", path)
	script(t, path, "kwok", "no idea")
	var said bytes.Buffer
	if got, ok := find(t.Context(), &said, specs()[Kwok]); ok {
		t.Errorf("kwok = %+v, want none", got)
	}
	if !strings.Contains(said.String(), "is not used: version ask: no version in") {
		t.Errorf("said %q", said.String())
	}
}

func TestSpecs_EveryToolIsPinnedByItsModule(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range Tools() {
		s := specs()[tool]
		gomod, err := os.ReadFile(filepath.Join(root, "tools", s.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if v := required(string(gomod))[s.source]; v == "" {
			t.Errorf("%s: tools/%s/go.mod does not require %s", tool, s.module, s.source)
		}
		if !strings.Contains(string(gomod), "\t"+s.pkg+"\n") && !strings.Contains(string(gomod), "tool "+s.pkg+"\n") {
			t.Errorf("%s: tools/%s/go.mod has no tool line for %s", tool, s.module, s.pkg)
		}
	}
}

func TestLdflags_KubernetesPartsReportTheirVersion(t *testing.T) {
	got := ldflags("controlplane", map[string]string{"k8s.io/kubernetes": "v1.36.3"})
	for _, want := range []string{"gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36"} {
		if !strings.Contains(got, want) {
			t.Errorf("ldflags = %q, want %s in it", got, want)
		}
	}
}

func TestRequired_ReadsBlocksAndSingleLinesAndSkipsReplaces(t *testing.T) {
	got := required("module m\n\nrequire a.test/one v1.2.3\nrequire (\n\tb.test/two v0.1.0 // indirect\n)\nreplace b.test/two v0.1.0 => c.test/three v9.9.9\n")
	if len(got) != 2 || got["a.test/one"] != "v1.2.3" || got["b.test/two"] != "v0.1.0" {
		t.Errorf("required = %v", got)
	}
}

func TestEnsure_UnknownToolNamesTheKnownOnes(t *testing.T) {
	_, err := Ensure(t.Context(), &bytes.Buffer{}, "kubeadm")
	if !errors.Is(err, ErrUnknownTool) || !strings.Contains(err.Error(), string(Etcd)) {
		t.Errorf("err = %v", err)
	}
}

func TestGoCommand_MissingGoSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := goCommand(t.Context(), t.TempDir(), nil, "version")
	if !errors.Is(err, ErrMissingPrerequisite) || strings.Contains(err.Error(), "\n") {
		t.Errorf("err = %v, want one line that wraps ErrMissingPrerequisite", err)
	}
}

func TestNewerGo_IsFetchedOnlyWhereTheOneThatIsHereIsTooOld(t *testing.T) {
	const gomod = "module x.test/x\n\ngo 1.26.10\n\nrequire y.test/y v1.27.3\n"
	for here, want := range map[string]string{
		"go1.26.8": "GOTOOLCHAIN=go1.26.10", "go1.26": "GOTOOLCHAIN=go1.26.10",
		"go1.26.10": "", "go1.27.3": "", "go1.26.8 X:jsonv2": "GOTOOLCHAIN=go1.26.10", "devel go1.28-abcdef": "",
	} {
		if got := strings.Join(newerGo(gomod, here), " "); got != want {
			t.Errorf("%s: %q, want %q", here, got, want)
		}
	}
	for line, want := range map[string]string{"go 1.27": "GOTOOLCHAIN=go1.27.0", "go 1.26.10 // as Karpenter": "GOTOOLCHAIN=go1.26.10", "\tgo 1.26.10": "GOTOOLCHAIN=go1.26.10"} {
		if got := strings.Join(newerGo("module x.test/x\n\n"+line+"\n", "go1.26.8"), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := newerGo("module x.test/x\n", "go1.26.8"); got != nil {
		t.Errorf("a module that asks for no Go: %q, want nothing", got)
	}
}

func TestSource_IsInTheVersionThatTheModulePins(t *testing.T) {
	dir, version, err := Source(t.Context(), Ko)
	if err != nil || !strings.HasPrefix(version, "v") || !strings.HasSuffix(dir, "@"+version) {
		t.Errorf("%s %s, %v", dir, version, err)
	}
	if _, _, err := Source(t.Context(), "no-such-tool"); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("err = %v", err)
	}
}

// quiet is a report that ends with the test.
func quiet(t *testing.T, w io.Writer) *progress {
	t.Helper()
	p := startProgress(w)
	t.Cleanup(func() { p.end(nil) })
	return p
}

// hello is a module with one program, to build for real in a second.
func hello(t *testing.T, source string) (module, spec) {
	t.Helper()
	m := module{name: "dev", dir: t.TempDir(), cache: t.TempDir()}
	for name, text := range map[string]string{"go.mod": "module hello.test/hello/v3\n\ngo 1.26.0\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m, spec{module: "dev", pkg: "hello.test/hello/v3", source: "hello.test/hello/v3"}
}

func TestBuild_ConcurrentCallersBuildOnceAndLeaveOnlyTheTool(t *testing.T) {
	m, s := hello(t, "package main\n\nfunc main() {}\n")
	// The package's file name is its parent's because v3 is a major version.
	if s.built() != "hello" {
		t.Fatalf("built = %q", s.built())
	}
	var wg sync.WaitGroup
	logs := make([]bytes.Buffer, 3)
	errs := make([]error, len(logs))
	for i := range logs {
		wg.Go(func() { errs[i] = m.build(t.Context(), quiet(t, &logs[i]), 1, []spec{s}) })
	}
	wg.Wait()
	builds := 0
	for i := range logs {
		if errs[i] != nil {
			t.Errorf("caller %d: %v", i, errs[i])
		}
		builds += strings.Count(logs[i].String(), "building hello from tools/dev")
	}
	if builds != 1 {
		t.Errorf("%d builds, want 1", builds)
	}
	left, err := filepath.Glob(filepath.Join(m.cache, "*"))
	if err != nil || len(left) != 2 { // the tool and the lock
		t.Errorf("cache holds %v (%v), want the tool and the lock", left, err)
	}
	if _, ok := m.cached(s); !ok {
		t.Errorf("tool is not in the cache: %v", left)
	}
}

func TestBuild_FailureShowsWhatTheCompilerSaid(t *testing.T) {
	m, s := hello(t, "package main\n\nfunc main() { nothing() }\n")
	err := m.build(t.Context(), quiet(t, &bytes.Buffer{}), 1, []spec{s})
	if err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("err = %v, want the compiler's complaint", err)
	}
	if _, ok := m.cached(s); ok {
		t.Error("a failed build left a tool in the cache")
	}
}

func TestLockCache_OneHasTheNameAtATime(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	unlock, err := LockCache(t.Context(), &bytes.Buffer{}, "image")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	if _, err := LockCache(ctx, &said, "image"); !errors.Is(err, context.Canceled) || !strings.Contains(said.String(), "waiting for another process") {
		t.Errorf("the second gets %v, and is told %q", err, said.String())
	}
	other, err := LockCache(t.Context(), &said, "chart")
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	again, err := LockCache(t.Context(), &said, "image")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestLock_CancelledWaiterReturns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), &bytes.Buffer{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	if _, err := lock(ctx, &said, path); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
	if !strings.Contains(said.String(), "waiting for another process") {
		t.Errorf("said %q", said.String())
	}
}

func TestProgress_CountsDownloadsAndPackagesAndKeepsComplaints(t *testing.T) {
	var out bytes.Buffer
	p := startProgress(&out)
	build := p.part()
	for _, chunk := range []string{"go: downloading a.test/b v1.0.0\nk8s.io/ap", "i/core/v1\n# a.test/b\n./b.go:1:2: undefined: c\n"} {
		if _, err := build.Write([]byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
	p.show()
	p.end(errors.New("exit status 1"))
	for _, want := range []string{"1 modules downloaded", "1 packages compiled, k8s.io/api/core/v1", "failed, 1 packages compiled"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output %q lacks %q", out.String(), want)
		}
	}
	if got, want := build.complaint(), "# a.test/b\n./b.go:1:2: undefined: c"; got != want {
		t.Errorf("complaint = %q, want %q", got, want)
	}
}

func TestProgress_IsOneLineForAllBuildsWithAnEstimate(t *testing.T) {
	p := startProgress(&bytes.Buffer{})
	defer p.end(nil)
	ours, theirs, site := p.part(), p.part(), p.part()
	said := func(to *part, n int) {
		for range n {
			_, _ = to.Write([]byte("a.test/package\n"))
		}
	}
	said(ours, 30)
	if got, want := p.line(10*time.Second), "  10s  30 packages compiled, a.test/package"; got != want {
		t.Errorf("before anything is counted: %q, want %q", got, want)
	}
	ours.expect(70)
	theirs.expect(2900)
	if got, want := p.line(10*time.Second), "  10s  30 of 3000 packages compiled, some minutes left, a.test/package"; got != want {
		t.Errorf("at the beginning: %q, want %q", got, want)
	}
	said(theirs, 970)
	if got, want := p.line(3*time.Minute), " 180s  1000 of 3000 packages compiled, about 6 min left, a.test/package"; got != want {
		t.Errorf("after a third: %q, want %q", got, want)
	}
	site.fetched("etcd.tar.gz", 5<<20, 20<<20)
	if got, want := p.line(3*time.Minute), " 180s  5 of 20 MB downloaded, 1000 of 3000 packages compiled, about 6 min left, etcd.tar.gz"; got != want {
		t.Errorf("with a download: %q, want %q", got, want)
	}
	site.dropped()
	said(ours, 70)
	said(theirs, 1880)
	if got, want := p.line(10*time.Minute), " 600s  2950 of 3000 packages compiled, less than a minute left, a.test/package"; got != want {
		t.Errorf("at the end: %q, want %q", got, want)
	}
}

// ownCache gives the test a cache of its own; Go's own caches stay where they are.
func ownCache(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := goOutput(t.Context(), ".", nil, "env", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, strings.TrimSpace(string(value)))
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache) // on systems without XDG
	return cache
}

func TestPrepare_BuildsOurProgramsIntoTheUsersCacheInOneBuild(t *testing.T) {
	cache := ownCache(t)
	const tools, table = "./internal/lab/toolchain/cmd/tools", "./internal/bench/cmd/table"
	var said bytes.Buffer
	ready, err := Prepare(t.Context(), &said, Need{Programs: []string{tools, table}})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, out := range ready.Programs {
		if !strings.HasPrefix(out, cache) || filepath.Base(out) != filepath.Base(pkg) {
			t.Errorf("%s is %s, want a file of its name under the user's cache", pkg, out)
		}
	}
	printed, err := exec.CommandContext(t.Context(), ready.Programs[tools]).Output()
	if err != nil || !strings.Contains(string(printed), string(APIServer)) {
		t.Errorf("tools printed %q (%v), want the known tools", printed, err)
	}
	if _, err := os.Stat(ready.Programs[table]); err != nil {
		t.Error(err)
	}
	before, err := os.Stat(ready.Programs[tools])
	if err != nil {
		t.Fatal(err)
	}
	if out, err := Self(t.Context(), &said, tools); err != nil || out != ready.Programs[tools] {
		t.Errorf("again: %s (%v), want %s", out, err, ready.Programs[tools])
	}
	if after, err := os.Stat(ready.Programs[tools]); err != nil || !os.SameFile(before, after) {
		t.Errorf("nothing had changed, and the program was linked again: %v", err)
	}
}

func TestLinked_KeepsWhatIsLinkedInAnotherWayApart(t *testing.T) {
	cache := ownCache(t)
	const tools = "./internal/lab/toolchain/cmd/tools"
	kept := map[string]os.FileInfo{}
	for range 2 {
		for _, flags := range []string{"-s -w -X main.one=1", "-s -w -X main.two=2"} {
			path, err := Linked(t.Context(), io.Discard, tools, flags)
			if err != nil || !strings.HasPrefix(path, cache) || filepath.Base(path) != "tools" {
				t.Fatalf("%s (%v), want a file of the program's name under the user's cache", path, err)
			}
			built, err := buildinfo.ReadFile(path)
			if err != nil || !slices.Contains(built.Settings, debug.BuildSetting{Key: "-ldflags", Value: flags}) {
				t.Errorf("%s: %v (%v), want it linked with %s", path, built, err, flags)
			}
			now, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if before, again := kept[flags]; again && !os.SameFile(before, now) {
				t.Errorf("nothing had changed, and the program was linked again: %s", path)
			}
			kept[flags] = now
		}
	}
}
