package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Standings says of every node and every NodePool why it stays as it is or what changes.
type Standings struct {
	Nodes  []Standing     // by NodeClaim
	Pools  []PoolStanding // by name
	Moves  []MoveStanding // that have begun, by id
	Target Target
	// Landing is how pods that are evicted to save money come to their places.
	Landing Landing
}

// Standing says why one node of a NodePool stays or is deleted. Exactly one of Goes and
// Stay is set.
type Standing struct {
	Claim, ClaimUID string
	Node, Pool      string
	Price           quantity.Money // an hour; 0 if it is not known
	DeletedFor      DeleteReason   // "" if the node stays
	Move            string         // id of the move that the node is deleted by, "" if it is not replaced
	Stay            Stay
	For             DeleteReason // what a node that stays would be deleted for; "" where its static pool keeps it
	Overdue         time.Time    // when expireAfter ended for a node that stays; zero where it did not
	Lost            []string     // pods that nothing creates anew if the node is deleted, namespace/name
}

// Eligible says whether nothing about the node and its pods keeps it from being deleted:
// only its turn, a budget, or that nothing would be saved.
func (s *Standing) Eligible() bool {
	if s.DeletedFor != "" || s.For == "" {
		return false
	}
	switch s.Stay.Reason {
	case NextToGo, NotSearched, NoSaving, SpotForSpot, BudgetUsed, LimitFull, NoReplacement, TriedLately, MovesHeld, NotTried:
		return true
	case NotInitialized, IsLeaving, PoolUnready, PoolPaused, DaemonPaused, CloudAway, NodeProtected, PodExpected, PodProtected, PodOfGang, PodSettles,
		PodBudget, PodBudgets, ReplicasLate, PolicyForbids, NotQuiet, NoPlace, NoPrice, NotDrifted, Declined, OutOfTime, NodeStays, Replaces, StaticPool:
	}
	return false
}

// Explain says in one sentence why the node stays or is deleted.
func (s *Standing) Explain() string {
	var text string
	switch {
	case s.DeletedFor == "":
		text = "stays: " + s.Stay.Explain()
		if !s.Overdue.IsZero() {
			text += fmt.Sprintf("; expireAfter ended at %s", s.Overdue.UTC().Format(time.RFC3339))
		}
	case s.Move != "":
		text = fmt.Sprintf("leaves (%s), and other nodes replace it in move %s", s.DeletedFor, s.Move)
	default:
		text = fmt.Sprintf("leaves (%s)", s.DeletedFor)
	}
	switch len(s.Lost) {
	case 0:
		return text
	case 1:
		return text + fmt.Sprintf("; no controller creates pod %s anew if the node is deleted", s.Lost[0])
	}
	return text + fmt.Sprintf("; no controller creates pod %s and %d more anew if the node is deleted", s.Lost[0], len(s.Lost)-1)
}

// Target is the nodes with pods that the last search of the fleet found to be worth
// removing and whose removal has not begun.
type Target struct {
	Claims []string
	Frees  quantity.Money // what they cost an hour, volumes and the like included: what is saved at most
}

// MoveStanding is a move that has begun: NodeClaims that are up or on their way replace
// others.
type MoveStanding struct {
	ID                    string
	Reason                DeleteReason
	Sources, Replacements []string       // NodeClaims
	Frees, Costs          quantity.Money // what the sources and the replacements cost an hour, volumes and the like included
	Unpriced              bool           // one of these costs is not known
}

// Saves is what the move saves an hour; less than nothing where it is not made to save
// money, as after drift.
func (m *MoveStanding) Saves() quantity.Money { return m.Frees - m.Costs }

// PodStanding says whether a pod that runs keeps its node from being deleted.
type PodStanding struct {
	Pod  string   // namespace/name
	Node Standing // of its node; its Claim is "" where the node is of no NodePool
	Hold Stay     // empty if the pod does not keep the node
	// Pinned says that the pod belongs to its node and is deleted with it, and Lost that
	// nothing creates it anew.
	Pinned, Lost bool
}

// Explain says whether the pod keeps its node, and what would change that.
func (p *PodStanding) Explain() string {
	var out []string
	switch {
	case p.Node.Claim == "":
		return "the node is of no NodePool, so the daemon never deletes it"
	case p.Hold.Reason != "":
		out = append(out, fmt.Sprintf("the pod keeps the node: %s; %s", p.Hold.Explain(), p.Hold.Remedy()))
	case p.Pinned:
		out = append(out, "the pod does not keep the node: it belongs to the node")
	default:
		out = append(out, "the pod does not keep the node")
	}
	if p.Lost {
		out = append(out, "no controller creates the pod anew if the node is deleted")
	}
	p.Node.Lost = nil
	return strings.Join(append(out, "the node "+p.Node.Explain()), "; ")
}

// DescribeBudget is the budget as its NodePool has it, in one line.
func DescribeBudget(b *cluster.Budget) string {
	nodes := fmt.Sprint(b.Most)
	if b.Percent {
		nodes += "%"
	}
	parts := []string{"nodes: " + nodes}
	if len(b.Reasons) > 0 {
		parts = append(parts, "reasons: "+strings.Join(b.Reasons, " "))
	}
	if b.Schedule != nil {
		parts = append(parts, "schedule: "+b.Schedule.Text, "duration: "+b.Duration.String())
	}
	if b.Invalid != "" {
		parts = append(parts, "cannot be read: "+b.Invalid)
	}
	return strings.Join(parts, ", ")
}
