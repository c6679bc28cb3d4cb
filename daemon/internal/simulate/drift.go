package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/drifted"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/drift"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// foreseeDrift gives the NodeClaims the hashes and the condition Drifted that the daemon would
// write, in the cluster and in the world that was built of it. So what --with changes is a change
// of a cluster that the daemon has taken over.
func (c *Cluster) foreseeDrift(w *world.World, now time.Time) {
	for _, claim := range drifted.Foresee(foundObjects{w, c}, now) {
		claim.ResourceVersion = "" // of no API server, so the world takes it for newer
		c.claims[claim.Name] = claim
		w.Observe(claim)
	}
}

// foundObjects are the objects of the world that NodeClaims may be compared with. What stands in
// for what the input lacks says nothing of nodes.
type foundObjects struct {
	*world.World

	cluster *Cluster
}

// NodeClaims leaves out those that were made up for nodes of no NodePool.
func (f foundObjects) NodeClaims() []*v1.NodeClaim {
	return slices.DeleteFunc(f.World.NodeClaims(), f.cluster.adopted)
}

// EC2NodeClasses leaves out those that stand in, and images that do.
func (f foundObjects) EC2NodeClasses() (out []*awsv1.EC2NodeClass) {
	for _, class := range f.World.EC2NodeClasses() {
		switch {
		case strings.HasPrefix(string(class.UID), classUID):
			continue
		case slices.ContainsFunc(class.Status.AMIs, func(a awsv1.AMI) bool { return strings.HasPrefix(a.ID, standInImage) }):
			class = class.DeepCopy()
			class.Status.AMIs = nil
		}
		out = append(out, class)
	}
	return out
}

// adopted says whether the NodeClaim was made up for a node of no NodePool.
func (c *Cluster) adopted(claim *v1.NodeClaim) bool {
	n := c.nodes[claim.Status.NodeName]
	return madeUp(claim) && n != nil && n.Labels[v1.LabelNodePool] != claim.Labels[v1.LabelNodePool]
}

// madeUp says whether the input does not have the NodeClaim.
func madeUp(claim *v1.NodeClaim) bool { return strings.HasPrefix(string(claim.UID), claimUID) }

// noteTakenOver notes what a take-over does with the hashes that Karpenter has written.
func (c *Cluster) noteTakenOver() {
	n := 0
	for _, claim := range c.claims {
		if drift.MadeByAnother(claim) {
			n++
		}
	}
	if n > 0 {
		c.Note("%s with hashes of Karpenter: as at a take-over, each counts as made from its NodePool and EC2NodeClass as these are now, unless Karpenter has found that it drifted", quantity.Count(int64(n), "NodeClaim"))
	}
}

// Drift is which nodes are not what their NodePool and EC2NodeClass ask for.
type Drift struct {
	NodeClaims int       `json:"nodeClaims"`        // that were compared
	Drifted    []Drifted `json:"drifted,omitempty"` // those that have drifted
}

// Drifted is a node that the daemon would find drifted.
type Drifted struct {
	Node      string `json:"node,omitempty"`      // its name, where it has joined
	NodeClaim string `json:"nodeClaim,omitempty"` // its NodeClaim, where the input has one
	Pool      string `json:"pool"`                // its NodePool
	Reason    string `json:"reason"`              // of the condition Drifted, such as NodePoolDrifted
	Message   string `json:"message"`             // what differs
}

// drift reads the conditions that foreseeDrift has written.
func (p *player) drift() (out Drift) {
	for _, claim := range (foundObjects{p.world, p.cluster}).NodeClaims() {
		if claim.DeletionTimestamp != nil || claim.Status.ProviderID == "" {
			continue
		}
		out.NodeClaims++
		x := claim.Conditions().Get(v1.ConditionDrifted)
		if !x.IsTrue() {
			continue
		}
		d := Drifted{Node: claim.Status.NodeName, NodeClaim: claim.Name, Pool: claim.Labels[v1.LabelNodePool], Reason: x.Reason, Message: x.Message}
		if madeUp(claim) {
			d.NodeClaim = ""
		}
		out.Drifted = append(out.Drifted, d)
	}
	slices.SortFunc(out.Drifted, func(a, b Drifted) int {
		return cmp.Or(strings.Compare(a.Reason, b.Reason), strings.Compare(a.Node, b.Node), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	return out
}

// drifting is the part of the page; without a heading where there is nothing to compare.
func (f *Forecast) drifting() (part, bool) {
	d := &f.Drift
	out := part{heading: "Has drifted", lines: []string{fmt.Sprintf("None of %s.", count(int64(d.NodeClaims), "NodeClaim"))}}
	if len(d.Drifted) == 0 {
		return out, d.NodeClaims > 0
	}
	out.lines = []string{fmt.Sprintf("%d of %s: as NodePools and EC2NodeClasses are now, the daemon replaces their nodes.", len(d.Drifted), count(int64(d.NodeClaims), "NodeClaim"))}
	out.table = [][]string{{"Nodes", "NodePool", "Reason", "For example"}}
	for rest := d.Drifted; len(rest) > 0; {
		first := rest[0]
		left := slices.DeleteFunc(slices.Clone(rest), func(x Drifted) bool { return x.Reason == first.Reason && x.Pool == first.Pool })
		out.table = append(out.table, []string{fmt.Sprint(len(rest) - len(left)), first.Pool, first.Reason, cmp.Or(first.Node, first.NodeClaim) + ": " + first.Message})
		rest = left
	}
	return out, true
}
