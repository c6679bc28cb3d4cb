package legacy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// Folders have the objects of several clusters, or examples of which each is whole by itself. Then
// objects of one kind have one name. A cluster has one of them, so that nobody can say which one
// is meant: all are written, each with what its own file or folder has.

// severalFiles notes that a file has an object of the same kind and name as another file. It says
// no of two in one file, which are a mistake, and of two kinds that become one, as a cluster may
// have both.
func (c *converter) severalFiles(s, other subject, kind, name string) bool {
	ofOne, _, _ := strings.Cut(s.object, " ")
	ofOther, _, _ := strings.Cut(other.object, " ")
	if s.source == other.source || ofOne != ofOther {
		return false
	}
	c.shared[shareName(kind, name)] = true
	p := Problem{Source: s.source, Object: s.object, Field: "metadata.name", What: other.where() + " has the same name, and a cluster has one of them", Remedy: "convert the objects of each cluster by themselves, or remove one of the two"}
	if !slices.Contains(c.twice, p) { // an inline provider is a class and a pool
		c.twice = append(c.twice, p)
	}
	return true
}

// rival is the first of the objects with the name of s: of its own file, if there is one; nil if
// there is none at all.
func rival[T any](s subject, all []*T, source func(*T) string) *T {
	if len(all) == 0 {
		return nil
	}
	return all[max(0, slices.IndexFunc(all, func(other *T) bool { return source(other) == s.source }))]
}

// shareName is a key of shared.
func shareName(kind, name string) string { return kind + "/" + name }

// sameName reports two objects of v1 with one name in one file.
func (c *converter) sameName(s, other subject) {
	c.fail(s, "metadata.name", other.where()+" has the same name", "convert the objects of each cluster by themselves, or rename one of the two")
}

// orApart is a remedy for objects of two files, of which one may have come in place of the other.
func orApart(s, other subject) string {
	if s.source == other.source {
		return ""
	}
	return ", or convert the two files by themselves"
}

// classFor is the class that a pool refers to by name: of several the one that is nearest to it.
func (c *converter) classFor(s subject, name string) *class {
	var best *class
	for _, cl := range c.classes[name] {
		if best == nil || steps(s.source, cl.source) < steps(s.source, best.source) {
			best = cl
		}
	}
	return best
}

// refersTo is the name of the class that a pool refers to; "" for other objects.
func (d document) refersTo() string {
	path := map[string][]string{wire.KindProvisioner: {"spec", "providerRef", "name"}, wire.KindNodePool: {"spec", "template", "spec", "nodeClassRef", "name"}}[d.text("kind")]
	var value any = d.body
	for _, key := range path {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	name, _ := value.(string)
	return name
}

// steps says how many steps it is from one file to another, through folders.
func steps(a, b string) int {
	if a == b {
		return -1
	}
	one, other := strings.Split(filepath.Dir(a), string(filepath.Separator)), strings.Split(filepath.Dir(b), string(filepath.Separator))
	same := 0
	for same < min(len(one), len(other)) && one[same] == other[same] {
		same++
	}
	return len(one) + len(other) - 2*same
}

// origin is a comment that names the file of an object, where another file has one of its name.
func (r Result) origin(kind, name, source string) string {
	if source == "" || !r.shared[shareName(kind, name[strings.LastIndex(name, "/")+1:])] {
		return ""
	}
	return fmt.Sprintf("# From %s.\n", strings.Join(strings.Fields(source), " "))
}

// SharedNames counts the names of which there are several objects.
func (r Result) SharedNames() int { return len(r.shared) }
