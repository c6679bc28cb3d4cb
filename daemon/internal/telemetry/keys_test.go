package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// written is what a logger writes with Karpenter's keys.
func written(log func(hclog.Logger)) string {
	var out bytes.Buffer
	log(hclog.New(&hclog.LoggerOptions{
		Name: "karpenterd", Level: hclog.Trace, Output: KarpenterKeys{Out: &out}, JSONFormat: true,
		TimeFormat: time.RFC3339Nano, TimeFn: func() time.Time { return time.Date(2024, 6, 27, 18, 44, 27, 104_000_000, time.UTC) },
	}))
	return out.String()
}

// The line is one of Karpenter's, but for its message and its fields.
func TestKarpenterKeys_AreThoseOfKarpentersLogInItsOrder(t *testing.T) {
	got := written(func(l hclog.Logger) { l.Named("loop").Info("launch nodeclaim", "nodeclaim", "a", "commit", "x") })
	const want = `{"level":"INFO","time":"2024-06-27T18:44:27.104Z","logger":"karpenterd.loop","message":"launch nodeclaim","commit":"x","nodeclaim":"a"}` + "\n"
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	for level, want := range map[hclog.Level]string{hclog.Trace: "DEBUG", hclog.Debug: "DEBUG", hclog.Info: "INFO", hclog.Warn: "WARN", hclog.Error: "ERROR"} {
		if got := written(func(l hclog.Logger) { l.Log(level, "x") }); !strings.HasPrefix(got, `{"level":"`+want+`",`) {
			t.Errorf("%s: %s", level, got)
		}
	}
}

// Values may have any text, and fields any name: nothing is lost, and nothing else is renamed.
func TestKarpenterKeys_LoseNoFieldAndTouchNoValue(t *testing.T) {
	got := written(func(l hclog.Logger) {
		l.Warn(`"@message": "x"`, "text", `{"@level":"info","@message":"y"}`, "html", "<&>", "nested", map[string]any{"@level": "info", "n": 1.5},
			"message", "of a condition", "level", 3, "time", true, "logger", nil, "fields.message", "another", "error", errors.New("@timestamp"), "big", uint64(18446744073709551615))
	})
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got), &fields); err != nil || strings.Count(got, "\n") != 1 {
		t.Fatalf("%v in %s", err, got)
	}
	text := map[string]string{}
	for name, value := range fields {
		text[name] = string(value)
	}
	want := map[string]string{
		"level": `"WARN"`, "time": `"2024-06-27T18:44:27.104Z"`, "logger": `"karpenterd"`, "message": `"\"@message\": \"x\""`,
		"text": `"{\"@level\":\"info\",\"@message\":\"y\"}"`, "html": `"\u003c\u0026\u003e"`, "nested": `{"@level":"info","n":1.5}`,
		"fields.fields.message": `"of a condition"`, "fields.message": `"another"`, "fields.level": "3", "fields.time": "true", "fields.logger": "null",
		"error": `"@timestamp"`, "big": "18446744073709551615",
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

func TestKarpenterKeys_PassOnWhatIsNoLineOfALogger(t *testing.T) {
	for _, line := range []string{"panic: x\n", "{}\n", `{"level":"INFO","message":"of something else"}` + "\n", "[1]\n", ""} {
		var out bytes.Buffer
		if n, err := (KarpenterKeys{Out: &out}).Write([]byte(line)); err != nil || n != len(line) || out.String() != line {
			t.Errorf("%q is written as %q: %d, %v", line, out.String(), n, err)
		}
	}
}
