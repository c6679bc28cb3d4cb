package legacy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Source is a text with YAML documents.
type Source struct {
	Name  string // in messages; "" for none
	Text  string
	Found bool // in a folder, and nobody has named it: it may be what another program reads
}

// document is one object of a source.
type document struct {
	source string
	found  bool
	number int // counts from 1 within the source
	body   map[string]any
	live   bool       // in a cluster, and no manifest
	at     string     // its place in a list without a kind
	twice  *doubled   // nil if no key is there twice
	before []document // of a pool: those before it that have the same, word for word
	copies *copies    // the files that have the same after it
}

// doubled are the keys that a document has twice. A document may have several objects.
type doubled struct {
	subject
	keys string
	said bool
}

func (d document) text(key string) string {
	text, _ := d.body[key].(string)
	return text
}

// name is the object's name, with its namespace if it has one.
func (d document) name() string {
	meta, _ := d.body["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if space, _ := meta["namespace"].(string); space != "" {
		return space + "/" + name
	}
	return name
}

// subject names the object, or where it is if it does not say what it is.
func (d document) subject() subject {
	if kind := d.text("kind"); kind != "" && d.name() != "" {
		return subjectOf(d.source, kind, d.name())
	}
	where := fmt.Sprintf("document %d", d.number)
	if d.at != "" {
		where = "item " + d.at + " of " + where
	}
	return subject{source: d.source, object: where}
}

// documents parses a source. Lists become their items; empty documents are left out.
func documents(s Source, r *report) []document {
	var all []document
	line, number := 0, 0
	for _, text := range split(plainText(s.Text)) {
		if strings.TrimSpace(text) != "" {
			number++
		}
		d := document{source: s.Name, found: s.Found, number: number}
		body, twice, err := parse(text)
		if err != nil || twice != "" {
			// Once more with the lines before it, so that the text has the line of the file.
			_, twice, err = parse(strings.Repeat("\n", line) + text)
		}
		if err != nil {
			d.broken(text, line, err, r)
		}
		line += strings.Count(text, "\n")
		all = append(all, d.objects(body, twice, r)...)
	}
	return all
}

// objects are the objects of a document with this body.
func (d document) objects(body any, twice string, r *report) []document {
	switch b := body.(type) {
	case nil:
		return nil
	case map[string]any:
		d.body = b
		d.doubles(twice)
		return d.expand(r)
	case []any:
		objects, manifests := objectsIn(b, "")
		if !manifests {
			break
		}
		d.doubles(twice)
		var all []document
		for _, of := range objects {
			item := document{source: d.source, found: d.found, number: d.number, body: of.object, at: of.at, twice: d.twice}
			if of.object == nil {
				r.skip(item)
				continue
			}
			all = append(all, item.expand(r)...)
		}
		return all
	}
	r.skip(d)
	return nil
}

// doubles notes keys that are there twice, for the case that something of the document is taken.
func (d *document) doubles(keys string) {
	if keys != "" {
		d.twice = &doubled{subject: d.subject(), keys: keys}
	}
}

// ofKarpenter finds in a text that is no YAML what makes it a manifest of Karpenter.
var ofKarpenter = regexp.MustCompile(`(?m)^[^#\n]*(\bapiVersion["']?[ \t]*:[ \t]*["']?karpenter\.(sh|k8s\.aws)/|\bkind["']?[ \t]*:[ \t]*["']?(Provisioner|AWSNodeTemplate|EC2NodeClass)\b)`)

// topKind is the kind of an object in YAML.
var topKind = regexp.MustCompile(`(?m)^kind:[ \t]*["']?(\w+)`)

// ofAnother says whether a text has the kind of another project's object, such as a definition that
// names kinds of Karpenter.
func ofAnother(text string) bool {
	found := topKind.FindAllStringSubmatch(text, -1)
	return len(found) > 0 && !slices.ContainsFunc(found, func(m []string) bool {
		return strings.HasSuffix(m[1], "List") || slices.Contains(append(kinds(), "ConfigMap"), m[1])
	})
}

// broken reports a text that is no YAML, if it is a manifest of Karpenter.
func (d document) broken(text string, line int, err error, r *report) {
	if !ofKarpenter.MatchString(text) || ofAnother(text) {
		r.skip(d)
		return
	}
	what := "no YAML: " + plainError(err)
	for i, of := range strings.Split(text, "\n") {
		if strings.Contains(of, "{{") {
			what = fmt.Sprintf("no YAML, as line %d is a template of Helm: %s", line+i+1, strings.TrimSpace(of))
			break
		}
	}
	remedy := hint(text)
	switch at := noText(text); {
	case strings.HasSuffix(d.source, ".tf"):
		what, remedy = "no YAML, but Terraform configuration with a manifest in it", "copy the manifest into a file of its own, where its templates stay"
	case at > 0:
		what, remedy = fmt.Sprintf("no YAML, as line %d is not in UTF-8", line+at), "save the file as UTF-8"
	}
	r.took(d)
	if d.found && unrendered(text) {
		r.left = append(r.left, Problem{Source: d.source, Object: d.subject().object, What: what, Remedy: remedy})
		return
	}
	r.fail(d.subject(), "", what, remedy)
}

// directive is one of Terraform's templates. Other programs have %{ in their texts, too, as curl
// has in its formats.
var directive = regexp.MustCompile(`%\{~?\s*(for|if|else|endfor|endif)\b`)

// unrendered says whether another program makes the manifest of the text first.
func unrendered(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && (strings.Contains(line, "{{") || directive.MatchString(line)) {
			return true
		}
	}
	return false
}

// expand returns the items of a List, also of Lists in it, and the document itself otherwise.
func (d document) expand(r *report) []document {
	items, ok := d.body["items"].([]any)
	if !ok || !strings.HasSuffix(d.text("kind"), "List") {
		return []document{d}
	}
	var all []document
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			r.fail(d.subject(), fmt.Sprintf("items[%d]", i), "no object, but "+describe(item), "write a Kubernetes manifest with apiVersion, kind, metadata and spec")
			continue
		}
		if kind := strings.TrimSuffix(d.text("kind"), "List"); kind != "" && object["kind"] == nil {
			object["apiVersion"], object["kind"] = d.body["apiVersion"], kind
		}
		all = append(all, document{source: d.source, found: d.found, number: d.number, body: object, at: d.at, twice: d.twice}.expand(r)...)
	}
	return all
}

// hint says why a text that another program should have rendered is no YAML.
func hint(text string) string {
	switch {
	case strings.Contains(text, "{{"):
		return "render it first with helm template"
	case strings.Contains(text, "%{"):
		return "render it first with the function templatefile of Terraform"
	case regexp.MustCompile(`\[\s*\$\{`).MatchString(text): // in quotes it would be one member
		return `write a list that a template makes as ${jsonencode(["a", "b"])}, without brackets around it`
	case strings.Contains(text, "${"):
		return `put a value with a template in quotes, as in '${upper("a")}'`
	case regexp.MustCompile(`(?m)^ *\t`).MatchString(text):
		return "indent with spaces, as YAML takes no tabs"
	}
	return "correct the indentation and the quotes there"
}

// describe says what a value is.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case bool:
		return fmt.Sprintf("the truth value %t", v)
	case json.Number:
		return "the number " + v.String()
	case string:
		return fmt.Sprintf("the text %q", v)
	case []any:
		return "a list"
	}
	return "a map"
}

// templated says whether a text has a template, whose value is not known.
func templated(text string) bool { return strings.Contains(text, "${") }
