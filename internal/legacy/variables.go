package legacy

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// withVariables makes variables of the bare names in the templates of a text, such as
// ${cluster_name}: the function templatefile gives them values, and envsubst, and a configuration
// has no such names. In user data a name alone is the shell's.
func (w *hclWriter) withVariables(text string) string {
	parsed, problems := hclsyntax.ParseTemplate([]byte(text), "", hcl.InitialPos)
	if problems.HasErrors() {
		return text
	}
	bare := slices.DeleteFunc(parsed.Variables(), func(t hcl.Traversal) bool { return len(t) > 1 })
	slices.SortFunc(bare, func(a, b hcl.Traversal) int { return b.SourceRange().Start.Byte - a.SourceRange().Start.Byte })
	left := ""
	for _, t := range bare {
		from, to := t.SourceRange().Start.Byte, t.SourceRange().End.Byte
		alone := from >= 2 && text[from-2:from] == "${" && to < len(text) && text[to] == '}'
		if alone && w.field == "userData" {
			left = t.RootName()
			text = text[:from-2] + "$" + text[from-2:]
			continue
		}
		name := variableOf(t.RootName())
		w.variables[name] = t.RootName()
		text = text[:from] + "var." + name + text[to:]
	}
	if left != "" {
		w.warn(w.subject, w.field, "has ${"+left+"}, which is left to the shell", "write ${var."+left+"} where Terraform is to evaluate it")
	}
	return text
}

// variableOf is the name of a variable for a name: Terraform keeps some for itself.
func variableOf(name string) string {
	if slices.Contains([]string{"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"}, name) {
		return name + "_value"
	}
	return name
}
