package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const passing = `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Test":"TestX","Output":"chatter\n"}
{"Action":"pass","Package":"a","Test":"TestX","Elapsed":0.1}
{"Action":"pass","Package":"a","Elapsed":0.2}
`

func TestReport_FailsOnWhateverIsNotAPass(t *testing.T) {
	for _, tc := range []struct {
		name   string
		events string
		allow  map[string]string
		ok     bool
		want   []string
		not    []string
	}{
		{
			name: "all pass, output is kept quiet", events: passing, ok: true,
			want: []string{"ok    a  0.2s  1 tests", "1 passed, 0 failed, 0 skipped"}, not: []string{"chatter"},
		},
		{
			name: "what the go tool has not run again is said, and took no time", ok: true,
			events: passing + `{"Action":"run","Package":"b","Test":"TestY"}
{"Action":"pass","Package":"b","Test":"TestY","Elapsed":100}
{"Action":"output","Package":"b","Output":"ok  \tb\t(cached)\n"}
{"Action":"pass","Package":"b"}
`,
			want: []string{"ok    b  not changed since 1 tests passed", "1 tests were not run again", "2 passed, 0 failed, 0 skipped"}, not: []string{"100.0s"},
		},
		{
			name: "a failure is shown in full", events: passing + `{"Action":"run","Package":"b","Test":"TestY"}
{"Action":"output","Package":"b","Test":"TestY","Output":"y_test.go:1: got 1\n"}
{"Action":"fail","Package":"b","Test":"TestY"}
{"Action":"fail","Package":"b"}
`,
			want: []string{"FAIL  b", "y_test.go:1: got 1", "failed: b.TestY", "1 passed, 1 failed, 0 skipped"}, not: []string{"outside any test"},
		},
		{
			name: "a skip is listed with its reason", events: passing + `{"Action":"run","Package":"b","Test":"TestS"}
{"Action":"output","Package":"b","Test":"TestS","Output":"=== RUN   TestS\n"}
{"Action":"output","Package":"b","Test":"TestS","Output":"    s_test.go:9: no python\n"}
{"Action":"output","Package":"b","Test":"TestS","Output":"--- SKIP: TestS (0.00s)\n"}
{"Action":"skip","Package":"b","Test":"TestS"}
{"Action":"pass","Package":"b"}
`,
			want: []string{"skipped, not allowed: b.TestS: s_test.go:9: no python\n", "1 passed, 0 failed, 1 skipped"},
		},
		{
			name: "an allowed skip does not fail", ok: true, allow: map[string]string{"b.TestS": "needs two machines"},
			events: passing + `{"Action":"run","Package":"b","Test":"TestS"}` + "\n" + `{"Action":"skip","Package":"b","Test":"TestS"}` + "\n",
			want:   []string{"skipped, allowed (needs two machines): b.TestS", "1 passed, 0 failed, 1 skipped"},
		},
		{
			name: "a package without tests is no skip", ok: true, events: passing + `{"Action":"skip","Package":"c"}` + "\n",
			want: []string{"1 passed, 0 failed, 0 skipped"}, not: []string{"ok    c"},
		},
		{
			name: "a compile error is shown and counts", events: passing + `{"ImportPath":"b [b.test]","Action":"build-output","Output":"b.go:3: undefined: x\n"}
{"ImportPath":"b [b.test]","Action":"build-fail"}
{"Action":"fail","Package":"b","FailedBuild":"b [b.test]"}
`,
			want: []string{"b.go:3: undefined: x", "failed outside any test: b", "1 passed, 1 failed, 0 skipped"},
		},
		{
			name: "a test that took the process down counts as failed", events: passing + `{"Action":"run","Package":"b","Test":"TestP"}
{"Action":"output","Package":"b","Test":"TestP","Output":"panic: boom\n"}
{"Action":"fail","Package":"b"}
`,
			want: []string{"panic: boom", "failed: b.TestP", "1 passed, 1 failed, 0 skipped"},
		},
		{
			name: "the slowest tests are named, each with all its parts", ok: true, events: passing + `{"Action":"run","Package":"c","Test":"TestSlow"}
{"Action":"run","Package":"c","Test":"TestSlow/part"}
{"Action":"pass","Package":"c","Test":"TestSlow/part","Elapsed":6}
{"Action":"pass","Package":"c","Test":"TestSlow","Elapsed":7}
{"Action":"run","Package":"c","Test":"TestSlower"}
{"Action":"pass","Package":"c","Test":"TestSlower","Elapsed":70.26}
`,
			want: []string{"slowest tests:\n   70.3s  c.TestSlower\n    7.0s  c.TestSlow\n"}, not: []string{"TestX", "part"},
		},
		{name: "nothing ran", events: "", want: []string{"no test ran", "0 passed, 0 failed, 0 skipped"}},
		{name: "what is no event is passed through", events: "warning: x\n" + passing, ok: true, want: []string{"warning: x\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			r := newReport(&out, tc.allow)
			if err := r.read(strings.NewReader(tc.events), ""); err != nil {
				t.Fatal(err)
			}
			if ok := r.summary(); ok != tc.ok {
				t.Errorf("ok = %v, want %v", ok, tc.ok)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("report lacks %q:\n%s", want, out.String())
				}
			}
			for _, not := range tc.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("report has %q:\n%s", not, out.String())
				}
			}
			if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); !strings.HasSuffix(lines[len(lines)-1], "skipped") {
				t.Errorf("last line is %q, want the counts", lines[len(lines)-1])
			}
		})
	}
}

func TestSignOfLife_NamesTheTestThatRunsOnlyWhenItIsQuiet(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, nil)
	r.take(event{Action: actionRun, Package: "a", Test: "TestSlow"})
	r.take(event{Action: actionRun, Package: "a", Test: "TestSlow/part"})
	now := time.Now()
	r.signOfLife(now, time.Minute)
	if out.Len() != 0 {
		t.Errorf("said %q though a line was written just now", out.String())
	}
	r.signOfLife(now.Add(2*time.Minute), time.Minute)
	if !strings.Contains(out.String(), "2 running, a.TestSlow/part for 120s") {
		t.Errorf("said %q", out.String())
	}
}

func TestReport_PartsOfOnePackageAreToldApart(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, nil)
	const runs = `{"Action":"run","Package":"a","Test":"TestLong"}
`
	if err := r.read(strings.NewReader(runs), " (1)"); err != nil {
		t.Fatal(err)
	}
	const fails = `{"Action":"run","Package":"a","Test":"TestY"}
{"Action":"fail","Package":"a","Test":"TestY"}
{"Action":"fail","Package":"a"}
`
	if err := r.read(strings.NewReader(fails), " (2)"); err != nil {
		t.Fatal(err)
	}
	if r.summary() || !strings.Contains(out.String(), "failed: a (2).TestY\n") || strings.Contains(out.String(), "TestLong") {
		t.Errorf("the end of part 2 says of part 1:\n%s", out.String())
	}
	if err := r.read(strings.NewReader(""), " (3)"); err == nil || !strings.Contains(err.Error(), "(3)") {
		t.Errorf("a part without tests: %v", err)
	}
}

// Every test is in one part.
func TestDeal_EachTestIsInOnePart(t *testing.T) {
	lanes, err := deal(t.Context(), t.TempDir(), [][]string{{"-json", "./x", "++", "-json", "./y"}, {"-parts=3", "-json", "-timeout", "7m", "."}})
	if err != nil {
		t.Fatal(err)
	}
	if len(lanes) != 4 || !reflect.DeepEqual(lanes[0], []command{{args: []string{"go", "test", "-json", "./x"}}, {args: []string{"go", "test", "-json", "./y"}}}) {
		t.Fatalf("lanes: %q", lanes)
	}
	names := map[string]int{}
	for _, lane := range lanes[1:] {
		if len(lane) != 1 || filepath.Base(lane[0].dir) != "testreport" || !slices.Contains(lane[0].args, "-test.timeout=7m") {
			t.Errorf("a part: %+v", lane)
		}
		i := slices.IndexFunc(lane[0].args, func(arg string) bool { return strings.HasPrefix(arg, "-test.run=") })
		pattern := regexp.MustCompile(strings.TrimPrefix(lane[0].args[i], "-test.run="))
		for _, name := range []string{"TestReport_FailsOnWhateverIsNotAPass", "TestDeal_EachTestIsInOnePart", "TestRun_FailsWithAnyOfItsParts"} {
			if pattern.MatchString(name) {
				names[name]++
			}
		}
		if pattern.MatchString("TestRun_") {
			t.Errorf("%s matches the beginning of a name", pattern)
		}
	}
	if !reflect.DeepEqual(names, map[string]int{"TestReport_FailsOnWhateverIsNotAPass": 1, "TestDeal_EachTestIsInOnePart": 1, "TestRun_FailsWithAnyOfItsParts": 1}) {
		t.Errorf("parts that have the test: %v", names)
	}
	for _, bad := range [][]string{{"-parts=0", "."}, {"-parts=x", "."}, {"-parts=2", "./no-such-package"}, {"-parts=2", "../../testdata/fused"}} {
		if lanes, err := deal(t.Context(), t.TempDir(), [][]string{bad}); err == nil {
			t.Errorf("%q: %q", bad, lanes)
		}
	}
}

// What has not changed is not linked again: that takes longer than many a test.
func TestDeal_AProgramIsLinkedAgainOnlyIfItHasChanged(t *testing.T) {
	programs := t.TempDir()
	var before os.FileInfo
	for range 2 {
		if _, err := deal(t.Context(), programs, [][]string{{"-parts=1", "-json", "."}}); err != nil {
			t.Fatal(err)
		}
		now, err := os.Stat(filepath.Join(programs, "0"))
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !os.SameFile(before, now) {
			t.Errorf("nothing had changed, and the program was linked again")
		}
		before = now
	}
}

// A part is as go test would have run it: in the folder of its package, with an event for each
// test, and failed when a test fails or takes the process down.
func TestPart_IsWhatGoTestWouldHaveRun(t *testing.T) {
	p, err := build(t.Context(), filepath.Join(t.TempDir(), "program"), []string{"-json", "./testdata/parts"})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := p.tests(t.Context()); err != nil || !slices.Equal(names, []string{"TestFails", "TestDies", "TestPasses"}) {
		t.Errorf("tests %q, %v", names, err)
	}
	for name, want := range map[string]string{
		"TestPasses": "1 passed, 0 failed, 0 skipped",
		"TestFails":  "for a reason",
		"TestDies":   "failed: github.com/karpenterd/terraform-provider-karpenter/internal/archtest/cmd/testreport/testdata/parts (7).TestDies",
	} {
		var out bytes.Buffer
		r := newReport(&out, nil)
		err := r.test(t.Context(), p.part([]string{name}), " (7)")
		if passes := name == "TestPasses"; r.summary() != passes || (err == nil) != passes || !shown(err) && !passes {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: the report lacks %q:\n%s", name, want, &out)
		}
	}
}

func TestRun_FailsWithAnyOfItsParts(t *testing.T) {
	if got := apart([]string{"-json", "./a", "--", "-run", "X", "./b"}, "--"); !reflect.DeepEqual(got, [][]string{{"-json", "./a"}, {"-run", "X", "./b"}}) {
		t.Errorf("parts: %q", got)
	}
	for _, mark := range []string{"--", "++"} {
		for _, bad := range []string{"no-such-package", "-no-such-flag"} {
			if ok, err := run(t.Context(), []string{"-json", "-run", "SignOfLife", ".", mark, "-json", bad}); ok && err == nil {
				t.Errorf("%s after %s fails nothing", bad, mark)
			}
			if ok, err := run(t.Context(), []string{"-json", bad, mark, "-json", "-run", "SignOfLife", "."}); ok && err == nil {
				t.Errorf("%s before %s fails nothing", bad, mark)
			}
		}
		if ok, err := run(t.Context(), []string{"-json", "-run", "SignOfLife", ".", mark, "-json", "-run", "TestReport", "."}); !ok || err != nil {
			t.Errorf("two parts with %s that pass: %v, %v", mark, ok, err)
		}
	}
}

// Two runs in one checkout do not write over each other's programs.
func TestFolder_ASecondRunHasOneOfItsOwn(t *testing.T) {
	t.Parallel()
	programs := filepath.Join(t.TempDir(), "tests")
	first, done, err := folderOf(programs)
	if err != nil || first != programs {
		t.Fatalf("the first run: %s, %v", first, err)
	}
	second, over, err := folderOf(programs)
	if err != nil || second == programs {
		t.Errorf("beside the first run: %s, %v", second, err)
	}
	over()
	if _, err := os.Stat(second); !os.IsNotExist(err) {
		t.Errorf("the folder of the second run is left: %v", err)
	}
	done()
	if third, over, err := folderOf(programs); err != nil || third != programs {
		t.Errorf("after both: %s, %v", third, err)
	} else {
		over()
	}
}
