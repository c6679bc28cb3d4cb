package legacy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
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
		if !strings.Contains(text, "<<") { // what overrides a merged map is there once
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
	if err != nil || len(values) != 1 {
		return nil, "", fmt.Errorf("read JSON: %w", err)
	}
	return values[0], twice, nil
}

// jsonValues reads the values of a text in JSON, one after the other.
func jsonValues(text string) ([]any, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var all []any
	for {
		var value any
		switch err := decoder.Decode(&value); {
		case err == io.EOF: //nolint:errorlint // it is that value
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		all = append(all, value)
	}
}

// plainError is the text of an error of the YAML library, on one line.
func plainError(err error) string {
	text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
	return strings.TrimPrefix(text, "unmarshal errors: ")
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

// objectsIn are the objects of a list that has manifests, such as jsonnet writes it.
func objectsIn(list []any) (all []map[string]any, manifests bool) {
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			version, _ := object["apiVersion"].(string)
			kind, _ := object["kind"].(string)
			manifests = manifests || version != "" && kind != ""
			all = append(all, object)
		}
	}
	return all, manifests
}
