package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
)

var errOlder = errors.New("-older-endpoint, -older-families, -older-source and -older-date go together")

// older adds families that EC2 does not list any more, from what it said before.
type older struct {
	endpoint string // empty adds nothing
	families []string
	source   catalog.Source // what these facts are said to be from
}

func (o older) check() error {
	given := []bool{o.endpoint != "", len(o.families) > 0, o.source.Text != "", o.source.Date != ""}
	if slices.Contains(given, true) && slices.Contains(given, false) {
		return errOlder
	}
	return nil
}

func (o older) has(name string) bool {
	return slices.Contains(o.families, catalog.ParseName(name).Family)
}

// addTo adds the types of the families that the region sold, with their zones. A type
// that the market has stays as it is.
func (o older) addTo(ctx context.Context, m *catalog.Market, byName map[string]catalog.Fact, known tables) error {
	if o.endpoint == "" {
		return nil
	}
	ec2, err := newEC2(ctx, m.Region, o.endpoint, known)
	if err != nil {
		return err
	}
	listed := maps.Clone(m.Offered)
	wanted := func(name string) bool { return o.has(name) && listed[name] == nil }
	if err := ec2.addTypes(ctx, byName, wanted); err != nil {
		return fmt.Errorf("older families: %w", err)
	}
	if err := ec2.addOfferings(ctx, m, wanted); err != nil {
		return fmt.Errorf("older families: %w", err)
	}
	return nil
}

// note says in a source's text which of the types are not from it.
func (o older) note(names []string) string {
	var families []string
	for _, name := range names {
		if o.has(name) {
			families = append(families, catalog.ParseName(name).Family)
		}
	}
	if len(families) == 0 {
		return ""
	}
	slices.Sort(families)
	return fmt.Sprintf("; %s: %s, %s", strings.Join(slices.Compact(families), ", "), o.source.Text, o.source.Date)
}
