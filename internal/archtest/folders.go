package archtest

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// foldersHead begins the section of ARCHITECTURE.md with the table of folders.
const foldersHead = "## Where things are"

// foldersOfPackages lists the folders whose packages have a row each in that table. A row is
// also about what is below its folder, but not across these: a row of internal/engine is not
// about its stages. A folder comes before the one that it is in.
func foldersOfPackages() []string {
	return []string{"internal/engine", "internal", "daemon/internal", "provider/internal"}
}

// checkFolders finds packages that no row of the table of folders is about.
func checkFolders(t tree) (all []breach) {
	rows, at := readFolders(t)
	lacks := map[string]bool{}
	for _, f := range t.gos {
		if f.test {
			continue
		}
		for _, top := range foldersOfPackages() {
			if !strings.HasPrefix(f.dir, top+"/") {
				continue
			}
			dir, said := f.dir, false
			for ; dir != top; dir = path.Dir(dir) {
				said = said || rows[dir]
			}
			if !said {
				lacks[f.dir] = true
			}
			break
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(lacks)) {
		all = append(all, at.with("no row of the table is about %s: say what the package owns", dir))
	}
	return all
}

// readFolders returns the folders in the first column of the table, and where the table is.
func readFolders(t tree) (rows map[string]bool, at breach) {
	rows, at = map[string]bool{}, breach{pathsFile, 1, ""}
	number, inside := 0, false
	for _, f := range t.files {
		if f.path != pathsFile {
			continue
		}
		for line := range strings.Lines(f.text) {
			number++
			if strings.HasPrefix(line, "## ") {
				if inside = strings.TrimSpace(line) == foldersHead; inside {
					at.line = number
				}
			}
			if cells := strings.Split(line, "|"); inside && len(cells) > 2 {
				for _, x := range quoted.FindAllStringSubmatch(cells[1], -1) {
					for _, name := range spelledOut(x[1]) {
						rows[name] = true
					}
				}
			}
		}
	}
	return rows, at
}
