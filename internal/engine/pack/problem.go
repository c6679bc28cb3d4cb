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
	// Group tells apart what one launch cannot carry together. The kernel only
	// passes it on.
	Group int
	Net   []int64 // what is left for pods, per dimension
	// Prices are by zone; 0 and less mean that it is not for sale there, but
	// for an offer with limited nodes 0 is a price (a reservation is paid
	// already).
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
	// Prices are what resources are worth to the classes, with every offer at
	// hand, also large ones; its Buys is nil. A rule that counts nodes (see
	// countNodes) is a resource more in it, behind those of the problem. Where
	// there is one pod in all, nothing is priced.
	Prices price.Prices
	// Searches, Steps and Stale are where Search and Polish go on: searches and
	// steps made, and how many of the steps since the last that helped.
	Searches, Steps, Stale int
	Trace

	searched bool          // no other search is worth it
	whole    *price.Prices // core.whole
	nodes    []node        // the bins as kinds of the problem; never changed
}

// Trace counts work.
type Trace struct {
	Columns int // offers by zone that were worth looking at
	Rounds  int // patterns applied
	Fills   int // bins filled in search of patterns
	Pivots  int // of linear programs
}

// Work bounds a call.
type Work struct {
	// Trials is how many searches Search, and how many steps Polish may make; 0
	// is all searches, and a number of steps that is right where the time is short.
	Trials int
}
