package v1

import (
	"strconv"
	"strings"
)

// mostExplained is how many fields a sentence names: an Event has room for 1,024 bytes.
const mostExplained = 5

// Unread says which fields of an object have a value of another type than this API has, a
// sentence each, in lines: "spec.weight must be a whole number, and is a string". Such a
// field is left out of the object. The text is empty where the whole object could be read.
// No API server has it: whoever reads the object sets it.
type Unread string

// In says whether the field of this path is among those that are left out, or one below it.
func (u Unread) In(path string) bool {
	for line := range strings.Lines(string(u)) {
		if rest, below := strings.CutPrefix(line, path); below && strings.ContainsAny(rest[:1], ".[ ") {
			return true
		}
	}
	return false
}

// Explain says in one sentence what is wrong with the object and what to do; "" for nothing.
func (u Unread) Explain(kind, name string) string {
	if u == "" {
		return ""
	}
	remedy := "correct what is named, or remove it"
	if kind == NodeClaimKind {
		remedy += "; where the API server refuses that, delete the NodeClaim"
	}
	lines := strings.Split(strings.TrimSpace(string(u)), "\n")
	if more := len(lines) - mostExplained; more > 0 {
		lines = append(lines[:mostExplained], "and "+strconv.Itoa(more)+" more")
	}
	return kind + " " + name + " cannot be read: " + strings.Join(lines, "; ") + ": " + remedy +
		". Until then nothing is launched for it, and what runs for it stays."
}

// SetUnread notes which fields could not be read.
func (p *NodePool) SetUnread(u Unread) { p.Unread = u }

// SetUnread notes which fields could not be read.
func (c *NodeClaim) SetUnread(u Unread) { c.Unread = u }
