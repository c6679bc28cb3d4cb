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

// controller reads the settings of an object that is not of Karpenter, if it has some.
func (c *converter) controller(d document) {
	switch kind := d.text("kind"); {
	case kind == "Deployment":
		c.deployment(d)
	case kind == "HelmRelease":
		if chart, _ := at(d.body, "spec.chart.spec.chart").(string); path.Base(chart) == chartName || d.baseName() == chartName {
			c.values(d, "spec.values", at(d.body, "spec.values"))
		}
	case kind == "Application":
		for _, source := range append([]any{at(d.body, "spec.source")}, listAt(d.body, "spec.sources")...) {
			c.application(d, source)
		}
	case kind == "" && d.text("apiVersion") == "":
		c.values(d, "", d.body)
		c.values(d, chartName, d.body[chartName]) // of a chart that depends on Karpenter's
	}
}

// chartName is that of Karpenter's chart.
const chartName = "karpenter"

// baseName is the name without the namespace.
func (d document) baseName() string { return path.Base(d.name()) }

// application reads the values that Argo CD gives to the chart.
func (c *converter) application(d document, source any) {
	object, _ := source.(map[string]any)
	if chart, _ := object["chart"].(string); chart != chartName {
		return
	}
	c.values(d, "helm.valuesObject", at(object, "helm.valuesObject"))
	text, _ := at(object, "helm.values").(string)
	if values, err := parse(text); err == nil && text != "" {
		c.values(d, "helm.values", values)
	}
	for _, p := range listAt(object, "helm.parameters") {
		parameter, _ := p.(map[string]any)
		name, _ := parameter["name"].(string)
		if known := settingAt(name); known.Variable != "" {
			c.set(d.subject(), name, known, plain(parameter["value"]), nil)
		}
	}
}

// values reads the values of Karpenter's chart.
func (c *converter) values(d document, base string, values any) {
	root, _ := values.(map[string]any)
	settings, _ := root["settings"].(map[string]any)
	found := map[string]string{}
	flatten(settings, "settings", found)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(key string) bool { return settingAt(key).Variable != "" }) {
		return // the settings of something else
	}
	for _, key := range []string{"logLevel", "logOutputPaths", "logErrorOutputPaths"} {
		if root[key] != nil {
			found[key] = plain(root[key])
		}
	}
	s := d.subject()
	before := len(c.environment)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		known := settingAt(key)
		if known.Variable == "" {
			c.dropped(s, join(base, key), strings.TrimPrefix(key, "settings."), found[key])
			continue
		}
		c.set(s, join(base, key), known, found[key], nil)
	}
	c.variables(s, join(base, "controller.env"), listAt(root, "controller.env"))
	if len(c.environment) > before {
		c.forDaemon(s)
	}
}

// deployment reads the environment of Karpenter's controller.
func (c *converter) deployment(d document) {
	if label, _ := at(d.body, "metadata.labels").(map[string]any); label["app.kubernetes.io/name"] != chartName && d.baseName() != chartName {
		return
	}
	before := len(c.environment)
	for i, item := range listAt(d.body, "spec.template.spec.containers") {
		container, _ := item.(map[string]any)
		list, _ := container["env"].([]any)
		c.variables(d.subject(), fmt.Sprintf("spec.template.spec.containers[%d].env", i), list)
	}
	if len(c.environment) > before {
		c.forDaemon(d.subject())
	}
}

// variables reads the environment of a container. What is not written out is left.
func (c *converter) variables(s subject, field string, list []any) {
	for _, item := range list {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		value, _ := variable["value"].(string)
		for _, known := range Settings() {
			of := value
			if known.Gate != "" {
				of = gateOf(value, known.Gate)
			}
			if known.Variable == name {
				c.set(s, fmt.Sprintf("%s[%s]", field, known.Name()), known, of, nil)
			}
		}
	}
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
		if known.Value == key || known.Global != "" && "settings."+known.Global == key {
			return known
		}
	}
	return Setting{}
}

// flatten notes the texts below a path.
func flatten(values map[string]any, base string, into map[string]string) {
	for key, value := range values {
		if inner, ok := value.(map[string]any); ok {
			if base+"."+key == "settings.aws.tags" {
				text, _ := json.Marshal(inner)
				into[base+"."+key] = string(text)
				continue
			}
			flatten(inner, base+"."+key, into)
			continue
		}
		into[base+"."+key] = plain(value)
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
