package ec2sim

import (
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"reflect"
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// dryRun is part of every request.
type dryRun struct {
	DryRun bool `q:"DryRun"`
}

// listing is what every Describe request has; those without paging never get
// the two page parameters from a client.
type listing struct {
	dryRun
	Filters    []filter `q:"Filter"`
	MaxResults *int     `q:"MaxResults"`
	NextToken  string   `q:"NextToken"`
}

// keyed things have a key of their own; pages are in its order.
type keyed interface{ key() string }

// list is a Describe action: how it finds, shows and pages things of one kind.
// Its filters are the fields of Item that have a filter tag.
type list[T keyed, Item any] struct {
	set  string                 // element of the answer that has the items
	item func(*Service, T) Item // a thing as the answer shows it

	// Of actions whose own parameter is a list of ids, and no other.
	ids     string // its name
	all     func(*Service) map[string]T
	missing func(id string) error // nil: notFound

	minPage, maxPage, defaultPage int // bounds of MaxResults; 0: no bound, no default
}

// page is the answer of a Describe action.
type page[Item any] struct {
	set       string
	Items     set[Item]
	NextToken string
}

// MarshalXML names the set as the action does.
func (p page[Item]) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	if p.NextToken != "" {
		if err := e.EncodeElement(p.NextToken, xml.StartElement{Name: xml.Name{Local: "nextToken"}}); err != nil {
			return err
		}
	}
	if err := e.EncodeElement(p.Items, xml.StartElement{Name: xml.Name{Local: p.set}}); err != nil {
		return err
	}
	return e.EncodeToken(start.End())
}

// byID serves the action.
func (l list[T, Item]) byID(c *call) (any, error) {
	var in listing
	var ids []string
	if err := decodeForm(c.req.Form, &in, parameter{l.ids, &ids}); err != nil {
		return nil, err
	}
	missing := l.missing
	if missing == nil {
		missing = notFound
	}
	found, err := pick(ids, l.all(c.s), missing)
	if err != nil {
		return nil, err
	}
	return l.page(c, in, found)
}

// page asks IAM for the action, and shows the page of the things that pass
// every filter.
func (l list[T, Item]) page(c *call, in listing, things []T) (page[Item], error) {
	out := page[Item]{set: l.set, Items: set[Item]{}}
	if err := c.permit(in.DryRun, c.access()); err != nil {
		return out, err
	}
	for _, f := range in.Filters {
		if err := f.check(reflect.TypeFor[Item]()); err != nil {
			return out, err
		}
	}
	start, size, err := l.bounds(in)
	if err != nil {
		return out, err
	}
	slices.SortFunc(things, func(a, b T) int { return cmp.Compare(a.key(), b.key()) })
	last := ""
	for _, thing := range things {
		if in.NextToken != "" && thing.key() <= start {
			continue
		}
		item := l.item(c.s, thing)
		if !matchesAll(in.Filters, reflect.ValueOf(item)) {
			continue
		}
		if size > 0 && len(out.Items) == size {
			out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		out.Items, last = append(out.Items, item), thing.key()
	}
	return out, nil
}

// bounds are the key after which the page starts, and its size; 0 is no limit.
// The token is the last key seen, so that items which come or go between two
// pages make no other item appear twice or never.
func (l list[T, Item]) bounds(in listing) (start string, size int, err error) {
	size = l.defaultPage
	if in.MaxResults != nil {
		size = *in.MaxResults
		if size < max(l.minPage, 1) || l.maxPage > 0 && size > l.maxPage {
			return "", 0, wire.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", size, max(l.minPage, 1), l.maxPage)
		}
	}
	last, err := base64.RawURLEncoding.DecodeString(in.NextToken)
	if err != nil {
		return "", 0, wire.Errorf("InvalidNextToken", "The token '%s' is invalid", in.NextToken)
	}
	return string(last), size, nil
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

// itself is the item of what is made to be shown.
func itself[T any](_ *Service, t T) T { return t }
