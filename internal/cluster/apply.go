package cluster

// Delta is what changed in a cluster. Apply removes Gone before it puts Put, so
// that an object that was deleted and made anew can be in both. An unknown id in
// Gone does no harm. The order within the lists does not matter.
type Delta struct {
	Put     Objects
	Removed Removed
}

// Removed lists objects by id: namespace/name for pods, DaemonSets and
// PodDisruptionBudgets, kind/namespace/name for Workloads, the name for the rest.
type Removed struct {
	Pods, Nodes, Claims, Pools, Classes, DaemonSets, Workloads, Namespaces, PodBudgets []string
}

// New checks the objects and builds a Snapshot of them. The error names the
// object, the field and the remedy.
func New(o Objects) (Snapshot, error) { return Snapshot{}.Apply(Delta{Put: o}) }

// Apply returns the snapshot with the delta. s stays valid and does not change,
// also where Apply returns an error. The error names the object, the field and
// the remedy. The cost grows with the size of the delta. One kind of delta costs
// more: where selectors look at another set of label keys afterwards, all pods
// are grouped anew. The snapshot keeps what the objects refer to, so callers
// must not change it any more.
func (s Snapshot) Apply(d Delta) (Snapshot, error) {
	u := &update{Snapshot: s, edit: &edit{}}
	if u.supply == nil {
		u.supply = &Supply{}
	}
	var err error
	if u.supply, err = u.supply.apply(d); err != nil {
		return s, err
	}
	var claims []change[Claim]
	if u.claims, claims, err = u.claims.apply(u.edit, claimKind(), pointers(d.Put.Claims), d.Removed.Claims); err != nil {
		return s, err
	}
	if u.namespaces, _, err = u.namespaces.apply(u.edit, namespaceKind(), pointers(d.Put.Namespaces), d.Removed.Namespaces); err != nil {
		return s, err
	}
	if u.podBudgets, _, err = u.podBudgets.apply(u.edit, podBudgetKind(), pointers(d.Put.PodBudgets), d.Removed.PodBudgets); err != nil {
		return s, err
	}
	var workloads []change[Workload]
	if u.workloads, workloads, err = u.workloads.apply(u.edit, workloadKind(), pointers(d.Put.Workloads), d.Removed.Workloads); err != nil {
		return s, err
	}
	var nodes []change[Node]
	if u.nodes, nodes, err = u.nodes.apply(u.edit, nodeKind(), pointers(d.Put.Nodes), d.Removed.Nodes); err != nil {
		return s, err
	}
	var pods []change[pod]
	if u.pods, pods, err = u.pods.apply(u.edit, podKind(), records(d.Put.Pods), d.Removed.Pods); err != nil {
		return s, err
	}
	for _, c := range workloads {
		if c.old != nil {
			u.watch(&c.old.Shape, c.old.Namespace, -1)
		}
		if c.now != nil {
			u.watch(&c.now.Shape, c.now.Namespace, 1)
		}
	}
	u.derive(nodes, claims, pods)
	return u.Snapshot, nil
}

// update is a Snapshot in the making.
type update struct {
	Snapshot
	edit      *edit
	rewatched bool     // selectors may look at other keys than before
	last      *Group   // group of the pod that was sorted last
	touched   []*Group // made by this update
	loaded    []*Load  // made by this update
	scratch   []byte
}

// derive brings the groups and loads up to date with the pods, nodes and claims.
func (u *update) derive(nodes []change[Node], claims []change[Claim], pods []change[pod]) {
	for _, c := range pods {
		if c.old != nil {
			u.watch(&c.old.Shape, c.old.Namespace, -1)
		}
		if c.now != nil {
			u.watch(&c.now.Shape, c.now.Namespace, 1)
		}
	}
	if u.rewatch() && u.groups.size > 0 {
		nodes, claims, pods = u.again()
	}
	for _, c := range nodes {
		u.setNode(c)
	}
	for _, c := range claims {
		u.setClaim(c)
	}
	for _, c := range pods {
		if c.old != nil {
			u.count(c.old, -1)
			switch {
			case c.old.Node != "":
				u.unbind(c.old)
			case c.old.NominatedByOthers():
				u.unnominate(c.old)
			}
		}
	}
	for _, c := range pods {
		if c.now != nil {
			u.sort(c.now)
			u.count(c.now, 1)
			switch {
			case c.now.Node != "":
				u.bind(c.now)
			case c.now.NominatedByOthers():
				u.nominate(c.now)
			}
		}
	}
	u.fileGroups()
	u.fileLoads()
}

// again forgets all groups and loads. It returns every node, claim and pod as a
// change, so that derive files all of them anew.
func (u *update) again() (nodes []change[Node], claims []change[Claim], pods []change[pod]) {
	u.groups, u.waiting, u.anti, u.unready = tree[*Group]{}, tree[none]{}, tree[none]{}, tree[*pod]{}
	u.loads, u.rooms, u.kinds, u.bound = tree[*Load]{}, tree[*Load]{}, tree[kindOfNode]{}, Bound{}
	u.inTransition, u.reserved, u.lots = tree[*Claim]{}, tree[*Claim]{}, tree[Lot]{}
	for _, n := range u.nodes.rows.list() {
		nodes = append(nodes, change[Node]{now: n})
	}
	for _, c := range u.claims.rows.list() {
		claims = append(claims, change[Claim]{now: c})
	}
	ids, rows := make([]string, 0, u.pods.rows.size), make([]*pod, 0, u.pods.rows.size)
	for id, p := range u.pods.rows.all() {
		mine := *p // the old snapshot keeps p with its old group
		ids, rows = append(ids, id), append(rows, &mine)
		pods = append(pods, change[pod]{now: &mine})
	}
	u.pods.rows = grow(ids, rows)
	return nodes, claims, pods
}

// records makes the index's own copies of the pods. The copies share memory in
// small batches, so that a pod that stays keeps the memory of few deleted pods.
func records(in []Pod) []*pod {
	const batch = 16
	out := make([]*pod, len(in))
	for from := 0; from < len(in); from += batch {
		chunk := make([]pod, min(batch, len(in)-from))
		for i := range chunk {
			p := &chunk[i]
			p.Pod = in[from+i]
			p.id = p.ID()
			out[from+i] = p
		}
	}
	return out
}

func podKind() kind[pod] {
	return kind[pod]{"pod", func(p *pod) string { return p.id }, func(p *pod) string { return p.UID }, (*pod).check}
}

func nodeKind() kind[Node] {
	return kind[Node]{"node", func(n *Node) string { return n.Name }, func(n *Node) string { return n.UID }, checkNode}
}

func claimKind() kind[Claim] {
	return kind[Claim]{"nodeclaim", func(c *Claim) string { return c.Name }, func(c *Claim) string { return c.UID }, checkClaim}
}

func workloadKind() kind[Workload] {
	return kind[Workload]{"workload", func(w *Workload) string { return w.ID() }, func(w *Workload) string { return w.UID }, checkWorkload}
}

func namespaceKind() kind[Namespace] {
	return kind[Namespace]{
		"namespace", func(n *Namespace) string { return n.Name }, func(*Namespace) string { return "" }, func(*Namespace) error { return nil },
	}
}

func podBudgetKind() kind[PodBudget] {
	return kind[PodBudget]{
		"poddisruptionbudget", func(b *PodBudget) string { return b.ID() }, func(b *PodBudget) string { return b.UID }, func(*PodBudget) error { return nil },
	}
}
