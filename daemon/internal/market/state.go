package market

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
)

// Group is what is known of a group of facts.
type Group struct {
	Name     string    // "spot prices"
	Answered time.Time // zero: AWS has never answered, and the daemon's own table counts
	Priced   bool      // it has prices
	StandIns int       // types of which nobody knows the price, so that they count at a stand-in
}

// State says whether the catalogue is what AWS sells now. Before the first question it is
// not known. Reason and Message are those of the condition CatalogueCurrent. Reason is empty
// where the catalogue is as current as it can be; Message says then what cannot be current.
type State struct {
	Known           bool
	Reason, Message string
}

// State returns the state as of the last sweep.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// note brings the state up to date and reports the groups.
func (k *Keeper) note() {
	state := State{Known: true}
	var report []Group
	var messages []string
	now := k.Now()
	for _, name := range groups() {
		q := k.asked[name]
		report = append(report, Group{Name: name, Answered: q.answered, Priced: name == groupOnDemand || name == groupSpot, StandIns: k.guessed.of(name)})
		switch {
		case q.tried.IsZero() && q.answered.IsZero():
			state.Known = false
		case q.err == nil:
		case errors.Is(q.err, aws.ErrNoPriceList), errors.Is(q.err, ErrNotAsked): // nobody can be asked
			messages = append(messages, fmt.Sprintf("%s %s, because %s", name, k.instead(name), why(name, q.err)))
		case q.answered.IsZero():
			state.Reason = awsv1.ReasonEmbedded
			messages = append(messages, fmt.Sprintf("%s %s, because %s", name, k.instead(name), why(name, q.err)))
		case now.Sub(q.answered) >= 2*q.every:
			if state.Reason == "" {
				state.Reason = awsv1.ReasonOutdated
			}
			messages = append(messages, fmt.Sprintf("%s are those of %s, because %s", name, q.answered.UTC().Format(time.RFC3339), why(name, q.err)))
		}
	}
	if guessed := k.guessed.explain(); guessed != "" && state.Known {
		messages = append(messages, guessed)
		if state.Reason == "" {
			state.Reason = awsv1.ReasonStandIn
		}
	}
	state.Message = strings.Join(messages, "; ")
	k.mu.Lock()
	k.state = state
	k.mu.Unlock()
	k.Report(report)
}

// why says what keeps AWS from answering about the group, and what to do about it. It must not
// change from one try to the next.
func why(group string, err error) string {
	var refused *aws.UnauthorizedError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("the daemon is not authorized to perform %s: allow that in the policies of its role", refused.Action)
	case errors.Is(err, aws.ErrNoEndpoint):
		return "there is no such endpoint (the daemon's log has its name)"
	case errors.Is(err, aws.ErrNoPriceList):
		return "AWS has no Price List for the region"
	case errors.Is(err, ErrNotAsked):
		return "the network is isolated, and the Price List is not asked"
	case errors.Is(err, errShort):
		return "what AWS answers is too short to be true"
	}
	service := "EC2"
	if group == groupOnDemand {
		service = "the Price List"
	}
	return service + " does not answer (the daemon's log has the error)"
}

// instead says what counts while AWS has not answered about the group.
func (k *Keeper) instead(group string) string {
	if k.asked[group].listed == 0 {
		return "are not known"
	}
	return "are those of the daemon's own table" + k.dated(group)
}

// dated names the date of the group in the daemon's own table.
func (k *Keeper) dated(group string) string {
	source := map[string]string{groupTypes: "instance types", groupOfferings: "offerings", groupOnDemand: "on-demand", groupSpot: "spot"}[group]
	for _, s := range k.Market.Sources {
		if s.Group != source {
			continue
		}
		if group == groupSpot && k.Market.SpotIsEstimate {
			return " (of " + s.Date + ", estimated)"
		}
		return " (of " + s.Date + ")"
	}
	return ""
}
