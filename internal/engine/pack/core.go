package pack

// core is a problem in the form that searches work on. All searches of a call share
// one core. After joinPlaces, only the trace and scratch counts change.
type core struct {
	p         *Problem
	resources resources
	demand    demand
	supply    supply
	rules     rules
	placeOf   []int   // per Problem.Where, its number among the distinct ones
	trace     Trace   // of all searches
	perRule   []int64 // scratch of leastNodes
}

// newCore brings the problem into form. The order of its steps matters: resources
// depend on the kinds of pods, columns on resources, and the kinds that are kept on
// columns.
func newCore(p *Problem) *core {
	c := &core{p: p, rules: p.Rules}
	placeOf, places := findPlaces(p)
	kinds := mergeClasses(p, placeOf)
	counted := c.rules.countNodes(kinds)
	c.placeOf, c.resources = placeOf, newResources(p, kinds, counted)
	c.resources.compact(kinds)
	c.supply = newSupply(p, places, &c.resources)
	c.demand = newDemand(kinds, &c.resources, c.supply.columns)
	c.trace.Columns = len(c.supply.columns)
	return c
}
