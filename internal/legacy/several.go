package legacy

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// Folders have the objects of several clusters, or examples of which each is whole by itself. Then
// objects of one kind have one name. A cluster has one of them, so that nobody can say which one
// is meant: all are written, each with what its own file or folder has.

// copies are the files that have an object word for word, beside its own.
type copies struct{ sources []string }

// repeatedIn notes that a file has the document again.
func (d document) repeatedIn(source string) {
	if source != d.source && !slices.Contains(d.copies.sources, source) {
		d.copies.sources = append(d.copies.sources, source)
	}
}

// others are the files beside its own.
func (o *copies) others() []string {
	if o == nil {
		return nil
	}
	return o.sources
}

// repeats says whether a document is there before, word for word, so that it counts once. A pool of
// another file may stand for another class, which says whoever reads it.
func (d *document) repeats(all []document) (again bool) {
	d.copies = &copies{}
	d.before = slices.DeleteFunc(slices.Clone(all), func(other document) bool { return !reflect.DeepEqual(other.body, d.body) })
	switch {
	case len(d.before) == 0:
	case d.refersTo() == "":
		d.before[0].repeatedIn(d.source)
		again = true
	default:
		again = slices.ContainsFunc(d.before, func(other document) bool { return other.source == d.source })
	}
	return again
}

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

// placed is an object under conversion, with the files that have it.
type placed interface{ in() (subject, []string) }

// rival is the first of the objects with the name of s: of its own file, if there is one. at is
// where it is then. false if there is none at all.
func rival[T placed](s subject, all []T) (found T, at subject, ok bool) {
	for _, other := range all {
		of, copies := other.in()
		switch {
		case of.source == s.source || slices.Contains(copies, s.source):
			of.source = s.source
			return other, of, true
		case !ok:
			found, at, ok = other, of, true
		}
	}
	return found, at, ok
}

// standsAgain notes a pool that another file has for the same class; a third one of the name must
// not stand beside it.
func (c *converter) standsAgain(d, first document) {
	first.repeatedIn(d.source)
	for _, p := range c.pools {
		if p.copies != first.copies {
			continue
		}
		others := slices.DeleteFunc(c.poolsNamed(p.out.Metadata.Name), func(other *pool) bool { return other == p })
		if _, at, is := rival(d.subject(), others); is && at.source == d.source {
			c.sameName(d.subject(), at)
		}
	}
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

// classFor is the class that a pool of a file refers to by name: of several the one that is nearest
// to it.
func (c *converter) classFor(source, name string) *class { return nearest(source, c.classes[name]) }

// nearest is the object of which a file is the fewest steps from this one; the zero value if there
// is none.
func nearest[T placed](source string, all []T) (best T) {
	least := 0
	for i, one := range all {
		of, copies := one.in()
		away := steps(source, of.source)
		for _, other := range copies {
			away = min(away, steps(source, other))
		}
		if i == 0 || away < least {
			best, least = one, away
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

// origin is a comment that names the files of an object, where another file has one of its name.
func (r Result) origin(kind, name, source string, copies []string) string {
	if source == "" || !r.shared[shareName(kind, name[strings.LastIndex(name, "/")+1:])] {
		return ""
	}
	all := append([]string{source}, copies...)
	for i := range all {
		all[i] = strings.Join(strings.Fields(all[i]), " ")
	}
	return fmt.Sprintf("# From %s.\n", strings.Join(all, ", "))
}

// SharedNames counts the names of which there are several objects.
func (r Result) SharedNames() int { return len(r.shared) }
