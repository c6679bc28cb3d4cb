package cluster

import "github.com/karpenterd/terraform-provider-karpenter/internal/label"

// Most nodes of a large cluster differ in their names only. The index counts the nodes
// that are alike, so that no caller has to visit every node to learn that a pod may
// run on none.

// Kinds is the nodes that are there, those that are alike together. It compares as
// equal as long as no node changes, so that callers can cache results by it.
type Kinds struct{ kinds tree[kindOfNode] }

// kindOfNode is nodes with equal taints and, but for those that name the node, equal
// labels.
type kindOfNode struct {
	node  *Node // one of them
	count int64
}

// NodeKinds returns the kinds of nodes that there are.
func (s Snapshot) NodeKinds() Kinds { return Kinds{s.kinds} }

// Any says whether yes says so of the labels and taints of any kind. Labels that name
// the node are those of one of its nodes.
func (k Kinds) Any(yes func(label.Lookup, []Taint) bool) bool {
	for _, x := range k.kinds.all() {
		if yes(x.node.Labels, x.node.Taints) {
			return true
		}
	}
	return false
}

// countKind counts n more nodes like this one.
func (u *update) countKind(node *Node, n int64) {
	b := u.scratch[:0]
	for _, l := range node.Labels {
		if !label.NamesNode(l.Key) {
			b = label.AppendText(label.AppendText(b, l.Key), l.Value)
		}
	}
	b = append(b, ' ')
	for _, t := range node.Taints {
		b = label.AppendText(label.AppendText(label.AppendText(b, t.Key), t.Value), t.Effect)
	}
	u.scratch = b
	x, there := u.kinds.get(string(b))
	if !there {
		x.node = node
	}
	if x.count += n; x.count == 0 {
		u.kinds = u.kinds.remove(u.edit, string(b))
		return
	}
	u.kinds = u.kinds.put(u.edit, string(b), x)
}
