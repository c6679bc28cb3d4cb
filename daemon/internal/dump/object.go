package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// raw is an object that is not decoded yet.
type raw struct {
	source string
	number int
	of     Kind // what its List is of; the object may say another
	text   []byte
	yaml   bool
	inner  bool // it is from a List that was an object itself
}

// json is the object as JSON.
func (r raw) json() ([]byte, error) {
	if !r.yaml {
		return r.text, nil
	}
	text, err := yaml.YAMLToJSONStrict(r.text)
	if err != nil {
		return nil, fmt.Errorf("it is no YAML: %w", err)
	}
	return text, nil
}

// decode reads the object; nil where no decision reads its kind.
func (r raw) decode() (Kind, metav1.Object, error) {
	text, err := r.json()
	if err != nil {
		return Kind{}, nil, err
	}
	if len(text) == 0 || text[0] != '{' {
		return Kind{}, nil, errors.New("it is no object")
	}
	kind := kindOf(text, r.of)
	if kind.Kind == "" {
		return kind, nil, errors.New("it has no kind")
	}
	object := kind.empty()
	if object == nil {
		return kind, nil, nil
	}
	if err := json.Unmarshal(text, object); err != nil {
		return kind, nil, fmt.Errorf("%s %s cannot be read: %w", kind.Kind, nameOf(text), err)
	}
	if object.GetName() == "" {
		return kind, nil, fmt.Errorf("the %s has no name", kind.Kind)
	}
	return kind, object, nil
}

// nameOf is the namespace/name, or the name, of an object that cannot be read, as far as it says
// so.
func nameOf(text []byte) string {
	var named struct {
		Metadata struct{ Namespace, Name string }
	}
	_ = json.Unmarshal(text, &named) //nolint:errchkjson // what can be read is set
	switch m := named.Metadata; {
	case m.Name == "":
		return "without a name"
	case m.Namespace == "":
		return m.Name
	default:
		return m.Namespace + "/" + m.Name
	}
}

// kindOf reads the kind of the object; without one it is what its List is of. Objects of such a
// List say theirs in the first field, if at all: so the API server writes them.
func kindOf(text []byte, of Kind) Kind {
	c := jsonCutter{splitter: &splitter{}, from: bufio.NewReaderSize(bytes.NewReader(text), 512)}
	var kind Kind
	_ = c.fields(func(field string) error { // what is wrong in the text says whoever decodes it
		value, err := c.raw()
		if err == nil && !kind.set(field, value) && of.Kind != "" || kind.Kind != "" && kind.APIVersion != "" {
			return errEnough
		}
		return err
	})
	if kind.Kind == "" {
		return of
	}
	return kind
}

// set takes over what the field says of the kind, if it does.
func (k *Kind) set(field string, value []byte) bool {
	switch field {
	case "kind":
		_ = json.Unmarshal(value, &k.Kind) //nolint:errchkjson // else it has none
	case "apiVersion":
		_ = json.Unmarshal(value, &k.APIVersion) //nolint:errchkjson // as above
	default:
		return false
	}
	return true
}
