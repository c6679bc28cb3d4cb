package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// yaml cuts YAML documents, and the items of a List that are written as kubectl writes them: each
// begins with a dash, all dashes in one column. The first line has lost its spaces.
func (s *splitter) yaml(from *bufio.Reader, spaces int) error {
	c := yamlCutter{splitter: s}
	line := bytes.Repeat([]byte{' '}, spaces)
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		if len(c.text)+len(line) > MostObject {
			return s.tooLarge()
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return s.broken(err)
		}
		if len(line) > 0 {
			if err := c.line(line); err != nil {
				return err
			}
		}
		if err != nil {
			return c.end()
		}
		line = line[:0]
	}
}

// yamlCutter is one document under way.
type yamlCutter struct {
	*splitter
	text  []byte // of the document, or of the item; its memory serves the next
	kind  Kind   // of the List, as far as it was read
	items bool   // in the items of a List
	item  bool   // text is one of them
	dash  int    // column of their dashes
	lists int    // Lists of the document whose items were cut
	kinds int    // how often the document says its kind
}

func (c *yamlCutter) line(line []byte) error {
	bare := bytes.TrimSpace(line)
	column := bytes.IndexFunc(line, func(r rune) bool { return r != ' ' })
	dash := bytes.HasPrefix(bare, []byte("- ")) || string(bare) == "-"
	switch {
	case column == 0 && (string(bare) == "..." || bytes.HasPrefix(bare, []byte("---")) && (len(bare) == 3 || bare[3] == ' ' || bare[3] == '\t')):
		line = line[3:]
		if err := c.end(); err != nil {
			return err
		}
	case !c.items && column == 0 && string(bare) == "items:":
		c.items, c.dash, c.text = true, -1, c.text[:0]
		c.lists++
		return nil
	case !c.items || len(bare) == 0 || bare[0] == '#':
	case dash && (column == c.dash || c.dash < 0):
		if err := c.next(); err != nil {
			return err
		}
		c.item, c.dash = true, column
		line[column] = ' '
	case column <= max(c.dash, 0): // the items are over: other fields of the List follow
		if err := c.next(); err != nil {
			return err
		}
		c.items = false
	}
	c.field(bare, column)
	c.text = append(c.text, line...)
	return nil
}

// field notes what a line of the document says of its kind.
func (c *yamlCutter) field(bare []byte, column int) {
	name, value, _ := bytes.Cut(bare, []byte(":"))
	if column != 0 || c.items {
		return
	}
	if c.kind.set(string(name), fmt.Appendf(nil, "%q", bytes.Trim(value, ` "'`))) && string(name) == "kind" {
		c.kinds++
	}
}

// next hands on the item that is complete, and drops other fields of the List.
func (c *yamlCutter) next() error {
	text, item := c.text, c.item
	c.text, c.item = text[:0], false
	if !item {
		return nil
	}
	return c.object(c.kind.of(), bytes.Clone(text), true)
}

// end hands on the document that is complete.
func (c *yamlCutter) end() error {
	done := *c
	*c = yamlCutter{splitter: c.splitter, text: c.text[:0]}
	switch {
	case done.kinds < done.lists: // kubectl writes the kind of a List after its items
		return fmt.Errorf("it breaks off after %d objects: the List has no kind; write it again", c.number)
	case done.lists > 0:
		c.list = true
		return done.next()
	case nothing(done.text):
		return nil
	}
	return c.object(Kind{}, bytes.Clone(done.text), true)
}

// nothing says whether the text has comments and directives alone.
func nothing(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
