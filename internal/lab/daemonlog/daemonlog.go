// Package daemonlog reads the log of a daemon that runs in the laboratory, as the daemon writes it
// by default.
//
// Invariant: a line that is no entry, such as the last word of a program that has failed, is left
// out.
package daemonlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"time"
)

// Entry is a line of the log.
type Entry struct {
	Time                   time.Time
	Level, Logger, Message string

	line []byte
}

// Entries are those of the text, in its order.
func Entries(text []byte) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for line := range bytes.Lines(text) {
			e := Entry{line: line}
			if json.Unmarshal(line, &e) == nil && e.Message != "" && !yield(e) {
				return
			}
		}
	}
}

// Fields reads the entry's further fields.
func (e Entry) Fields(into any) error {
	if err := json.Unmarshal(e.line, into); err != nil {
		return fmt.Errorf("log entry %q read: %w", e.Message, err)
	}
	return nil
}
