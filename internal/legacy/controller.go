package legacy

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// The settings of a controller may be in the input in other ways than as the ConfigMap: as values
// of Karpenter's chart, in a file or in an object that installs the chart, and as the environment
// of its Deployment.

// controller reads the settings of an object that is not of Karpenter, and says whether it has some.
func (c *converter) controller(d document) bool {
	o := c.origin(d.subject())
	switch kind := d.text("kind"); {
	case kind == "Deployment":
		if label, _ := at(d.body, "metadata.labels").(map[string]any); label["app.kubernetes.io/name"] == chartName || d.baseName() == chartName {
			o.deployment(d.body)
		}
	case kind == "HelmRelease":
		chart, _ := at(d.body, "spec.chart.spec.chart").(string)
		ref, _ := at(d.body, "spec.chartRef.name").(string)
		if path.Base(chart) == chartName || ref == chartName || d.baseName() == chartName {
			o.elsewhereAll("spec.valuesFrom", listAt(d.body, "spec.valuesFrom"))
			o.values("spec.values", at(d.body, "spec.values"), true)
		}
	case kind == "HelmChart", kind == "HelmChartConfig": // of the Helm controller of k3s and RKE2
		if chart, _ := at(d.body, "spec.chart").(string); path.Base(chart) == chartName || d.baseName() == chartName {
			o.text("spec.valuesContent", at(d.body, "spec.valuesContent"))
			o.elsewhereAll("spec.valuesSecrets", listAt(d.body, "spec.valuesSecrets"))
			set, _ := at(d.body, "spec.set").(map[string]any)
			o.values("spec.set", unfolded(set), true)
		}
	case kind == "Application":
		o.applications(at(d.body, "spec"))
	case kind == "ApplicationSet":
		o.applications(at(d.body, "spec.template.spec"))
	case kind == "" && d.text("apiVersion") == "":
		o.values("", d.body, false)
		o.values(chartName, d.body[chartName], false) // of a chart that depends on Karpenter's
	}
	return o.done()
}

// chartName is that of Karpenter's chart.
const chartName = "karpenter"

// baseName is the name without the namespace.
func (d document) baseName() string { return path.Base(d.name()) }

// applications reads all sources of an application of Argo CD.
func (o *origin) applications(spec any) {
	for _, source := range append([]any{at(spec, "source")}, listAt(spec, "sources")...) {
		o.application(source)
	}
}

// elsewhereAll says of values in other objects or files that they are not read.
func (o *origin) elsewhereAll(field string, list []any) {
	if len(list) > 0 {
		o.read = true
		o.lose(o.subject, field, "is not read, as these values are elsewhere", "convert those values, too")
	}
}

// text reads values that are written as one text.
func (o *origin) text(field string, value any) {
	text, _ := value.(string)
	switch values, twice, err := parse(text); {
	case text == "":
	case err != nil || strings.Contains(text, "{{"):
		o.read = true
		o.lose(o.subject, field, "is not read, as it is a template, or no YAML", "render it first, and convert the result")
	default:
		o.values(field, values, true)
		if twice != "" && o.read {
			o.doubles(o.subject, field, twice)
		}
	}
}

// application reads the values that Argo CD gives to the chart.
func (o *origin) application(source any) {
	object, _ := source.(map[string]any)
	if chart, _ := object["chart"].(string); chart != chartName {
		return
	}
	o.elsewhereAll("helm.valueFiles", listAt(object, "helm.valueFiles"))
	if values := at(object, "helm.valuesObject"); values != nil { // Argo CD takes no notice of helm.values then
		o.values("helm.valuesObject", values, true)
	} else {
		o.text("helm.values", at(object, "helm.values"))
	}
	o.values("", nested(listAt(object, "helm.parameters")), true)
}

// unfolded makes values of a map whose keys are paths.
func unfolded(values map[string]any) map[string]any {
	var parameters []any
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parameters = append(parameters, map[string]any{"name": name, "value": values[name]})
	}
	return nested(parameters)
}

// nested makes values of parameters, whose names are paths.
func nested(parameters []any) map[string]any {
	root := map[string]any{}
	for _, p := range parameters {
		parameter, _ := p.(map[string]any)
		name, _ := parameter["name"].(string)
		keys := strings.SplitN(name, ".", maxDepth)
		in := root
		for _, key := range keys[:len(keys)-1] {
			inner, ok := in[key].(map[string]any)
			if !ok {
				inner = map[string]any{}
				in[key] = inner
			}
			in = inner
		}
		in[keys[len(keys)-1]] = parameter["value"]
	}
	return root
}

// values reads the values of Karpenter's chart. If it is not sure that they are, they are only with
// a setting of Karpenter: other charts have logLevel and controller, too.
func (o *origin) values(base string, values any, sure bool) {
	root, _ := values.(map[string]any)
	settings, _ := root["settings"].(map[string]any)
	found := map[string]string{}
	flatten(settings, "settings", found)
	ours := func(key string) bool {
		return settingAt(key).Variable != "" || slices.Contains(otherKeys(), strings.TrimPrefix(key, "settings."))
	}
	if !sure && !slices.ContainsFunc(slices.Collect(maps.Keys(found)), ours) {
		return // the settings of something else
	}
	for _, known := range Settings() {
		if value := at(root, known.Value); value != nil && known.Value != "" {
			found[known.Value] = plain(value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		o.read = true
		if known := settingAt(key); known.Variable != "" {
			o.set(join(base, key), known, found[key])
			continue
		}
		o.setOther(join(base, key), strings.TrimPrefix(key, "settings."), found[key])
	}
	if o.read {
		o.elsewhereAll(join(base, "controller.envFrom"), listAt(root, "controller.envFrom"))
	}
	if o.read || sure {
		o.pods(base, root)
	}
	env := join(base, "controller.env")
	o.leave(env, o.variables(env, listAt(root, "controller.env")))
}

// gateOf is the value of a feature gate in a list such as A=true,B=false.
func gateOf(list, gate string) string {
	for _, one := range strings.Split(list, ",") {
		if name, value, _ := strings.Cut(one, "="); strings.TrimSpace(name) == gate {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// settingAt is the setting of a path in the values of a chart, those of the charts included that
// filled karpenter-global-settings.
func settingAt(key string) Setting {
	for _, known := range Settings() {
		if known.Value != "" && known.Value == key || known.Global != "" && "settings."+known.Global == key {
			return known
		}
	}
	return Setting{}
}

// flatten notes the texts below a path. A setting that is a map is one text.
func flatten(values map[string]any, base string, into map[string]string) {
	for key, value := range values {
		path := base + "." + key
		inner, ok := value.(map[string]any)
		switch {
		case ok && path == "settings."+keyTags:
			text, _ := json.Marshal(inner)
			into[path] = string(text)
		case ok && settingAt(path).Variable == "":
			flatten(inner, path, into)
		default:
			into[path] = plain(value)
		}
	}
}

// plain is a value as text.
func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, plain(one))
		}
		return strings.Join(all, ",")
	case map[string]any:
		text, _ := yaml.Marshal(v)
		return string(text)
	}
	return fmt.Sprint(value)
}

// at is the value at a path.
func at(object any, path string) any {
	for _, key := range strings.Split(path, ".") {
		inner, _ := object.(map[string]any)
		object = inner[key]
	}
	return object
}

func listAt(object any, path string) []any {
	list, _ := at(object, path).([]any)
	return list
}
