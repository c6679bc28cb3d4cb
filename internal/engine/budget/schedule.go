package budget

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// horizon is how far the next time of a schedule is searched for. A schedule without a
// time until then, such as the 30th of February, has none.
const horizon = 5 * 366 * 24 * time.Hour

// next returns the first time of the schedule after t, and whether there is one.
func next(s *cluster.Schedule, t time.Time) (time.Time, bool) {
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	end := t.Add(horizon)
	for t = t.In(zone).Truncate(time.Minute).Add(time.Minute); t.Before(end); {
		switch {
		case !has(s.Months, int(t.Month())):
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, zone)
		case !onDay(s, t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, zone)
		case !has(s.Hours, t.Hour()):
			// Not by time.Date: where the clock is put back, an hour comes twice.
			t = t.Add(time.Hour - time.Duration(t.Minute())*time.Minute)
		case !has(s.Minutes, t.Minute()):
			t = t.Add(time.Minute)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

func onDay(s *cluster.Schedule, t time.Time) bool {
	day, weekday := has(s.Days, t.Day()), has(s.Weekdays, int(t.Weekday()))
	if s.AnyDay || s.AnyWeekday {
		return day && weekday
	}
	return day || weekday
}

func has(bits uint64, i int) bool { return bits&(1<<i) != 0 }

// active says whether a window of the budget is open at the time, and when that
// changes; the zero time if it never does.
func active(b *cluster.Budget, now time.Time) (open bool, until time.Time) {
	if b.Schedule == nil {
		return true, time.Time{}
	}
	begin, found := next(b.Schedule, now.Add(-b.Duration))
	if !found || begin.After(now) {
		return false, begin
	}
	// Windows may overlap: the last that has begun ends last.
	for {
		later, found := next(b.Schedule, begin)
		if !found || later.After(begin.Add(b.Duration)) || later.After(now) {
			return true, begin.Add(b.Duration)
		}
		begin = later
	}
}

// Window says whether the budget holds at the time, and when that changes; the zero time if it
// never does.
func Window(b *cluster.Budget, now time.Time) (holds bool, until time.Time) { return active(b, now) }
