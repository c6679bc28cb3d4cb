package size

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

func TestParseUsage_ReadsWhatTheKernelWrites(t *testing.T) {
	status := "Name:\tkarpenterd\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"
	stat := "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0"
	got, err := parseUsage(status, stat)
	if want := (usage{resident: 1 << 20, peak: 2 << 20, processor: 2 * time.Second}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, broken := range [][2]string{{"", stat}, {status, "42 (a) S"}, {"VmHWM: many kB\n", stat}} {
		if got, err := parseUsage(broken[0], broken[1]); err == nil {
			t.Errorf("%q is %+v", broken, got)
		}
	}
}

func TestReport_JudgesInWords(t *testing.T) {
	line := func(f findings, what string) string {
		var out bytes.Buffer
		if err := f.report(&out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, what) {
				return line
			}
		}
		return ""
	}
	for peak, want := range map[int64]string{
		peakGoal: "met, goal met", peakGoal + 1: "met, goal missed", peakRequired: "met, goal missed", peakRequired + 1: "goal 250 MB: missed",
	} {
		if got := line(findings{later: usage{peak: peak}}, "resident memory, peak"); !strings.Contains(got, want) {
			t.Errorf("%d bytes: %q, want %s", peak, got, want)
		}
	}
	if got := line(findings{decided: soonRequired + 1}, "decided once"); !strings.Contains(got, "at most 8.0 s, goal 5.0 s: missed") {
		t.Errorf("late: %q", got)
	}
	f := findings{latencies: []time.Duration{time.Millisecond, latencyRequired}}
	if got := line(f, "a pod's request"); !strings.Contains(got, "longest of 2") || !strings.Contains(got, "500 ms") || !strings.Contains(got, "met, goal missed") {
		t.Errorf("latency: %q", got)
	}
	if got := line(f, "decided again"); got != "" {
		t.Errorf("what was not measured is reported: %q", got)
	}
}

func TestBusiest_CountsTheCallsOfTheBusiestTenSeconds(t *testing.T) {
	began := time.Unix(1000, 0)
	call := func(after time.Duration, service, code string) awssim.Call {
		return awssim.Call{Time: began.Add(after), Service: service, ErrorCode: code}
	}
	calls := []awssim.Call{call(-time.Second, "ec2", throttled), call(0, "ec2", ""), call(40*time.Second, "sqs", "")}
	for i := range 20 {
		calls = append(calls, call(30*time.Second+time.Duration(i)*100*time.Millisecond, "ec2", ""))
	}
	calls = append(calls, call(39*time.Second, "ec2", throttled), call(50*time.Second, "ec2", ""))
	if aSecond, refused := busiest(calls, began); aSecond != 2.1 || refused != 1 {
		t.Errorf("%.1f a second, %d throttled; want 2.1 and 1", aSecond, refused)
	}
}

// The objects are as large as those of people, and the same in every run.
func TestObjects_AreOfRealisticSizeAndTheSameInEveryRun(t *testing.T) {
	encode := func() []byte {
		p := podOf(3, 403, "set", "node")
		p.Status = running(p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if n := len(encode()); n < 6_000 || n > 12_000 { // without what the API server adds
		t.Errorf("a pod has %d bytes of JSON", n)
	}
	p, again := podOf(3, 403, "set", "node"), podOf(3, 403, "set", "node")
	if p.Name != again.Name || len(p.Spec.Containers) != containers || len(p.Spec.Containers[1].Env) != variables {
		t.Errorf("pods %+v and %+v", p.ObjectMeta, again.ObjectMeta)
	}
	if old := setOf(3, 1, "d", 100); *old.Spec.Replicas != 0 || old.Name == setOf(3, 0, "d", 100).Name {
		t.Error("an earlier revision wants pods")
	}
}

func TestRun_RefusesAClusterTooSmallToShare(t *testing.T) {
	for _, o := range []Options{{Nodes: 1, Pods: 1, Apps: 1}, {Nodes: 2, Pods: 1, Apps: 2}, {Nodes: 2, Pods: 1}} {
		if err := Run(t.Context(), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
