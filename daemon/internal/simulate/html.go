package simulate

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
)

// WriteJSON writes the whole report; see Schema.
func (r *Report) WriteJSON(to io.Writer) error {
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report write: %w", err)
	}
	return nil
}

// WriteHTML writes the report as one page without anything from elsewhere.
func (r *Report) WriteHTML(to io.Writer) error {
	t, err := template.New("report").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("report write: %w", err)
	}
	p := r.page()
	data := struct {
		Title string
		Parts []partHTML
	}{Title: p.title}
	for _, x := range p.parts {
		h := partHTML{Heading: x.heading, Lines: x.lines, After: x.after}
		if len(x.table) > 0 {
			h.Head, h.Rows = x.table[0], x.table[1:]
			for _, row := range h.Rows {
				h.Long = h.Long || len(row[len(row)-1]) > 40
			}
		}
		data.Parts = append(data.Parts, h)
	}
	if err := t.Execute(to, data); err != nil {
		return fmt.Errorf("report write: %w", err)
	}
	return nil
}

type partHTML struct {
	Heading      string
	Lines, After []string
	Head         []string
	Rows         [][]string
	Long         bool // the last column has sentences
}

// PagePolicy is the Content-Security-Policy of the page: it has its style in itself, and nothing else.
const PagePolicy = "default-src 'none'; style-src 'unsafe-inline'"

const pageHTML = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="` + PagePolicy + `">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; color: #1b1f24; background: #fff; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0; }
.scroll { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #d5dae0; }
th { font-weight: 600; white-space: nowrap; color: #4c5560; }
th, td:not(:last-child) { white-space: nowrap; }
table:not(.long) td:last-child { white-space: nowrap; }
.long td:last-child { min-width: 22rem; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e8ec; background: #14181d; }
  th, td { border-color: #38414b; }
  th { color: #a4afba; }
}
@media print { body { max-width: none; padding: 0; } }
</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
{{range .Parts}}<section>
{{if .Heading}}<h2>{{.Heading}}</h2>
{{end}}{{range .Lines}}<p>{{.}}</p>
{{end}}{{if .Head}}<div class="scroll" tabindex="0" role="region" aria-label="{{.Heading}}"><table{{if .Long}} class="long"{{end}}>
<thead><tr>{{range .Head}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table></div>
{{end}}{{range .After}}<p>{{.}}</p>
{{end}}</section>
{{end}}</main>
</body>
</html>
`
