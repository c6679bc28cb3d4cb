package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// constant is one value in the engine's source.
type constant struct {
	file, name string
	others     []string // the values to try instead; (x) is today's
}

// constants are those that somebody chose. What follows from something else, such as
// the bits of a word, is not here.
func constants() []constant {
	var all []constant
	in := func(file, name string, others ...string) {
		if len(others) == 0 {
			others = []string{"(x) / 2", "(x) * 2"}
		}
		all = append(all, constant{"internal/engine/" + file, name, others})
	}
	for _, name := range []string{"firstPause", "longestPause", "retryGap", "forgetAfter", "widerBy", "widest"} {
		in("memory/shortage.go", name)
	}
	in("pack/deal.go", "mostBins")
	in("pack/deal.go", "mostExclusive", "1024")
	in("pack/greedy.go", "refills")
	in("pack/patterns.go", "fewPods")
	in("pack/patterns.go", "manyPods")
	in("pack/patterns.go", "manyBig")
	in("pack/patterns.go", "nearlyOne", "512", "700")
	in("pack/places.go", "hardly", "10", "100", "(x) * 10")
	in("pack/polish.go", "smallFleet")
	in("pack/polish.go", "touchWork")
	in("pack/price.go", "boundCuts")
	in("pack/price.go", "firstGroups")
	in("pack/price.go", "someGroups")
	in("pack/search.go", "fullness", "[...]uint64{1009}", "[...]uint64{970}", "[...]uint64{1009, 922}")
	in("pack/search.go", "ofFew", "[...]uint64{970, 922}", "[...]uint64{970, 922, 850, 700}")
	in("pack/search.go", "tightOfFew", "8", "16")
	in("pack/search.go", "forcedHalves", "2", "4")
	in("pack/solve.go", "searches", "1", "3")
	in("pack/solve.go", "closeGap")
	in("pack/solve.go", "tightness", "[...]uint{21, 21, 21, 21}", "[...]uint{16, 22, 19, 64}", "[...]uint{32, 22, 19, 64}")
	in("pack/solve.go", "fullFirst", "[...]uint{16, 16, 16}", "[...]uint{32, 21, 16}")
	in("pack/supply.go", "manyColumns")
	in("price/contents.go", "mostWhole")
	in("price/contents.go", "eachSteps")
	in("price/contents.go", "allSteps")
	in("price/contents.go", "slack")
	in("price/round.go", "ProofSteps")
	in("price/price.go", "defaultGroups")
	in("price/price.go", "maxLimits")
	in("price/steer.go", "hardly")
	in("price/steer.go", "worthy")
	in("price/steer.go", "more", "1.05", "1.2")
	in("price/worth.go", "BulkMilliCPU")
	in("launch/launcher.go", "rounds")
	in("launch/spare.go", "spareFactor")
	in("offer/scarce.go", "ample")
	in("assign/rearrange.go", "worthMoving", "300", "800")
	in("certify/certify.go", "smallGap")
	in("certify/certify.go", "fewUnpriced")
	in("certify/certify.go", "tight")
	in("certify/census.go", "fewLaunches")
	in("certify/exclusive.go", "mostExclusive")
	in("room/host.go", "wellFilled", "900", "990")
	in("timing/hold.go", "fullEnough", "900", "975")
	in("timing/hold.go", "TailWait")
	in("try.go", "gangTries")
	return all
}

// moveConstants are those that decide when nodes go to save money, and how the search for
// them goes.
func moveConstants() []constant {
	var all []constant
	for _, x := range []struct {
		file  string
		names []string
	}{
		{"moves/moves.go", []string{"sweepEvery", "mostDoublings", "sliceOfWork", "sliceEvery", "targetLasts", "changedPart", "mostOutdated", "blockedFor", "landsWithin", "restsFor", "mostRest", "suppositions"}},
		{"moves/state.go", []string{"stableFor", "growthLasts", "longestUnrest", "mostBetween"}},
		{"moves/horizon.go", []string{"levelPart", "mostLevels", "leastHorizon", "partTime", "noted", "depths"}},
		{"moves/target.go", []string{"leastPhased", "phasedPart"}},
		{"moves/breaker.go", []string{"undonePart", "firstPause", "longestPause", "forgivenAfter", "forgiven"}},
		{"moves/changed.go", []string{"largeFleet", "triedPart", "tryWork"}},
		{"moves/suppose.go", []string{"mostReplaced"}},
		{"memory/evicted.go", []string{"EvictionCooldown", "StaysFor", "UndoneWithin", "comesBackWithin"}},
		{"memory/landing.go", []string{"ClosedFor", "lateAfter"}},
		{"landing/landing.go", []string{"openAfter"}},
		{"landing/bind.go", []string{"bindingTakes"}},
		{"disrupt/going.go", []string{"lastLook", "declinedFor"}},
		{"consolidate/search.go", []string{"trialsPerNode", "moreTrials", "smallFleet", "smallFactor", "mostFailed"}},
		{"consolidate/trial.go", []string{"mostAway", "mostAwaySeldom", "mostEmptied", "mostBack", "seldom"}},
	} {
		for _, name := range x.names {
			all = append(all, constant{"internal/engine/" + x.file, name, []string{"(x) / 2", "(x) * 2"}})
		}
	}
	return all
}

// valueFor is the other value as Go has it.
func valueFor(other, today string) string {
	return strings.Replace(other, "(x)", "("+today+")", 1)
}

// String is the name as other packages would write it.
func (c constant) String() string {
	return path.Base(path.Dir(c.file)) + "." + c.name
}

var errNotThere = errors.New("the engine has no such constant any more: see constants() of internal/bench/cmd/constants")

// set returns the source with another value for the constant, and the value it had.
func (c constant) set(source []byte, other string) (changed []byte, before string, err error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, c.file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", fmt.Errorf("constant %s find: %w", c, err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || len(v.Names) != 1 || len(v.Values) != 1 || v.Names[0].Name != c.name {
				continue
			}
			from, to := files.Position(v.Values[0].Pos()).Offset, files.Position(v.Values[0].End()).Offset
			before = string(source[from:to])
			return slices.Concat(source[:from], []byte(valueFor(other, before)), source[to:]), before, nil
		}
	}
	return nil, "", fmt.Errorf("constant %s find: %w", c, errNotThere)
}
