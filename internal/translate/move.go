package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
)

// move is a move as its annotation has it.
type move struct {
	ID       string   `json:"id"`
	Index    int      `json:"index"`
	Count    int      `json:"count"`
	Reason   string   `json:"reason"`
	Sources  []source `json:"sources"`
	Deadline string   `json:"deadline"` // RFC 3339
}

type source struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// MoveOf reads the move that the NodeClaim carries. It is nil where there is none,
// and where the annotation cannot be read.
func MoveOf(c *v1.NodeClaim) (*cluster.Move, error) {
	text, there := c.Annotations[v1.AnnotationMove]
	if !there {
		return nil, nil
	}
	m, err := ParseMove(text)
	if err != nil {
		return nil, fmt.Errorf("nodeclaim %s annotation %s: %w: the daemon works as if it were not there; remove it", c.Name, v1.AnnotationMove, err)
	}
	return m, nil
}

// FormatMove writes the value of the move annotation.
func FormatMove(m cluster.Move) string {
	out := move{ID: m.ID, Index: m.Index, Count: m.Count, Reason: m.Reason, Deadline: m.Deadline.UTC().Format(time.RFC3339Nano)}
	for _, s := range m.Sources {
		out.Sources = append(out.Sources, source{Name: s.Claim, UID: s.UID})
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic(fmt.Errorf("move marshal: %w", err)) //nolint:forbidigo // strings and numbers always marshal
	}
	return string(data)
}

// ParseMove reads what FormatMove writes.
func ParseMove(text string) (*cluster.Move, error) {
	var in move
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, fmt.Errorf("move parse: %w", err)
	}
	deadline, err := time.Parse(time.RFC3339, in.Deadline)
	switch {
	case err != nil:
		return nil, fmt.Errorf("move parse: deadline: %w", err)
	case in.ID == "":
		return nil, fmt.Errorf("move parse: id is empty")
	case in.Index < 0 || in.Index >= in.Count:
		return nil, fmt.Errorf("move parse: index is %d; it must be at least 0 and less than count, which is %d", in.Index, in.Count)
	case len(in.Sources) == 0:
		return nil, fmt.Errorf("move parse: sources is empty")
	}
	out := cluster.Move{ID: in.ID, Index: in.Index, Count: in.Count, Reason: in.Reason, Deadline: deadline}
	for i, s := range in.Sources {
		if s.Name == "" || s.UID == "" {
			return nil, fmt.Errorf("move parse: sources[%d] needs a name and a uid", i)
		}
		out.Sources = append(out.Sources, cluster.Source{Claim: s.Name, UID: s.UID})
	}
	slices.SortFunc(out.Sources, func(a, b cluster.Source) int {
		return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.UID, b.UID))
	})
	return &out, nil
}
