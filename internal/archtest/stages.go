package archtest

import (
	"slices"
	"strings"
)

// engineRoot is the folder of the decision core.
const engineRoot = "internal/engine"

// stages lists the packages of the decision core, from Step down to what knows of
// nothing else. A package imports only those that come after it.
func stages() []string {
	return []string{
		"record", ".", "moves", "derived", "explain", "certify", "disrupt", "budget", "consolidate", "open", "landing", "static", "launch", "assign", // what a Step does
		"room", "offer", "demand", "timing", // what it works on
		"bound", "pack", "price", "knapsack", // the solver
		"topology", "fit", "random", // the filters of one node, and seeded numbers
		"memory", "view", "journal", // what all stages are given
	}
}

// stageOf returns the place of the folder in the order of stages, -1 for one
// outside the engine or without a place.
func stageOf(dir string) int {
	if dir == engineRoot {
		return slices.Index(stages(), ".")
	}
	name, inside := strings.CutPrefix(dir, engineRoot+"/")
	if !inside {
		return -1
	}
	return slices.Index(stages(), name)
}

// checkStages finds imports within the engine that point back up. Tests may judge a
// stage by the whole Step.
func checkStages(t tree) []breach {
	return downwards(t, engineRoot, stageOf, "%s has no place among the stages: see stages() of internal/archtest", "%s must not import %s, a later stage")
}

// downwards finds imports within the root that do not point further down, and packages without a
// place, where placeOf is -1. Both texts are given the importing folder, the second also the
// imported one. Imports of tests are theirs to choose.
func downwards(t tree, root string, placeOf func(dir string) int, homeless, upward string) []breach {
	var all []breach
	for _, f := range t.gos {
		if !under(f.dir, root) {
			continue
		}
		from := placeOf(f.dir)
		if from < 0 {
			all = append(all, f.at(f.syntax.Package, homeless, f.dir))
			continue
		}
		if f.test {
			continue
		}
		for imported, pos := range f.imports() {
			imported = strings.TrimPrefix(imported, module+"/")
			if to := placeOf(imported); to >= 0 && to <= from {
				all = append(all, f.at(pos, upward, f.dir, imported))
			}
		}
	}
	return sorted(all)
}
