package page

import (
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// The sections of a snapshot. Each is a table of values by key; a change names the section, the
// key and the new value.
const (
	sectionMeta      = "meta" // one value, under the key metaKey
	sectionPools     = "pools"
	sectionNodes     = "nodes"
	sectionWaiting   = "waiting"
	sectionMoves     = "moves"
	sectionDecisions = "decisions"
	sectionPoints    = "points"

	metaKey = "now"
)

// meta is what concerns the whole fleet.
type meta struct {
	Version  string  `json:"version"`
	Cluster  string  `json:"cluster"`
	Since    int64   `json:"since"`              // when this replica began to decide
	Cost     float64 `json:"cost"`               // of the last audit; volumes and addresses included
	Bound    float64 `json:"bound"`              // of the last audit
	Audited  bool    `json:"audited"`            // there has been one
	Homeless int64   `json:"homeless,omitempty"` // pods that the bound leaves out, as no node launched now would hold them
	Unpriced int     `json:"unpriced,omitempty"` // nodes that Cost leaves out, as nobody knows their price
	Saving   float64 `json:"saving"`             // by how much moves have cut the cost since Since: see savings
	Removals int     `json:"removals"`           // by these moves
	Empty    int     `json:"empty"`              // removals of nodes that no pod needed, since Since
	Emptied  float64 `json:"emptied"`            // what those nodes cost
	Pods     int     `json:"pods"`               // that run on nodes
	Paused   bool    `json:"paused,omitempty"`   // disruption, by the daemon's setting
	CloudOut bool    `json:"cloudAway,omitempty"`
	Target   int     `json:"target,omitempty"` // nodes that are worth removing and whose removal has not begun
	Frees    float64 `json:"frees,omitempty"`  // what they cost an hour: what is saved at most
}

// The states of a node.
const (
	stateUp       = ""
	stateGoing    = "going"
	stateComing   = "coming"
	stateNotReady = "not ready"
)

// node is a cell of the fleet.
type node struct {
	Node    string   `json:"node,omitempty"`  // "" before it has joined the cluster
	Claim   string   `json:"claim,omitempty"` // "" where it is of no NodePool
	Pool    string   `json:"pool,omitempty"`
	Type    string   `json:"type,omitempty"`
	Zone    string   `json:"zone,omitempty"`
	Buy     string   `json:"buy,omitempty"`   // the capacity type; "" for foreign nodes
	Price   *float64 `json:"price,omitempty"` // nothing where nobody knows it
	CPU     int64    `json:"cpu"`             // percent of what pods may have that they request
	Memory  int64    `json:"memory"`
	Pods    int      `json:"pods"`
	State   string   `json:"state,omitempty"`
	Created int64    `json:"created"`
	Stays   string   `json:"stays,omitempty"` // the reason
	Goes    string   `json:"goes,omitempty"`  // the reason
}

// limit is one of a pool's limits.
type limit struct {
	Name string `json:"name"`
	Max  string `json:"max"`
	Used string `json:"used"`
	Full int64  `json:"full"` // percent
}

// budget is a disruption budget of a pool.
type budget struct {
	Text  string `json:"text"`
	Holds bool   `json:"holds"`           // now
	Until int64  `json:"until,omitempty"` // when that changes
}

// allowed is what the budgets of a pool allow for a reason now.
type allowed struct {
	Reason string `json:"reason"`
	Most   int64  `json:"most"`
	Used   int64  `json:"used"`
}

// condition is a condition of a NodePool.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Since   int64  `json:"since"`
}

// fault is a field of an object that is not carried out.
type fault struct {
	Path   string `json:"path"`
	Effect string `json:"effect"`
	Remedy string `json:"remedy"`
}

// pool is a NodePool.
type pool struct {
	Name        string      `json:"name"`
	Class       string      `json:"class"`
	Weight      int32       `json:"weight,omitempty"`
	Static      bool        `json:"static,omitempty"`
	Replicas    int64       `json:"replicas,omitempty"`
	Policy      string      `json:"policy"`
	After       string      `json:"after"` // consolidateAfter
	Ready       bool        `json:"ready"`
	NotReady    string      `json:"notReady,omitempty"`
	Paused      bool        `json:"paused,omitempty"`
	Deleting    bool        `json:"deleting,omitempty"`
	Standing    string      `json:"standing,omitempty"`
	Why         string      `json:"why,omitempty"`
	Limits      []limit     `json:"limits,omitempty"`
	Budgets     []budget    `json:"budgets,omitempty"`
	Allowed     []allowed   `json:"allowed,omitempty"`
	Conditions  []condition `json:"conditions,omitempty"`
	Unsupported []fault     `json:"unsupported,omitempty"`
}

// hurdle is why a pool takes no pod of a kind.
type hurdle struct {
	Pool   string `json:"pool,omitempty"` // "" for all
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

// waiting is pods of a kind that need room.
type waiting struct {
	Pods    []string `json:"pods"` // the first mostPods
	Count   int      `json:"count"`
	Since   int64    `json:"since,omitempty"`
	Verdict string   `json:"verdict"`
	On      string   `json:"on,omitempty"`
	Hurdles []hurdle `json:"hurdles,omitempty"`
}

// move is nodes that others replace.
type move struct {
	Reason   string   `json:"reason"`
	Replaces []string `json:"replaces"`
	By       []string `json:"by"`
	Saves    *float64 `json:"saves,omitempty"`
}

// The kinds of decisions.
const (
	kindLaunch    = "launch"
	kindRemoval   = "removal"
	kindInterrupt = "interruption"
	kindFailed    = "launch failed"
	kindKept      = "stays"
)

// decision is something that was done, and why.
type decision struct {
	At       int64    `json:"at"`
	Kind     string   `json:"kind"`
	Pool     string   `json:"pool,omitempty"`
	Claim    string   `json:"claim,omitempty"`
	Node     string   `json:"node,omitempty"`
	Reason   string   `json:"reason"`
	Why      string   `json:"why"`
	What     string   `json:"what,omitempty"` // the instance type and how it is bought
	Price    *float64 `json:"price,omitempty"`
	Frees    *float64 `json:"frees,omitempty"` // what a node that was removed cost an hour
	RunnerUp string   `json:"runnerUp,omitempty"`
	RunnerAt *float64 `json:"runnerUpPrice,omitempty"`
	Pods     []string `json:"pods,omitempty"`
	Count    int      `json:"count,omitempty"` // of the pods, those without name included
}

// point is what the fleet cost at an audit.
type point struct {
	At    int64   `json:"at"`
	Cost  float64 `json:"cost"`
	Bound float64 `json:"bound"`
	// What the instances cost: by NodePool, capacity type and zone.
	Pools map[string]float64 `json:"pools,omitempty"`
	Buys  map[string]float64 `json:"buys,omitempty"`
	Zones map[string]float64 `json:"zones,omitempty"`
}

func dollars(m quantity.Money) float64 { return float64(m) / quantity.NanoDollars }

// known is the price; nil where it is not known.
func known(m quantity.Money, is bool) *float64 {
	if !is {
		return nil
	}
	d := dollars(m)
	return &d
}

// unix is the time in seconds; 0 for none.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
