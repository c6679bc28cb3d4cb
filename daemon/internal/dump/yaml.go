package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// yaml cuts YAML documents, and the items of a List that are written as kubectl writes them: a
// dash in the first column.
func (s *splitter) yaml(from *bufio.Reader) error {
	c := yamlCutter{splitter: s}
	for {
		line, err := from.ReadBytes('\n')
		if len(line) > 0 {
			if err := c.line(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return c.end()
		}
		if err != nil {
			return fmt.Errorf("read after %d objects: %w", s.number, err)
		}
	}
}

// yamlCutter is one document under way.
type yamlCutter struct {
	*splitter
	text  []byte // of the document, or of the item
	items bool   // in the items of a List
	list  bool   // the document is a List, of which items were cut
	named bool   // it says its kind
}

func (c *yamlCutter) line(line []byte) error {
	bare := bytes.TrimRight(line, " \t\r\n")
	switch {
	case string(bare) == "---" || bytes.HasPrefix(line, []byte("--- ")) || string(bare) == "...":
		return c.end()
	case !c.items && string(bare) == "items:":
		c.items, c.list = true, true
		return nil
	case bytes.HasPrefix(line, []byte("kind:")):
		c.named = true
	}
	switch {
	case c.items && bytes.HasPrefix(line, []byte("- ")):
		if err := c.item(); err != nil {
			return err
		}
		c.text = append(c.text, ' ', ' ')
		line = line[2:]
	case c.items && len(bare) > 0 && line[0] != ' ' && line[0] != '#':
		// The items are over: the other fields of the List follow.
		if err := c.item(); err != nil {
			return err
		}
		c.items = false
	}
	c.text = append(c.text, line...)
	if len(c.text) > MostObject {
		return fmt.Errorf("object %d has more than %d MiB: it is no object of a cluster; write the dump with kubectl get -o yaml", c.number+1, MostObject>>20)
	}
	return nil
}

// item hands on the item that is complete, and drops what the List has before its items.
func (c *yamlCutter) item() error {
	text := c.text
	c.text = nil
	if !bytes.HasPrefix(text, []byte("  ")) {
		return nil
	}
	return c.object(Kind{}, text, true)
}

// end hands on the document that is complete.
func (c *yamlCutter) end() error {
	text, items, list, named := c.text, c.items, c.list, c.named
	c.text, c.items, c.list, c.named = nil, false, false, false
	switch {
	case list && !named: // kubectl writes the kind of a List after its items
		return fmt.Errorf("it breaks off after %d objects: the List has no kind; write it again", c.number)
	case items && bytes.HasPrefix(text, []byte("  ")):
		return c.object(Kind{}, text, true)
	case list || len(bytes.TrimSpace(text)) == 0 || onlyComments(text):
		return nil
	}
	var other struct{ Items []any }
	if bytes.Contains(text, []byte("\nitems:")) && yaml.Unmarshal(text, &other) == nil && len(other.Items) > 0 {
		for _, x := range other.Items { // a List that is written in another way
			one, err := yaml.Marshal(x)
			if err != nil {
				return fmt.Errorf("object %d: %w", c.number+1, err)
			}
			if err := c.object(Kind{}, one, true); err != nil {
				return err
			}
		}
		return nil
	}
	return c.object(Kind{}, text, true)
}

func onlyComments(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}
