package ec2sim

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// dryRun is part of every request.
type dryRun struct {
	DryRun bool `q:"DryRun"`
}

// filter is one condition of a Describe call: any of the values must match.
type filter struct {
	Name   string   `q:"Name,required"`
	Values []string `q:"Value"`
}

// listing is what every Describe request has; those without paging never get
// the two page parameters from a client.
type listing struct {
	dryRun
	Filters    []filter `q:"Filter"`
	MaxResults *int     `q:"MaxResults"`
	NextToken  string   `q:"NextToken"`
}

// view tells how items of one kind are listed, filtered and paged.
type view[T any] struct {
	key    func(T) string              // unique; pages are in its order
	fields map[string]func(T) []string // filter name -> values of the item
	tags   func(T) map[string]string   // nil where the kind has no tags

	minPage, maxPage, defaultPage int // bounds of MaxResults; 0: no bound, no default
}

// list asks IAM for the action, and returns the page of the items that pass
// every filter, with the token of the next page.
func (v view[T]) list(c *call, in listing, items []T) ([]T, string, error) {
	if err := c.permit(in.DryRun, c.access()); err != nil {
		return nil, "", err
	}
	kept := []T{}
	for _, item := range items {
		ok, err := v.matches(in.Filters, item)
		if err != nil {
			return nil, "", err
		}
		if ok {
			kept = append(kept, item)
		}
	}
	if err := v.knows(in.Filters); err != nil { // also when there was no item to match
		return nil, "", err
	}
	return v.page(in, kept)
}

func (v view[T]) page(in listing, items []T) ([]T, string, error) {
	size := v.defaultPage
	if in.MaxResults != nil {
		size = *in.MaxResults
		if size < max(v.minPage, 1) || v.maxPage > 0 && size > v.maxPage {
			return nil, "", wire.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", size, max(v.minPage, 1), v.maxPage)
		}
	}
	slices.SortFunc(items, func(a, b T) int { return cmp.Compare(v.key(a), v.key(b)) })
	if in.NextToken != "" {
		// The token is the last key seen, so that items which come or go
		// between two pages make no other item appear twice or never.
		last, err := base64.RawURLEncoding.DecodeString(in.NextToken)
		if err != nil {
			return nil, "", wire.Errorf("InvalidNextToken", "The token '%s' is invalid", in.NextToken)
		}
		start, found := slices.BinarySearchFunc(items, string(last), func(item T, key string) int { return cmp.Compare(v.key(item), key) })
		if found {
			start++
		}
		items = items[start:]
	}
	if size == 0 || len(items) <= size {
		return items, "", nil
	}
	items = items[:size]
	return items, base64.RawURLEncoding.EncodeToString([]byte(v.key(items[size-1]))), nil
}

// pick returns the items with the given ids, or all where none is given.
func pick[T any](ids []string, from map[string]T, missing func(string) error) ([]T, error) {
	items := make([]T, 0, len(from))
	if len(ids) == 0 {
		for _, item := range from {
			items = append(items, item)
		}
		return items, nil
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		item, ok := from[id]
		if !ok {
			return nil, missing(id)
		}
		items = append(items, item)
	}
	return items, nil
}

func one(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func oneBool(value bool) []string { return []string{strconv.FormatBool(value)} }

func oneInt(value int64) []string { return []string{strconv.FormatInt(value, 10)} }
