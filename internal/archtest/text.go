package archtest

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// textRule is a pattern that must not appear in files of the given extensions
// (none: in any text file).
type textRule struct {
	pattern    *regexp.Regexp
	extensions []string
	text       string
}

// textRules are written so that they do not match their own source.
func textRules() []textRule {
	return []textRule{
		{
			pattern: regexp.MustCompile(`(proxy|sum)\.golang\.org|pypi\.org|pythonhosted\.org|registry\.npmjs|deb\.debian\.org`),
			text:    "names a package registry's host: where packages come from is the user's setting",
		},
		{
			pattern: regexp.MustCompile(`/roo[t]/|/wor[k]/|/tm[p]/brief|/hom[e]/[a-z]+/|/User[s]/[a-z]+/`),
			text:    "holds a path of one machine",
		},
		{
			pattern:    regexp.MustCompile(`\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b`),
			extensions: []string{".go", ".md", ".tf", ".sh", ".py", ".yml", ".yaml", ""},
			text:       "is unfinished by its own words: finish it or say in CHANGELOG.md that it is not there",
		},
		{
			pattern:    regexp.MustCompile(`//\s*nolin[t]\b|#\s*nose[c]\b|//\s*lin[t]:`),
			extensions: []string{".go"},
			text:       "suppresses a check without naming linter and reason, as in nolint:gosec // reason",
		},
	}
}

// properSuppression is the one accepted form; it is cut out before the rules look.
var properSuppression = regexp.MustCompile(`//nolin[t]:[a-z0-9,]+ // \S.{5,}`)

// checkTexts finds words that do not belong into the repository.
func checkTexts(t tree) []breach {
	var all []breach
	rules := textRules()
	for _, f := range t.files {
		if base := path.Base(f.path); base == "go.sum" || strings.Contains(f.text[:min(len(f.text), 8000)], "\x00") {
			continue // checksums, and files that are not text
		}
		number := 0
		for line := range strings.Lines(f.text) {
			number++
			line = properSuppression.ReplaceAllString(line, "")
			for _, r := range rules {
				if len(r.extensions) > 0 && !slices.Contains(r.extensions, path.Ext(f.path)) {
					continue
				}
				if found := r.pattern.FindString(line); found != "" {
					all = append(all, breach{f.path, number, found + " " + r.text})
				}
			}
		}
	}
	return sorted(all)
}
