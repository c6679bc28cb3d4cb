package simulate

import (
	"fmt"
	"math"
	"time"
)

// Observed is what a shadow has seen of the cluster, over days. Money is in dollars.
type Observed struct {
	Since           time.Time `json:"since"`                   // when it began
	Hours           float64   `json:"hours"`                   // that it speaks for
	Nodes           Nodes     `json:"nodes"`                   // which nodes may be replaced
	PaidPerHour     float64   `json:"paidPerHour"`             // what the fleet has cost on average
	ForecastPerHour float64   `json:"forecastPerHour"`         // what it would have cost by the daemon's forecasts
	BoundPerHour    float64   `json:"boundPerHour"`            // the least that any fleet for the same pods costs
	Saved           float64   `json:"saved"`                   // in these hours
	SavedPercent    float64   `json:"savedPercent"`            // of what the fleet has cost
	Theirs          Side      `json:"theirs"`                  // nodes that another program has launched
	Ours            Side      `json:"ours"`                    // nodes that the daemon would have launched for the same pods
	LeftOut         int       `json:"leftOut,omitempty"`       // nodes that could not be compared
	WaitedSeconds   float64   `json:"waitedSeconds,omitempty"` // on average, from the last pod of a NodeClaim to the NodeClaim
}

// part is what the page says of it.
func (o *Observed) part() part {
	out := part{heading: "What a shadow has seen", lines: []string{
		fmt.Sprintf("In %s since %s the nodes that may be replaced have cost %s an hour on average. The daemon would have come to %s: %s.",
			hoursText(o.Hours), o.Since.UTC().Format("2006-01-02 15:04 UTC"), money(o.PaidPerHour), money(o.ForecastPerHour), o.difference()),
		fmt.Sprintf("No fleet for the same pods costs less than %s an hour.", money(o.BoundPerHour)),
	}}
	if o.Theirs.Nodes > 0 {
		out.lines = append(out.lines, fmt.Sprintf("Meanwhile another program has launched %s at %s an hour. For the same pods the daemon would have launched %s at %s.",
			count(int64(o.Theirs.Nodes), "node"), money(o.Theirs.CostPerHour), count(int64(o.Ours.Nodes), "node"), money(o.Ours.CostPerHour)))
	}
	if o.LeftOut > 0 {
		out.lines = append(out.lines, fmt.Sprintf("%s beside these could not be compared: the daemon has no place for a pod of theirs, or they had no pods, or other nodes were being drained.", count(int64(o.LeftOut), "node")))
	}
	if o.WaitedSeconds > 0 {
		out.lines = append(out.lines, fmt.Sprintf("The other program made its NodeClaims %.0f s after the last of their pods, on average.", o.WaitedSeconds))
	}
	return out
}

func (o *Observed) difference() string {
	switch {
	case o.Saved > 0:
		return fmt.Sprintf("%s less in that time (%.1f %%)", money(o.Saved), o.SavedPercent)
	case o.Saved < 0:
		return fmt.Sprintf("%s more in that time (%.1f %%)", money(-o.Saved), -o.SavedPercent)
	}
	return "the same"
}

// hoursText is a time as people say it.
func hoursText(hours float64) string {
	switch {
	case hours < 2:
		return count(int64(math.Round(hours*60)), "minute")
	case hours < 72:
		return count(int64(math.Round(hours)), "hour")
	}
	return count(int64(math.Round(hours/24)), "day")
}
