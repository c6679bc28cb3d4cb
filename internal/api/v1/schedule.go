package v1

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	_ "time/tzdata" // schedules name time zones, also where the system has none

	"github.com/robfig/cron/v3"
)

var (
	errSchedule = errors.New("the budget allows no disruption: give five fields (minute, hour, day, month, weekday) or a name such as @daily")
	errBudget   = errors.New("the budget allows no disruption")
)

// ParseSchedule reads a cron expression, in UTC unless it names a zone.
func ParseSchedule(text string) (*cron.SpecSchedule, error) {
	// The library fails, and panics on some, where a zone is empty or not followed by a
	// space.
	fields := strings.Fields(text)
	zone := "UTC"
	if len(fields) > 0 {
		before, after, found := strings.Cut(fields[0], "=")
		if found && (before == "TZ" || before == "CRON_TZ") {
			zone, fields = after, fields[1:]
		}
	}
	if zone == "" {
		return nil, fmt.Errorf("%w: TZ= names no zone", errSchedule)
	}
	full := "TZ=" + zone + " " + strings.Join(fields, " ")
	parsed, err := cron.ParseStandard(full)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSchedule, err)
	}
	s, is := parsed.(*cron.SpecSchedule)
	if !is {
		return nil, fmt.Errorf("%w: an interval has no times of day", errSchedule)
	}
	return s, nil
}

// Check says what is wrong with the budget, and what to write.
func (b *Budget) Check() error {
	number, percent := strings.CutSuffix(b.Nodes, "%")
	n, err := strconv.ParseInt(number, 10, 32)
	switch {
	case err != nil || n < 0 || percent && n > 100:
		return fmt.Errorf("%w: nodes is %q: give a number of nodes, or a percentage from 0%% to 100%%", errBudget, b.Nodes)
	case (b.Schedule == nil) != (b.Duration == nil):
		return fmt.Errorf("%w: schedule and duration go together: set both or neither", errBudget)
	case b.Schedule != nil:
		_, err = ParseSchedule(*b.Schedule)
	}
	return err
}
