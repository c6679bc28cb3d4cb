package legacy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Number is a whole number as text, or a template; "" is absent.
type Number string

// Bool is true or false as text, or a template; "" is absent.
type Bool string

// Quantity is a resource quantity as text, or a template; JSON may have a number in
// its place. "" is absent.
type Quantity string

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	*n = Number(text)
	return err
}

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if _, ok := n.Value(); ok {
		return []byte(n), nil
	}
	return json.Marshal(string(n))
}

// Value returns the number; false if it is a template or absent.
func (n Number) Value() (int64, bool) {
	v, err := strconv.ParseInt(string(n), 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == string(n)
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bool) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	*b = Bool(text)
	return err
}

// MarshalJSON implements json.Marshaler.
func (b Bool) MarshalJSON() ([]byte, error) {
	if b == "true" || b == "false" {
		return []byte(b), nil
	}
	return json.Marshal(string(b))
}

// UnmarshalJSON implements json.Unmarshaler.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	*q = Quantity(text)
	return err
}

// scalar gives the text of a JSON string, number or truth value.
func scalar(data []byte) (string, error) {
	if !strings.HasPrefix(string(data), `"`) {
		if string(data) == "null" {
			return "", nil
		}
		return string(data), nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return "", fmt.Errorf("parse text: %w", err)
	}
	return text, nil
}
