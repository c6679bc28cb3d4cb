package archtest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// decisionsFolder has the notes, and decisionsIndex there lists them.
const decisionsFolder, decisionsIndex = "decisions", "decisions/README.md"

var (
	decisionName = regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	// superseded is the status of a note that another one stands in for.
	superseded = regexp.MustCompile(`^superseded by \[(\d{4})\]\((\d{4}-[a-z0-9-]+\.md)\)$`)
	// indexed is a line of the index that links a note.
	indexed = regexp.MustCompile(`^\| \[\d{4}\]\(([^)]*)\) \|`)
)

// decisionLabels begin the paragraphs of a note, in this order.
func decisionLabels() []string { return []string{"Context: ", "Decision: ", "Consequence: "} }

// decisions is what the folder has.
type decisions struct {
	notes map[string]string // by name
	lines []string          // of the index
}

// checkDecisions finds notes of decisions that have another form than the others, and what
// the index says differently from them or lacks.
func checkDecisions(t tree) (all []breach) {
	d := decisions{notes: map[string]string{}}
	for _, f := range t.files {
		switch {
		case f.path == decisionsIndex:
			d.lines = strings.Split(f.text, "\n")
		case path.Dir(f.path) == decisionsFolder:
			d.notes[path.Base(f.path)] = f.text
		}
	}
	numbers := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.notes)) {
		f := textFile{path.Join(decisionsFolder, name), d.notes[name]}
		if !decisionName.MatchString(name) {
			all = append(all, breach{f.path, 1, "is named otherwise than a note, as in 0001-words-of-its-title.md"})
			continue
		}
		if numbers[name[:4]] {
			all = append(all, breach{f.path, 1, "has a number that another note has: take the next one"})
		}
		numbers[name[:4]] = true
		all = append(all, d.check(f)...)
	}
	return sorted(append(all, d.checkIndex()...))
}

// check finds what is wrong with one note.
func (d decisions) check(f textFile) (all []breach) {
	name := path.Base(f.path)
	number, lines := name[:4], strings.Split(f.text, "\n")
	title, headed := strings.CutPrefix(lines[0], "# "+number+": ")
	if headed = headed && title != ""; !headed {
		all = append(all, breach{f.path, 1, fmt.Sprintf("begins otherwise than with its heading, as in # %s: Title", number)})
	}
	at := min(1, len(lines)-1) // where the status is
	for at < len(lines)-1 && lines[at] == "" {
		at++
	}
	status, stated := strings.CutPrefix(lines[at], "Status: ")
	by := superseded.FindStringSubmatch(status)
	switch {
	case !stated || status != "accepted" && len(by) == 0:
		stated = false
		all = append(all, breach{f.path, at + 1, "has no status below its heading: Status: accepted, or Status: superseded by [0002](0002-file.md)"})
	case len(by) > 0 && (d.notes[by[2]] == "" || by[2][:4] != by[1] || by[1] <= number):
		all = append(all, breach{f.path, at + 1, "is superseded by " + by[2] + ", which is no later note of this number"})
	}
	if headed && stated {
		all = append(all, d.checkListed(f, fmt.Sprintf("| [%s](%s) | %s | %s |", number, name, title, status))...)
	}
	return append(all, checkLabels(f, lines)...)
}

// checkListed finds a note that the index does not list by the line alone.
func (d decisions) checkListed(f textFile, line string) []breach {
	var found []string
	for _, x := range d.lines {
		if link := indexed.FindStringSubmatch(x); len(link) > 0 && link[1] == path.Base(f.path) {
			found = append(found, x)
		}
	}
	if slices.Equal(found, []string{line}) {
		return nil
	}
	return []breach{{f.path, 1, "is not listed once in " + decisionsIndex + ": want " + line}}
}

// checkLabels finds labels that the note lacks, has twice, or has in another order.
func checkLabels(f textFile, lines []string) (all []breach) {
	last := 0
	for _, label := range decisionLabels() {
		found := 0
		for i, line := range lines {
			text, has := strings.CutPrefix(line, label)
			if !has || strings.TrimSpace(text) == "" {
				continue
			}
			if found++; found > 1 || i < last {
				all = append(all, breach{f.path, i + 1, label + "stands twice, or in another order than context, decision, consequence"})
			}
			last = max(last, i)
		}
		if found == 0 {
			all = append(all, breach{f.path, 1, "has no paragraph that begins with " + strings.TrimSpace(label)})
		}
	}
	return all
}

// checkIndex finds lines of the index about notes that do not exist.
func (d decisions) checkIndex() (all []breach) {
	if len(d.notes) > 0 && d.lines == nil {
		return []breach{{decisionsIndex, 1, "is missing: it lists the notes"}}
	}
	for i, line := range d.lines {
		if link := indexed.FindStringSubmatch(line); len(link) > 0 && d.notes[link[1]] == "" {
			all = append(all, breach{decisionsIndex, i + 1, link[1] + " is listed and does not exist"})
		}
	}
	return all
}
