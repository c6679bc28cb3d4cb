package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longestHelp is how many characters a line of `make help` has at most, so that none is broken
// in two in the window of a terminal.
const longestHelp = 120

var (
	targetOf    = regexp.MustCompile(`(?m)^([a-z-]+):[^=\n]*?(?:## (.*))?$`)
	parameterOf = regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)
)

// wrongTargets returns what is wrong with the targets that `make help` lists: one line each,
// and parameters that the contributors' page explains.
func wrongTargets(makefile, contributing string) (wrong []string) {
	grouped := false
	for line := range strings.Lines(makefile) {
		grouped = grouped || strings.HasPrefix(line, "##@ ")
		m := targetOf.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if len(m) == 0 || m[2] == "" {
			continue
		}
		name, says := m[1], m[2]
		if !grouped && name != "help" {
			wrong = append(wrong, name+" is in no group")
		}
		if len(name) > 15 || 18+len(says) > longestHelp {
			wrong = append(wrong, name+" has a long line")
		}
		if i := strings.LastIndex(says, "["); i >= 0 {
			for _, parameter := range parameterOf.FindAllString(says[i:], -1) {
				if !strings.Contains(contributing, "`"+parameter+"=") && !strings.Contains(contributing, " "+parameter+"=") {
					wrong = append(wrong, name+": CONTRIBUTING.md does not explain "+parameter)
				}
			}
		}
	}
	return wrong
}

func TestTargets_EachHasAGroupAShortLineAndParametersThatAreExplained(t *testing.T) {
	makefile := atRoot(t, "GNUmakefile")
	if listed := strings.Count(makefile, ": need ## "); listed < 20 {
		t.Errorf("%d targets are listed", listed)
	}
	for _, text := range wrongTargets(makefile, atRoot(t, "CONTRIBUTING.md")) {
		t.Error(text)
	}
}

func TestWrongTargets_FindsEachFault(t *testing.T) {
	makefile := "early: ## x\nhelp: ## list\n##@ group\nfine: need ## x [RUN SHARE]\nhidden: need\nunknown: ## x [OTHER]\n" +
		"much: ## " + strings.Repeat("x", longestHelp) + "\n"
	want := []string{"early is in no group", "unknown: CONTRIBUTING.md does not explain OTHER", "much has a long line"}
	if got := wrongTargets(makefile, "`RUN=x`, or `make test SHARE=all`; OTHER is nothing"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
