package legacy

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Manifest is one object of the output.
type Manifest struct {
	Kind, Name string
	YAML       string
}

// Manifests gives the objects in YAML: classes, pools, NodeClaims, what was v1 already,
// and the environment of the controller.
func (r Result) Manifests() ([]Manifest, error) {
	var all []Manifest
	add := func(kind, name, source string, copies *copies, object any) error {
		data, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("write %s %q: %w", kind, name, err)
		}
		text, err := withWhole(data)
		if err != nil {
			return fmt.Errorf("write %s %q: %w", kind, name, err)
		}
		all = append(all, Manifest{Kind: kind, Name: name, YAML: r.origin(kind, name, source, copies.others()) + text})
		return nil
	}
	for _, c := range r.classes {
		if c.current != nil {
			continue
		}
		if err := add(c.out.Kind, c.out.Metadata.Name, c.source, c.copies, c.out); err != nil {
			return nil, err
		}
	}
	for _, p := range r.pools {
		if p.current {
			continue
		}
		if err := add(p.out.Kind, p.out.Metadata.Name, p.source, p.copies, p.out); err != nil {
			return nil, err
		}
	}
	for _, n := range r.claims {
		if err := add(n.out.Kind, n.out.Metadata.Name, n.source, n.copies, n.out); err != nil {
			return nil, err
		}
	}
	for _, d := range r.current {
		if err := add(d.text("kind"), d.name(), d.source, d.copies, d.body); err != nil {
			return nil, err
		}
	}
	if r.config != nil {
		if err := add(r.config.Kind, r.config.Metadata.Name, "", nil, r.config); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// YAML gives all objects as one text.
func (r Result) YAML() (string, error) {
	all, err := r.Manifests()
	if err != nil {
		return "", err
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, m.YAML)
	}
	return strings.Join(texts, "---\n"), nil
}
