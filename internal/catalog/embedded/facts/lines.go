package facts

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

const (
	separator = "\t"
	absent    = "-"
	sourceKey = "source"
)

type writer struct{ b strings.Builder }

func (w *writer) line(cells ...string) {
	for i, c := range cells {
		if i > 0 {
			w.b.WriteString(separator)
		}
		if c == "" {
			c = absent
		}
		w.b.WriteString(c)
	}
	w.b.WriteByte('\n')
}

func (w *writer) sources(all []catalog.Source) {
	for _, s := range all {
		w.line(sourceKey, s.Group, s.Date, s.Text)
	}
}

func (w *writer) bytes() []byte { return []byte(w.b.String()) }

// reader goes through the lines of a file; cells are the cells of the current
// line.
type reader struct {
	rest  string
	count int
	cells []string
}

func newReader(data []byte) *reader { return &reader{rest: string(data)} }

func (r *reader) next() bool {
	if r.rest == "" {
		return false
	}
	var line string
	line, r.rest, _ = strings.Cut(r.rest, "\n")
	r.count++
	r.cells = r.cells[:0]
	for cell := range strings.SplitSeq(line, separator) {
		if cell == absent {
			cell = ""
		}
		r.cells = append(r.cells, cell)
	}
	return true
}

// cell returns a cell of the current line; "" past the last.
func (r *reader) cell(i int) string {
	if i >= len(r.cells) {
		return ""
	}
	return r.cells[i]
}

func (r *reader) source() (catalog.Source, bool) {
	if r.cell(0) != sourceKey {
		return catalog.Source{}, false
	}
	return catalog.Source{Group: r.cell(1), Date: r.cell(2), Text: r.cell(3)}, true
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("facts read: line %d (%s): %w", r.count, r.cell(0), fmt.Errorf(format, args...))
}

// appendDollars renders a price exactly and without trailing zeros.
func appendDollars(b []byte, m quantity.Money) []byte {
	b = strconv.AppendInt(b, int64(m/quantity.NanoDollars), 10)
	frac := int64(m % quantity.NanoDollars)
	if frac == 0 {
		return b
	}
	digits := strconv.FormatInt(quantity.NanoDollars+frac, 10)[1:]
	return append(append(b, '.'), strings.TrimRight(digits, "0")...)
}
