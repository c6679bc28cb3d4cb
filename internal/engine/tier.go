package engine

// tier is the pools of one weight while demand is packed on them: what one turn
// has learned for the next.
type tier struct {
	*launcher
	from, to int             // the pools, by number in the fleet
	excluded map[int]bool    // rows that cannot be launched after all
	full     map[string]bool // pools whose limits leave nothing
	varied   map[int]bool    // groups of rows that are packed only as full as minValues allows
	shut     map[string]bool // cells of a class where nothing can be launched
	least    int32           // the priority down to which pods are packed
	unsuited map[int]bool    // rows for what finds no place on others only; see findUnsuited
}

// openRows lists the rows that can be launched now: for sale, with capacity, and
// within what the limits leave.
func (t *tier) openRows() (rows []int) {
	uses := make([]usage, t.to-t.from)
	for i := range uses {
		uses[i] = t.market.usage(t.market.fleet.Pools[t.from+i])
	}
	for i := range t.market.fleet.Rows {
		r := &t.market.fleet.Rows[i]
		if r.Pool < t.from || r.Pool >= t.to || t.market.sale[i] == 0 || t.excluded[i] || t.unsuited[i] || t.full[t.market.fleet.Pools[r.Pool].Name] {
			continue
		}
		if r.Left >= 0 && t.market.reservationUse(r) >= r.Left {
			continue
		}
		if _, over := uses[r.Pool-t.from].refuses(r.Type.Capacity); over {
			continue
		}
		rows = append(rows, i)
	}
	return rows
}
