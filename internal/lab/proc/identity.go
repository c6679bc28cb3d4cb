package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// identity names one process for good: process ids are reused, the pair of
// id and start time (clock ticks since boot, proc(5) field 22) is not.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// identify reads the identity of a living process.
func identify(pid int) (identity, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identity{}, fmt.Errorf("process %d read: %w", pid, err)
	}
	state, start, err := parseStat(string(raw))
	if err != nil {
		return identity{}, fmt.Errorf("process %d read: %w", pid, err)
	}
	if state == "Z" || state == "X" {
		return identity{}, fmt.Errorf("process %d read: %w", pid, os.ErrProcessDone)
	}
	return identity{PID: pid, Start: start}, nil
}

// parseStat takes state and start time from a line of /proc/<pid>/stat. The
// command name is in parentheses and may itself hold spaces and parentheses,
// hence the last one counts.
func parseStat(line string) (state string, start uint64, err error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return "", 0, fmt.Errorf("stat line without a command name: %q", line)
	}
	fields := strings.Fields(line[end+1:])
	const startField = 22 - 3 // fields[0] is field 3 of proc(5)
	if len(fields) <= startField {
		return "", 0, fmt.Errorf("stat line with %d fields: %q", len(fields), line)
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("stat start time: %w", err)
	}
	return fields[0], start, nil
}

// alive says whether exactly this process still runs.
func (i identity) alive() bool {
	now, err := identify(i.PID)
	return err == nil && now == i
}
