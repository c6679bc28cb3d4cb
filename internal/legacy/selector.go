package legacy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// Limits of v1 on selector terms.
const (
	maxTerms = 30
	maxTags  = 20
)

// Keys of legacy selectors that are not tags.
const (
	keyIDs      = "aws::ids"
	keyOlderIDs = "aws-ids"
	keyNames    = "aws::name"
	keyOwners   = "aws::owners"
)

// selector is a legacy selector taken apart: lists of alternatives, all of which must hold.
type selector struct {
	ids, names, owners []string
	tags               map[string][]string
}

// takeApart reads a selector. Values are lists separated by commas; a comma within a
// template separates nothing.
func (c *converter) takeApart(s subject, field string, old map[string]string, images bool) selector {
	out := selector{tags: map[string][]string{}}
	if whollyOf(old) {
		c.fail(s, field, "a template for all of it, and its keys decide what the terms are", "write each key with a template of its own")
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		at := fmt.Sprintf("%s[%s]", field, key)
		values := alternatives(old[key])
		if key == "" || slices.Contains(values, "") {
			c.fail(s, at, "an empty key or value selects nothing", "write a value, or * for any")
			continue
		}
		switch {
		case key == keyIDs || key == keyOlderIDs:
			if len(out.ids) > 0 {
				c.fail(s, at, "set together with aws-ids", "write all ids under aws::ids")
			}
			out.ids = values
		case images && key == keyNames:
			out.names = values
		case images && key == keyOwners:
			out.owners = values
		case strings.HasPrefix(key, "aws::"):
			c.fail(s, at, "no key of this selector", "write aws::ids, or the key of a tag")
		default:
			out.tags[key] = values
		}
	}
	if len(out.tags) > maxTags {
		c.fail(s, field, fmt.Sprintf("%d tags, and a term of v1 has at most %d", len(out.tags), maxTags), "select by fewer tags")
	}
	return out
}

// alternatives splits a text at commas, except within templates.
func alternatives(text string) []string {
	var all []string
	depth, start := 0, 0
	for i := range len(text) {
		switch {
		case strings.HasPrefix(text[i:], "${") || depth > 0 && text[i] == '{' && text[i-1] != '$':
			depth++
		case depth > 0 && text[i] == '}':
			depth--
		case depth == 0 && text[i] == ',':
			all = append(all, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(all, strings.TrimSpace(text[start:]))
}

// checkIDs reports ids of another form than v1 takes.
func (c *converter) checkIDs(s subject, field, prefix string, ids []string) {
	form := regexp.MustCompile("^" + prefix + "-[0-9a-z]+$")
	for _, id := range ids {
		switch {
		case strings.HasPrefix(id, "${") && strings.HasSuffix(id, "}"):
			c.warn(s, field, id+" stands for one id in v1", "where it gives several, separated by commas, write a term for each")
		case !templated(id) && !form.MatchString(id):
			c.fail(s, field, fmt.Sprintf("%q is no id", id), "write ids such as "+prefix+"-0123456789abcdef0, separated by commas")
		}
	}
}

// terms converts the selector of subnets or security groups.
func (c *converter) terms(s subject, field string, old map[string]string, prefix string) []wire.SelectorTerm {
	if len(old) == 0 {
		c.fail(s, field, "missing", "write tags to select by, such as karpenter.sh/discovery")
		return nil
	}
	before := len(c.errors)
	parts := c.takeApart(s, field, old, false)
	if len(parts.ids) > 0 && len(parts.tags) > 0 {
		c.fail(s, field, "ids together with tags mean what has both, and a term of v1 has one of the two", "leave only the ids, or only the tags")
	}
	c.checkIDs(s, field, prefix, parts.ids)
	if !c.fits(s, field, len(parts.ids), parts.combinations()) || len(c.errors) > before {
		return nil
	}
	var all []wire.SelectorTerm
	for _, id := range parts.ids {
		all = append(all, wire.SelectorTerm{ID: id})
	}
	if len(parts.tags) == 0 {
		return all
	}
	for _, tags := range parts.products() {
		all = append(all, wire.SelectorTerm{Tags: tags})
	}
	return all
}

// fits reports more terms than v1 takes.
func (c *converter) fits(s subject, field string, numbers ...int) bool {
	for _, n := range numbers {
		if n > maxTerms {
			c.fail(s, field, fmt.Sprintf("%d terms would be needed, and v1 takes at most %d", n, maxTerms), "select by a tag that all of them have")
			return false
		}
	}
	return true
}

// combinations counts the products of the tags' values; large numbers stand for more.
func (p selector) combinations() int {
	n := 1
	for _, values := range p.tags {
		n = min(n*len(values), 1_000_000)
	}
	return n
}

// products lists all ways to choose one value for each tag.
func (p selector) products() []map[string]string {
	all := []map[string]string{{}}
	for _, key := range slices.Sorted(maps.Keys(p.tags)) {
		var next []map[string]string
		for _, chosen := range all {
			for _, value := range p.tags[key] {
				more := maps.Clone(chosen)
				more[key] = value
				next = append(next, more)
			}
		}
		all = next
	}
	return all
}
