package legacy

import (
	"fmt"
	"slices"
	"strings"
)

// What a Deployment or the values of a chart give to the controller's process: its environment
// and its flags.

// deployment reads the environment and the flags of Karpenter's controller. A flag overrides the
// variable of its name.
func (o *origin) deployment(body map[string]any) {
	containers := listAt(body, "spec.template.spec.containers")
	named := func(item any) bool { name, _ := at(item, "name").(string); return name == "controller" }
	for i, item := range containers {
		if slices.ContainsFunc(containers, named) && !named(item) {
			continue // a container beside Karpenter's
		}
		container, _ := item.(map[string]any)
		at := fmt.Sprintf("spec.template.spec.containers[%d]", i)
		others := o.variables(at+".env", listAt(container, "env"))
		o.elsewhereAll(at+".envFrom", listAt(container, "envFrom"))
		for _, list := range []string{"command", "args"} {
			o.flags(join(at, list), listAt(container, list))
		}
		o.leave(at+".env", others)
	}
}

// variables reads the environment of a container. It returns the names of the variables that
// are no settings of Karpenter.
func (o *origin) variables(field string, list []any) (others []string) {
	for _, item := range list {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		known := variablesOf(name)
		switch value, _ := variable["value"].(string); {
		case len(known) == 0 && name != "":
			others = append(others, name)
		case variable["valueFrom"] != nil || strings.Contains(value, "$("):
			o.elsewhere(fmt.Sprintf("%s[%s]", field, name), known)
		default:
			o.assign(field, known, value)
		}
	}
	return others
}

// leave says of variables of the process that they are left out, if settings of Karpenter are
// beside them.
func (o *origin) leave(field string, others []string) {
	if len(others) > 0 && o.read {
		slices.Sort(others)
		o.lose(o.subject, field, "what is of the process alone is left out: "+strings.Join(slices.Compact(others), ", "), "write it into environment of karpenter_daemon, or of the values of its chart, if the daemon needs it, too")
	}
}

// elsewhere says of a setting whose value is not written out that it is not read.
func (o *origin) elsewhere(at string, known []Setting) {
	i := slices.IndexFunc(known, func(s Setting) bool { return !s.Written })
	if i < 0 {
		return
	}
	remedy := "write the value"
	if s := known[i]; s.Here != "" && s.Gate == "" {
		remedy = "write it as " + s.Here + " of karpenter_daemon"
	}
	o.read = true
	o.lose(o.subject, at, "is not read, as its value is elsewhere", remedy)
}

// flags reads the flags of a process, such as --cluster-name=c, --cluster-name c and --isolated-vpc.
func (o *origin) flags(field string, list []any) {
	for i := 0; i < len(list); i++ {
		text, _ := list[i].(string)
		name, value, given := strings.Cut(strings.TrimLeft(text, "-"), "=")
		known := variablesOf(strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		if !strings.HasPrefix(text, "-") || len(known) == 0 {
			continue
		}
		if next := valueAt(list, i+1); !given && next != "" && !strings.HasPrefix(next, "-") && !known[0].Switch() {
			value, given = next, true
			i++
		}
		switch {
		case value == "$("+known[0].Variable+")": // what the environment has
		case strings.Contains(value, "$("):
			o.elsewhere(fmt.Sprintf("%s[%s]", field, name), known)
		case given:
			o.assign(field, known, value)
		case known[0].Switch():
			o.assign(field, known, "true")
		}
	}
}

func valueAt(list []any, i int) string {
	if i >= len(list) {
		return ""
	}
	text, _ := list[i].(string)
	return text
}

// assign notes the value of the settings that share a variable.
func (o *origin) assign(field string, known []Setting, value string) {
	if known[0].Gate != "" && (templated(value) || strings.Contains(value, "{{")) { // which gates it has is not known
		o.elsewhere(fmt.Sprintf("%s[%s]", field, known[0].Variable), known)
		return
	}
	for _, s := range known {
		of := value
		if s.Gate != "" {
			of = gateOf(value, s.Gate)
		}
		o.set(fmt.Sprintf("%s[%s]", field, s.Name()), s, strings.TrimSpace(of))
	}
	if known[0].Gate == "" {
		return
	}
	for _, one := range strings.Split(value, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(one), "=")
		if name != "" && !slices.ContainsFunc(known, func(s Setting) bool { return s.Gate == name }) {
			o.lose(o.subject, fmt.Sprintf("%s[%s: %s]", field, known[0].Variable, name), "no gate of Karpenter, which took no notice of it", "")
		}
	}
}

// variablesOf are the settings of a variable: several if it is a list of gates.
func variablesOf(name string) (out []Setting) {
	for _, known := range Settings() {
		if known.Variable == name {
			out = append(out, known)
		}
	}
	return out
}
