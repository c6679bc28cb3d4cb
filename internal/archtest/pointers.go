package archtest

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// pointerFiles lead their readers to files and folders: a name in backticks that looks like one
// is there.
func pointerFiles() []string { return []string{"CONTRIBUTING.md", "ARCHITECTURE.md"} }

// absentFiles lists what they name although git does not have it.
func absentFiles() []string {
	return []string{
		"internal/bench/testdata/peer.json", // the figures of one machine, which git ignores
		"karpenter.yaml",                    // made by a release
	}
}

var (
	quoted      = regexp.MustCompile("`([^`]+)`")
	alternates  = regexp.MustCompile(`^(.*)\{([^{}]*)\}(.*)$`)
	placeholder = regexp.MustCompile(`<[a-z]+>`)
	pathForm    = regexp.MustCompile(`^[\w.*-]+(/[\w.*-]+)*$`)
	fileForm    = regexp.MustCompile(`\.(go|md|txtar|tf|tmpl|txt|sh|ya?ml|json)$`)
)

// checkPointers finds names of files and folders that do not exist. One whose first folder is
// at the top of the checkout is a whole path. Of others the end of a path is enough, as in
// `stages.go` or `engine/launch`, if they name a file or begin with the name of a folder.
func checkPointers(t tree) (all []breach) {
	k := knownPaths(t)
	for _, f := range t.files {
		if !slices.Contains(pointerFiles(), f.path) {
			continue
		}
		number, fenced := 0, false
		for line := range strings.Lines(f.text) {
			number++
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			for _, x := range quoted.FindAllStringSubmatch(line, -1) {
				for _, name := range spelledOut(x[1]) {
					if !k.leads(name) {
						all = append(all, breach{f.path, number, name + " does not exist"})
					}
				}
			}
		}
	}
	return sorted(all)
}

// paths is the files and the folders of the checkout.
type paths struct {
	all     []string
	folders map[string]bool // names of folders, without those above
}

func knownPaths(t tree) paths {
	k := paths{folders: map[string]bool{}}
	seen := map[string]bool{}
	for _, f := range t.files {
		k.all = append(k.all, f.path)
		for dir := path.Dir(f.path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir], k.folders[path.Base(dir)] = true, true
			k.all = append(k.all, dir)
		}
	}
	return k
}

// leads says whether the name is that of a file or a folder, or does not look like one.
func (k paths) leads(name string) bool {
	first, _, nested := strings.Cut(name, "/")
	switch {
	case !pathForm.MatchString(name) || slices.Contains(absentFiles(), name):
		return true
	case nested && slices.Contains(k.all, first):
		return slices.ContainsFunc(k.all, func(p string) bool { return alike(name, p) })
	case fileForm.MatchString(name) || nested && k.folders[first]:
		depth := strings.Count(name, "/")
		return slices.ContainsFunc(k.all, func(p string) bool {
			parts := strings.Split(p, "/")
			return len(parts) > depth && alike(name, strings.Join(parts[len(parts)-1-depth:], "/"))
		})
	}
	return true
}

// alike says whether the path is as the name has it, in which * stands for anything.
func alike(name, p string) bool {
	is, err := path.Match(name, p)
	return is && err == nil
}

// spelledOut returns the paths that a text like a/{b,c}/d_<name>.go stands for.
func spelledOut(text string) (out []string) {
	text = strings.TrimSuffix(placeholder.ReplaceAllString(text, "*"), "/")
	x := alternates.FindStringSubmatch(text)
	if x == nil {
		return []string{text}
	}
	for part := range strings.SplitSeq(x[2], ",") {
		if part != "..." {
			out = append(out, spelledOut(x[1]+part+x[3])...)
		}
	}
	return out
}
