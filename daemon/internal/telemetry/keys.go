package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// KarpenterKeys is a writer for the JSON of go-hclog. It gives each line the keys that
// Karpenter's log has, so that saved queries by these keys find them, and leaves values as they
// are. It gets one line with each call.
type KarpenterKeys struct{ Out io.Writer }

// key is one of go-hclog's, with Karpenter's name for it.
type key struct{ from, to string }

// renamed lists the keys in the order in which Karpenter writes them.
func renamed() []key {
	return []key{{"@level", "level"}, {"@timestamp", "time"}, {"@module", "logger"}, {"@message", "message"}}
}

// ownField stands before the name of a field that has one of Karpenter's keys itself.
const ownField = "fields."

// Write writes the line with its new keys. What is no line of go-hclog goes through as it is.
func (k KarpenterKeys) Write(line []byte) (int, error) {
	var fields map[string]json.RawMessage
	text := line
	if json.Unmarshal(line, &fields) == nil && fields["@message"] != nil {
		text = withKarpenterKeys(fields)
	}
	if _, err := k.Out.Write(text); err != nil {
		return 0, fmt.Errorf("log write: %w", err)
	}
	return len(line), nil
}

func withKarpenterKeys(fields map[string]json.RawMessage) []byte {
	out := bytes.NewBufferString("{")
	put := func(name string, value json.RawMessage) {
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		text, _ := json.Marshal(name) // a text can be written
		out.Write(text)
		out.WriteByte(':')
		out.Write(value)
	}
	taken := map[string]bool{}
	for _, x := range renamed() {
		value, there := fields[x.from]
		delete(fields, x.from)
		taken[x.to] = true
		if !there {
			continue
		}
		if x.to == "level" {
			value = levelOf(value)
		}
		put(x.to, value)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		as := name
		for taken[as] || as != name && fields[as] != nil {
			as = ownField + as
		}
		put(as, fields[name])
	}
	out.WriteString("}\n")
	return out.Bytes()
}

// levelOf is the level in Karpenter's words, which has none below DEBUG.
func levelOf(value json.RawMessage) json.RawMessage {
	level := strings.ToUpper(string(value))
	if level == `"TRACE"` {
		level = `"DEBUG"`
	}
	return json.RawMessage(level)
}
