package toolchain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Ensure returns every tool asked for, ready to run. Tools that are neither
// found nor cached are built, and only those; w gets the progress (os.Stderr in
// a command). It returns an error that says what to do when one cannot be had.
func Ensure(ctx context.Context, w io.Writer, tools ...Tool) (map[Tool]Found, error) {
	found := make(map[Tool]Found, len(tools))
	missing := map[string][]Tool{} // by module
	var order []string
	for _, t := range tools {
		s, ok := specs()[t]
		if !ok {
			return nil, fmt.Errorf("tool find: %w: %q (known: %s)", ErrUnknownTool, t, known())
		}
		if _, done := found[t]; done {
			continue
		}
		if f, ok := find(ctx, w, s); ok {
			found[t] = f
			continue
		}
		if !slices.Contains(order, s.module) {
			order = append(order, s.module)
		}
		missing[s.module] = append(missing[s.module], t)
	}
	for _, name := range order {
		if err := fromModule(ctx, w, name, missing[name], found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// fromModule fills found with tools out of the cache, which it fills first
// where it must.
func fromModule(ctx context.Context, w io.Writer, name string, tools []Tool, found map[Tool]Found) error {
	m, err := loadModule(ctx, name)
	if err != nil {
		return err
	}
	var absent []spec
	for _, t := range tools {
		s := specs()[t]
		path, ok := m.cached(s)
		origin := FromCache
		if !ok {
			absent = append(absent, s)
			origin = FromBuild
		}
		found[t] = Found{Path: path, Version: strings.TrimPrefix(m.versions[s.source], "v"), Origin: origin}
	}
	if len(absent) == 0 {
		return nil
	}
	return m.build(ctx, w, absent)
}

func known() string {
	names := make([]string, 0, len(specs()))
	for _, t := range Tools() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}
