package legacy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// environmentName is the ConfigMap that the settings become.
const environmentName = "karpenter-environment"

// globals reads the settings; they decide what the other objects become.
func (c *converter) globals(d document, old wire.Settings) {
	s := d.subject()
	if c.hasSettings {
		c.fail(s, "metadata.name", "karpenter-global-settings is in the input twice", "remove one of the two")
		return
	}
	if whollyOf(old.Data) {
		c.fail(s, "data", "a template for all of it", "write each setting with a template of its own")
		return
	}
	c.hasSettings = true
	before := len(c.environment)
	for _, key := range slices.Sorted(maps.Keys(old.Data)) {
		value, at := old.Data[key], fmt.Sprintf("data[%s]", key)
		if i := slices.IndexFunc(Settings(), func(known Setting) bool { return known.Global == key }); i >= 0 {
			c.set(s, at, Settings()[i], value, old.Data)
			continue
		}
		c.dropped(s, at, key, value)
	}
	c.settingsMeta = meta{Name: environmentName, Namespace: old.Metadata.Namespace, Labels: old.Metadata.Labels}
	if len(c.environment) > before {
		c.forDaemon(s)
	}
}

// set notes a setting that the daemon carries out, and says of another one what happens instead.
func (c *converter) set(s subject, at string, known Setting, value string, all map[string]string) {
	switch {
	case value == "" || value == known.Default || known.Written:
	case known.Here != "" && known.Gate == "":
		c.environment[known.Variable] = value
	case known.Here != "":
	case known.Global == "aws.assumeRoleDuration" && all["aws.assumeRoleARN"] == "":
	default:
		c.lose(s, at, "is not carried out: "+known.Effect, known.Remedy)
	}
}

// forDaemon says where the settings are written that the daemon has.
func (c *converter) forDaemon(s subject) {
	var names []string
	for _, known := range Settings() {
		if value, ok := c.environment[known.Variable]; ok {
			names = append(names, known.Here+" = "+fmt.Sprintf("%q", value))
		}
	}
	c.warn(s, "", "the daemon has these settings as attributes of karpenter_daemon, and as values of its chart", "write "+strings.Join(names, ", "))
}

// dropped handles the keys that are no variables.
func (c *converter) dropped(s subject, at, key, value string) {
	switch key {
	case "_example":
	case "aws.defaultInstanceProfile":
		c.profile = value
	case "aws.tags":
		if value == "" {
			return
		}
		if err := json.Unmarshal([]byte(value), &c.globalTags); err != nil {
			c.fail(s, at, "no JSON object of texts", `write one such as {"team":"platform"}`)
		}
	case "featureGates.driftEnabled":
		c.drift, c.driftOff = value == "true", value == "false"
	case "aws.enablePodENI":
		if value != "true" && value != "" {
			c.lose(s, at, "is dropped, as v1 always knows pod network interfaces", "")
		}
	case "aws.enableENILimitedPodDensity":
		if value == "false" {
			c.lose(s, at, "is dropped, as v1 counts the pods that network interfaces allow", "set maxPods: 110 of the kubelet in each EC2NodeClass, if the CNI needs no addresses of the interfaces")
		}
	case "aws.nodeNameConvention":
		if value != "ip-name" && value != "" {
			c.lose(s, at, "is dropped, as the kubelet names nodes", "")
		}
	default:
		c.unknownSetting(s, at, key)
	}
}

// unknownSetting warns of a key that Karpenter never had: its chart copied whatever was under
// settings, and the controller left it alone.
func (c *converter) unknownSetting(s subject, at, key string) {
	known := []string{"aws.defaultInstanceProfile", "aws.tags", "featureGates.driftEnabled", "aws.enablePodENI", "aws.enableENILimitedPodDensity", "aws.nodeNameConvention"}
	for _, setting := range Settings() {
		known = append(known, setting.Global)
	}
	slices.Sort(known)
	for _, k := range known {
		if k != "" && (k == "aws."+key || distance(k, key) <= 2) {
			c.lose(s, at, "no such setting, and Karpenter took no notice of it", "write "+k+", if it is meant")
			return
		}
	}
	c.lose(s, at, "no such setting, and Karpenter took no notice of it", "")
}

// nobodyCarriesOut says whether the object is one of Karpenter's that the daemon does not carry
// out.
func (d document) nobodyCarriesOut() (Uncarried, bool) {
	group, _, _ := strings.Cut(d.text("apiVersion"), "/")
	for _, u := range UncarriedKinds() {
		if group == u.Group && d.text("kind") == u.Kind {
			return u, true
		}
	}
	return Uncarried{}, false
}

// notThere warns of an object that the daemon does not carry out.
func (c *converter) notThere(d document) {
	u, _ := d.nobodyCarriesOut()
	c.lose(d.subject(), "", "is left out, as the daemon does not carry it out: "+u.Effect, u.Remedy)
}
