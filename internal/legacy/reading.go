package legacy

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// plainText gives a text in UTF-8. Shells of Windows write UTF-16, with a mark of the byte order.
func plainText(text string) string {
	var order binary.ByteOrder
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
		order = binary.LittleEndian
	case strings.HasPrefix(text, "\xfe\xff"):
		order = binary.BigEndian
	default:
		return text
	}
	var units []uint16
	for data := []byte(text[2:]); len(data) > 1; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// split cuts a text at the lines that separate YAML documents. No newline is lost.
func split(text string) []string {
	var all []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(line, "\ufeff") // files that were joined have one in the middle, too
		rest, begins := strings.CutPrefix(line, "---")
		if !begins {
			rest, begins = strings.CutPrefix(line, "...")
		}
		if begins && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n")) {
			all = append(all, b.String())
			b.Reset()
			b.WriteString(rest)
			continue
		}
		if strings.HasPrefix(line, "%YAML ") || strings.HasPrefix(line, "%TAG ") { // before a document
			line = "\n"
		}
		b.WriteString(line)
	}
	return append(all, b.String())
}

// mergeKey finds the key that merges another map, and not a here document of a shell.
var mergeKey = regexp.MustCompile(`(?m)(^|[\s{,"'])<<["']?\s*:`)

// parse reads one document; numbers keep their text. twice names keys that a map has twice, where
// the last one counts, as for kubectl.
func parse(text string) (body any, twice string, err error) {
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") { // YAML takes the first of several objects alone
		if values, err := jsonValues(text); err == nil && len(values) > 1 {
			return values, "", nil
		}
	}
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil && strings.Contains(err.Error(), "already set in map") {
		if !mergeKey.MatchString(text) { // what overrides a merged map is there once
			twice = plainError(err)
		}
		data, err = yaml.YAMLToJSON([]byte(text))
	}
	if err != nil {
		if values, noJSON := jsonValues(text); noJSON == nil && len(values) == 1 { // tabs indent JSON, and no YAML
			return values[0], "", nil
		}
		return nil, "", err
	}
	values, err := jsonValues(string(data))
	if err != nil {
		return nil, "", err
	}
	if len(values) != 1 {
		return nil, "", fmt.Errorf("%d values in place of one; write one object", len(values))
	}
	return values[0], twice, nil
}

// jsonValues reads the values of a text in JSON, one after the other.
func jsonValues(text string) ([]any, error) {
	if !utf8.ValidString(text) { // the decoder would put another character in place of what it cannot read
		return nil, errors.New("text that is not in UTF-8; save it as UTF-8")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var all []any
	for {
		var value any
		switch err := decoder.Decode(&value); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		all = append(all, value)
	}
}

// plainError is the text of an error of the YAML library, on one line.
func plainError(err error) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:")
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			all = append(all, line)
		}
	}
	return strings.Join(all, "; ")
}

// noText says which line of a text is not in UTF-8; 0 if none.
func noText(text string) int {
	line := 0
	for of := range strings.Lines(text) {
		line++
		if !utf8.ValidString(of) {
			return line
		}
	}
	return 0
}

// listed is what a list has at a place such as [1][0].
type listed struct {
	at     string
	object map[string]any // nil if it is something else
}

// objectsIn are the items of a list that has manifests, such as jsonnet writes it, and of the lists
// in it.
func objectsIn(list []any, at string) (all []listed, manifests bool) {
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch v := item.(type) {
		case nil:
		case []any:
			inner, some := objectsIn(v, at)
			all, manifests = append(all, inner...), manifests || some
		case map[string]any:
			version, _ := v["apiVersion"].(string)
			kind, _ := v["kind"].(string)
			manifests = manifests || version != "" && kind != ""
			all = append(all, listed{at: at, object: v})
		default:
			all = append(all, listed{at: at})
		}
	}
	return all, manifests
}
