package archtest

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The section of ARCHITECTURE.md that leads a reader through the code, and its limit: who has
// to keep more hops in mind loses the way.
const (
	pathsFile = "ARCHITECTURE.md"
	pathsHead = "## Three paths through the code"
	pathCount = 3
	mostHops  = 12
)

// unseenCalls lists how a hop ends whose function does not call that of the next hop. Whoever
// needs another word for it first asks whether the path is as straight as it can be.
func unseenCalls() []string {
	return []string{"through a channel", "through a function value", "through Terraform", "through the API server"}
}

// A hop is an item of a numbered list. A detail is an item below it, in the same form, of a
// function that the hop uses beside the path.
var (
	hopForm   = regexp.MustCompile("^(?:(\\d+)\\.| +-) \\[`([^`]+)`\\]\\(([^)]+)\\) `(?:(\\w+)\\.)?(\\w+)`: (.+)$")
	hopStart  = regexp.MustCompile(`^(\d+\.| +- \[)`)
	backToHop = regexp.MustCompile(`^back to hop (\d+)$`)
	testToRun = regexp.MustCompile("`go test (?:[^`]* )?\\./(\\S+) -run '?([^'`]+)")
)

// hop is a function of a path.
type hop struct {
	at     breach // where it stands; the text is to be added
	label  string // the file as a reader sees it
	file   string // where the link leads
	typ    string // of which the function is a method; empty for none
	name   string
	from   int    // the number of the hop whose function calls the next; 0 where that is not known
	unseen bool   // nothing in the syntax shows how the next comes
	ending string // the words after the dash; empty for none
}

func (h hop) String() string {
	if h.typ != "" {
		return h.typ + "." + h.name
	}
	return h.name
}

// codePath is a path of the section.
type codePath struct {
	head    breach
	title   string
	hops    []hop
	details []hop
	tests   [][2]string // folders, and how the names begin
}

// checkPaths finds hops that are not as the code is: a file or a function that is not there,
// and a function that does not call that of the next hop.
func checkPaths(t tree) []breach {
	paths, all := readPaths(t)
	known := functionsOf(t)
	for _, p := range paths {
		if len(p.hops) > mostHops {
			all = append(all, p.head.with("the path %q has %d hops, more than %d", p.title, len(p.hops), mostHops))
		}
		if len(p.hops) < 2 {
			all = append(all, p.head.with("the path %q leads nowhere: it has %d hops", p.title, len(p.hops)))
		}
		if len(p.tests) == 0 {
			all = append(all, p.head.with("the path names no test that shows it: say `go test ./folder -run TestName`"))
		}
		for _, x := range p.tests {
			if !hasTest(t, x[0], x[1]) {
				all = append(all, p.head.with("%s has no test whose name begins with %s", x[0], x[1]))
			}
		}
		for _, h := range slices.Concat(p.hops, p.details) {
			if fault := known.lacks(t, h); fault != "" {
				all = append(all, h.at.with("%s", fault))
			}
		}
		all = append(all, known.broken(p.hops)...)
	}
	return sorted(all)
}

// readPaths reads the section. It returns also what is not in the form of a path.
func readPaths(t tree) (paths []*codePath, faults []breach) {
	number, inside, found := 0, false, breach{pathsFile, 1, ""}
	var p *codePath
	for _, f := range t.files {
		if f.path != pathsFile {
			continue
		}
		for line := range strings.Lines(f.text) {
			number++
			line = strings.TrimRight(line, "\n")
			at := breach{pathsFile, number, ""}
			switch {
			case strings.HasPrefix(line, "## "):
				if inside = line == pathsHead; inside {
					found = at
				}
			case !inside:
			case strings.HasPrefix(line, "### "):
				p = &codePath{head: at, title: strings.TrimPrefix(line, "### ")}
				paths = append(paths, p)
			case p == nil:
			default:
				if fault := p.read(at, line); fault != "" {
					faults = append(faults, at.with("%s", fault))
				}
			}
		}
	}
	if len(paths) != pathCount {
		faults = append(faults, found.with("%d paths are under %q, want %d", len(paths), pathsHead, pathCount))
	}
	return paths, faults
}

// read reads a line, and returns what is wrong with its form.
func (p *codePath) read(at breach, line string) (fault string) {
	for _, x := range testToRun.FindAllStringSubmatch(line, -1) {
		for name := range strings.SplitSeq(x[2], "|") {
			name, _, _ = strings.Cut(name, "/")
			p.tests = append(p.tests, [2]string{x[1], strings.Trim(name, "^$")})
		}
	}
	part := hopForm.FindStringSubmatch(line)
	switch {
	case part == nil && hopStart.MatchString(line):
		return "a hop is written as: 1. [`file`](file) `Type.Func`: what it does and hands on; a detail has a dash in place of the number"
	case part == nil:
		return ""
	}
	h := hop{at: at, label: part[2], file: part[3], typ: part[4], name: part[5], from: len(p.hops) + 1}
	if part[1] == "" {
		p.details = append(p.details, h)
		return ""
	}
	if i := strings.LastIndex(part[6], " — "); i >= 0 {
		h.ending = strings.TrimSuffix(part[6][i+len(" — "):], ".")
	}
	back := backToHop.FindStringSubmatch(h.ending)
	switch {
	case back != nil:
		h.from, _ = strconv.Atoi(back[1]) // the form has digits alone
		if h.from < 1 || h.from > len(p.hops) {
			fault, h.from = "the hop leads back to one that is not before it", 0
		}
	case slices.Contains(unseenCalls(), h.ending):
		h.unseen = true
	case h.ending != "":
		fault, h.from = "a hop ends with \"back to hop N\" or with one of: "+strings.Join(unseenCalls(), ", "), 0
	}
	p.hops = append(p.hops, h)
	if n := strconv.Itoa(len(p.hops)); part[1] != n {
		fault = "the hop has the number " + part[1] + ", want " + n
	}
	return fault
}

// find returns the function of the hop.
func (all functions) find(h hop) (function, bool) {
	in := all.in[path.Dir(h.file)]
	i := slices.IndexFunc(in, func(f function) bool {
		return f.file.path == h.file && f.decl.Name.Name == h.name && receiver(f.decl) == h.typ
	})
	if i < 0 {
		return function{}, false
	}
	return in[i], true
}

// lacks says what of the hop is not there.
func (all functions) lacks(t tree, h hop) string {
	switch _, there := all.find(h); {
	case h.label != h.file && h.label != path.Base(h.file):
		return "the link of " + h.label + " leads to " + h.file
	case !slices.ContainsFunc(t.gos, func(f goFile) bool { return f.path == h.file }):
		return h.file + " does not exist"
	case !there:
		return h.file + " does not declare " + h.String()
	}
	return ""
}

// broken finds hops that the function before does not call.
func (all functions) broken(hops []hop) (out []breach) {
	for i := range hops[:max(0, len(hops)-1)] {
		h, next := hops[i], hops[i+1]
		if h.from == 0 {
			continue // its form is at fault, which is said already
		}
		caller, known := all.find(hops[h.from-1])
		callee, there := all.find(next)
		if !known || !there {
			continue // so is that
		}
		switch calls := all.calls(caller, callee); {
		case !calls && !h.unseen:
			out = append(out, next.at.with("%s does not call %s, nor does what it calls of its package", hops[h.from-1], next))
		case calls && h.unseen:
			out = append(out, h.at.with("%s calls %s: leave out %q", h, next, h.ending))
		}
	}
	if n := len(hops); n > 0 && hops[n-1].ending != "" {
		out = append(out, hops[n-1].at.with("the last hop leads to none: leave out %q", hops[n-1].ending))
	}
	return out
}

// hasTest says whether the folder has a test whose name begins so.
func hasTest(t tree, dir, begins string) bool {
	return slices.ContainsFunc(t.gos, func(f goFile) bool {
		return f.test && f.dir == dir && slices.ContainsFunc(f.syntax.Decls, func(d ast.Decl) bool {
			fn, is := d.(*ast.FuncDecl)
			return is && fn.Recv == nil && strings.HasPrefix(begins, "Test") && strings.HasPrefix(fn.Name.Name, begins)
		})
	})
}
