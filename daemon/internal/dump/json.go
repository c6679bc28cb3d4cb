package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// jsonCutter cuts JSON values. It looks for their ends alone, in one pass: what is wrong inside an
// object says whoever decodes it.
type jsonCutter struct {
	*splitter
	from   *bufio.Reader
	column int    // spaces before the next character, in its line
	under  []byte // under way; its memory serves the next
}

// next is the next character that is no space; it stays to be read.
func (c *jsonCutter) next() (byte, error) {
	for c.column = 0; ; c.column++ {
		b, err := c.from.ReadByte()
		if err != nil {
			return 0, err //nolint:wrapcheck // broken says what it is
		}
		switch b {
		case ' ', '\t', '\r':
		case '\n':
			c.column = -1
		default:
			return b, c.from.UnreadByte() //nolint:wrapcheck // as above
		}
	}
}

// skip reads the next character that is no space, which must be one of two.
func (c *jsonCutter) skip(one, other byte) (byte, error) {
	b, err := c.next()
	if err == nil && b != one && b != other {
		err = errNoJSON
	}
	if err != nil {
		return 0, c.broken(err)
	}
	_, err = c.from.ReadByte()
	return b, err //nolint:wrapcheck // it was there before
}

// array reads the values of an array that is none of a List.
func (c *jsonCutter) array() error {
	return c.elements(func() error {
		if b, err := c.next(); err == nil && b == '{' {
			return c.value()
		}
		return c.element(Kind{})
	})
}

// elements calls one for each element of an array.
func (c *jsonCutter) elements(one func() error) error {
	if _, err := c.skip('[', '['); err != nil {
		return err
	}
	b, err := c.next()
	for err == nil && b != ']' {
		if err := one(); err != nil {
			return err
		}
		if b, err = c.skip(',', ']'); err != nil || b == ']' {
			return err
		}
	}
	if err != nil {
		return c.broken(err)
	}
	_, err = c.skip(']', ']')
	return err
}

// element hands on an element as it is.
func (c *jsonCutter) element(of Kind) error {
	text, err := c.raw()
	if err != nil {
		return err
	}
	return c.object(of, text, false)
}

// fields calls one for each field of an object, to read its value.
func (c *jsonCutter) fields(one func(field string) error) error {
	if _, err := c.skip('{', '{'); err != nil {
		return err
	}
	b, err := c.next()
	for err == nil && b != '}' {
		text, err := c.raw()
		if err != nil {
			return err
		}
		var field string
		if json.Unmarshal(text, &field) != nil {
			return c.broken(errNoJSON)
		}
		if _, err := c.skip(':', ':'); err != nil {
			return err
		}
		if err := one(field); err != nil {
			return err
		}
		if b, err = c.skip(',', '}'); err != nil || b == '}' {
			return err
		}
	}
	if err != nil {
		return c.broken(err)
	}
	_, err = c.skip('}', '}')
	return err
}

// value hands on an object, or those of a List one by one.
func (c *jsonCutter) value() error {
	var kind Kind
	var list bool
	text := []byte{'{'}
	err := c.fields(func(field string) error {
		if b, err := c.next(); field == "items" && err == nil && b == '[' {
			list = true
			return c.elements(func() error { return c.element(kind.of()) })
		}
		value, err := c.raw()
		if err != nil {
			return err
		}
		kind.set(field, value)
		name, err := json.Marshal(field)
		if err != nil {
			return fmt.Errorf("object %d: %w", c.number+1, err)
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
		if len(text) > MostObject {
			return c.tooLarge()
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case list || kind.list(): // a List of nothing has no items, or null
		c.list = true
		return nil
	}
	return c.object(kind, append(text, '}'), false)
}

// raw reads a value as it is written.
func (c *jsonCutter) raw() ([]byte, error) {
	if _, err := c.next(); err != nil {
		return nil, c.broken(err)
	}
	text := c.under[:0]
	var s scan
	for {
		if _, err := c.from.Peek(1); err != nil {
			return nil, c.broken(err)
		}
		part, _ := c.from.Peek(c.from.Buffered()) // it is in the buffer
		var length int
		text, length = s.read(text, part)
		_, _ = c.from.Discard(length) // it is in the buffer
		switch {
		case len(text) == 0:
			return nil, c.broken(errNoJSON)
		case len(text) > MostObject:
			return nil, c.tooLarge()
		case s.over:
			c.under = text
			return bytes.Clone(text), nil
		}
	}
}

func (s *splitter) tooLarge() error {
	return fmt.Errorf("object %d has more than %d MiB: it is none of a cluster; %s", s.number+1, MostObject>>20, remedy)
}

func (s *splitter) broken(err error) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it breaks off after %d objects; write it again", s.number)
	case errors.Is(err, errNoJSON):
		return fmt.Errorf("it is no JSON after %d objects: %w; %s", s.number, err, remedy)
	}
	return fmt.Errorf("it cannot be read on after %d objects: %w; write it again", s.number, err)
}

// scan looks for the end of a value.
type scan struct {
	depth           int
	quoted, escaped bool
	over            bool
}

// read adds what belongs to the value to the text, without the spaces that indent its lines, and
// says how much of the part it was.
func (s *scan) read(text, part []byte) (out []byte, length int) {
	begin := 0 // of what is not in the text yet
	for i := 0; i < len(part); i++ {
		if s.quoted {
			i += s.quote(part[i:])
			if s.over {
				return append(text, part[begin:i]...), i
			}
			if i == len(part) {
				break
			}
		}
		switch part[i] {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				s.over = true
				i += 1 + s.depth // a bracket that ends a number is not its own
				return append(text, part[begin:i]...), i
			}
		case ',', ':', ' ', '\t', '\r':
			if s.depth == 0 { // behind a number or a word
				s.over = true
				return append(text, part[begin:i]...), i
			}
		case '\n':
			if s.depth == 0 {
				s.over = true
				return append(text, part[begin:i]...), i
			}
			text = append(text, part[begin:i+1]...)
			for i+1 < len(part) && part[i+1] == ' ' {
				i++
			}
			begin = i + 1
		}
	}
	return append(text, part[begin:]...), len(part)
}

// quote is how much of the part belongs to the text in quotes.
func (s *scan) quote(part []byte) int {
	for i, b := range part {
		switch {
		case s.escaped:
			s.escaped = false
		case b == '\\':
			s.escaped = true
		case b == '"':
			s.quoted = false
			s.over = s.depth == 0
			return i + 1
		}
	}
	return len(part)
}
