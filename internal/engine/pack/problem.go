package pack

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/price"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// Problem is pods to be placed and what they could be placed on.
type Problem struct {
	Offers  []Offer // sorted by cheapest price, then name
	Classes []Class // by priority, highest first, then key
	Rules   []Rule
	Where   []Where
}

// Offer is a kind of node that can be had.
type Offer struct {
	Name string // unique; breaks ties
	// Group is the same for offers that one launch can carry together. Package
	// pack only passes it on.
	Group int
	Net   []int64 // what is left for pods, per dimension
	// Prices are by zone. The offer is not for sale in a zone with a price of 0
	// or less. With limited nodes, 0 is a price: a reservation is paid already.
	Prices []quantity.Money
	Zones  uint64 // zones in which it can be had
	Large  bool   // above the soft size limit: only for what fits nothing smaller
	Nodes  int64  // so many bins at most; < 0: any number
}

// Where says where the classes that share it may run.
type Where struct {
	Zones []uint64 // for each offer, the zones as bits
}

// Class is a number of interchangeable pods.
type Class struct {
	Key   string  // unique; breaks ties
	Need  []int64 // of one pod, per dimension
	Count int64
	Where int // index into Problem.Where
	Roles []Role
}

// Rule limits what may share a bin: where a binding pod is, at most Max counted
// ones are.
type Rule struct {
	Max int64
}

// Role is what a class is to a rule.
type Role struct {
	Rule          int
	Binds, Counts bool
}

// Host is a node that is there already. Solve does not fill it; it matters to
// prices and bounds.
type Host struct {
	Free  []int64  // per dimension
	Holds []uint64 // indexes of Problem.Where, as bits: which classes may use it
}

// Part is how many pods of a class one bin holds.
type Part struct {
	Class int // index into Problem.Classes
	Count int64
}

// Bin is a number of nodes with equal content.
type Bin struct {
	Offer  int
	Parts  []Part  // by class
	Used   []int64 // per dimension
	Zones  uint64  // where the content may run and the offer can be had
	Copies int64
}

// Result is a choice of bins.
type Result struct {
	Bins []Bin
	Left []int64        // per class, pods that no bin holds
	Cost quantity.Money // of all bins, each in its cheapest zone
	// Prices are what resources are worth to the classes where every offer may be
	// used, also large ones. Buys is nil. A rule that counts nodes (see countNodes)
	// is one more resource, behind those of the problem. A demand of one pod is not
	// priced.
	Prices price.Prices
	// Search and Polish continue from here. Searches and Steps are how many were made,
	// Stale is how many steps were made since the last step that helped.
	Searches, Steps, Stale int
	Trace

	searched bool          // no other search is worth it
	whole    *price.Prices // as in whole
	nodes    []node        // the bins in kinds and columns; never changed
}

// Trace counts work.
type Trace struct {
	Columns int // offers by zone that were worth looking at
	Rounds  int // times that a plan bought nodes with one content
	Fills   int // bins that a filler filled from empty
	Pivots  int // of linear programs
	// Contents counts the steps of the searches for contents of nodes.
	Contents int
}

// Work bounds a call.
type Work struct {
	// Trials is how many searches Search may make, and how many steps Polish may
	// make. With 0, Search makes all searches, and Polish a default number of steps.
	Trials int
}
