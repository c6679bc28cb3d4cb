package values

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// near is the distance up to which a name that does not exist is taken for a slip.
const near = 3

// Read returns the defaults with the values of YAML documents merged over them, the last on top.
// An error has one line for each field that is wrong.
func Read(documents ...[]byte) (Values, error) {
	merged, err := decode(mustJSON(Default()))
	if err != nil {
		return Values{}, err
	}
	all := map[string]any{}
	for _, document := range documents {
		text, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return Values{}, fmt.Errorf("values parse: %w", err)
		}
		given, err := decode(text)
		if err != nil {
			return Values{}, err
		}
		if err := check(given, false); err != nil {
			return Values{}, err
		}
		merge(all, given, func(map[string]any, string) bool { return false })
	}
	merge(merged, all, func(defaults map[string]any, key string) bool {
		_, there := defaults[key]
		return there
	})
	if err := check(merged, true); err != nil {
		return Values{}, err
	}
	var v Values
	if err := json.Unmarshal(mustJSON(merged), &v); err != nil {
		return Values{}, fmt.Errorf("values read: %w", err)
	}
	return v, nil
}

// check returns an error with a line for each field that is wrong, in their order. merged says that
// the values are those over the defaults: a null that is left there takes nothing away.
func check(given map[string]any, merged bool) error {
	root := Describe()
	faults := checker{root, merged}.check(root, given, "")
	slices.SortFunc(faults, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// decode reads an object of JSON, and nothing as an empty one.
func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("values parse: %w", err)
	}
	switch v := out.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, errors.New("values parse: the document is no map of fields, such as settings: {clusterName: prod}")
}

// merge puts the given values over others, as Helm does: maps by key, everything else as a whole.
// removes says whether null takes a key away; else null stays, as a value over that of an earlier file.
func merge(onto, given map[string]any, removes func(onto map[string]any, key string) bool) {
	for key, value := range given {
		below, isMap := value.(map[string]any)
		former, wasMap := onto[key].(map[string]any)
		switch {
		case value == nil && removes(onto, key):
			delete(onto, key)
		case isMap && wasMap:
			merge(former, below, removes)
		default:
			onto[key] = value
		}
	}
}

// checker compares values with the description of all of them.
type checker struct {
	root   Field
	merged bool
}

// check returns what is wrong with a value of the field. at is where the value is.
func (c checker) check(f Field, value any, at string) []error {
	wrong := func(format string, args ...any) []error {
		return []error{fmt.Errorf(cmp.Or(at, "the document")+": "+format, args...)}
	}
	if value == nil {
		if f.Optional && f.Doc != "" || at == "" {
			return nil
		}
		return wrong("is null: leave it out, or give a value")
	}
	switch f.Kind {
	case Object, Map:
		given, ok := value.(map[string]any)
		if !ok {
			return wrong("%s: must be a map", mustJSON(value))
		}
		return c.checkKeys(f, given, at)
	case List:
		given, ok := value.([]any)
		if !ok {
			return wrong("%s: must be a list", mustJSON(value))
		}
		var out []error
		for i, item := range given {
			out = append(out, c.check(*f.Items, item, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return out
	default:
		if complaint := f.complaint(value); complaint != "" {
			return wrong("%s: %s", mustJSON(value), complaint)
		}
		return nil
	}
}

func (c checker) checkKeys(f Field, given map[string]any, at string) []error {
	var out []error
	for _, key := range slices.Sorted(maps.Keys(given)) {
		path := strings.TrimPrefix(at+"."+key, ".")
		if f.Kind == Map {
			switch {
			case given[key] != nil:
				out = append(out, c.check(*f.Items, given[key], path)...)
			case c.merged:
				out = append(out, fmt.Errorf("%s: is null, and there is no default that null could take away: remove it", path))
			}
			continue
		}
		i := slices.IndexFunc(f.Fields, func(child Field) bool { return child.Name == key })
		if i < 0 {
			out = append(out, fmt.Errorf("%s: no such field: %s", path, c.meant(f, key)))
			continue
		}
		out = append(out, c.check(f.Fields[i], given[key], path)...)
	}
	return out
}

// meant says what may be meant by a name that an object does not have.
func (c checker) meant(f Field, name string) string {
	best, least := "", near+1
	var names []string
	for _, child := range f.Fields {
		names = append(names, child.Name)
		d := levenshtein.Distance(strings.ToLower(child.Name), strings.ToLower(name), nil)
		if d < least && d < len(name) {
			best, least = child.Path, d
		}
	}
	c.root.walk(func(other Field) {
		if best == "" && strings.EqualFold(other.Name, name) && other.Doc != "" {
			best = other.Path
		}
	})
	if best == "" {
		return "there are " + strings.Join(names, ", ")
	}
	return "did you mean " + best + "?"
}

// complaint says what is wrong with a value that is no map and no list; "" if nothing is.
func (f Field) complaint(value any) string {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	whole, err := number.Int64()
	isWhole := isNumber && err == nil
	switch f.Kind {
	case String:
		switch {
		case !isText:
			return "must be text: put it in quotes"
		case len(f.Choices) > 0 && !slices.Contains(f.Choices, text):
			return "must be one of " + strings.Join(f.Choices, ", ")
		}
	case Boolean:
		if _, ok := value.(bool); !ok {
			return "must be true or false"
		}
	case Integer, IntOrPercent:
		digits, percent := strings.CutSuffix(text, "%")
		switch {
		case f.Kind == IntOrPercent && percent && digits != "" && strings.Trim(digits, "0123456789") == "":
		case !isWhole && f.Kind == Integer:
			return "must be a whole number"
		case !isWhole:
			return "must be a whole number such as 1, or a percentage such as 25%"
		case whole < f.Min:
			return fmt.Sprintf("must be %d or more", f.Min)
		}
	case Quantity:
		if isNumber {
			text = number.String()
		}
		if _, err := resource.ParseQuantity(text); err != nil {
			return "must be an amount such as 500m or 1Gi"
		}
	case Object, Map, List: // checked by their parts
	}
	return ""
}

// mustJSON encodes what was decoded, or made of plain types.
func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return []byte(err.Error()) // cannot happen: there are no channels and functions
	}
	return text
}
