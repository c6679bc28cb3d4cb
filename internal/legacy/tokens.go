package legacy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func raw(kind hclsyntax.TokenType, text string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: kind, Bytes: []byte(text)}}
}

// fields writes the fields of a struct as attributes, in their order.
func (w *hclWriter) fields(body *hclwrite.Body, object any) {
	v := reflect.ValueOf(object)
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := v.FieldByIndex(f.Index)
		if name == "" || omit != "" && empty(value) {
			continue
		}
		w.field = name
		body.SetAttributeRaw(v1.AttributeName(name), w.named(name, value))
	}
}

// empty says whether a value says nothing.
func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			if !empty(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}

// value writes a value of the output types.
func (w *hclWriter) value(v reflect.Value) hclwrite.Tokens {
	switch kind := v.Kind(); {
	case kind == reflect.Interface && v.IsNil():
		return raw(hclsyntax.TokenIdent, "null")
	case kind == reflect.Pointer, kind == reflect.Interface:
		return w.value(v.Elem())
	case kind == reflect.Bool:
		return hclwrite.TokensForValue(cty.BoolVal(v.Bool()))
	case kind == reflect.Float64:
		return hclwrite.TokensForValue(cty.NumberFloatVal(v.Float()))
	case kind == reflect.Struct:
		return w.object(v)
	case kind == reflect.Map:
		return w.entries(v)
	case kind == reflect.Slice:
		if v.Len() == 1 {
			if text, ok := wholeOf(v.Index(0)); ok {
				return w.whole(text, v.Type().Elem())
			}
		}
		var all []hclwrite.Tokens
		for i := range v.Len() {
			all = append(all, w.value(v.Index(i)))
		}
		if v.Len() > 1 && v.Index(0).Kind() == reflect.Struct {
			return lines(all)
		}
		return hclwrite.TokensForTuple(all)
	case v.Type() == reflect.TypeFor[reference]():
		return raw(hclsyntax.TokenIdent, v.String())
	case v.Type() == reflect.TypeFor[wire.Quantity]() && w.field != "kubelet": // whose amounts stay text
		if q, ok := parseQuantity(v.String()); ok {
			return w.text(quantity.SpellAmount(q.String()))
		}
	case v.Type() == reflect.TypeFor[orExpression]():
		if _, is := wire.Number(v.String()).Value(); is {
			return raw(hclsyntax.TokenIdent, v.String())
		}
	case v.Type() == reflect.TypeFor[wire.Number]() || v.Type() == reflect.TypeFor[wire.Bool]():
		if !templated(v.String()) {
			return raw(hclsyntax.TokenIdent, v.String())
		}
	}
	return w.text(v.String())
}

// named writes the value of a field. Durations get the form that an import gives them, so that a
// plan shows no change of it.
func (w *hclWriter) named(name string, v reflect.Value) hclwrite.Tokens {
	if v.Kind() == reflect.String && slices.Contains([]string{"expireAfter", "terminationGracePeriod", "consolidateAfter", "duration"}, name) {
		if d, err := time.ParseDuration(v.String()); err == nil {
			return w.text(quantity.SpellDuration(d))
		}
	}
	return w.value(v)
}

// entries writes a map, its keys in order.
func (w *hclWriter) entries(v reflect.Value) hclwrite.Tokens {
	values := map[string]reflect.Value{}
	for _, key := range v.MapKeys() {
		if wholly(key.String()) {
			return w.whole(strings.TrimPrefix(key.String(), mark), v.Type().Elem())
		}
		values[key.String()] = v.MapIndex(key)
	}
	var all []hclwrite.ObjectAttrTokens
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := w.text(key)
		if hclsyntax.ValidIdentifier(key) {
			name = hclwrite.TokensForIdentifier(key)
		} else if templated(key) {
			name = slices.Concat(raw(hclsyntax.TokenOParen, "("), name, raw(hclsyntax.TokenCParen, ")"))
		}
		all = append(all, hclwrite.ObjectAttrTokens{Name: name, Value: w.value(values[key])})
	}
	return hclwrite.TokensForObject(all)
}

// whole writes the expression in the place of a list or map of members of this type. What
// members have other names for in Terraform is written out for each.
func (w *hclWriter) whole(text string, member reflect.Type) hclwrite.Tokens {
	expression, _ := decoded(w.withVariables(text))
	if member.Kind() == reflect.Struct {
		if mapped, other := w.member("x", member); other {
			expression = "[for x in " + expression + " : " + mapped + "]"
		}
	}
	return raw(hclsyntax.TokenIdent, expression)
}

// member writes an object of Terraform with the fields of one of YAML; other says that some
// have other names.
func (w *hclWriter) member(of string, t reflect.Type) (text string, other bool) {
	var all []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Type.Kind() == reflect.Interface {
			continue
		}
		value := "try(" + of + "." + name + ", null)"
		if f.Type.Kind() == reflect.Pointer {
			inner, _ := w.member(of+"."+name, f.Type.Elem())
			value = "can(" + of + "." + name + ") ? " + inner + " : null"
		}
		other = other || v1.AttributeName(name) != name
		all = append(all, v1.AttributeName(name)+" = "+value)
	}
	return "{ " + strings.Join(all, ", ") + " }", other
}

// lines writes a list with a line for each element.
func lines(elements []hclwrite.Tokens) hclwrite.Tokens {
	newline := raw(hclsyntax.TokenNewline, "\n")
	all := slices.Concat(raw(hclsyntax.TokenOBrack, "["), newline)
	for _, e := range elements {
		all = slices.Concat(all, e, raw(hclsyntax.TokenComma, ","), newline)
	}
	return append(all, raw(hclsyntax.TokenCBrack, "]")...)
}

// object writes a struct, on one line if it is small.
func (w *hclWriter) object(v reflect.Value) hclwrite.Tokens {
	var all []hclwrite.ObjectAttrTokens
	small := slices.Contains([]reflect.Type{
		reflect.TypeFor[wire.Taint](), reflect.TypeFor[wire.Requirement](), reflect.TypeFor[wire.Budget](), reflect.TypeFor[wire.SelectorTerm](),
		reflect.TypeFor[imageTerm](), reflect.TypeFor[subnetInput](), reflect.TypeFor[groupInput](), reflect.TypeFor[imageInput](), reflect.TypeFor[reservationTerm](),
	}, v.Type())
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := v.FieldByIndex(f.Index)
		if name == "" || empty(value) {
			continue
		}
		if value.Kind() == reflect.Map {
			small = false
		}
		all = append(all, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(v1.AttributeName(name)), Value: w.named(name, value)})
	}
	if !small {
		return hclwrite.TokensForObject(all)
	}
	line := raw(hclsyntax.TokenOBrace, "{")
	for i, a := range all {
		if i > 0 {
			line = append(line, raw(hclsyntax.TokenComma, ",")...)
		}
		line = slices.Concat(line, a.Name, raw(hclsyntax.TokenEqual, "="), a.Value)
	}
	return append(line, raw(hclsyntax.TokenCBrace, "}")...)
}

// text writes a text: a template if it has one that Terraform can read, and a heredoc if
// it has lines.
func (w *hclWriter) text(text string) hclwrite.Tokens {
	var tokens hclsyntax.Tokens
	kept := false
	if templated(text) || strings.Contains(text, "%{") {
		text = w.withVariables(text)
		tokens, kept = template(text)
	}
	if strings.Contains(text, "{{") {
		w.warn(w.subject, w.field, "has {{, as templates of Helm have it, which Terraform does not evaluate", "render it first with helm template")
	}
	if !kept {
		if templated(text) {
			w.warn(w.subject, w.field, "has ${, which is no template of Terraform, and is written as it is", "")
		}
		if heredoc(text) {
			return hereDocument(strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text))
		}
		return hclwrite.TokensForValue(cty.StringVal(text))
	}
	if w.field == "userData" && slices.ContainsFunc(tokens, func(t hclsyntax.Token) bool { return t.Type == hclsyntax.TokenTemplateInterp }) {
		w.warn(w.subject, w.field, "has ${, which Terraform evaluates", "write $${ where the shell is to evaluate it")
	}
	if heredoc(text) {
		return hereDocument(text)
	}
	var b strings.Builder
	for _, t := range tokens {
		part := string(t.Bytes)
		if t.Type == hclsyntax.TokenStringLit {
			part = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(part)
		}
		b.WriteString(part)
	}
	return raw(hclsyntax.TokenQuotedLit, `"`+b.String()+`"`)
}

// template returns the tokens of a template, those within ${} in one; false if Terraform could not
// read it.
func template(text string) (hclsyntax.Tokens, bool) {
	if _, problems := hclsyntax.ParseTemplate([]byte(text), "", hcl.InitialPos); problems.HasErrors() {
		return nil, false
	}
	tokens, problems := hclsyntax.LexTemplate([]byte(text), "", hcl.InitialPos)
	if problems.HasErrors() {
		return nil, false
	}
	var out hclsyntax.Tokens
	depth, start := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if depth == 0 {
				start = t.Range.Start.Byte
			}
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			depth--
			if depth == 0 {
				out = append(out, hclsyntax.Token{Type: hclsyntax.TokenTemplateInterp, Bytes: []byte(text[start:t.Range.End.Byte])})
			}
		default:
			if depth == 0 {
				out = append(out, t)
			}
		}
	}
	return out, depth == 0
}

// heredoc says whether a text can be a heredoc: whole lines, more than one, without the
// word that ends it.
func heredoc(text string) bool {
	return strings.Count(text, "\n") > 1 && strings.HasSuffix(text, "\n") && !strings.Contains(text, "EOT") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
}

func hereDocument(text string) hclwrite.Tokens {
	return slices.Concat(raw(hclsyntax.TokenOHeredoc, "<<EOT\n"), raw(hclsyntax.TokenStringLit, text), raw(hclsyntax.TokenCHeredoc, "EOT"))
}
